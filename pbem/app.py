"""Builds the application: settings, extensions, words, pages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flask import Flask, has_request_context, request
from flask_babel import get_locale
from markupsafe import Markup
from sqlalchemy.engine import make_url

from pbem import config, words
from pbem.ext import babel, db, engine_options, migrate, prepare_sqlite, settings
from pbem.mail.parser import Parser
from pbem.mail.smtp import Postman
from pbem.metrics import Metrics
from pbem.samples import Shelf
from pbem.tableau import card_svg
from pbem.tokens import Tokens
from pbem.web.proxies import Proxies
from pbem.web.security import IDLE, signed_in

if TYPE_CHECKING:
    from engine.decktet import Card
    from pbem.config import Settings

_HERE: Final = Path(__file__).parent


def build(given: Settings | None) -> Flask:
    """Return the application for these settings, or for those of its instance folder."""
    templates = _beside("templates")
    app = Flask("pbem", template_folder=str(templates), static_folder=str(_HERE / "web/static"))
    found = given or config.load(default_instance())
    app.config.from_mapping(
        SECRET_KEY=found.secret_keys[-1],
        SECRET_KEY_FALLBACKS=list(found.secret_keys[:-1]),
        SQLALCHEMY_DATABASE_URI=found.database,
        SQLALCHEMY_ENGINE_OPTIONS=engine_options(found.database),
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=found.base_url.startswith("https:"),
        PERMANENT_SESSION_LIFETIME=IDLE,
        MAX_CONTENT_LENGTH=1024 * 1024,
        BABEL_DEFAULT_LOCALE=found.language,
        BABEL_TRANSLATION_DIRECTORIES=str(_HERE / "translations"),
        MAIL_SERVER=found.smtp_host,
        MAIL_PORT=found.smtp_port,
        MAIL_USE_TLS=found.smtp_security == "starttls",
        MAIL_USE_SSL=found.smtp_security == "tls",
        MAIL_USERNAME=found.smtp_username or None,
        MAIL_PASSWORD=found.smtp_password or None,
        MAIL_DEFAULT_SENDER=found.sender,
        MAIL_SUPPRESS_SEND=False,
    )
    app.extensions["pbem.settings"] = found
    app.extensions["pbem.tokens"] = Tokens(found.secret_keys)
    app.extensions["pbem.postman"] = Postman(app, timeout=found.smtp_timeout)
    app.extensions["pbem.parser"] = Parser()
    app.extensions["pbem.metrics"] = Metrics()
    app.extensions["pbem.samples"] = Shelf(build, found)
    _add_database(app)
    _add_words(app)
    _add_pages(app)
    app.wsgi_app = Proxies(app.wsgi_app, found.trusted_proxies)  # type: ignore[method-assign]
    return app


def default_instance() -> Path:
    """Return the folder for local data: PBEM_INSTANCE, or Flask's own choice.

    That is beside the checkout, or under the prefix's var/.
    """
    return Path(os.environ.get("PBEM_INSTANCE") or Flask("pbem").instance_path).absolute()


def migrations() -> Path:
    """Return the folder of the database's migrations."""
    return _beside("migrations")


def _beside(name: str) -> Path:
    """Return a data folder: inside the package when installed, else beside it."""
    inside = _HERE / name
    return inside if inside.is_dir() else _HERE.parent / name


def _add_database(app: Flask) -> None:
    url = make_url(app.config["SQLALCHEMY_DATABASE_URI"])
    if url.get_backend_name() == "sqlite" and url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    db.init_app(app)
    migrate.init_app(app, db, directory=str(migrations()))
    if url.get_backend_name() == "sqlite":
        with app.app_context():
            prepare_sqlite(db.engine)


def _add_words(app: Flask) -> None:
    babel.init_app(app, locale_selector=_language)  # type: ignore[no-untyped-call]
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters.update(
        card_line=words.card_line,
        card_title=words.card_title,
        quoted=words.quoted,
        total=words.total,
        moment=words.moment,
        span=words.span,
        wrap=words.wrap,
        listed=words.listed,
    )
    app.jinja_env.globals.update(
        get_locale=get_locale,
        language_name=words.language_name,
        site_name=lambda: settings().site_name,
        card_svg=_card,
    )


def _card(card: Card) -> Markup:
    # Our own drawing: nothing in it comes from people.
    return Markup(card_svg(card))  # noqa: S704


def _language() -> str | None:
    if not has_request_context():
        return None  # letters force their reader's language
    player = signed_in()
    if player is not None:
        return player.language
    # The library's own choice takes "en;q=0.5" before "fr-CA".
    asked = (tag.partition("-")[0].lower() for tag, quality in request.accept_languages if quality)
    return next((language for language in asked if language in config.LANGUAGES), None)


def _add_pages(app: Flask) -> None:
    # Imported here: pages import this module's application through Flask's globals.
    from pbem.web import add_pages

    add_pages(app)
