"""What can go wrong for a person, in words. The docstring of a class is its message."""

from __future__ import annotations

from engine.errors import SpokenError


class PbemError(SpokenError):
    """that did not work; nothing was changed"""


class StaleMove(PbemError):
    """that move was already made; here is the game as it stands"""


class TurnOver(PbemError):
    """that turn is over; here is the game as it stands"""


class MatchOver(PbemError):
    """this game is over; here is how it ended"""


class BadLink(PbemError):
    """this link is not complete, or was not made here; open it again from the mail"""


class OldLink(BadLink):
    """this link was used already, or is too old; ask for another one"""


class ReplacedLink(BadLink):
    """this link was replaced by a new one; open that of your latest letter"""


class AccountGone(BadLink):
    """this account was deleted, and its links with it"""


class ForeignSeat(PbemError):
    """this link belongs to another player's seat; open your own from your mail"""


class SeatTaken(PbemError):
    """somebody else sits there already"""


class SeatedAlready(PbemError):
    """you have a seat at this table already"""


class TableClosed(PbemError):
    """this table no longer waits for players"""


class BadAddress(PbemError):
    """that does not look like a mail address; write it as name@example.org"""


class AddressTaken(PbemError):
    """this address is another player's already; nothing was changed"""


class TooMany(PbemError):
    """that is more than a day allows; try again tomorrow"""


class TooOften(PbemError):
    """that was asked for too often; nothing is lost, try again in %(minutes)s minutes"""

    @property
    def seconds(self) -> int:
        """Return when it may be tried again."""
        hours, minutes = (int(str(self.fields.get(name, 0))) for name in ("hours", "minutes"))
        return hours * 3600 + minutes * 60


class BadSeats(PbemError):
    """the seats do not fit the game; choose as many as it is for"""


class BadPace(PbemError):
    """the time for a move is a whole number of hours, from 1 to 720"""


class BadPhrase(PbemError):
    """a phrase has at most 100 characters, on one line"""


class BadTime(PbemError):
    """a time is written as hours and minutes, as 22:00"""


class BadAbsence(PbemError):
    """an absence has a first and a last day, written as 2026-12-24"""


class BadChoice(PbemError):
    """that is not one of the choices"""


class NotYours(PbemError):
    """that is not yours to do at this table"""


class BadZone(PbemError):
    """that time zone is unknown; write it as Europe/Paris"""


class CannotTakeBack(PbemError):
    """there is no move of yours to take back: it must be the last one of the table"""


class TooManyOrders(PbemError):
    """so many orders wait already; cancel some first"""


class BadTalk(PbemError):
    """that can't be said; write it anew"""


class NobodyThere(PbemError):
    """nobody here is called %(name)s; there are: %(names)s"""
