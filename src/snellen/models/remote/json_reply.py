"""The JSON of replies, as servers write it, and short quotations from it."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from snellen.core.secret import hide

MAX_QUOTE = 300
"""Characters kept of a server's message."""


def parse_json(body: bytes) -> Any:
    """The JSON of a reply. Raises ValueError alone, also for what is not UTF-8 or nested so deep
    that it cannot be read."""
    try:
        return msgspec.json.decode(body)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _parse_loosely(body)


def _parse_loosely(body: bytes) -> Any:
    """What strict JSON forbids: NaN, and half a surrogate pair, which becomes a question mark: no
    file can hold it."""
    try:
        loose = json.loads(body.decode("utf-8-sig"))
        whole = json.dumps(loose, ensure_ascii=False).encode("utf-8", "replace")
        return json.loads(whole)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def quote(value: object, max_length: int = MAX_QUOTE) -> str:
    """Words of a server for a message: one line, without keys, and then cut."""
    try:
        text = value if isinstance(value, str) else str(value)
    except RecursionError:
        return "a deeply nested value"
    line = " ".join(hide(text).split())
    return line if len(line) <= max_length else line[: max_length - 1] + "…"
