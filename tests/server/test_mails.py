"""Which letters go out: what a player wants, who wants none, and how many invitations."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from cast import (
    ADDRESSES,
    html_of,
    letters_to,
    move_links,
    open_turn,
    parsed,
    player,
    reply_to,
    run_worker,
    running_match,
    seat_of,
    sign_in_path,
    text_of,
)

from pbem import account, audit, away, clocks, lobby, play, post, suppression, talk
from pbem.errors import BadAddress, TooMany
from pbem.ext import db, writing
from pbem.links import Links
from pbem.lobby import Chair
from pbem.mail import inbox, letters
from pbem.mail.inbox import Envelope
from pbem.models import Letter, Match, Move, Player, Turn, Why
from pbem.web import you

if TYPE_CHECKING:
    from flask import Flask

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def wants(name: str, **mails: str) -> None:
    """Let one of the cast want these kinds of letters so."""
    with writing():
        db.session.query(Player).filter_by(address=ADDRESSES[name]).one().mails = mails


def kinds_to(name: str) -> list[str]:
    return [letter.kind for letter in letters_to(name)]


def stop_path(letter: Letter) -> str:
    return Links().stop(letter).removeprefix("https://play.example")


def waiting_table(now, *, seats: int = 3) -> Match:
    """Return a table of ann's with free places."""
    return lobby.open_table(player("ann", now=now), "biscuit", [Chair()] * (seats - 1), {}, now=now)


def test_the_opener_hears_who_sat_down_while_the_table_waits(app, mailbox, now) -> None:
    match = waiting_table(now)
    lobby.join(match.id, player("bob", now=now), phrase="", now=now)
    assert kinds_to("ann") == ["sat_down"]
    run_worker(now)
    (raw,) = [raw for _sender, _to, raw in mailbox.arrived]
    text = text_of(parsed(raw))
    assert "Bob has sat down at your table" in text
    assert "One more player is missing" in text
    lobby.join(match.id, player("cleo", now=now), phrase="", now=now)
    # The last one starts the game, and that is told instead.
    assert "sat_down" not in kinds_to("ann")[1:]


def test_who_is_not_asked_first_hears_that_the_game_begins(app, mailbox, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now)
    asked = open_turn(match).asked.name.lower()
    others = {"ann", "bob", "cleo"} - {asked}
    assert "started" not in kinds_to(asked)
    run_worker(now)
    for name in others:
        assert "started" in kinds_to(name)
        assert "your_turn" not in kinds_to(name)
    (first, *_rest) = [parsed(m[2]) for m in mailbox.arrived if b"the game begins" in m[2]]
    text = " ".join(text_of(first).split())
    assert f"It is the turn of {asked.title()}. You are mailed as soon as it is yours." in text
    assert "YOUR HAND" in text


def test_a_hand_that_is_over_is_told_to_those_who_are_not_asked(app, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now, game="snakebit")
    while not db.session.query(Letter).filter_by(kind="hand_over").count():
        turn = open_turn(db.session.get_one(Match, match.id))
        play.make_move(turn.id, play.choose_for(turn.id, "random"), by="link", now=now)
    told = db.session.query(Letter).filter_by(kind="hand_over").all()
    asked = open_turn(db.session.get_one(Match, match.id)).asked
    assert {letter.seat.name for letter in told} == {"Ann", "Bob", "Cleo"} - {asked.name}
    run_worker(now)
    assert {letter.state for letter in told} == {"sent"}


