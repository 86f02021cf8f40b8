"""Labels before the texts of options and gold answers: "A. red"."""

from __future__ import annotations

import re

_LABEL_PREFIX = re.compile(r"\(?([A-Z])[.):]\s+|\(([A-Z])\)\s*")


def strip_label(text: str, label: str) -> str:
    """The text of an option without its own label: "red" of "A. red" or "(A) red"."""
    match = _LABEL_PREFIX.match(text)
    return text[match.end() :] if match and label in match.groups() else text


def label_of(gold: str) -> str | None:
    """The label at the beginning of a gold answer: A of "A. red", "(A) red" and "A"."""
    bare = gold.strip()
    if len(bare) == 1 and bare.isascii() and bare.isupper():
        return bare
    match = _LABEL_PREFIX.match(bare)
    return next((label for label in match.groups() if label), None) if match else None
