"""The account: signing in by a link in a mail, and the addresses that are one player's."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
from cast import (
    ADDRESSES,
    first_turn,
    form_token,
    html_of,
    letters_to,
    player,
    reply_to,
    run_worker,
    sign_in_path,
    text_of,
)
from flask import g
from flask.testing import FlaskClient
from itsdangerous import TimestampSigner
from sqlalchemy import event, func, select

from pbem import account, away, lobby, suppression
from pbem.errors import BadSeats, OldLink, SeatedAlready, TooMany
from pbem.ext import db, tokens, writing
from pbem.links import Links
from pbem.lobby import Chair, find_player
from pbem.mail import inbox
from pbem.mail.inbox import Envelope
from pbem.models import Letter, Match, Note, Player

TOO_OLD = "This link was used already, or is too old; ask for another one."
MINUTE = timedelta(minutes=1)


@pytest.fixture
def client(app) -> FlaskClient:
    return app.test_client()


def ask(client: FlaskClient, name: str):
    data = {"address": ADDRESSES[name], "form_token": form_token(client)}
    return client.post("/sign-in", data=data)


def sign_in(client: FlaskClient, name: str) -> None:
    ask(client, name)
    assert client.post(sign_in_path(name)).status_code == 303


def words(page) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", page.text).split()))


def players() -> int:
    return db.session.scalar(select(func.count()).select_from(Player))


# Signing in.


def test_looking_at_the_link_signs_nobody_in_and_uses_nothing_up(client, now) -> None:
    ask(client, "dan")
    for _ in range(3):
        page = client.get(sign_in_path("dan"))
        assert (page.status_code, "Sign in on this device" in page.text) == (200, True)
        assert "Your games" not in client.get("/").text
    # Nobody is a player before they have pressed the button.
    assert players() == 0
    assert client.post(sign_in_path("dan")).status_code == 303
    assert "Your games, dan" in words(client.get("/"))
    assert players() == 1


def test_a_used_link_says_so_and_offers_another(client, app) -> None:
    sign_in(client, "ann")
    other = app.test_client()
    for page in (other.get(sign_in_path("ann")), other.post(sign_in_path("ann"))):
        assert page.status_code == 404
        assert TOO_OLD in words(page)
        assert "Mail me the link" in page.text
        assert page.headers["Cache-Control"] == "no-store"
    assert "Your games" not in other.get("/").text


def test_signing_in_uses_up_older_links_too(client, app) -> None:
    ask(client, "ann")
    first = sign_in_path("ann")
    sign_in(client, "ann")
    assert app.test_client().post(first).status_code == 404


def test_a_link_is_good_for_half_an_hour(client, monkeypatch) -> None:
    ask(client, "ann")
    link, made = sign_in_path("ann"), TimestampSigner.get_timestamp
    for minutes, status in ((29, 200), (31, 404)):
        later = minutes * 60
        monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda own, s=later: made(own) + s)
        assert client.get(link).status_code == status
    assert client.post(link).status_code == 404
    assert TOO_OLD in words(client.get(link))


def test_a_link_that_was_not_made_here_signs_nobody_in(client) -> None:
    ask(client, "ann")
    letter = letters_to("ann", "sign_in")[-1]
    for token in (tokens().link("sign-in", letter.id), tokens().timed_link("address", letter.id)):
        page = client.post(f"/sign-in/{token}")
        assert page.status_code == 404
        assert "was not made here" in words(page)
    assert players() == 0


def test_of_two_presses_one_signs_in(app, now) -> None:
    account.ask_to_sign_in(ADDRESSES["ann"], language="en", now=now)
    (letter,) = letters_to("ann", "sign_in")
    account.sign_in(letter.id, now=now)
    with pytest.raises(OldLink):
        account.sign_in(letter.id, now=now)
    assert find_player(ADDRESSES["ann"]).sign_ins == 1


def test_the_answer_and_the_work_never_tell_whether_an_address_is_known(client, app, now) -> None:
    player("ann", now=now)
    away.stop_mails(ADDRESSES["cleo"], now=now)
    for _ in range(10):
        account.ask_to_sign_in(ADDRESSES["bob"], language="en", now=datetime.now(UTC))
    token, found = form_token(client), []
    # Known, mailed too often, a stranger who wants no mail, a stranger.
    for name in ADDRESSES:
        done: list[str] = []

        def note(_connection, _cursor, statement, *_more, done=done) -> None:
            done.append(statement.split(" ", 1)[0])

        event.listen(db.engine, "before_cursor_execute", note)
        page = client.post("/sign-in", data={"address": ADDRESSES[name], "form_token": token})
        event.remove(db.engine, "before_cursor_execute", note)
        found.append((page.status_code, page.text.replace(f"{name}@", "somebody@"), done))
    assert found == [found[0]] * 4
    assert found[0][2].count("INSERT") == 2  # the try and the letter


def test_what_is_not_to_go_out_never_leaves(app, mailbox, now) -> None:
    away.stop_mails(ADDRESSES["cleo"], now=now)
    account.ask_to_sign_in(ADDRESSES["cleo"], language="en", now=now)
    run_worker(now)
    assert mailbox.arrived == []
    assert [letter.state for letter in letters_to("cleo")] == ["stale"]


def test_a_stranger_is_mailed_and_becomes_a_player_in_the_language_of_their_browser(app) -> None:
    client = app.test_client()
    token = form_token(client)
    g.pop("_flask_babel")
    client.post(
        "/sign-in",
        data={"address": ADDRESSES["dan"], "form_token": token},
        headers={"Accept-Language": "fr-CA, en;q=0.5"},
    )
    assert [letter.language for letter in letters_to("dan")] == ["fr"]
    client.post(sign_in_path("dan"))
    assert find_player(ADDRESSES["dan"]).language == "fr"
    assert db.session.scalar(select(func.count()).select_from(Letter)) == 1


def test_who_signs_out_is_forgotten(client) -> None:
    sign_in(client, "ann")
    client.post("/sign-out", data={"form_token": form_token(client)})
    assert "Your games" not in client.get("/").text


# Several addresses.

WORK = "ann@work.example"


def ask_to_add(client: FlaskClient, address: str):
    data = {"do": "add", "address": address, "form_token": form_token(client, "/account")}
    return client.post("/account", data=data)


def letters_at(address: str) -> list[Letter]:
    wanted = select(Letter).where(Letter.address == address).order_by(Letter.id)
    return list(db.session.scalars(wanted))


def add_path(address: str) -> str:
    return f"/a/{tokens().timed_link('address', letters_at(address)[-1].id)}"


def with_work(now) -> Player:
    """Ann, with her address at work."""
    ann = player("ann", now=now)
    account.ask_to_add(ann.id, WORK, now=now)
    return account.add(letters_at(WORK)[-1].id, now=now)


def test_an_address_is_added_by_the_button_behind_a_link_that_was_mailed_to_it(
    client, app, mailbox
) -> None:
    sign_in(client, "ann")
    assert ask_to_add(client, WORK).location == "/account?done=sent"
    run_worker(datetime.now(UTC))
    (mail,) = mailbox.to(WORK)
    link = re.search(r"https://play\.example(/a/\S+?)>", text_of(mail))[1]
    assert "The player called ann asked to use this address" in text_of(mail)
    # A stranger may read it: nothing of ann's own stands there.
    assert "/y/" not in text_of(mail) + html_of(mail)
    assert str(mail["To"]) == WORK
    robot = app.test_client()
    assert robot.get(link).status_code == 200
    assert find_player(WORK) is None
    done = robot.post(link)
    assert f"{WORK} is yours now" in words(done)
    assert find_player(WORK) == find_player(ADDRESSES["ann"])
    for page in (robot.get(link), robot.post(link)):
        assert page.status_code == 404
        assert TOO_OLD in words(page)


def test_a_machine_adds_no_address(app, now) -> None:
    account.ask_to_add(player("ann", now=now).id, WORK, now=now)
    assert FlaskClient(app).post(add_path(WORK)).status_code == 409
    assert find_player(WORK) is None


def test_of_an_address_that_is_somebodys_only_the_mail_tells(client, app, mailbox, now) -> None:
    bob = player("bob", now=now)
    sign_in(client, "ann")
    answers = []
    for name in ("bob", "cleo"):
        answer = ask_to_add(client, ADDRESSES[name])
        answers.append((answer.status_code, answer.location, client.get(answer.location).text))
    assert answers[0] == answers[1]
    run_worker(datetime.now(UTC))
    (to_bob,), (to_cleo,) = mailbox.to(ADDRESSES["bob"]), mailbox.to(ADDRESSES["cleo"])
    assert "belongs to another player here already" in " ".join(text_of(to_bob).split())
    assert "/a/" not in text_of(to_bob) + html_of(to_bob)
    assert "/a/" in text_of(to_cleo)
    page = client.post(add_path(ADDRESSES["bob"]))
    assert page.status_code == 409
    assert "This address is another player's already" in words(page)
    assert find_player(ADDRESSES["bob"]) == bob
    assert find_player(ADDRESSES["ann"]).every_address == [ADDRESSES["ann"]]


def test_any_address_signs_in_and_the_link_goes_there(client, now) -> None:
    ann = with_work(now)
    client.post("/sign-in", data={"address": WORK, "form_token": form_token(client)})
    letter = letters_at(WORK)[-1]
    client.post(f"/sign-in/{tokens().timed_link('sign-in', letter.id)}")
    assert f"Your games, {ann.name}" in words(client.get("/"))
    assert players() == 1


def test_a_reply_from_any_address_counts_and_is_answered_at_the_preferred_one(
    app, mailbox, now
) -> None:
    name, letter, _match = first_turn(mailbox, now=now)
    who = find_player(ADDRESSES[name])
    account.ask_to_add(who.id, WORK, now=now)
    account.add(letters_at(WORK)[-1].id, now=now)
    tagged = ADDRESSES[name].replace("@", "+cards@")
    for sender, verdict in (
        (tagged, "move"),
        (WORK, "repeated"),
        ("ann@other.example", "not done"),
    ):
        raw = reply_to(letter, "1", sender=sender)
        inbox.take(raw, Envelope(str(letter["Reply-To"]), sender), now=now)
        inbox.read_all(now=now)
        assert db.session.scalars(select(Note).order_by(Note.id.desc())).first().verdict == verdict
    assert [receipt.address for receipt in db.session.scalars(
        select(Letter).where(Letter.kind == "receipt")
    )] == [ADDRESSES[name]]  # fmt: skip


def test_an_invitation_to_a_second_address_is_its_players(app, client, now) -> None:
    ann, bob = with_work(now), player("bob", now=now)
    chairs = [Chair(address=WORK), Chair(address=ADDRESSES["ann"])]
    match = lobby.open_table(bob, "biscuit", chairs, {}, now=now)
    one, two = match.seats[1:]
    _match, sitter = lobby.sit(one.id, name="", phrase="", language="en", zone="UTC", now=now)
    assert sitter == ann
    # Twice changes nothing, and one person has one seat.
    lobby.sit(one.id, name="", phrase="", language="en", zone="UTC", now=now)
    with pytest.raises(SeatedAlready):
        lobby.sit(two.id, name="", phrase="", language="en", zone="UTC", now=now)
    with pytest.raises(BadSeats, match="not your own"):
        lobby.open_table(ann, "biscuit", [Chair(address=WORK)], {}, now=now)


def test_an_invitation_may_be_answered_from_another_address(app, mailbox, now) -> None:
    with_work(now)
    lobby.open_table(player("bob", now=now), "biscuit", [Chair(address=WORK)], {}, now=now)
    run_worker(now)
    (mail,) = [m for m in mailbox.to(WORK) if "invites you" in m["Subject"]]
    raw = reply_to(mail, "sit down", sender=ADDRESSES["ann"])
    inbox.take(raw, Envelope(str(mail["Reply-To"])), now=now)
    inbox.read_all(now=now)
    assert db.session.scalars(select(Note)).one().verdict == "sat down"
    assert players() == 2


def test_letters_go_to_the_preferred_address_and_so_do_those_that_wait(client, now) -> None:
    sign_in(client, "ann")
    ann = find_player(ADDRESSES["ann"])
    account.ask_to_add(ann.id, WORK, now=now)
    account.add(letters_at(WORK)[-1].id, now=now)
    lobby.open_table(ann, "biscuit", [Chair(bot="greedy")] * 2, {}, now=now)
    with writing():
        ann = find_player(WORK)
        ann.unreachable_at, ann.unreachable_why = now, "550"
    waiting = [letter.id for letter in letters_to("ann") if letter.kind != "sign_in"]
    data = {"do": "prefer", "address": WORK, "form_token": form_token(client, "/account")}
    assert client.post("/account", data=data).status_code == 303
    ann = find_player(ADDRESSES["ann"])
    assert ann.every_address == [WORK, ADDRESSES["ann"]]
    assert ann.unreachable_at is None
    assert waiting
    assert {db.session.get_one(Letter, one).address for one in waiting} == {WORK}
    assert [letter.kind for letter in letters_to("ann")] == ["sign_in"]
    # The other one may go, this one may not.
    assert "choose another one" in words(client.post("/account", data=data | {"do": "remove"}))
    gone = data | {"do": "remove", "address": ADDRESSES["ann"]}
    assert client.post("/account", data=gone).status_code == 303
    assert find_player(WORK).every_address == [WORK]
    assert find_player(ADDRESSES["ann"]) is None
    assert client.post("/account", data=gone | {"do": "prefer"}).status_code == 409


def test_a_player_has_five_addresses_and_asks_for_ten_a_day(client, app, now) -> None:
    sign_in(client, "ann")
    for nth in range(4):
        ask_to_add(client, f"ann{nth}@work.example")
        client.post(add_path(f"ann{nth}@work.example"))
    page = ask_to_add(client, WORK)
    assert (page.status_code, f'value="{WORK}"' in page.text) == (409, True)
    assert "A player has at most 5 addresses; remove one first." in words(page)
    assert "That address is yours already." in words(ask_to_add(client, ADDRESSES["ann"]))
    assert letters_at(WORK) == []
    ann = find_player(ADDRESSES["ann"])
    account.remove(ann.id, "ann0@work.example")
    for nth in range(6):
        account.ask_to_add(ann.id, f"other{nth}@work.example", now=now)
    with pytest.raises(TooMany):
        account.ask_to_add(ann.id, WORK, now=now)
    assert letters_at(WORK) == []


def test_no_more_mails_is_meant_for_all_addresses(app, now) -> None:
    ann = with_work(now)
    away.stop_mails(WORK, now=now)
    assert all(suppression.is_suppressed(address) for address in ann.every_address)
    away.want_mails(ADDRESSES["ann"], now=now)
    assert not any(suppression.is_suppressed(address) for address in ann.every_address)


def test_strangers_are_led_to_the_front_page(client) -> None:
    assert client.get("/account").location == "/"
    assert client.post("/account", data={"form_token": form_token(client)}).location == "/"
    assert client.post("/account").status_code == 400


def test_who_has_a_tables_link_does_not_learn_who_sits_or_is_invited_there(client, now) -> None:
    ann, bob = with_work(now), player("bob", now=now)
    match = lobby.open_table(ann, "biscuit", [Chair(), Chair(), Chair()], {}, now=now)
    lobby.join(match.id, bob, phrase="", now=now)
    lobby.reserve(match.id, ADDRESSES["cleo"], now=now)
    shared = Links().join(match).removeprefix("https://play.example")
    answers = set()
    for address in (WORK, *ADDRESSES.values()):
        page = client.post(shared, data={"address": address})
        answers.add((page.status_code, page.text.replace(address, "somebody@x.example")))
    assert len(answers) == 1
    kinds = [[letter.kind for letter in letters_to(name)] for name in ("bob", "cleo", "dan")]
    assert kinds == [["sign_in"], ["invitation"] * 2, ["invitation"]]
    assert [letter.kind for letter in letters_at(WORK)] == ["add_address", "sign_in"]
    db.session.expire_all()
    held = [seat.invited for seat in db.session.get_one(Match, match.id).seats]
    assert held == [None, None, ADDRESSES["cleo"], ADDRESSES["dan"]]
