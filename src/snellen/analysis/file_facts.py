"""What a file is, by what it was recognised, and what each of its columns is taken for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase

from snellen.benchmarks.declaration.place_rules import PlaceRules
from snellen.benchmarks.declaration.results_files import benchmarks_of_layout
from snellen.benchmarks.declaration.rows import GROUP_COLUMNS
from snellen.core.errors import DataError
from snellen.data.columns import (
    FOREIGN_COLUMNS,
    GOLD_COLUMNS,
    ID_COLUMNS,
    IGNORED_MARK,
    OPTION_LISTS,
    PLACE_COLUMNS,
    REPLY_COLUMNS,
    is_gold_like,
    is_image_column,
    is_sound_column,
    is_video_column,
)
from snellen.data.detect import detect
from snellen.data.predictions import QUESTION_COLUMNS, column_roles

_SEARCHED = {"id": ID_COLUMNS, "reply": REPLY_COLUMNS, "gold": GOLD_COLUMNS, "question": QUESTION_COLUMNS}
_GOLD_PLACES = frozenset(name for names in PLACE_COLUMNS.values() for name in names)
_LETTERS = frozenset(ascii_uppercase)


@dataclass(frozen=True, slots=True)
class ColumnFact:
    """A column as it is called once it is read, and what it is taken for."""

    column: str
    role: str
    """Empty if it has none."""
    reason: str


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a file is, and why."""

    kind: str
    title: str
    recognised_by: str
    excluded: tuple[str, ...]
    """What else a file of this suffix may be, and by what it would be known."""
    holds: tuple[str, ...]
    """Of questions, gold answers and replies what it has."""
    columns: tuple[ColumnFact, ...]
    published: Mapping[str, str]
    """Benchmarks whose results are published in a file of these columns, with what counts in it."""
    without_replies: str
    """Why it cannot be scored as predictions; empty if it can."""


def file_facts(path: str, columns: Sequence[str]) -> FileFacts | None:
    """What a file or folder with these columns is; None for data that lie elsewhere."""
    place = Path(path).expanduser()
    found = detect(place) if place.exists() else None
    if found is None:
        return None
    roles = {role: _first(searched, columns) for role, searched in _SEARCHED.items()}
    without_replies = ""
    try:
        ids, reply, gold = column_roles(columns, path)
        roles |= {"id": ids or roles["id"], "reply": (reply,), "gold": () if gold is None else (gold,)}
    except DataError as error:
        without_replies = str(error)
    places = frozenset() if _GOLD_PLACES.isdisjoint(columns) else PlaceRules().columns()
    described = tuple(_column_fact(column, roles, places) for column in columns)
    held = {fact.role for fact in described}
    holds = tuple(what for what in ("question", "gold", "reply") if what in held)
    published = benchmarks_of_layout(columns)
    return FileFacts(found.kind, found.title, found.by, found.excluded, holds, described, published, without_replies)


def _first(searched: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in searched if name in names)[:1]


def _column_fact(column: str, roles: Mapping[str, tuple[str, ...]], places: Collection[str]) -> ColumnFact:
    for role, chosen in roles.items():
        if column in chosen:
            reason = f"joined: {'+'.join(chosen)}" if len(chosen) > 1 else "the first name that is searched for"
            return ColumnFact(column, role, reason)
    for role, searched in _SEARCHED.items():
        if column in searched and roles[role]:
            return ColumnFact(column, "", f"no {role}: {'+'.join(roles[role])} comes first")
    if column in places:
        is_gold = column in _GOLD_PLACES
        return ColumnFact(column, "gold" if is_gold else "place", "its name: where the answer is a place")
    if column in _LETTERS or column in OPTION_LISTS:
        return ColumnFact(column, "option", "a letter" if column in _LETTERS else "a list of options")
    if is_image_column(column) or is_video_column(column):
        return ColumnFact(column, "image" if is_image_column(column) else "video", "its name")
    if column in GROUP_COLUMNS:
        return ColumnFact(column, "group", "its name: each of its values gets a number")
    if column in ("hint", "type", "question_type", "unit"):
        return ColumnFact(column, column, "its name")
    tool = FOREIGN_COLUMNS.get(column.partition(".")[0])
    if tool is not None:
        return ColumnFact(column, "verdict", f"recorded by {tool}: --as-recorded, or --judge column:{column}")
    return ColumnFact(column, "", _reason_of_none(column))


def _reason_of_none(column: str) -> str:
    if column.endswith(IGNORED_MARK):
        return "ignored"
    if is_sound_column(column):
        return f"models are asked with no sounds: --columns ignore={column}"
    if is_gold_like(column):
        return f"it may hold the gold answers: --columns gold={column}"
    return "no name of a role: kept with each row, not shown to a model"
