"""The options of a question in the layouts of data files: read, and replaced by other texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

LABELS = "ABCDEFGHIJ"
_LISTS = ("candidates", "options", "choices")
_DRESSED = re.compile(r"^(\(?[A-J][.):] ?)")
_LINE = re.compile(r"^([A-J])([.:] ?)(.+)$", re.MULTILINE)


def held_options(cells: Mapping[str, Any]) -> dict[str, str]:
    """Option texts by label: of the columns A to J, of a list, or of the lines of the question."""
    if "A" in cells:
        return {label: _bare(str(cells[label])) for label in LABELS if label in cells}
    for column in _LISTS:
        if cells.get(column, "[]") != "[]":
            return dict(zip(LABELS, map(_bare, _items(cells[column])), strict=False))
    if "option1" in cells:
        texts = [str(cells[f"option{n}"]) for n in range(1, 9) if f"option{n}" in cells]
        return dict(zip(LABELS, texts, strict=False))
    return {label: text for label, _, text in _LINE.findall(str(cells.get("question", "")))}


def with_options(cells: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """The row with these texts for its options, its answer among them where it is a text."""
    held, found = dict(cells), held_options(cells)
    answer = str(cells.get("answer", ""))
    for label, old in found.items():
        new = texts[label]
        if "A" in cells:
            held[label] = _dress(str(cells[label])) + new
        elif f"option{LABELS.index(label) + 1}" in cells:
            held[f"option{LABELS.index(label) + 1}"] = new
        if answer == old and answer not in texts:
            held["answer"] = new
        elif answer in (f"{label}. {old}", f"{label}: {old}"):
            held["answer"] = answer.removesuffix(old) + new
    for column in _LISTS:
        if "A" not in cells and cells.get(column, "[]") != "[]":
            items = zip(_items(cells[column]), texts.values(), strict=False)
            held[column] = str([_dress(item) + new for item, new in items])
    if "question" in cells:
        held["question"] = _LINE.sub(
            lambda line: f"{line[1]}{line[2]}{texts[line[1]]}" if line[1] in texts else line[0], str(cells["question"])
        )
    return held


def _items(cell: Any) -> list[str]:
    return [str(item) for item in (ast.literal_eval(cell) if isinstance(cell, str) else cell)]


def _dress(text: str) -> str:
    """The label before the text of an option, where it has one."""
    found = _DRESSED.match(text)
    return found[1] if found else ""


def _bare(text: str) -> str:
    return text.removeprefix(_dress(text))
