"""What pages have in common that a token opens: GET never writes, POST is a person's."""

from __future__ import annotations

from flask import Blueprint, Response, make_response, redirect, render_template

from pbem.web.security import ask_who, keep_private, remember_device


def token_pages(name: str) -> Blueprint:
    """Return a blueprint of such pages: who acts is asked once, and nobody keeps the page."""
    pages = Blueprint(name, __name__)
    pages.before_request(ask_who)
    pages.after_request(remember_device)
    pages.after_request(keep_private)
    return pages


def page(template: str, *, status: int = 200, **values: object) -> Response:
    """Return a page as a response, which the blueprint marks as private."""
    return make_response(render_template(template, **values), status)


def moved(url: str) -> Response:
    """Lead on after something was done."""
    return make_response(redirect(url, code=303))