def test_a_kind_that_is_off_is_not_sent_and_the_game_goes_on(app, listener, mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    asked = open_turn(match).asked.name.lower()
    wants(asked, receipt="off")
    run_worker(now)
    (letter,) = [parsed(m[2]) for m in mailbox.arrived if b"your turn" in m[2]]
    raw = reply_to(letter, "1", sender=ADDRESSES[asked])
    inbox.take(raw, Envelope(str(letter["Reply-To"])), now=now)
    run_worker(now + HOUR)
    assert db.session.query(Move).count() == 1
    assert "receipt" not in kinds_to(asked)
    assert list(audit.wrongs(now=now + HOUR)) == []


def test_without_receipts_the_next_turn_has_its_own_letter(app, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now, game="snakebit")
    for name in ("ann", "bob", "cleo"):
        wants(name, receipt="off")
    while True:
        turn = open_turn(db.session.get_one(Match, match.id))
        seat, before = turn.asked, db.session.query(Letter).count()
        text = play.choose_for(turn.id, "random")
        receipt = play.make_move(turn.id, text, by="reply", now=now)
        if receipt.again is not None:
            break
    fresh = db.session.query(Letter).order_by(Letter.id).all()[before:]
    assert [x.kind for x in fresh if x.turn_id == receipt.again.id] == ["your_turn"]
    assert seat.player.address in {x.address for x in fresh}


def test_gathered_news_come_with_the_daily_mail_once(app, mailbox, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now)
    name = next(n for n in ("ann", "bob", "cleo") if n != open_turn(match).asked.name.lower())
    with writing():
        reader = seat_of(match, name).player
        reader.digest_at, reader.digest_due_at = 13 * 60, now + HOUR
        reader.mails = {"notice": "daily"}
        post.notice(match, "back", {"name": "Dan"}, now=now)
    assert [x.state for x in letters_to(name, "notice")] == ["gathered"]
    run_worker(now + 2 * HOUR)
    run_worker(now + 3 * HOUR)
    (digest,) = [parsed(m[2]) for m in mailbox.arrived if m[1] == ADDRESSES[name]][-1:]
    assert "Dan is back and plays again." in " ".join(text_of(digest).split())
    assert "Dan is back and plays again." in html_of(digest)
    assert kinds_to(name).count("digest") == 1
    assert [x.state for x in letters_to(name, "notice")] == ["told"]


def test_what_was_gathered_leaves_at_once_when_the_daily_mail_ends(app, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now)
    with writing():
        reader = seat_of(match, "bob").player
        reader.digest_at, reader.mails = 13 * 60, {"notice": "daily"}
        post.notice(match, "back", {"name": "Dan"}, now=now)
    settings = {"zone": "UTC", "language": "en", "entries": "none", "mail_notice": "daily"}
    away.change_settings(reader.id, settings, [], now=now)
    assert [x.state for x in letters_to("bob", "notice")] == ["queued"]
    # Without a daily mail the next one does not wait either.
    with writing():
        post.notice(match, "back", {"name": "Dan"}, now=now)
    assert [x.state for x in letters_to("bob", "notice")] == ["queued", "queued"]


def test_each_letter_has_one_click_that_stops_them_all(app, mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    asked = open_turn(match).asked
    run_worker(now)
    (letter,) = [parsed(m[2]) for m in mailbox.arrived if b"your turn" in m[2]]
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    url = re.fullmatch(r"<https://play\.example(/u/[^>]+)>", letter["List-Unsubscribe"].strip())[1]
    # A mail program sends neither cookie nor form token.
    app.test_client_class = None
    stranger = app.test_client()
    assert "Mails to " in stranger.get(url).text
    assert stranger.head(url).status_code == 200
    assert not suppression.is_suppressed(asked.player.address)
    done = stranger.post(url, data={"List-Unsubscribe": "One-Click"})
    assert done.status_code == 200
    assert "No more mails go to" in done.text
    assert asked.player.address not in done.text
    assert suppression.is_suppressed(asked.player.address)
    # It pauses mails; the seat is still theirs.
    assert not asked.resigned
    assert not asked.is_kept


def test_a_stopped_address_gets_nothing_that_waited_and_nothing_new(app, mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    turn = open_turn(match)
    away.stop_mails(turn.asked.player.address, now=now)
    run_worker(now)
    assert [m for m in mailbox.arrived if m[1] == turn.asked.player.address] == []
    with writing():
        post.reminder(turn, turn.asked, now=now)
    assert [x.state for x in letters_to(turn.asked.name.lower(), "your_turn")] == ["stale"]
    assert letters_to(turn.asked.name.lower(), "reminder") == []
    assert list(audit.wrongs(now=now)) == []


def test_who_wants_mails_again_hears_of_the_turn_that_waits(app, mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    turn = open_turn(match)
    letter = letters_to(turn.asked.name.lower(), "your_turn")[0]
    away.stop_mails(turn.asked.player.address, now=now)
    run_worker(now)
    page = app.test_client().post(stop_path(letter), data={"do": "again"})
    assert "Mails to " in page.text
    run_worker(now + HOUR)
    to = turn.asked.player.address
    assert [b"your turn" in m[2] for m in mailbox.arrived if m[1] == to].count(True) == 1


def test_a_stopped_player_still_gets_the_link_that_signs_them_in(app, mailbox, now) -> None:
    running_match(["ann", "bob"], now=now)
    away.stop_mails(ADDRESSES["ann"], now=now)
    account.ask_to_sign_in(ADDRESSES["ann"], language="en", now=now)
    run_worker(now)
    to_ann = [m[2] for m in mailbox.arrived if m[1] == ADDRESSES["ann"]]
    assert [b"/sign-in/" in raw for raw in to_ann] == [True]


def test_a_stopped_stranger_is_not_even_invited(app, mailbox, now) -> None:
    ann = player("ann", now=now)
    lobby.open_table(ann, "biscuit", [Chair(address=ADDRESSES["dan"])], {}, now=now)
    (letter,) = letters_to("dan")
    assert "Nobody can invite" in app.test_client().post(stop_path(letter)).text
    run_worker(now)
    assert mailbox.arrived == []
    with pytest.raises(BadAddress, match="takes no mail from this server"):
        lobby.open_table(ann, "biscuit", [Chair(address=ADDRESSES["dan"])], {}, now=now)
    # Who only has the table's link is not told.
    waiting = waiting_table_of(ann, now)
    lobby.reserve(waiting.id, ADDRESSES["dan"], now=now)
    assert [seat.invited for seat in waiting.seats] == [None, None]
    assert [letter.kind for letter in letters_to("dan")] == ["invitation"]


def waiting_table_of(opener: Player, now) -> Match:
    return lobby.open_table(opener, "biscuit", [Chair()], {}, now=now)


def test_a_stopped_stranger_is_not_mailed_a_link_to_sign_in(app, mailbox, now) -> None:
    away.stop_mails(ADDRESSES["dan"], now=now)
    account.ask_to_sign_in(ADDRESSES["dan"], language="en", now=now)
    run_worker(now)
    assert mailbox.arrived == []


def test_nobody_invites_without_end(app, now) -> None:
    ann = player("ann", now=now)
    for n in range(30):
        lobby.open_table(ann, "biscuit", [Chair(address=f"p{n}@players.example")], {}, now=now)
    with pytest.raises(TooMany, match="more than 30 invitations in a day"):
        lobby.open_table(ann, "biscuit", [Chair(address="p@players.example")], {}, now=now)
    lobby.open_table(ann, "biscuit", [Chair(address="p@players.example")], {}, now=now + DAY)


def test_one_address_is_not_invited_all_day_long(app, now) -> None:
    ann, bob = player("ann", now=now), player("bob", now=now)
    for opener in (ann, bob) * 5:
        lobby.open_table(opener, "biscuit", [Chair(address=ADDRESSES["dan"])], {}, now=now)
    with pytest.raises(TooMany, match="was invited often enough today"):
        lobby.open_table(bob, "biscuit", [Chair(address=ADDRESSES["dan"])], {}, now=now)


def test_an_invitation_says_who_invites_and_how_to_stop_it(app, mailbox, now) -> None:
    ann = player("ann", now=now)
    lobby.open_table(ann, "biscuit", [Chair(address=ADDRESSES["dan"])], {}, now=now)
    run_worker(now)
    message = parsed(mailbox.arrived[0][2])
    (letter,) = letters_to("dan")
    for words in (" ".join(text_of(message).split()), html_of(message)):
        assert "because Ann gave your address here" in words
        assert Links().stop(letter) in words


def test_the_opener_hears_of_an_invitation_that_came_back(app, mailbox, now) -> None:
    ann = player("ann", now=now)
    match = lobby.open_table(ann, "biscuit", [Chair(address=ADDRESSES["dan"])], {}, now=now)
    mailbox.on_rcpt = lambda to: "550 5.1.1 no such user" if to == ADDRESSES["dan"] else None
    run_worker(now)
    seat = db.session.get_one(Match, match.id).seats[1]
    assert seat.invited is None
    run_worker(now + HOUR)
    text = " ".join(text_of(parsed(mailbox.arrived[-1][2])).split())
    assert "“550 5.1.1 no such user”" in text
    assert Links().join(match) in text
    # Who has sat down by another way meanwhile keeps the place.
    lobby.join(match.id, player("bob", now=now), phrase="", now=now)
    away_again = letters_to("dan")[0]
    with writing():
        away.bounced(away_again.id, "550", now=now)
    assert kinds_to("ann").count("came_back") == 1


def test_news_that_are_gathered_survive_a_time_without_mails(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    with writing():
        reader = seat_of(match, "bob").player
        reader.digest_at, reader.mails = 13 * 60, {"notice": "daily"}
        post.notice(match, "back", {"name": "Dan"}, now=now)
        suppression.suppress(reader.address, Why.ASKED, now=now)
        post.digest(reader, [], post.gathered(reader), now=now)
    assert [x.state for x in letters_to("bob", "notice")] == ["gathered"]
    assert letters_to("bob", "digest") == []


@pytest.mark.parametrize("more", ["", " and a very long name", "é"])
def test_no_name_stops_the_letters_of_all(app, mailbox, now, more) -> None:
    evil = f"=?utf-8?q?=0D=0ABcc:_dan@x.y?={more}"[:40]
    match = running_match(["ann", "bob", "cleo"], now=now)
    with writing():
        for seat in match.seats:
            seat.name = seat.player.name = evil
        post.notice(match, "back", {"name": evil}, now=now)
    waiting = db.session.query(Letter).filter_by(state="queued", kind="notice").count()
    run_worker(now)
    assert db.session.query(Letter).filter_by(state="sent", kind="notice").count() == waiting == 3
    for _sender, _to, raw in mailbox.arrived:
        head = raw.partition(b"\r\n\r\n")[0]
        assert b"\r\nBcc:" not in head
        assert parsed(raw)["Bcc"] is None
    (raw, *_rest) = [m[2] for m in mailbox.arrived if b"has sat" not in m[2]]
    assert "Bcc:_dan@x.y" in str(parsed(raw)["To"])


def test_a_machine_that_presses_buttons_stops_no_mails_and_starts_none(app, now) -> None:
    running_match(["ann", "bob"], now=now)
    url = stop_path(letters_to("ann")[0])
    robot = stranger(app)
    assert robot.post(url, data={"do": "stop"}).status_code == 409
    assert not suppression.is_suppressed(ADDRESSES["ann"])
    robot.post(url, data={"List-Unsubscribe": "One-Click"})
    assert robot.post(url, data={"do": "again"}).status_code == 409
    assert robot.post(url, data={"do": "again", "List-Unsubscribe": "One-Click"}).status_code == 200
    assert suppression.is_suppressed(ADDRESSES["ann"])
    robot.post(url, data={"do": "again", "me": "1"})
    assert not suppression.is_suppressed(ADDRESSES["ann"])


def test_a_machine_signs_nobody_in_and_burns_no_link(app, now) -> None:
    account.ask_to_sign_in(ADDRESSES["ann"], language="en", now=now)
    robot, url = stranger(app), sign_in_path("ann")
    assert robot.post(url).status_code == 409
    assert "Set-Cookie" not in robot.get(url).headers
    assert robot.post(url, data={"me": "1"}).status_code == 303


def test_nobody_is_mailed_links_to_sign_in_all_day(app, mailbox, now) -> None:
    for _ in range(12):
        account.ask_to_sign_in(ADDRESSES["dan"], language="en", now=now)
    run_worker(now)
    assert len(mailbox.arrived) == 10
    away.stop_mails(ADDRESSES["dan"], now=now)
    account.ask_to_sign_in(ADDRESSES["dan"], language="en", now=now + DAY)
    run_worker(now + DAY)
    # Somebody else typed the address in: its owner never signed in and sits nowhere.
    assert len(mailbox.arrived) == 10


def test_that_the_house_plays_on_is_told_whatever_is_wanted(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    for name in ("ann", "bob"):
        wants(name, house_played="off")
    for days in (10, 20, 30, 40):
        for turn in list(clocks.open_turns(match=match)):
            play.time_out(turn.id, now=now + days * DAY)
    told = db.session.query(Letter).filter_by(kind="house_played").all()
    assert [letter.about["is_kept"] for letter in told] == [True, True]


def test_every_kind_that_may_be_gathered_can_be_told_in_the_daily_mail(app, now) -> None:
    ann = player("ann", now=now)
    with writing():
        ann.digest_at = 60
        ann.mails = dict.fromkeys(post.OPTIONAL, "daily")
    match = lobby.open_table(
        ann, "snakebit", [Chair(), Chair(address=ADDRESSES["dan"])], {}, now=now
    )
    lobby.join(match.id, player("bob", now=now), phrase="", now=now)
    lobby.decline(match.seats[2].id, now=now)
    lobby.join(match.id, player("cleo", now=now), phrase="", now=now)
    match = db.session.get_one(Match, match.id)
    with writing():
        table, seat = table_of(match), seat_of(match, "ann")
        turn = open_turn(match)
        post.started(seat, now=now)
        post.hand_over(seat, -1, now=now)
        post.notice(match, "back", {"name": "Dan"}, now=now)
    play.make_move(turn.id, play.choose_for(turn.id, "random"), by="reply", now=now)
    match = db.session.get_one(Match, match.id)
    with writing():
        table, seat = table_of(match), seat_of(match, "ann")
        last = db.session.query(Turn).filter(Turn.closed_at.is_not(None)).one()
        post.receipt(table, last, match.moves[-1], None, now=now)
        post.house_played(last, seat, match.moves[-1], now=now)
        post.game_over(table, now=now)
    talk.say(seat_of(match, "bob").id, "hello", now=now)
    gathered = post.gathered(db.session.get_one(Player, ann.id))
    assert {letter.kind for letter in gathered} >= {*post.OPTIONAL, "declined"} - {"receipt"}
    with writing():
        post.digest(db.session.get_one(Player, ann.id), [], gathered, now=now)
    (digest,) = letters_to("ann", "digest")
    text = text_of(parsed(letters.build(digest).as_bytes()))
    assert text.count("<https://play.example/") >= len(gathered)


def table_of(match: Match):
    from pbem.table import load

    return load(match)


def test_releasing_gathered_news_moves_no_deadline(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    run_worker(now)
    turn = open_turn(match)
    reader = turn.asked.player
    with writing():
        reader.digest_at, reader.mails = 13 * 60, {"receipt": "daily"}
        post._tell(turn.asked, "receipt", turn, {"moved": 0, "ply": 0}, now=now)
    deadline = turn.deadline
    settings = {"zone": "UTC", "language": "en", "entries": "none"}
    away.change_settings(reader.id, settings, [], now=now + 20 * HOUR)
    run_worker(now + 20 * HOUR)
    assert open_turn(db.session.get_one(Match, match.id)).deadline == deadline


def test_a_reply_to_news_of_a_game_is_answered_with_the_moves(app, mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    turn = open_turn(match)
    with writing():
        post.notice(match, "back", {"name": "Dan"}, now=now)
    run_worker(now)
    to = turn.asked.player.address
    news = next(parsed(m[2]) for m in mailbox.arrived if m[1] == to and b"news of" in m[2])
    inbox.take(reply_to(news, "decline", sender=to), Envelope(str(news["Reply-To"]), to), now=now)
    run_worker(now + HOUR)
    assert kinds_to(turn.asked.name.lower())[-1] == "not_done"
    assert "invitation" not in kinds_to(turn.asked.name.lower())[2:]


def test_the_links_of_a_seat_that_was_taken_over_open_nothing(app, now) -> None:
    match = running_match(["ann", "bob"], now=now, policy="open")
    bob = match.seats[1]
    old = [Links().seat(bob), Links().invitation(bob)]
    old += [Links().move(turn, 1) for turn in clocks.open_turns(match=match) if turn.asked is bob]
    dan = player("dan", now=now)
    with writing():
        bob = db.session.get_one(Match, match.id).seats[1]
        bob.is_free, bob.invited = True, None
    lobby.join(match.id, dan, phrase="", now=now)
    client = app.test_client()
    for url in old:
        page = client.get(url.removeprefix("https://play.example"))
        assert "not held for you" in page.text or "belongs to another player" in page.text
        assert Links().you(dan) not in page.text
    new = Links().seat(db.session.get_one(Match, match.id).seats[1])
    assert client.get(new.removeprefix("https://play.example")).status_code == 200


def test_who_was_invited_before_can_not_answer_for_who_is_now(app, now) -> None:
    ann = player("ann", now=now)
    match = lobby.open_table(ann, "biscuit", [Chair(address=ADDRESSES["bob"])], {}, now=now)
    seat = match.seats[1]
    old = Links().invitation(seat).removeprefix("https://play.example")
    with writing():
        seat.invited = ADDRESSES["dan"]
    client = app.test_client()
    for answer in ("decline", "sit"):
        assert client.post(old, data={"answer": answer, "zone": "UTC"}).status_code == 409
    seat = db.session.get_one(Match, match.id).seats[1]
    assert (seat.invited, seat.player_id) == (ADDRESSES["dan"], None)


ARF = """From: feedback@provider.example
To: {to}
Subject: FW: spam
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="b"

--b
Content-Type: text/plain

This is an email abuse report.
--b
Content-Type: message/feedback-report

Feedback-Type: {kind}
User-Agent: Provider/1.0
Version: 1
--b
Content-Type: message/rfc822

From: play@play.example
Message-ID: {message_id}
Subject: your turn

moves
--b--
"""


def complain(letter: Letter, now, *, to: str, message_id: str, kind: str = "abuse") -> None:
    raw = ARF.format(to=to, message_id=message_id, kind=kind).replace("\n", "\r\n").encode()
    inbox.take(raw, Envelope(to, "<>"), now=now)
    inbox.read_all(now=now)


def test_a_true_complaint_stops_all_mail_to_the_address(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    letter = letters_to("ann")[0]
    complain(letter, now, to="abuse@play.example", message_id=letter.message_id("play.example"))
    assert suppression.is_suppressed(ADDRESSES["ann"])
    assert not suppression.is_suppressed(ADDRESSES["bob"])
    assert not seat_of(match, "ann").resigned


def test_a_complaint_that_anybody_could_have_made_up_stops_nothing(app, now) -> None:
    running_match(["ann", "bob"], now=now)
    letter = letters_to("ann")[0]
    complain(letter, now, to="abuse@play.example", message_id=f"<{letter.id}.0@play.example>")
    assert not suppression.is_suppressed(ADDRESSES["ann"])


def test_a_report_that_a_mail_is_no_spam_stops_nothing(app, now) -> None:
    running_match(["ann", "bob"], now=now)
    letter = letters_to("ann")[0]
    own = letter.message_id("play.example")
    complain(letter, now, to="abuse@play.example", message_id=own, kind="not-spam")
    assert not suppression.is_suppressed(ADDRESSES["ann"])


def test_a_complaint_at_the_letters_own_envelope_address_counts(app, now) -> None:
    running_match(["ann", "bob"], now=now)
    letter = letters_to("ann")[0]
    complain(letter, now, to=Links().bounce(letter.id), message_id="<other@provider.example>")
    assert suppression.is_suppressed(ADDRESSES["ann"])


def test_links_to_moves_can_be_ready_made_replies(app, mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    turn = open_turn(match)
    with writing():
        turn.asked.player.moves_by_mail = True
    run_worker(now)
    (letter,) = [parsed(m[2]) for m in mailbox.arrived if b"your turn" in m[2]]
    assert move_links(letter) == []
    hrefs = re.findall(r'href="mailto:([^"?]+)\?subject=[^"&]+&amp;body=([^"]+)"', html_of(letter))
    assert {address for address, _body in hrefs} == {str(letter["Reply-To"])}
    choices = {text.replace("%20", " ") for _address, text in hrefs}
    from pbem import table, telling

    told = telling.tell(table.load(match), turn.seat)
    assert choices == {choice.text for choice in told.choices}
    # What the mail program then sends is read as just that move.
    raw = reply_to(letter, sorted(choices)[0], sender=turn.asked.player.address)
    inbox.take(raw, Envelope(str(letter["Reply-To"])), now=now)
    run_worker(now + HOUR)
    assert [move.text for move in db.session.query(Move)] == [sorted(choices)[0]]


def test_each_kind_that_is_not_needed_has_its_words_on_the_players_page() -> None:
    assert set(you.MAIL_WORDS) == set(post.OPTIONAL)


def test_settings_keep_what_is_wanted_of_each_kind(app, now) -> None:
    ann = player("ann", now=now)
    client = app.test_client()
    url = Links().you(ann).removeprefix("https://play.example")
    form = {"do": "settings", "zone": "UTC", "language": "en", "entries": "none"}
    mails = {f"mail_{kind}": "off" for kind in post.OPTIONAL}
    kept = client.post(url, data=form | mails | {"mail_notice": "daily", "moves_by_mail": "1"})
    assert kept.status_code == 303
    ann = db.session.get_one(Player, ann.id)
    assert ann.mails == dict.fromkeys(post.OPTIONAL, "off") | {"notice": "daily"}
    assert ann.moves_by_mail
    assert client.get(url).text.count('value="off" selected') == len(post.OPTIONAL) - 1
    assert client.post(url, data=form | {"mail_notice": "never"}).status_code == 409
    client.post(url, data={"do": "mails_off"})
    assert suppression.is_suppressed(ADDRESSES["ann"])
    assert "No mails go to you" in client.get(url).text
    client.post(url, data={"do": "mails_on"})
    assert not suppression.is_suppressed(ADDRESSES["ann"])


def stranger(app: Flask):
    """Return a browser in which nobody has acted before."""
    app.test_client_class = None
    return app.test_client()


def test_a_first_move_on_a_device_needs_the_tick(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    url = Links().move(open_turn(match), 1).removeprefix("https://play.example")
    robot = stranger(app)
    page = robot.get(url)
    assert "Yes, this is me, on this device" in page.text
    assert "Set-Cookie" not in page.headers
    pressed = robot.post(
        url, data={"move": re.search(r'name="move" value="([^"]+)"', page.text)[1]}
    )
    assert pressed.status_code == 409
    assert "Nothing is done yet" in pressed.text
    assert "Set-Cookie" not in pressed.headers
    assert db.session.query(Move).count() == 0
    # The page that asks still knows the move, so one tick and one button are enough.
    fields = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', pressed.text))
    done = robot.post(url, data=fields | {"me": "1"})
    assert done.status_code == 200
    assert db.session.query(Move).count() == 1
    assert "HttpOnly" in done.headers["Set-Cookie"]
    assert "SameSite=Lax" in done.headers["Set-Cookie"]


def test_a_device_that_was_told_is_not_asked_again(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    url = Links().move(open_turn(match), 1).removeprefix("https://play.example")
    browser = stranger(app)
    assert browser.post(url, data={"me": "1"}).status_code == 200
    other = Links().move(open_turn(db.session.get_one(Match, match.id)), 1)
    path = other.removeprefix("https://play.example")
    assert "Yes, this is me" not in browser.get(path).text
    assert browser.post(path).status_code == 200
    assert db.session.query(Move).count() == 2


@pytest.mark.parametrize("answer", ["sit", "decline"])
def test_no_machine_answers_an_invitation(app, now, answer: str) -> None:
    ann = player("ann", now=now)
    match = lobby.open_table(ann, "biscuit", [Chair(address=ADDRESSES["dan"])], {}, now=now)
    url = Links().invitation(match.seats[1]).removeprefix("https://play.example")
    assert stranger(app).post(url, data={"answer": answer, "zone": "UTC"}).status_code == 409
    seat = db.session.get_one(Match, match.id).seats[1]
    assert (seat.player_id, seat.invited) == (None, ADDRESSES["dan"])


def test_the_hosts_hear_of_a_letter_that_the_relay_would_not_take(app, mailbox, now) -> None:
    running_match(["ann", "bob"], now=now)
    mailbox.on_data = lambda raw: "554 5.6.0 odd content" if b"your turn" in raw else None
    run_worker(now)
    (letter,) = db.session.query(Letter).filter_by(kind="for_host").all()
    assert letter.about["kind"] == "your_turn"
    mailbox.on_data = lambda _raw: "554 5.6.0 odd content"
    run_worker(now + HOUR)
    # Nor does a letter about a letter lead to another.
    assert db.session.query(Letter).filter_by(kind="for_host").one().state == "failed"


def test_the_hosts_hear_of_a_standstill_once(app, mailbox, now) -> None:
    running_match(["ann", "bob"], now=now)
    with writing():
        post.for_host("standstill", {"hours": 3.5}, now=now)
        post.for_host("standstill", {"hours": 4.5}, now=now + HOUR)
    letters = db.session.query(Letter).filter_by(kind="for_host").all()
    assert [letter.address for letter in letters] == ["host@play.example"]
    run_worker(now)
    (raw,) = [m[2] for m in mailbox.arrived if m[1] == "host@play.example"]
    assert "Nobody kept time for 3.5 hours" in " ".join(text_of(parsed(raw)).split())
