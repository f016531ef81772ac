"""The benchmark of pages measures what it says it measures."""

from __future__ import annotations

from cast import running_match

from bench.page import answer, rendering


def test_a_page_is_what_its_templates_make_of_their_contexts(app, now) -> None:
    page = f"/g/{running_match(['ann', 'bob'], now=now).code}"
    rendered, body = rendering(app, page)
    names = [template.name for template, _context in rendered]
    assert names == ["games/biscuit.txt", "web/replay.html", "web/table.html"]
    template, context = rendered[-1]
    with app.test_request_context(page):
        assert template.render(context).encode() == body == answer(app, page).data
