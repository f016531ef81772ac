"""The rules of each game, in the reader's language, with examples that the engine draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flask import Blueprint, abort, render_template
from flask_babel import get_locale
from markupsafe import Markup

from engine import GAMES
from pbem import words
from pbem.examples import NAMES, example, folder
from pbem.web.drawing import drawn

if TYPE_CHECKING:
    from markdown_it.token import Token

pages = Blueprint("rules", __name__)


@pages.get("/rules/<game_name>")
def rules(game_name: str) -> str:
    """Show the rules of a game."""
    # Imported at the first need: of all pages only these are written in Markdown.
    from markdown_it import MarkdownIt

    if game_name not in GAMES:
        abort(404)
    text = (folder() / f"{game_name}.{get_locale()}.md").read_text(encoding="utf-8")
    markdown = MarkdownIt("js-default")
    markdown.add_render_rule("fence", _fence)
    # Our own pages, and the renderer lets no HTML through.
    body = Markup(markdown.render(text, {"game_name": game_name}))  # noqa: S704
    return render_template("web/rules.html", game=GAMES[game_name], body=body)


def _fence(
    _renderer: object, tokens: Sequence[Token], at: int, _options: object, env: dict[str, Any]
) -> str:
    """Return the figure of an example; our pages have no other fences."""
    name = tokens[at].content.strip()
    shown = example(env["game_name"], name)
    title = " ".join(shown.lines)
    picture = drawn(shown.layout, say=words.speaker(NAMES), title=title, prefix=f"{name}-")
    return render_template("web/example.html", picture=picture, lines=shown.lines)
