"""Time at a running table: banks, weekends, quiet hours, absence, misses, digests, our failures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import icalendar
import pytest
from cast import (
    ADDRESSES,
    html_of,
    letters_to,
    move_links,
    on_time,
    open_turn,
    player,
    reply_to,
    run_worker,
    running_match,
    text_of,
)
from mail_server import Mailbox

from engine.record import verify
from pbem import audit, away, clocks, deadlines, lobby, play, post, worker
from pbem.errors import BadAbsence, BadChoice, BadPace, BadTime, BadZone
from pbem.ext import db, writing
from pbem.mail import inbox
from pbem.models import Letter, LetterState, Match, Move, Player, Reminder, Seat, Turn
from pbem.table import record

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
SETTINGS = {
    "name": "Ann", "language": "en", "zone": "Europe/Paris", "quiet_from": "", "quiet_until": "",
    "digest_at": "", "entries": "attached", "plays_forced": "",
}  # fmt: skip


@pytest.fixture
def match(app, now) -> Match:
    """A match of ann and bob with three days for a move and three days of bank."""
    return running_match(["ann", "bob"], now=now, bank_hours=72)


def asked(match: Match) -> tuple[Turn, Seat, Player]:
    turn = open_turn(match)
    seat = turn.asked
    assert seat.player is not None
    return turn, seat, seat.player


def settings(who: Player, *, now, steps=("24", "0"), **given) -> None:
    away.change_settings(who.id, SETTINGS | {"name": who.name} | given, steps, now=now)


def other_of(seat: Seat) -> Seat:
    return next(other for other in seat.match.seats if other.id != seat.id)


def name_of(seat: Seat) -> str:
    return (seat.name or "").lower()


def notices_to(name: str) -> list[str]:
    return [letter.about["what"] for letter in letters_to(name, "notice")]


def move(turn: Turn, now, by: str = "link") -> None:
    play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by=by, now=now)


# Pace and bank.


def test_a_deadline_is_pace_and_bank_and_both_are_named(match, mailbox: Mailbox, now) -> None:
    turn, seat, _ = asked(match)
    assert turn.deadline == now + 6 * DAY
    run_worker(now)
    text = text_of(mailbox.to(ADDRESSES[name_of(seat)])[-1])
    assert "Play by Mon 7 Dec, 13:00 (Paris time)." in text
    assert "Counted: 3 days for the move, 3 days left in your bank." in text
    assert "If nothing has come an hour after that, the house plays one legal move" in text


@pytest.mark.parametrize(
    ("after", "left"), [(2 * DAY, 72), (3 * DAY, 72), (3 * DAY + 5 * HOUR, 67), (6 * DAY, 0)]
)
def test_what_a_late_move_takes_comes_out_of_the_bank(match, now, after, left) -> None:
    turn, seat, _ = asked(match)
    move(turn, now + after)
    assert db.session.get_one(Seat, seat.id).bank_left == left * 3600


def test_weekends_do_not_count_where_the_table_says_so(app, now) -> None:
    # The first of December 2026 is a Tuesday; three days lead to Friday noon.
    match = running_match(["ann", "bob"], now=now, pace_hours=96, weekends=True)
    local = open_turn(match).deadline.astimezone(ZoneInfo("Europe/Paris"))
    assert (local.weekday(), local.hour) == (0, 13)


def test_a_bank_and_a_policy_are_checked(app, now) -> None:
    ann = player("ann", now=now)
    for given in (
        {"bank_hours": -1},
        {"bank_hours": 721},
        {"pace_hours": 0},
        {"pace_hours": 87600},
    ):
        with pytest.raises(BadPace):
            lobby.open_table(ann, "biscuit", [lobby.Chair(bot="greedy")], {}, now=now, **given)
    with pytest.raises(BadChoice):
        lobby.open_table(ann, "biscuit", [lobby.Chair(bot="greedy")], {}, policy="shrug", now=now)
    assert db.session.query(Match).count() == 0


# Quiet hours.


def test_no_mail_leaves_in_quiet_hours_but_an_answer_does(match, mailbox: Mailbox, now) -> None:
    run_worker(now)
    _turn, seat, who = asked(match)
    letter = mailbox.to(ADDRESSES[name_of(seat)])[-1]
    settings(other_of(seat).player, quiet_from="12:00", quiet_until="20:00", now=now)
    settings(who, quiet_from="12:00", quiet_until="20:00", now=now)
    raw = reply_to(letter, "1", sender=who.address)
    inbox.take(raw, inbox.Envelope(str(letter["Reply-To"]), who.address), now=now)
    mailbox.fresh()
    run_worker(now)
    assert ["done" in str(mail["Subject"]) for mail in mailbox.fresh()] == [True]
    # Seven in the evening in Paris is six by UTC.
    run_worker(now + 6 * HOUR + 59 * MINUTE)
    assert mailbox.fresh() == []
    run_worker(now + 7 * HOUR)
    assert ["your turn" in mail["Subject"] for mail in mailbox.fresh()] == [True]
    # That the letter waited for the morning is no failure of ours.
    assert open_turn(match).stops == []


def test_a_deadline_in_quiet_hours_moves_to_their_end(match, now) -> None:
    turn, _, who = asked(match)
    settings(who, quiet_from="11:00", quiet_until="15:30", now=now)
    assert db.session.get_one(Turn, turn.id).deadline == now + 6 * DAY + 2 * HOUR + 30 * MINUTE
    settings(who, now=now)
    assert db.session.get_one(Turn, turn.id).deadline == now + 6 * DAY + 2 * HOUR + 30 * MINUTE


@pytest.mark.parametrize(
    ("given", "steps", "error"),
    [
        ({"quiet_from": "22:00"}, (), BadTime),
        ({"quiet_from": "22:00", "quiet_until": "25:00"}, (), BadTime),
        ({"quiet_from": "ten", "quiet_until": "08:00"}, (), BadTime),
        ({"digest_at": "7"}, (), BadTime),
        ({"zone": "Mars/Olympus"}, (), BadZone),
        ({"zone": "../etc/passwd"}, (), BadZone),
        ({"language": "tlh"}, (), BadChoice),
        ({"entries": "carved in stone"}, (), BadChoice),
        ({}, ("24", "7"), BadChoice),
    ],
)
def test_wrong_settings_are_refused_and_nothing_is_stored(app, now, given, steps, error) -> None:
    ann = player("ann", now=now)
    with pytest.raises(error):
        settings(ann, now=now, steps=steps, **{"name": "Changed"} | given)
    db.session.expire_all()
    assert (ann.name, ann.zone, ann.quiet_from) == ("Ann", "Europe/Paris", None)


# Absence.


def test_an_absence_stops_the_clock_and_the_table_is_told(match, now) -> None:
    turn, seat, who = asked(match)
    away.set_absence(who.id, "2026-12-03", "2026-12-12", now=now)
    assert db.session.get_one(Turn, turn.id).deadline == now + 16 * DAY
    assert notices_to(name_of(other_of(seat))) == ["absent"]
    assert notices_to(name_of(seat)) == []
    # Another one over it, and one inside it, move nothing back.
    away.set_absence(who.id, "2026-12-10", "2026-12-14", now=now)
    away.set_absence(who.id, "2026-12-05", "2026-12-06", now=now)
    assert db.session.get_one(Turn, turn.id).deadline == now + 18 * DAY


def test_an_absence_that_ends_early_leaves_at_least_a_day(match, now) -> None:
    turn, _, who = asked(match)
    absence = away.set_absence(who.id, "2026-12-01", "2026-12-20", now=now)
    absence_id, later = absence.id, now + 10 * DAY
    away.end_absence(absence_id, who.id, now=later)
    assert db.session.get_one(Turn, turn.id).deadline == later + 6 * DAY
    with writing():
        db.session.get_one(Turn, turn.id).deadline = later + 20 * HOUR
    away.end_absence(absence_id, who.id, now=later)
    assert db.session.get_one(Turn, turn.id).deadline == later + 20 * HOUR


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("2026-11-30", "2026-12-05", "in the past"),
        ("2026-12-05", "2026-12-04", "before the first"),
        ("2026-12-01", "2026-12-31", "more than 30 days"),
        ("2028-12-01", "2028-12-02", "more than a year ahead"),
        ("tomorrow", "2026-12-02", "written as 2026-12-24"),
        ("2026-02-30", "2026-12-02", "written as 2026-12-24"),
    ],
)
def test_a_wrong_absence_is_refused_in_words(app, now, first, last, words) -> None:
    ann = player("ann", now=now)
    with pytest.raises(BadAbsence, match=words):
        away.set_absence(ann.id, first, last, now=now)
    assert ann.absences == []


def test_nobody_is_timed_out_or_reminded_while_away(match, now) -> None:
    _, seat, who = asked(match)
    away.set_absence(who.id, "2026-12-02", "2026-12-20", now=now)
    for day in range(19):
        on_time(worker.time_out, now + day * DAY)
        on_time(worker.remind, now + day * DAY)
    assert db.session.query(Move).count() == 0
    assert letters_to(name_of(seat), "reminder") == []


def test_an_automatic_answer_moves_nothing_and_the_next_letter_offers_an_absence_once(
    match, mailbox: Mailbox, now
) -> None:
    run_worker(now)
    _turn, seat, who = asked(match)
    letter = mailbox.to(ADDRESSES[name_of(seat)])[-1]
    raw = reply_to(letter, "I am on holiday, move 1", sender=who.address)
    raw = b"Auto-Submitted: auto-replied\r\n" + raw
    inbox.take(raw, inbox.Envelope(str(letter["Reply-To"]), who.address), now=now)
    mailbox.fresh()
    run_worker(now)
    assert mailbox.fresh() == []
    assert db.session.query(Move).count() == 0
    offers = []
    for nth in range(6):
        current = open_turn(db.session.get_one(Match, match.id))
        move(current, now + nth * HOUR)
        run_worker(now + nth * HOUR + deadlines.LEAD_ON)
        offers += [
            "If you are away" in text_of(mail)
            for mail in mailbox.fresh()
            if "your turn" in mail["Subject"] and who.address in mail["To"]
        ]
    assert offers[0] is True
    assert not any(offers[1:])


# Reminders.


def test_a_player_is_reminded_at_the_steps_they_chose_once_each(match, now) -> None:
    turn, seat, who = asked(match)
    settings(who, steps=("-1", "24", "2", "0"), now=now)
    given = []
    for hours in range(6 * 24 + 1):
        before = len(letters_to(name_of(seat), "reminder"))
        on_time(worker.remind, now + hours * HOUR)
        on_time(worker.remind, now + hours * HOUR)
        given += [hours] * (len(letters_to(name_of(seat), "reminder")) - before)
    assert given == [72, 120, 142, 144]
    assert db.session.query(Reminder).filter_by(turn_id=turn.id).count() == 4


def test_games_that_are_due_together_share_one_reminder(app, mailbox: Mailbox, now) -> None:
    first = running_match(["ann", "bob"], now=now)
    ann = db.session.query(Player).filter_by(name="Ann").one()
    for _ in range(3):
        lobby.open_table(ann, "biscuit", [lobby.Chair(bot="greedy")], {}, bank_hours=0, now=now)
    run_worker(now)
    turns = {turn.id for turn in clocks.open_turns(player=ann)}
    assert len(turns) >= 3
    mailbox.fresh()
    run_worker(now + 50 * HOUR)
    mails = [mail for mail in mailbox.fresh() if ADDRESSES["ann"] in mail["To"]]
    assert [str(mail["Subject"]) for mail in mails] == [
        f"Decktet by mail: reminder: {len(turns)} games wait for you"
    ]
    assert text_of(mails[0]).count("Open your turn:") == len(turns)
    assert list(audit.wrongs()) == []
    assert first.id


def test_a_moved_deadline_earns_new_reminders(match, now) -> None:
    turn, seat, who = asked(match)
    on_time(worker.remind, now + 5 * DAY + HOUR)
    assert len(letters_to(name_of(seat), "reminder")) == 1
    away.set_absence(who.id, "2026-12-06", "2026-12-08", now=now + 5 * DAY + 2 * HOUR)
    on_time(worker.remind, db.session.get_one(Turn, turn.id).deadline - 23 * HOUR)
    assert len(letters_to(name_of(seat), "reminder")) == 2


# When time runs out.


def missed(match: Match, now) -> datetime:
    """Let the open turn's time and grace run out."""
    moment = open_turn(match).deadline + HOUR + MINUTE
    on_time(worker.time_out, moment)
    return moment


