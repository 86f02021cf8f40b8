"""Texts and tables as Markdown (CommonMark, with the tables of GitHub)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_SIGNS = re.compile(r"[\\`*_{}\[\]<>|~]|&(?=#?\w+;)")


def literal(text: str) -> str:
    """A text escaped so that Markdown shows it unchanged, in a line or in a table's cell; its white
    space is folded."""
    return _SIGNS.sub(r"\\\g<0>", " ".join(text.split()))


def bullets(texts: Iterable[str]) -> list[str]:
    """The lines of a bullet list of plain texts."""
    return [f"- {literal(text)}" for text in texts]


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()
) -> Iterator[str]:
    """The lines of a table of plain texts. The columns numbered in `right`, from 0, hold numbers
    and are aligned to the right."""
    to_the_right = set(right)
    yield _line(headings)
    marks = ("---:" if column in to_the_right else "---" for column in range(len(headings)))
    yield f"| {' | '.join(marks)} |"
    yield from map(_line, rows)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(literal, cells))} |"
