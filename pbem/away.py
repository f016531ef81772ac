"""Use cases of a player's own time and mail: settings, absences, coming back, no mail at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from sqlalchemy import select

from engine.game import N_
from pbem import clocks, deadlines, lobby, play, post, suppression
from pbem.cleaning import clean_name, clean_zone
from pbem.config import LANGUAGES
from pbem.deadlines import Span
from pbem.errors import BadAbsence, BadChoice, BadTime
from pbem.ext import db, writing
from pbem.lobby import find_player
from pbem.models import (
    Absence,
    Entries,
    Letter,
    LetterState,
    Match,
    Player,
    Seat,
    Status,
    Wanted,
    Why,
)

LONGEST_AHEAD: Final = timedelta(days=366)  # how far off an absence may begin
MOST_SOFT: Final = 5  # letters to one address that came back for a reason that may pass
SOFT_WITHIN: Final = timedelta(days=7)  # and for how long each of them counts


def change_settings(
    player_id: int, given: Mapping[str, str], steps: Sequence[str], *, now: datetime
) -> None:
    """Store a player's settings as a form gives them; an open deadline never comes forward.

    Raises BadZone, BadTime or BadChoice; nothing is stored then.
    """
    zone = clean_zone(given.get("zone", ""))
    quiet_from, quiet_until = (
        _minutes(given.get(name, "")) for name in ("quiet_from", "quiet_until")
    )
    if (quiet_from is None) != (quiet_until is None):
        raise BadTime(N_("quiet hours have a beginning and an end; leave both out for none"))
    digest_at = _minutes(given.get("digest_at", ""))
    language, entries = given.get("language", ""), given.get("entries", "")
    if language not in LANGUAGES or entries not in list(Entries):
        raise BadChoice
    chosen = [step for step in deadlines.STEPS if str(step) in steps]
    if len(chosen) != len(set(steps)):
        raise BadChoice
    mails = {kind: given.get(f"mail_{kind}", post.unasked(kind)) for kind in post.OPTIONAL}
    if not set(mails.values()) <= set(Wanted):
        raise BadChoice
    with writing():
        player = db.session.get_one(Player, player_id)
        player.name = clean_name(given.get("name", "")) or player.name
        was_daily = player.digest_at is not None
        is_replanned = (digest_at, zone) != (player.digest_at, player.zone)
        player.language, player.zone, player.entries = language, zone, entries
        player.plays_forced = bool(given.get("plays_forced"))
        player.moves_by_mail = bool(given.get("moves_by_mail"))
        player.wants_hints = bool(given.get("wants_hints"))
        player.has_page = bool(given.get("has_page"))
        player.mails = mails
        player.quiet_from, player.quiet_until = quiet_from, quiet_until
        player.reminder_steps = chosen
        if is_replanned:
            player.digest_at = digest_at
            plan_digest(player, now=now)
        if was_daily and digest_at is None:
            for letter in post.gathered(player):
                letter.state, letter.due_at, letter.wanted_at = LetterState.QUEUED, now, now
            _tell_untold(player, now=now)
        for turn in clocks.open_turns(player=player):
            clocks.refresh(turn, now=now)


def set_absence(player_id: int, first: str, last: str, *, now: datetime) -> Absence:
    """Let a player's clocks stand still from one day to another, both included.

    The days are written as 2026-12-24 and counted in the player's zone. Raises BadAbsence.
    """
    begins, ends = _day(first), _day(last)
    with writing():
        player = db.session.get_one(Player, player_id)
        zone = ZoneInfo(player.zone)
        today = now.astimezone(zone).date()
        if begins < today:
            raise BadAbsence(N_("the first day is in the past; begin today or later"))
        if ends < begins:
            raise BadAbsence(N_("the last day comes before the first"))
        span = deadlines.absence(begins, ends, zone)
        if span.start > now + LONGEST_AHEAD:
            raise BadAbsence(N_("that is more than a year ahead; set it later"))
        spans = [*_spans(player), span]
        for year in range(begins.year, ends.year + 1):
            if deadlines.days_absent(spans, year, zone) > deadlines.MOST_ABSENCE:
                text = N_("that makes more than %(most)s days of absence in %(year)s")
                raise BadAbsence(text, most=deadlines.MOST_ABSENCE, year=year)
        absence = Absence(
            player_id=player.id, starts_at=max(now, span.start), ends_at=span.until, made_at=now
        )
        db.session.add(absence)
        db.session.flush()
        db.session.refresh(player, ["absences"])
        for turn in clocks.open_turns(player=player):
            clocks.refresh(turn, now=now)
            about = {"name": turn.asked.name, "until": span.until.isoformat()}
            post.notice(turn.match, "absent", about, but=turn.asked, now=now)
        player.offers_absence = False
    return absence


def end_absence(absence_id: int, player_id: int, *, now: datetime) -> None:
    """End an absence now, or take back one that has not begun; ended ones stay as they are."""
    with writing():
        absence = db.session.get(Absence, absence_id)
        if absence is None or absence.player_id != player_id or absence.ends_at <= now:
            return
        if absence.starts_at >= now:
            db.session.delete(absence)
        else:
            absence.ends_at = now
        db.session.flush()
        player = db.session.get_one(Player, player_id)
        db.session.refresh(player, ["absences"])
        for turn in clocks.open_turns(player=player):
            clocks.refresh(turn, now=now, may_come_forward=True)


def come_back(player_id: int, *, now: datetime) -> None:
    """Take a player's word that they are there: seats that the house kept are theirs again."""
    with writing():
        player = db.session.get_one(Player, player_id)
        reached(player, now=now)
        for seat in _running_seats(player):
            if seat.is_kept:
                play.lock(seat.match)
                db.session.refresh(seat)
                play.come_back(seat, now=now)