def play_round(match_id: int, name: str, now) -> datetime:
    """Move for everybody but one until that one is asked."""
    while (turn := open_turn(db.session.get_one(Match, match_id))) and name_of(turn.asked) != name:
        now += HOUR
        move(turn, now)
    return now


def test_after_two_misses_in_a_row_the_house_keeps_the_seat_till_they_come_back(
    app, mailbox: Mailbox, now
) -> None:
    match_id = running_match(["ann", "bob"], now=now, pace_hours=24).id
    turn, seat, who = asked(db.session.get_one(Match, match_id))
    name, seat_id = name_of(seat), seat.id
    now = missed(turn.match, now)
    assert db.session.get_one(Seat, seat_id).is_kept is False
    now = play_round(match_id, name, now)
    now = missed(db.session.get_one(Match, match_id), now)
    seat = db.session.get_one(Seat, seat_id)
    assert (seat.is_kept, seat.misses) == (True, 2)
    assert notices_to(name_of(other_of(seat))) == ["kept"]
    run_worker(now)
    last = [m for m in mailbox.to(who.address) if "time ran out" in m["Subject"]][-1]
    assert "It now plays for you until you come back" in " ".join(text_of(last).split())
    # From here on the house moves at once and nobody is mailed for it.
    mailbox.fresh()
    for _ in range(2):  # a third could take a hand of six to its end
        now = play_round(match_id, name, now)
        run_worker(now + MINUTE)
    assert not any(who.address in mail["To"] for mail in mailbox.fresh())
    assert list(audit.wrongs()) == []
    # Any reply brings them back.
    raw = reply_to(last, "sorry, I was ill", sender=who.address)
    inbox.take(raw, inbox.Envelope(str(last["Reply-To"]), who.address), now=now)
    inbox.read_all(now=now)
    seat = db.session.get_one(Seat, seat_id)
    assert (seat.is_kept, seat.misses) == (False, 0)
    assert notices_to(name_of(other_of(seat))) == ["kept", "back"]
    now = play_round(match_id, name, now)
    run_worker(now + MINUTE)
    assert any("your turn" in mail["Subject"] for mail in mailbox.to(who.address))
    assert list(audit.wrongs()) == []


