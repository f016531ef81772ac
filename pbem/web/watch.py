"""What machines ask to watch the server: `/healthz` and `/metrics`. No session, nothing private."""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, abort, current_app, g, jsonify, request
from prometheus_client import CONTENT_TYPE_LATEST

from pbem import health, metrics
from pbem.ext import settings

if TYPE_CHECKING:
    from flask import Flask

    from pbem.metrics import Metrics

_log = logging.getLogger(__name__)

pages = Blueprint("watch", __name__)


def add_to(app: Flask) -> None:
    """Count every request with its page and the time that its answer took."""
    app.before_request(_begin)
    app.after_request(_end)


@pages.get("/healthz")
def healthz() -> tuple[Response, int]:
    """Tell whether all is well: 200, or 503 when something is to be done."""
    try:
        found = health.look(datetime.now(UTC))
    except health.Trouble as trouble:
        _log.warning("not well: %s", trouble)
        return _unstored({"status": "trouble", "database": "trouble"}), 503
    age = found.beat_age
    told = {
        "status": "trouble" if found.troubles else "ok",
        "database": "ok",
        "worker_age_seconds": None if age is None else int(age.total_seconds()),
        "letters_overdue": found.unsent + found.refused,
        "mails_unread": found.unread,
    }
    return _unstored(told), 503 if found.troubles else 200


@pages.get("/metrics")
def figures() -> Response:
    """Return the figures to who has the token; without its setting there is no such page."""
    wanted = settings().metrics_token
    given = request.headers.get("Authorization", "")
    if not wanted:
        abort(404)
    if not hmac.compare_digest(given.encode(), f"Bearer {wanted}".encode()):
        abort(401)
    try:
        told = metrics.of_process(_metrics()) + metrics.of_database(datetime.now(UTC))
    except health.Trouble:
        abort(503)
    return Response(told, content_type=CONTENT_TYPE_LATEST)


def _unstored(told: dict[str, Any]) -> Response:
    answer = jsonify(told)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _begin() -> None:
    g.reference = secrets.token_hex(4)
    g.began = time.monotonic()


def _end(response: Response) -> Response:
    # The page's own name, never the path: that may hold a token.
    page = request.endpoint or "none"
    seconds = time.monotonic() - g.get("began", time.monotonic())
    _metrics().answered(page, response.status_code, seconds)
    _log.debug("%s %s: %s in %d ms", request.method, page, response.status_code, seconds * 1000)
    return response


def _metrics() -> Metrics:
    found: Metrics = current_app.extensions["pbem.metrics"]
    return found
