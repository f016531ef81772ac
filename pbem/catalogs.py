"""Collecting words for the catalogs: the messages that stand in errors' docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, BinaryIO


def docstrings(
    file: BinaryIO,
    _keywords: Any,
    _comment_tags: Any,
    options: Any,  # noqa: ARG001 - Babel names it
) -> Iterator[tuple[int, None, str, list[str]]]:
    """Yield the docstring of each error class of a module, as Babel's extractors do."""
    for node in ast.parse(file.read()).body:
        # An error derives from another; what derives from nothing is no error.
        if isinstance(node, ast.ClassDef) and node.bases:
            yield node.lineno, None, ast.get_docstring(node) or "", []