def test_a_move_in_between_forgives_a_miss(match, now) -> None:
    _turn, seat, _ = asked(match)
    now = missed(match, now)
    now = play_round(match.id, name_of(seat), now)
    move(open_turn(db.session.get_one(Match, match.id)), now)
    assert db.session.get_one(Seat, seat.id).misses == 0


def test_an_open_seat_may_be_taken_by_the_tables_link(app, mailbox: Mailbox, now) -> None:
    match_id = running_match(["ann", "bob", "cleo"], now=now, pace_hours=24, policy="open").id
    turn, seat, _who = asked(db.session.get_one(Match, match_id))
    name, seat_id = name_of(seat), seat.id
    now = missed(turn.match, now)
    now = play_round(match_id, name, now)
    now = missed(db.session.get_one(Match, match_id), now)
    assert db.session.get_one(Seat, seat_id).is_free is True
    dan = player("dan", now=now)
    lobby.join(match_id, dan, phrase="", now=now)
    seat = db.session.get_one(Seat, seat_id)
    assert (seat.name, seat.taken_over, seat.is_kept) == ("Dan", True, False)
    with pytest.raises(lobby.TableClosed):
        lobby.join(match_id, player_at("eve", now), phrase="", now=now)
    now = play_round(match_id, "dan", now)
    run_worker(now)
    assert any("your turn" in mail["Subject"] for mail in mailbox.to(ADDRESSES["dan"]))
    played_out(match_id, now)
    found = record(db.session.get_one(Match, match_id))
    verify(found)
    assert found.resigned == {seat.number}
    assert seat.number not in found.winners


