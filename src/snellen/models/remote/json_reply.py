"""JSON of replies, as servers write it, and quotations from it."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from snellen.core.secret import hide
from snellen.core.terminal_text import shorten

MAX_QUOTE = 300
"""Characters quoted of a server's message."""


def parse_json(body: bytes) -> Any:
    """Decode JSON. Raises only ValueError, also if it is not UTF-8 or nested too deep."""
    try:
        return msgspec.json.decode(body)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _parse_loosely(body)


def _parse_loosely(body: bytes) -> Any:
    """Decode what strict JSON forbids: NaN, and unpaired surrogates, which become question marks
    since UTF-8 cannot encode them."""
    try:
        value = json.loads(body.decode("utf-8-sig"))
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def quote(value: object, max_length: int = MAX_QUOTE) -> str:
    """Quote a server in a message: one line, keys removed before it is truncated."""
    try:
        text = value if isinstance(value, str) else str(value)
    except RecursionError:
        return "a deeply nested value"
    return shorten(hide(text), max_length)
