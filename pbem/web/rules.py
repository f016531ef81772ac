"""The rules of each game, in the reader's language."""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, abort, current_app, render_template
from flask_babel import get_locale
from markdown_it import MarkdownIt
from markupsafe import Markup

from engine import GAMES

pages = Blueprint("rules", __name__)


@pages.get("/rules/<game_name>")
def rules(game_name: str) -> str:
    """Show the rules of a game."""
    if game_name not in GAMES:
        abort(404)
    folder = Path(current_app.root_path, current_app.template_folder or "") / "games"
    text = (folder / f"{game_name}.{get_locale()}.md").read_text(encoding="utf-8")
    # Our own pages, and the renderer lets no HTML through.
    body = Markup(MarkdownIt("js-default").render(text))  # noqa: S704
    return render_template("web/rules.html", game=GAMES[game_name], body=body)
