"""Mail in by web: addresses that Mailgun and Postmark post to. Without its setting, none is there.

No cookie and no form token: the provider proves itself by a signature or by a secret in
the address. Whoever posts the same mail again is told 200 again, and it is taken once.
"""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, abort, request

from pbem.ext import settings
from pbem.mail import inbox, note

if TYPE_CHECKING:
    from collections.abc import Mapping

# Forms may write a byte as three characters, and Postmark posts each mail twice over.
MOST_BYTES: Final = 4 * note.MAIL
WINDOW: Final = 120  # seconds for which a signature is good

pages = Blueprint("hooks", __name__, url_prefix="/hooks")


@pages.before_request
def allow_mails() -> None:
    """Let in more than a page's form may have."""
    request.max_content_length = request.max_form_memory_size = MOST_BYTES


# Mailgun posts whole mails only to addresses that end in "mime".
@pages.post("/mailgun")
@pages.post("/mailgun/mime")
def mailgun() -> Response:
    """Take a mail from a Mailgun route; all but 200 and 406 make Mailgun try again."""
    key = settings().mailgun_signing_key
    if not key:
        abort(404)
    if not _is_signed(request.form, key, now=datetime.now(UTC)):
        return _words(401, "the signature is wrong or older than two minutes")
    mail = request.form.get("body-mime")
    if not mail:
        return _words(422, "there is no body-mime; let the route's address end in /mime")
    return _taken(
        mail, request.form.get("recipient", ""), request.form.get("sender", ""), refusal=406
    )


@pages.post("/postmark/<secret>")
def postmark(secret: str) -> Response:
    """Take a mail from Postmark; all but 200 and 403 make Postmark try again."""
    wanted = settings().postmark_secret
    if not wanted or not hmac.compare_digest(secret.encode(), wanted.encode()):
        abort(404)
    given = request.get_json(silent=True)
    fields = given if isinstance(given, dict) else {}
    mail = fields.get("RawEmail")
    if not mail:
        return _words(422, 'there is no RawEmail; switch on "Include raw email content in JSON"')
    return _taken(str(mail), str(fields.get("OriginalRecipient", "")), "", refusal=403)


def _is_signed(form: Mapping[str, str], key: str, *, now: datetime) -> bool:
    """Return whether Mailgun has signed this lately.

    The signature does not cover the mail, so it may come again with another one. That
    gives no power that whoever sends us a mail has not, so tokens are not remembered.
    """
    timestamp, token = form.get("timestamp", ""), form.get("token", "")
    wanted = hmac.digest(key.encode(), f"{timestamp}{token}".encode(), "sha256").hex()
    if not hmac.compare_digest(wanted.encode(), form.get("signature", "").encode()):
        return False
    return timestamp.isdecimal() and abs(now.timestamp() - int(timestamp)) <= WINDOW


def _taken(mail: str, recipient: str, sender: str, *, refusal: int) -> Response:
    """Store a mail and say so; ``refusal`` is the code after which it is not sent again."""
    raw = mail.encode("utf-8", "surrogatepass")
    if len(raw) > note.MAIL:
        return _words(refusal, "the mail is larger than 1 MB")
    envelope, now = inbox.Envelope(recipient, sender), datetime.now(UTC)
    inbox.admit(envelope, now=now)
    inbox.take(raw, envelope, now=now)
    return _words(200, "taken")


def _words(status: int, words: str) -> Response:
    return Response(f"{words}\n", status, mimetype="text/plain")
