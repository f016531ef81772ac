"""The demo's mailbox as a mail program shows it, and its reply box."""

from __future__ import annotations

import re
import smtplib
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid

from flask import (
    Blueprint,
    Response,
    abort,
    current_app,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask_babel import gettext
from sqlalchemy import exists, or_, select

from engine import GAMES
from pbem.demo.mailbox import Mail, Mailbox
from pbem.demo.player import ADDRESS, open_game, the_player
from pbem.ext import db, settings
from pbem.models import Letter, LetterState, Match, Note, Seat, Status, Turn
from pbem.web.security import check_form

# The mail's own styles are wanted, scripts and foreign addresses are not.
_LETTER_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; frame-ancestors 'self'"
)

pages = Blueprint("demo", __name__, url_prefix="/demo")


@pages.get("/")
def mailbox() -> str:
    """List the mails, the newest first."""
    # Asked first: what arrives in between is in the list then, and not waited for in vain.
    waits = _waits()
    return render_template(
        "web/demo/mailbox.html",
        mails=_mailbox().all(),
        waits=waits,
        was_sent="sent" in request.args,
        games=() if _has_game() else GAMES.values(),
        zone=the_player().zone,
    )


@pages.get("/mail/<int:number>")
def mail(number: int) -> str:
    """Show one mail with its reply box."""
    found = _mail(number)
    _mailbox().mark_read(number)
    return _page(found)


@pages.get("/mail/<int:number>/html")
def html(number: int) -> Response:
    """Return the HTML part for a frame, its pictures from this mailbox."""
    found = _mail(number)

    def local(match: re.Match[str]) -> str:
        return url_for("demo.picture", number=number, content_id=match[1])

    page = re.sub(r"cid:([^\"']+)", local, found.html)
    response = make_response(page.replace("<head>", '<head><base target="_top">', 1))
    response.headers["Content-Security-Policy"] = _LETTER_POLICY
    return response


@pages.get("/mail/<int:number>/picture/<content_id>")
def picture(number: int, content_id: str) -> Response:
    """Return a picture of the mail."""
    found = _mail(number).picture(content_id)
    if found is None:
        abort(404)
    return Response(found.get_content(), mimetype=found.get_content_type())


@pages.get("/mail/<int:number>/file/<int:nth>")
def file(number: int, nth: int) -> Response:
    """Hand out an attached file."""
    files = _mail(number).files
    if nth >= len(files):
        abort(404)
    data = files[nth].get_payload(decode=True)
    response = Response(data, mimetype=files[nth].get_content_type())
    response.headers.set("Content-Disposition", "attachment", filename=files[nth].get_filename())
    return response


@pages.post("/mail/<int:number>/reply")
def reply(number: int) -> Response:
    """Send the reply as a real mail to where the letter wants it."""
    check_form()
    found = _mail(number)
    site = settings()
    text = request.form.get("text", "")
    try:
        with smtplib.SMTP(site.listen_host, site.listen_port, timeout=10) as relay:
            relay.send_message(_reply(found, text))
    except (smtplib.SMTPException, OSError) as error:
        problem = gettext("It could not be sent: %(why)s", why=_why(error))
        return make_response(_page(found, problem=problem, text=text), 409)
    return make_response(redirect(url_for("demo.mailbox", sent=1), code=303))


@pages.post("/new")
def new() -> Response:
    """Open another game."""
    check_form()
    game = request.form.get("game", "")
    if game not in GAMES:
        abort(404)
    bots = request.form.get("bots", type=int, default=2)
    options = dict.fromkeys(request.form.getlist("option"), True)
    open_game(the_player(), game, bots, options, now=datetime.now(UTC))
    return make_response(redirect(url_for("demo.mailbox"), code=303))


def _mailbox() -> Mailbox:
    found: Mailbox = current_app.extensions["pbem.demo.mailbox"]
    return found


def _mail(number: int) -> Mail:
    found = _mailbox().get(number)
    if found is None:
        abort(404)
    return found


def _waits() -> bool:
    """Return whether mail is on its way: a bot is asked, a reply unread or a letter unsent."""
    bots_turn = select(Turn.id).where(
        Turn.closed_at.is_(None),
        Turn.match_id == Seat.match_id,
        Turn.seat == Seat.number,
        Seat.bot.is_not(None),
    )
    reply = select(Note.id).where(Note.read_at.is_(None))
    letter = select(Letter.id).where(
        Letter.state.in_((LetterState.QUEUED, LetterState.SENDING)),
    )
    return bool(db.session.scalar(select(or_(*map(exists, (bots_turn, reply, letter))))))


def _page(found: Mail, *, problem: str = "", text: str = "") -> str:
    shown = request.args.get("as", "html")
    return render_template(
        "web/demo/mail.html", mail=found, shown=shown, problem=problem, text=text
    )


def _has_game() -> bool:
    running = exists().where(Match.status == Status.RUNNING)
    return bool(db.session.scalar(select(running)))


def _why(error: Exception) -> str:
    """Return the other server's words for what it did not take."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return "; ".join(words.decode(errors="replace") for _, words in error.recipients.values())
    return str(error)


def _reply(mail: Mail, text: str) -> EmailMessage:
    """Return the reply as mail programs write it: the text above, the letter quoted below."""
    letter = mail.message
    message = EmailMessage(policy=SMTP)
    # Whoever got the letter answers it: a table can have guests, and all mail comes here.
    message["From"] = str(letter["To"])
    message["To"] = str(letter["Reply-To"] or letter["From"])
    message["Subject"] = f"Re: {letter['Subject']}"
    message["Date"] = format_datetime(datetime.now(UTC))
    message["Message-ID"] = make_msgid(domain=ADDRESS.partition("@")[2])
    message["In-Reply-To"] = str(letter["Message-ID"])
    quoted = "\n".join(f"> {line}" for line in mail.text.splitlines())
    message.set_content(f"{text}\n\nOn {letter['Date']}, {letter['From']} wrote:\n\n{quoted}\n")
    return message
