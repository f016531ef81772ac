"""The benchmarks of mail and pages measure what they say they measure."""

from __future__ import annotations

from cast import ADDRESSES, player, running_match

from bench.drain import Stopwatch
from bench.page import answer, rendering
from pbem import failpoints, post
from pbem.ext import writing
from pbem.mail import outbox


def test_a_page_is_what_its_templates_make_of_their_contexts(app, now) -> None:
    page = f"/g/{running_match(['ann', 'bob'], now=now).code}"
    rendered, body = rendering(app, page)
    names = [template.name for template, _context in rendered]
    assert names == ["games/biscuit.txt", "web/replay.html", "web/table.html"]
    template, context = rendered[-1]
    with app.test_request_context(page):
        assert template.render(context).encode() == body == answer(app, page).data


def test_a_stopwatch_counts_the_writing_of_letters_alone(app, mailbox, now) -> None:
    stopwatch = Stopwatch()
    failpoints.hook_in(stopwatch.passed)
    ann = player("ann", now=now)
    for _ in range(2):
        with writing():
            post.sign_in(ann.address, ann, language="en", now=now)
    stopwatch.passed("letter: claimed")
    stopwatch.passed("letter: marked")
    assert stopwatch.read() == 0
    assert outbox.send_due(now=now) == 2
    assert stopwatch.read() > 0
    assert stopwatch.read() == 0
    assert [to for _sender, to, _raw in mailbox.arrived] == [ADDRESSES["ann"]] * 2