def player_at(name: str, now) -> Player:
    with writing():
        return lobby.new_player(
            f"{name}@players.example", name=name, language="en", zone="UTC", now=now
        )


def played_out(match_id: int, now) -> None:
    while (match := db.session.get_one(Match, match_id)).status == "running":
        move(open_turn(match), now)
        on_time(worker.play_bots, now)


def test_with_stop_the_game_ends_as_it_stands(app, mailbox: Mailbox, now) -> None:
    match_id = running_match(["ann", "bob"], now=now, pace_hours=24, policy="stop").id
    run_worker(now)
    assert any("the game ends as it stands" in text_of(mail) for mail in mailbox.fresh())
    move(open_turn(db.session.get_one(Match, match_id)), now)
    missed(db.session.get_one(Match, match_id), now)
    match = db.session.get_one(Match, match_id)
    assert (match.status, match.ended) == ("over", "stopped")
    verify(record(match))
    assert list(audit.wrongs()) == []
    assert {letter.kind for letter in letters_to("ann")} >= {"game_over"}


def test_audit_tells_a_deadline_on_which_nobody_acts(match, now) -> None:
    turn, *_ = asked(match)
    run_worker(now)
    (wrong,) = audit.wrongs(now=turn.deadline + 2 * DAY)
    assert f"seat {turn.seat} is late since 2026-12-07 12:00Z" in wrong
    with writing():
        db.session.get_one(Match, match.id).paused_at = now
    assert list(audit.wrongs(now=turn.deadline + 2 * DAY)) == []


