"""Sounds and definitions of tools in a table are refused: models are asked with neither."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from snellen.core.benchmark import DataTable
from snellen.core.errors import DataError
from snellen.core.literals import parse_json_or_literal
from snellen.data.columns import EMBEDDED_SOUND, is_sound_column, parse_list

TableT = TypeVar("TableT", bound=DataTable)

_SOUND_FILE = re.compile(r".*\.(?:wav|mp3|flac|ogg|oga|opus|m4a|aac|wma|aiff?|amr)(?:[?#].*)?", re.I | re.S)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{200,}={0,2}")
_TOOL_COLUMN = re.compile(
    r"(?:available[ _])?(?:tools?|functions?)(?:[ _]?(?:definitions?|schemas?|specs?|list|json))?"
)
_TOOL_KEYS = frozenset({"name", "function", "parameters", "input_schema", "description"})


def refuse_sound_and_tools(table: TableT) -> TableT:
    """The table. Raises DataError for a column that by its name and its first filled cell holds
    sounds or definitions of tools."""
    checks = {name: check for name in table.columns if (check := _check_of(name))}
    for row in table if checks else ():
        for name in [name for name in checks if row.cells.get(name)]:
            if checks.pop(name)(row.cells[name]):
                column = name.partition(".")[0]
                held = "sounds" if is_sound_column(name) else "definitions of tools"
                raise DataError(
                    f"{table.path}: the column {column!r} holds {held}, which models are not asked "
                    f"with; leave it out with --columns ignore={column} (in Python "
                    f"Variant(ignore_columns=[{column!r}]), in TOML ignore_columns)"
                )
        if not checks:
            break
    return table


def _check_of(name: str) -> Callable[[str], bool] | None:
    if is_sound_column(name):
        return _is_sound
    outer, _, inner = name.partition(".")
    if _TOOL_COLUMN.fullmatch(outer) is None:
        return None
    return _defines_tools if not inner else lambda _: inner.partition(".")[0] in _TOOL_KEYS


def _is_sound(cell: str) -> bool:
    if cell == EMBEDDED_SOUND or cell.startswith("data:audio/") or _BASE64.fullmatch(cell):
        return True
    if cell.startswith("["):
        items = parse_list(cell)
        # Samples of a wave, or sounds.
        return bool(items) and all(isinstance(item, float) or _is_sound(str(item)) for item in items or ())
    return _SOUND_FILE.fullmatch(cell.strip()) is not None


def _defines_tools(cell: str) -> bool:
    try:
        value = parse_json_or_literal(cell)
    except ValueError:
        return False
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and not _TOOL_KEYS.isdisjoint(item) for item in items)
