"""What people see when something is not there or went wrong: words, never a traceback."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from flask import Response, g, make_response, render_template
from flask_babel import gettext
from sqlalchemy.exc import (
    DBAPIError,
    InterfaceError,
    NoResultFound,
    OperationalError,
    TimeoutError,  # noqa: A004 - of the pool, under the name that its library gives it
)
from werkzeug.exceptions import HTTPException

from engine.errors import SpokenError
from pbem.errors import BadLink, TooOften
from pbem.ext import db

if TYPE_CHECKING:
    from flask import Flask

RETRY_AFTER: Final = "60"  # seconds

_log = logging.getLogger(__name__)


def add_to(app: Flask) -> None:
    """Turn every kind of error into a page in words."""
    app.register_error_handler(BadLink, _bad_link)
    app.register_error_handler(NoResultFound, _not_there)
    app.register_error_handler(SpokenError, _refused)
    app.register_error_handler(HTTPException, _http)
    for kind in (OperationalError, InterfaceError, TimeoutError):
        app.register_error_handler(kind, _away)
    app.register_error_handler(Exception, _bug)


def in_words(error: SpokenError) -> str:
    """Return an error's message in the reader's language, as a sentence."""
    text = gettext(error.pattern, **error.fields)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def refused(page: str | Response, error: SpokenError, *, status: int) -> Response:
    """Return a page that says what is wrong; who asks too often is told when to come again."""
    answer = make_response(page)
    answer.status_code = status
    if isinstance(error, TooOften):
        answer.status_code = 429
        answer.headers["Retry-After"] = str(error.seconds)
    return answer


def _page(status: int, heading: str, words: str) -> tuple[str, int]:
    return render_template("web/message.html", heading=heading, words=words), status


def _bad_link(error: BadLink) -> tuple[str, int]:
    return _page(404, gettext("This link does not work"), in_words(error))


def _refused(error: SpokenError) -> Response:
    page, status = _page(409, gettext("Not done"), in_words(error))
    return refused(page, error, status=status)


def _not_there(_error: Exception) -> tuple[str, int]:
    words = gettext("There is no such page. Perhaps the address was cut off in a mail.")
    return _page(404, gettext("Not found"), words)


def _http(error: HTTPException) -> tuple[str, int]:
    if error.code == 404:
        return _not_there(error)
    if error.code == 400 and error.description == "form":
        words = gettext("The page was open for too long, or in another window. Try once more.")
        return _page(400, gettext("Not done"), words)
    if error.code == 413:
        return _page(413, gettext("Not done"), gettext("That was too much at once."))
    return _page(error.code or 500, gettext("Not done"), gettext("The server can't do that."))


def _away(error: DBAPIError | TimeoutError) -> tuple[str, int, dict[str, str]]:
    """Tell people to try again, and the log why, when the database is away or too busy."""
    # Without the statement, which tells a host nothing; of a pool there is none.
    _log.error("the database is away or too busy: %s", getattr(error, "orig", None) or error)
    db.session.rollback()
    # The page's language would ask who is signed in, and the database can't tell.
    g.database_is_away = True
    words = gettext(
        "The server can't get at its games just now. Wait a minute, then try once more: what"
        " was done already is not done twice."
    )
    try:
        return *_page(503, gettext("Not now"), words), {"Retry-After": RETRY_AFTER}
    finally:
        del g.database_is_away


def _bug(error: Exception) -> tuple[str, int]:
    reference = g.get("reference", "")
    _log.error("error page %s", reference, exc_info=error)
    db.session.rollback()
    try:
        return _bug_page(reference)
    except Exception:  # noqa: BLE001 - the outermost place: a page may need just what has failed
        _log.exception("error page %s could not be made", reference)
        db.session.rollback()
        return f"Something went wrong here. Tell the host this number: {reference}.\n", 500


def _bug_page(reference: str) -> tuple[str, int]:
    words = gettext(
        "Something went wrong here, and nothing was changed. If it happens again, tell the"
        " host this number: %(reference)s.",
        reference=reference,
    )
    return _page(500, gettext("Our fault"), words)