# Our own failures.


def test_a_standstill_of_the_server_moves_open_deadlines_once(match, now) -> None:
    turn, *_ = asked(match)
    worker.time_out(now)
    for late in (10 * HOUR, 10 * HOUR + 5 * MINUTE):
        worker.time_out(now + late)
    assert db.session.get_one(Turn, turn.id).deadline == now + 6 * DAY + 10 * HOUR
    worker.time_out(now + 10 * HOUR + 19 * MINUTE)
    assert db.session.get_one(Turn, turn.id).deadline == now + 6 * DAY + 10 * HOUR


def test_a_notice_that_leaves_late_moves_the_deadline_by_that(match, mailbox: Mailbox, now) -> None:
    turn, seat, _ = asked(match)
    late = now + 5 * HOUR
    run_worker(late)
    assert db.session.get_one(Turn, turn.id).deadline == now + 6 * DAY + 5 * HOUR
    text = text_of(mailbox.to(ADDRESSES[name_of(seat)])[-1])
    assert "Play by Mon 7 Dec, 18:00 (Paris time)." in text


def test_it_moves_by_a_day_at_most(match, now) -> None:
    turn, *_ = asked(match)
    run_worker(now + 40 * HOUR)
    assert db.session.get_one(Turn, turn.id).deadline == now + 7 * DAY


# Mail that comes back.


def bounce(letter: Letter, now, status: str = "5.1.1") -> None:
    from pbem.links import Links

    raw = (
        "From: MAILER-DAEMON@mx.example\r\nTo: x@play.example\r\nSubject: Undelivered Mail\r\n"
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n'
        "--b\r\nContent-Type: text/plain\r\n\r\nIt did not arrive.\r\n"
        "--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n\r\n"
        f"Final-Recipient: rfc822; {letter.address}\r\nAction: failed\r\nStatus: {status}\r\n"
        "Diagnostic-Code: smtp; 550 no such user\r\n\r\n--b--\r\n"
    ).encode()
    inbox.take(raw, inbox.Envelope(Links().bounce(letter.id), "<>"), now=now)
    inbox.read_all(now=now)


def test_a_bounce_stops_the_clock_once_in_a_match_and_the_table_is_told(
    match, mailbox: Mailbox, now
) -> None:
    run_worker(now)
    turn, seat, who = asked(match)
    letter = letters_to(name_of(seat), "your_turn")[-1]
    bounce(letter, now + HOUR)
    who = db.session.get_one(Player, who.id)
    assert who.unreachable_at == now + HOUR
    assert "550 no such user" in who.unreachable_why
    assert db.session.get_one(Turn, turn.id).deadline == now + 9 * DAY
    assert notices_to(name_of(other_of(seat))) == ["unreachable"]
    bounce(letter, now + 2 * HOUR)
    assert db.session.get_one(Turn, turn.id).deadline == now + 9 * DAY
    assert list(audit.wrongs()) == []


def test_mail_that_goes_through_again_lets_the_clock_run(match, mailbox: Mailbox, now) -> None:
    run_worker(now)
    turn, seat, who = asked(match)
    bounce(letters_to(name_of(seat), "your_turn")[-1], now + HOUR)
    with writing():
        post.reminder(db.session.get_one(Turn, turn.id), turn.asked, now=now)
    run_worker(now + 2 * HOUR)
    run_worker(now + 3 * HOUR + MINUTE)
    assert db.session.get_one(Player, who.id).unreachable_at is None
    assert db.session.get_one(Turn, turn.id).deadline == now + 6 * DAY + 2 * HOUR + MINUTE


def softly(name: str, at, *, letters: int) -> None:
    """Let so many new letters to a player come back for a reason that may pass, twice each."""
    for _ in range(letters):
        with writing():
            player = db.session.query(Player).filter_by(address=ADDRESSES[name]).one()
            post.sign_in(player.address, player, language="en", now=at)
        letter = letters_to(name, "sign_in")[-1]
        bounce(letter, at, status="4.2.2")
        bounce(letter, at + MINUTE, status="4.2.2")


