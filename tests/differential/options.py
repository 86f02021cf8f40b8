"""The options of a question in the layouts of data files: read, and replaced by other texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

LABELS = "ABCDEFGHIJ"
_LISTS = ("candidates", "options", "choices", "option")
_NUMBERED = (("option", 1), ("option", 0), ("a", 0))
"""Names of columns that end in the place of their option, and the first of these."""
_DRESSED = re.compile(r"^(\(?[A-J][.):] ?)")
_LINE = re.compile(r"^([A-J])([.:] ?)(.+)$", re.MULTILINE)


def held_options(cells: Mapping[str, Any]) -> dict[str, str]:
    """Option texts by label: of the columns A to J, of a list, or of the lines of the question."""
    if "A" in cells:
        return {label: _bare(str(cells[label])) for label in LABELS if label in cells}
    for column in _LISTS:
        if _is_listed(cells.get(column)):
            return dict(zip(LABELS, map(_bare, _items(cells[column])), strict=False))
    if columns := _numbered(cells):
        return dict(zip(LABELS, (str(cells[column]) for column in columns), strict=False))
    return {label: text for label, _, text in _LINE.findall(str(cells.get("question", "")))}


def with_options(cells: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """The row with these texts for its options, its answer among them where it is a text."""
    held, found = dict(cells), held_options(cells)
    answer = str(cells.get("answer", ""))
    for label, old in found.items():
        new = texts[label]
        if "A" in cells:
            held[label] = _dress(str(cells[label])) + new
        elif columns := _numbered(cells):
            held[columns[LABELS.index(label)]] = new
        if answer == old and answer not in texts:
            held["answer"] = new
        elif answer in (f"{label}. {old}", f"{label}: {old}"):
            held["answer"] = answer.removesuffix(old) + new
    for column in _LISTS:
        if "A" not in cells and _is_listed(cell := cells.get(column)):
            items = [_dress(item) + new for item, new in zip(_items(cell), texts.values(), strict=False)]
            held[column] = _written(cell, items)
    if "question" in cells:
        held["question"] = _LINE.sub(
            lambda line: f"{line[1]}{line[2]}{texts[line[1]]}" if line[1] in texts else line[0], str(cells["question"])
        )
    return held


def _numbered(cells: Mapping[str, Any]) -> list[str]:
    """The columns of the options, where these end in its place."""
    for name, first in _NUMBERED:
        if f"{name}{first}" in cells and f"{name}{first - 1}" not in cells:
            columns = [f"{name}{place}" for place in range(first, first + len(LABELS))]
            return [column for column in columns if column in cells]
    return []


def _is_listed(cell: Any) -> bool:
    return any(cell.values()) if isinstance(cell, dict) else cell not in (None, "", "[]", [])


def _items(cell: Any) -> list[str]:
    """The items of a list, of an object by label, of either as text, or lines."""
    if isinstance(cell, str):
        cell = ast.literal_eval(cell) if cell.startswith("[") else cell.split("\n")
    return [str(item) for item in (cell.values() if isinstance(cell, dict) else cell)]


def _written(cell: Any, items: list[str]) -> Any:
    """The items in the form of the cell that they replace."""
    if isinstance(cell, dict):
        return dict(zip(cell, items, strict=True))
    if isinstance(cell, str):
        return str(items) if cell.startswith("[") else "\n".join(items)
    return items


def _dress(text: str) -> str:
    """The label before the text of an option, where it has one."""
    found = _DRESSED.match(text)
    return found[1] if found else ""


def _bare(text: str) -> str:
    return text.removeprefix(_dress(text))
