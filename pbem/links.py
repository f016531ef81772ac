"""The server's own addresses: links into its pages, and addresses that take replies."""

from __future__ import annotations

from urllib.parse import quote
from zlib import crc32

from pbem.ext import db, settings, tokens
from pbem.models import Letter, Match, Player, Proposal, Seat, Turn
from pbem.tokens import Named


class Links:
    """Makes whole links; only the configured address ever stands in them."""

    def __init__(self) -> None:
        """Take the running application's settings and keys."""
        self._site = settings()
        self._tokens = tokens()
        self._base = self._site.base_url.rstrip("/")

    def sign_in(self, token: str) -> str:
        """Return the link that signs a player in."""
        return f"{self._base}/sign-in/{token}"

    def add_address(self, token: str) -> str:
        """Return the link by which an address becomes one of a player's."""
        return f"{self._base}/a/{token}"

    def invitation(self, seat: Seat) -> str:
        """Return the link to sit down or decline at a seat that is reserved for an address."""
        # Who sits there is led on to their seat, so that it is replaced with the seat's links.
        return f"{self._base}/i/{self._of_seat('invitation', seat, seat.id, whose(seat.invited))}"

    def join(self, match: Match) -> str:
        """Return the link that may be shared, to any free seat of a table."""
        return f"{self._base}/j/{self._tokens.link('join', match.id)}"

    def seat(self, seat: Seat) -> str:
        """Return a seat's own link, to what it knows and may do now.

        It is its player's: who takes the seat over gets another one.
        """
        return f"{self._base}/s/{self._of_seat('seat', seat, seat.id, seat.player_id or 0)}"

    def move(self, turn: Turn, n: int) -> str:
        """Return the link of a seat's player to the n-th move of a turn."""
        seat = turn.asked
        return f"{self._base}/m/{self._of_seat('move', seat, turn.id, n, seat.player_id or 0)}"

    def rematch(self, seat: Seat) -> str:
        """Return the link by which a seat's player asks the same people once more."""
        return f"{self._base}/r/{self._of_seat('rematch', seat, seat.id, seat.player_id or 0)}"

    def you(self, player: Player) -> str:
        """Return a player's own page: their times, absences, and "I am back"."""
        return f"{self._base}/y/{self._tokens.link('you', player.id, renewed=player.renewed)}"

    def feed(self, player: Player) -> str:
        """Return a player's private calendar of deadlines."""
        return f"{self._base}/c/{self._tokens.link('feed', player.id, renewed=player.renewed)}.ics"

    def yes(self, proposed: Proposal, seat: Seat) -> str:
        """Return the link by which a seat agrees to a proposal."""
        ids = (proposed.id, seat.id, seat.player_id or 0)
        return f"{self._base}/p/{self._of_seat('yes', seat, *ids)}"

    def confirm(self, letter: Letter) -> str:
        """Return the link to the button that plays the move which a letter asks about."""
        assert letter.seat is not None, "it is for a seat"
        return f"{self._base}/h/{self._of_seat('confirm', letter.seat, letter.id)}"

    def stop(self, letter: Letter) -> str:
        """Return the link by which whoever got a letter wants no more of them, or all again."""
        return f"{self._base}/u/{self._tokens.link('stop', letter.id)}"

    def move_by_mail(self, turn: Turn, text: str) -> str:
        """Return a link that opens a reply with the move's text in it, ready to be sent."""
        address = self.reply(Named.TURN, turn.id)
        subject = f"{turn.match.code}: {text}"
        return f"mailto:{address}?subject={quote(subject)}&body={quote(text)}"

    def match(self, match: Match) -> str:
        """Return a table's page; it may be shared and holds no token."""
        return f"{self._base}/g/{match.code}"

    def record(self, match: Match) -> str:
        """Return where a table's record is downloaded."""
        return f"{self.match(match)}/record.json"

    def rules(self, match: Match) -> str:
        """Return the page with the rules of a match's game."""
        return f"{self._base}/rules/{match.game}"

    def reply(self, named: Named, number: int) -> str:
        """Return the address that takes replies about a turn or a seat."""
        return self._address(self._site.reply_local, named, number)

    def bounce(self, letter_id: int) -> str:
        """Return a letter's envelope sender, where it comes back to if it can't arrive.

        People answer to it too, so that it is replaced with the links of the letter's seat.
        """
        return self._address(self._site.bounce_local, Named.LETTER, letter_id)

    def _of_seat(self, purpose: str, seat: Seat, *ids: int) -> str:
        return self._tokens.link(purpose, *ids, renewed=seat.renewed)

    def _address(self, local: str, named: Named, number: int) -> str:
        seat = seat_named(named, number)
        token = self._tokens.address(named, number, renewed=0 if seat is None else seat.renewed)
        return f"{local}{self._site.separator}{token}@{self._site.mail_domain}"


def seat_named(named: Named, number: int) -> Seat | None:
    """Return the seat that an address token is about; None if there is none."""
    match named:
        case Named.SEAT:
            return db.session.get(Seat, number)
        case Named.TURN:
            turn = db.session.get(Turn, number)
            return None if turn is None else turn.asked
        case Named.LETTER:
            letter = db.session.get(Letter, number)
            return None if letter is None else letter.seat


def whose(address: str | None) -> int:
    """Return a number for an address, by which a link knows whom it was mailed to."""
    return crc32((address or "").encode())


def token_in(address: str) -> str | None:
    """Return the token of one of our reply or envelope addresses, or None."""
    site = settings()
    local, _, domain = address.strip().strip("<>.").lower().rpartition("@")
    name, separator, token = local.partition(site.separator)
    if domain != site.mail_domain.lower() or not separator:
        return None
    # Some programs glue the dots of a sentence on.
    ours = (site.reply_local.lower(), site.bounce_local.lower())
    return token.strip(".") if name in ours else None


def is_ours(address: str) -> bool:
    """Return whether an address holds a token that we made."""
    token = token_in(address)
    return token is not None and tokens().read_address(token) is not None
