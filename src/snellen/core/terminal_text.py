"""Texts of others on a terminal."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters (C0, DEL and C1) but tab and line feed."""


def escape_controls(text: str) -> str:
    r"""The text with control characters in letters: ESC as `\x1b`.

    What a data file, a model or a server says may move the cursor, hide lines or set the title of
    a terminal; printed so, it does not.
    """
    if text.isprintable():
        return text
    return _CONTROL.sub(lambda sign: f"\\x{ord(sign[0]):02x}", text)