def stop_mails(address: str, *, now: datetime) -> None:
    """Mail whose address this is no more, as they want; their games go on all the same."""
    with writing():
        for one in lobby.every_address(address):
            suppression.suppress(one, Why.ASKED, now=now)


def want_mails(address: str, *, now: datetime) -> None:
    """Mail whose address this is again, as they want, and first what waits for them."""
    with writing():
        for one in lobby.every_address(address):
            suppression.allow(one)
        player = find_player(address)
        if player is not None:
            _tell_untold(player, now=now)


def bounced(letter_id: int, reason: str, *, now: datetime) -> None:
    """Mark the address of a letter that came back, and stop the clocks that wait for it.

    The caller holds the transaction.
    """
    letter = db.session.get_one(Letter, letter_id)
    player = letter.player
    if letter.kind == "invitation" and letter.seat is not None:
        lobby.take_back(letter.seat, letter.address, reason, now=now)
    if player is None or letter.address != player.address:
        return
    is_news = player.unreachable_at is None
    player.unreachable_at, player.unreachable_why = now, reason[:200]
    for turn in clocks.open_turns(player=player):
        seat = turn.asked
        if clocks.hold_if_unreachable(turn, seat, now=now) or is_news:
            post.notice(turn.match, "unreachable", {"name": seat.name}, but=seat, now=now)


def bounced_softly(letter_id: int, reason: str, *, now: datetime) -> None:
    """Count a letter that came back for a reason that may pass; many in some days are a bounce.

    A letter counts once however often its delay is told. The caller holds the transaction.
    """
    letter = db.session.get_one(Letter, letter_id)
    letter.soft_bounced_at = letter.soft_bounced_at or now
    lately = select(Letter).where(
        Letter.address == letter.address, Letter.soft_bounced_at > now - SOFT_WITHIN
    )
    counted = db.session.scalars(lately).all()
    if len(counted) < MOST_SOFT:
        return
    for one in counted:
        one.soft_bounced_at = None  # once the address is good again, it starts anew
    bounced(letter_id, reason, now=now)


def reached(player: Player, *, now: datetime) -> None:
    """Forget that a player could not be reached. The caller holds the transaction."""
    if player.unreachable_at is None:
        return
    player.unreachable_at = player.unreachable_why = None
    for turn in clocks.open_turns(player=player):
        clocks.cut_stop(turn, "unreachable", now=now)


def plan_digest(player: Player, *, now: datetime) -> None:
    """Note when the next digest of a player is due, where they want one."""
    zone, minute = ZoneInfo(player.zone), player.digest_at
    player.digest_due_at = None if minute is None else deadlines.next_daily(now, minute, zone)


def send_digest(player_id: int, *, now: datetime) -> None:
    """Queue the digest of a player for whom one is due; an empty one is left out."""
    due = select(Player).where(Player.id == player_id, Player.digest_due_at <= now)
    with writing():
        player = db.session.scalar(due.with_for_update())
        if player is None:
            return
        plan_digest(player, now=now)
        turns = [turn for turn in clocks.open_turns(player=player) if turn.asked.is_asked_by_mail]
        gathered = post.gathered(player)
        if turns or gathered:
            post.digest(player, turns, gathered, now=now)


def is_kept_anywhere(player: Player) -> bool:
    """Return whether the house plays for a player in some game."""
    return any(seat.is_kept for seat in _running_seats(player))


def _tell_untold(player: Player, *, now: datetime) -> None:
    """Tell a player of the open turns that no letter told, or none that went out."""
    for turn in clocks.open_turns(player=player):
        told = select(Letter.id).where(
            Letter.turn_id == turn.id,
            Letter.kind.in_(("your_turn", "receipt")),
            Letter.state != LetterState.STALE,
        )
        if db.session.scalar(told.limit(1)) is None:
            post.your_turn(turn.asked, turn, now=now)


def _running_seats(player: Player) -> Sequence[Seat]:
    return db.session.scalars(
        select(Seat)
        .join(Match)
        .where(Seat.player_id == player.id, Match.status == Status.RUNNING)
        .order_by(Seat.match_id)
    ).all()


def _spans(player: Player) -> list[Span]:
    return [Span(one.starts_at, one.ends_at) for one in player.absences]


def _minutes(text: str) -> int | None:
    """Return the minutes after midnight that a field says, None for an empty one."""
    text = text.strip()
    if not text:
        return None
    hours, _, minutes = text.partition(":")
    if not (hours.isdecimal() and minutes.isdecimal() and len(hours) <= 2 == len(minutes)):
        raise BadTime
    if int(hours) > 23 or int(minutes) > 59:
        raise BadTime
    return int(hours) * 60 + int(minutes)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise BadAbsence from None