def test_the_fifth_letter_in_a_week_that_comes_back_softly_marks_its_address(match, now) -> None:
    run_worker(now)
    _, seat, who = asked(match)
    softly(name_of(seat), now + HOUR, letters=away.MOST_SOFT - 1)
    assert db.session.get_one(Player, who.id).unreachable_at is None
    softly(name_of(seat), now + 6 * DAY, letters=1)
    assert db.session.get_one(Player, who.id).unreachable_at == now + 6 * DAY
    assert "unreachable" in notices_to(name_of(other_of(seat)))
    away.come_back(who.id, now=now + 6 * DAY + HOUR)
    softly(name_of(seat), now + 6 * DAY + 2 * HOUR, letters=1)
    assert db.session.get_one(Player, who.id).unreachable_at is None


def test_soft_bounces_fade(match, now) -> None:
    run_worker(now)
    _, seat, who = asked(match)
    softly(name_of(seat), now, letters=away.MOST_SOFT - 1)
    softly(name_of(seat), now + 7 * DAY, letters=away.MOST_SOFT - 1)
    assert db.session.get_one(Player, who.id).unreachable_at is None


def test_a_forged_bounce_marks_nobody(match, now) -> None:
    run_worker(now)
    _, _, who = asked(match)
    raw = (
        b"From: MAILER-DAEMON@mx.example\r\nTo: g@play.example\r\nSubject: failure notice\r\n"
        b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n"
        b"--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\n"
        b"Final-Recipient: rfc822; ann@players.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n"
        b"--b\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: <1.forged@play.example>\r\n"
        b"\r\n--b--\r\n"
    )
    inbox.take(raw, inbox.Envelope("g@play.example", "<>"), now=now)
    inbox.read_all(now=now)
    assert db.session.get_one(Player, who.id).unreachable_at is None


def test_a_relay_that_knows_no_such_address_marks_it_too(match, mailbox: Mailbox, now) -> None:
    _, seat, who = asked(match)
    gone = who.address
    mailbox.on_rcpt = lambda address: "550 5.1.1 unknown" if address == gone else None
    run_worker(now)
    assert db.session.get_one(Player, who.id).unreachable_at == now
    assert "unreachable" in notices_to(name_of(other_of(seat)))


# The digest.


def test_a_digest_is_one_mail_a_day_with_what_is_still_true(app, mailbox: Mailbox, now) -> None:
    running_match(["ann", "bob"], now=now)
    ann = db.session.query(Player).filter_by(name="Ann").one()
    settings(ann, digest_at="18:00", now=now)
    for _ in range(3):
        lobby.open_table(ann, "snakebit", [lobby.Chair(bot="greedy")] * 2, {}, now=now)
    mailbox.fresh()
    run_worker(now + MINUTE)
    to_ann = [mail for mail in mailbox.fresh() if ADDRESSES["ann"] in mail["To"]]
    assert not any("game " in str(mail["Subject"]) for mail in to_ann)
    run_worker(now + 5 * HOUR)
    turns = list(clocks.open_turns(player=ann))
    mails = [mail for mail in mailbox.fresh() if ADDRESSES["ann"] in mail["To"]]
    assert [str(mail["Subject"]) for mail in mails] == [
        f"Decktet by mail: {len(turns)} games wait for you"
    ]
    (mail,) = mails
    assert text_of(mail).count("Open your turn:") == len(turns)
    assert len(move_links(mail)) > len(turns)
    assert len(html_of(mail).encode()) < 102_000
    used = html_of(mail).count('src="cid:')
    assert used == sum(part.get_content_type() == "image/png" for part in mail.walk())
    assert list(audit.wrongs()) == []
    run_worker(now + 6 * HOUR)
    assert mailbox.fresh() == []


def test_an_empty_digest_is_not_sent(app, mailbox: Mailbox, now) -> None:
    ann = player("ann", now=now)
    settings(ann, digest_at="18:00", now=now)
    for day in range(3):
        run_worker(now + day * DAY)
    assert mailbox.fresh() == []


