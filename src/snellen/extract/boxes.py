r"""The contents of every `\boxed{...}` of a text."""

from __future__ import annotations

_OPENING = r"\boxed{"
_MAX_BOXES = 200
_MAX_NESTED = 4
"""A reply that repeats itself endlessly has no more answers."""


def boxed_texts(text: str) -> list[str]:
    """The contents of the boxes in their order, without empty ones and those that are not closed;
    of a box within a box the inner one."""
    found: list[str] = []
    start = text.find(_OPENING)
    while start >= 0 and len(found) < _MAX_BOXES:
        inside = start + len(_OPENING)
        end = closing_brace(text, inside)
        if end is None:
            break
        content = _innermost(text[inside:end]).strip()
        found += [content] if content else []
        start = text.find(_OPENING, end)
    return found


def _innermost(content: str) -> str:
    for _ in range(_MAX_NESTED):
        start = content.find(_OPENING)
        end = closing_brace(content, start + len(_OPENING)) if start >= 0 else None
        if end is None:
            break
        content = content[start + len(_OPENING) : end]
    return content


def closing_brace(text: str, start: int = 0) -> int | None:
    """The position of the brace that closes the one before `start`; None if there is none."""
    depth = 1
    for position in range(start, len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if not depth:
            return position
    return None
