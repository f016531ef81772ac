"""The server's own addresses: links into its pages, and addresses that take replies."""

from __future__ import annotations

from urllib.parse import quote
from zlib import crc32

from pbem.ext import settings, tokens
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
        return f"{self._base}/i/{self._tokens.link('invitation', seat.id, whose(seat.invited))}"

    def join(self, match: Match) -> str:
        """Return the link that may be shared, to any free seat of a table."""
        return f"{self._base}/j/{self._tokens.link('join', match.id)}"

    def seat(self, seat: Seat) -> str:
        """Return a seat's own link, to what it knows and may do now.

        It is its player's: who takes the seat over gets another one.
        """
        return f"{self._base}/s/{self._tokens.link('seat', seat.id, seat.player_id or 0)}"

    def move(self, turn: Turn, n: int) -> str:
        """Return the link of a seat's player to the n-th move of a turn."""
        player_id = turn.asked.player_id or 0
        return f"{self._base}/m/{self._tokens.link('move', turn.id, n, player_id)}"

    def rematch(self, seat: Seat) -> str:
        """Return the link by which a seat's player asks the same people once more."""
        return f"{self._base}/r/{self._tokens.link('rematch', seat.id, seat.player_id or 0)}"

    def you(self, player: Player) -> str:
        """Return a player's own page: their times, absences, and "I am back"."""
        return f"{self._base}/y/{self._tokens.link('you', player.id)}"

    def feed(self, player: Player) -> str:
        """Return a player's private calendar of deadlines."""
        return f"{self._base}/c/{self._tokens.link('feed', player.id)}.ics"

    def yes(self, proposed: Proposal, seat: Seat) -> str:
        """Return the link by which a seat agrees to a proposal."""
        player_id = seat.player_id or 0
        return f"{self._base}/p/{self._tokens.link('yes', proposed.id, seat.id, player_id)}"

    def confirm(self, letter: Letter) -> str:
        """Return the link to the button that plays the move which a letter asks about."""
        return f"{self._base}/h/{self._tokens.link('confirm', letter.id)}"

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
        """Return a letter's envelope sender, where it comes back to if it can't arrive."""
        return self._address(self._site.bounce_local, Named.LETTER, letter_id)

    def _address(self, local: str, named: Named, number: int) -> str:
        token = self._tokens.address(named, number)
        return f"{local}{self._site.separator}{token}@{self._site.mail_domain}"


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
