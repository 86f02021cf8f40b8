"""Untrusted text on a terminal."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters (C0, DEL and C1) but tab and line feed."""


def escape_controls(text: str) -> str:
    r"""Escape control characters: ESC as `\x1b`.

    Text of a data file, a model or a server could otherwise move the cursor, hide lines or set
    the title of a terminal.
    """
    if text.isprintable():
        return text
    return _CONTROL.sub(lambda sign: f"\\x{ord(sign[0]):02x}", text)


def shorten(text: str, length: int) -> str:
    """The text as one line of at most `length` characters, the last one `…` if some are cut."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