def test_a_digest_whose_turns_are_over_when_it_would_leave_is_dropped(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    _turn, seat, who = asked(match)
    settings(who, digest_at="18:00", now=now)
    on_time(worker.send_digests, now + 5 * HOUR)
    (letter,) = letters_to(name_of(seat), "digest")
    move(open_turn(match), now + 5 * HOUR)
    run_worker(now + 5 * HOUR)
    db.session.expire_all()
    assert letter.state == LetterState.STALE


def test_what_would_not_fit_into_a_digest_is_left_to_its_link(app, mailbox: Mailbox, now) -> None:
    ann = player("ann", now=now)
    settings(ann, digest_at="18:00", now=now)
    for _ in range(9):
        lobby.open_table(ann, "bisque", [lobby.Chair(bot="greedy")] * 2, {}, now=now)
    run_worker(now + 5 * HOUR)
    (mail,) = [mail for mail in mailbox.fresh() if "games wait" in mail["Subject"]]
    html = html_of(mail)
    assert len(html.encode()) < 102_000
    assert "would not fit into one mail" in html
    assert html.count("Open your turn") == 9


def test_without_the_digest_open_turns_are_mailed_again(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    turn, seat, who = asked(match)
    settings(who, digest_at="18:00", now=now)
    with writing():
        db.session.query(Letter).delete()
    settings(who, now=now)
    assert [letter.turn_id for letter in letters_to(name_of(seat), "your_turn")] == [turn.id]


# The calendar.


def entries(data: bytes) -> list[icalendar.Event]:
    return list(icalendar.Calendar.from_ical(data).walk("VEVENT"))


def attached(mail) -> bytes:
    (part,) = [part for part in mail.iter_attachments() if part.get_filename() == "deadline.ics"]
    return part.get_payload(decode=True)


def test_a_turn_letter_holds_its_deadline_as_an_entry(match, mailbox: Mailbox, now) -> None:
    run_worker(now)
    turn, seat, who = asked(match)
    mail = mailbox.to(who.address)[-1]
    (entry,) = entries(attached(mail))
    assert entry.decoded("DTSTART") == turn.deadline
    assert entry["UID"] == f"turn-{match.code}-{seat.number}-1@play.example"
    assert entry["STATUS"] == "CONFIRMED"
    move(turn, now)
    now = play_round(match.id, name_of(seat), now)
    run_worker(now + deadlines.LEAD_ON)
    mail = [m for m in mailbox.to(who.address) if "your turn" in m["Subject"]][-1]
    new, old = entries(attached(mail))
    assert (new["STATUS"], old["STATUS"]) == ("CONFIRMED", "CANCELLED")
    assert old["UID"] == entry["UID"]
    assert int(old["SEQUENCE"]) > int(entry["SEQUENCE"])


def test_the_feed_follows_a_deadline_that_moves(app, match, now) -> None:
    from pbem.links import Links

    _turn, _, who = asked(match)
    settings(who, entries="feed", now=now)
    path = Links().feed(who).removeprefix("https://play.example")
    client = app.test_client()
    first = entries(client.get(path).data)[0]
    away.set_absence(who.id, "2026-12-03", "2026-12-04", now=now)
    answer = client.get(path)
    assert answer.mimetype == "text/calendar"
    second = entries(answer.data)[0]
    assert first["UID"] == second["UID"]
    assert int(second["SEQUENCE"]) == int(first["SEQUENCE"]) + 1
    assert second.decoded("DTSTART") - first.decoded("DTSTART") == 2 * DAY
    assert client.get(path.replace("/c/", "/c/x")).status_code == 404


# Tables that never fill.


def test_a_table_that_never_fills_is_closed_and_told(app, mailbox: Mailbox, now) -> None:
    ann = player("ann", now=now)
    match = lobby.open_table(ann, "biscuit", [lobby.Chair(address=ADDRESSES["bob"])], {}, now=now)
    match_id = match.id
    on_time(worker.expire_tables, now + 20 * DAY)
    assert db.session.get_one(Match, match_id).status == "open"
    for _ in range(2):
        on_time(worker.expire_tables, now + 21 * DAY)
    assert db.session.get_one(Match, match_id).status == "cancelled"
    assert notices_to("ann") == ["cancelled"]
    with pytest.raises(lobby.TableClosed):
        lobby.sit(match.seats[1].id, name="", phrase="", language="en", zone="UTC", now=now)
    run_worker(now + 21 * DAY)
    assert not any("invit" in str(mail["Subject"]) for mail in mailbox.to(ADDRESSES["bob"]))


def test_the_moments_of_letters_are_aware(match) -> None:
    assert {letter.wanted_at.tzinfo for letter in db.session.query(Letter)} == {UTC}
