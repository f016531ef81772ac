"""What people see when something is not there or went wrong: words, never a traceback."""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING

from flask import Response, make_response, render_template
from flask_babel import gettext
from sqlalchemy.exc import NoResultFound
from werkzeug.exceptions import HTTPException

from engine.errors import SpokenError
from pbem.errors import BadLink, TooOften
from pbem.ext import db

if TYPE_CHECKING:
    from flask import Flask

_log = logging.getLogger(__name__)


def add_to(app: Flask) -> None:
    """Turn every kind of error into a page in words."""
    app.register_error_handler(BadLink, _bad_link)
    app.register_error_handler(NoResultFound, _not_there)
    app.register_error_handler(SpokenError, _refused)
    app.register_error_handler(HTTPException, _http)
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


def _bug(error: Exception) -> tuple[str, int]:
    reference = secrets.token_hex(4)
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
