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
from sqlalchemy import exists, or_, select

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
        all_over=_all_over(),
        zone=the_player().zone,
    )


@pages.get("/mail/<int:number>")
def mail(number: int) -> str:
    """Show one mail with its reply box."""
    found = _mail(number)
    _mailbox().mark_read(number)
    shown = request.args.get("as", "html")
    return render_template(
        "web/demo/mail.html", mail=found, shown=shown, source=found.message.as_string()
    )


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
    data = _mail(number).picture(content_id)
    if data is None:
        abort(404)
    return Response(data, mimetype="image/png")


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
    message = _reply(found, request.form.get("text", ""))
    with smtplib.SMTP(site.listen_host, site.listen_port, timeout=10) as relay:
        relay.send_message(message)
    return make_response(redirect(url_for("demo.mailbox"), code=303))


@pages.post("/new")
def new() -> Response:
    """Open another game."""
    check_form()
    bots = min(max(request.form.get("bots", type=int, default=2), 1), 3)
    open_game(the_player(), request.form.get("game", "biscuit"), bots, now=datetime.now(UTC))
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


def _all_over() -> bool:
    running = exists().where(Match.status == Status.RUNNING)
    return not db.session.scalar(select(running))


def _reply(mail: Mail, text: str) -> EmailMessage:
    """Return the reply as mail programs write it: the text above, the letter quoted below."""
    letter = mail.message
    message = EmailMessage(policy=SMTP)
    message["From"] = ADDRESS
    message["To"] = str(letter["Reply-To"] or letter["From"])
    message["Subject"] = f"Re: {letter['Subject']}"
    message["Date"] = format_datetime(datetime.now(UTC))
    message["Message-ID"] = make_msgid(domain=ADDRESS.partition("@")[2])
    message["In-Reply-To"] = str(letter["Message-ID"])
    quoted = "\n".join(f"> {line}" for line in mail.text.splitlines())
    message.set_content(f"{text}\n\nOn {letter['Date']}, {letter['From']} wrote:\n\n{quoted}\n")
    return message
