"""What a reader asks of a board: filters, sorting, columns and a moment, as the query of a link."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from snellen.core.errors import UsageError
from snellen_hub.boards.tables import EVIDENCE, BoardPage, BoardTable, TableRow

ALL_COLUMNS = "all"
_LONGEST = 2_000
_DATE = r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?"
_KEY = r"[\w.+-]{1,120}"
_NUMBER = r"\d{1,7}(?:\.\d{1,6})?"
_FORMS = {
    "sort": (_KEY, "the key of a column"),
    "order": ("up|down", "up or down"),
    "columns": (rf",*({_KEY}(,+{_KEY})*)?,*", "keys of columns, separated by commas"),
    "table": (_KEY, "the name of a table"),
    "size": (rf"({_NUMBER})?\.\.({_NUMBER})?|{_NUMBER}", "billions of parameters such as 7, ..7, 7.. or 7..13"),
    "since": (_DATE, "a date such as 2024-05"),
    "until": (_DATE, "a date such as 2024-05"),
    "as-of": (
        r"@\d{1,18}|\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d)?Z)?)?)?",
        "a date such as 2026-05-31, a time such as 2026-05-31T12:00Z, or @ and the number of a change",
    ),
}
"""Patterns of values in a link, and what a sentence says of them."""
_CHOICES = {"weights": ("open", "closed"), "evidence": EVIDENCE, "capability": ("L1", "L2", "L3", "L4")}


class BoardFilters(Struct, frozen=True, omit_defaults=True):
    """Which rows are kept. A row that does not say what is asked for is left out."""

    text: str = ""
    """In the name of the model, its organisation or route, in any case."""
    size: str = ""
    """Parameters in billions: `7`, `..7`, `7..` or `7..13`, both ends included."""
    weights: tuple[str, ...] = ()
    since: str = ""
    """Released then or later: a year, month or day. A model of which only the year is known is
    kept if it may be."""
    until: str = ""
    evidence: tuple[str, ...] = ()
    route: str = ""
    organisation: str = ""
    capability: tuple[str, ...] = ()

    def in_use(self) -> dict[str, str]:
        """Those that are set, as a link has them."""
        return {
            name: value if isinstance(value, str) else ",".join(value)
            for name, value in msgspec.to_builtins(self).items()
        }


class BoardQuery(Struct, frozen=True, omit_defaults=True):
    """A reader's view of a board."""

    sort: str = ""
    """Key of a column, or `model`; empty: the main column of each table."""
    descending: bool | None = None
    """None: the best first, names from A to Z, the latest date first."""
    columns: tuple[str, ...] = ()
    """Keys of columns; empty: those that are seen by default; `all`."""
    filters: BoardFilters = BoardFilters()
    table: str = ""
    """The only table that is wanted; empty: all of them."""
    as_of: str = ""
    """A date, a time in UTC or `@NUMBER` of a change: the board as it stood then."""

    def text(self) -> str:
        """The query of a permanent link: the same view has the same text."""
        order = "" if self.descending is None else "down" if self.descending else "up"
        columns = ",".join(self.columns)
        values = {
            "table": self.table,
            **self.filters.in_use(),
            "sort": self.sort,
            "order": order,
            "columns": columns,
            "as-of": self.as_of,
        }
        return urlencode({name: value for name, value in values.items() if value}, safe=",@:")


def parse_query(pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> BoardQuery:
    """Parse the names and values of a link's query. Unknown names are left to others; a name that
    comes twice counts as a list.

    Raises UsageError for a value that cannot be one.
    """
    given: dict[str, str] = {}
    for name, value in pairs.items() if isinstance(pairs, Mapping) else pairs:
        cleaned = value.strip()
        if cleaned:
            given[name] = f"{given[name]},{cleaned}" if name in given else cleaned
    if sum(map(len, given.values())) > _LONGEST:
        raise UsageError(f"the query is too long; expected at most {_LONGEST:,} characters")
    if "size" not in given and ("size-from" in given or "size-to" in given):
        # The two fields of a form.
        given["size"] = f"{given.get('size-from', '')}..{given.get('size-to', '')}"
    for name, (pattern, expected) in _FORMS.items():
        value = given.get(name, "")
        if value and not re.fullmatch(pattern, value):
            raise UsageError(f"{name}={value[:80]}: expected {expected}")
    low, high = _ends(given.get("size", ""))
    if low is not None and high is not None and low > high:
        raise UsageError(f"size={given['size']}: expected {_FORMS['size'][1]}, the smaller first")
    if given.get("size") == "..":
        del given["size"]
    filters: dict[str, object] = {name: _read_choices(given, name) for name in _CHOICES}
    for name in ("text", "size", "since", "until", "route", "organisation"):
        filters[name] = given.get(name, "")
    keys = set(given.get("columns", "").split(",")) - {""}
    return BoardQuery(
        sort=given.get("sort", ""),
        descending=given["order"] == "down" if "order" in given else None,
        columns=(ALL_COLUMNS,) if ALL_COLUMNS in keys else tuple(sorted(keys)),
        filters=msgspec.convert(filters, BoardFilters),
        table=given.get("table", ""),
        as_of=given.get("as-of", ""),
    )


def apply_query(table: BoardTable, query: BoardQuery) -> BoardTable:
    """The rows and columns that are wanted, in the wanted order. Ranks and tiers stay those of the
    whole table. A column that the table does not have is passed over."""
    rows = [row for row in table.rows if _is_wanted(row, query.filters)]
    columns = table.columns
    if query.columns != (ALL_COLUMNS,):
        wanted = tuple(column for column in columns if column.key in query.columns)
        columns = wanted or tuple(column for column in columns if column.is_default)
    return msgspec.structs.replace(table, rows=tuple(_sort_rows(table, rows, query)), columns=columns)


def apply_query_to_page(page: BoardPage, query: BoardQuery) -> BoardPage:
    """`apply_query` to every table that is wanted. Raises UsageError for a table or a column that
    the page does not have."""
    tables = page.tables
    if query.table:
        tables = tuple(table for table in tables if table.name == query.table)
        if not tables:
            names = ", ".join(table.name for table in page.tables)
            raise UsageError(f"{page.name} has no table {query.table}; expected one of {names}")
    known = {column.key for table in tables for column in table.columns}
    for key in (*query.columns, query.sort):
        if key and key not in known and key not in (ALL_COLUMNS, "model"):
            raise UsageError(
                f"no table of {page.name} has a column {key}; expected one of {', '.join(sorted(known)[:40])}"
            )
    return msgspec.structs.replace(page, tables=tuple(apply_query(one, query) for one in tables))


def _sort_rows(table: BoardTable, rows: list[TableRow], query: BoardQuery) -> list[TableRow]:
    if query.sort == "model":
        return sorted(rows, key=lambda row: row.model.casefold(), reverse=bool(query.descending))
    key = query.sort if table.column(query.sort) else table.main
    column = table.column(key)
    if column is None:
        return rows
    descending = query.descending
    if descending is None or key != query.sort:
        descending = column.kind in ("number", "date")
    is_text = column.kind in ("text", "date")
    present: list[tuple[str | float, TableRow]] = []
    absent: list[TableRow] = []
    # Equal rows keep the order of their names; those without a cell are last in either direction.
    for row in sorted(rows, key=lambda row: row.model.casefold()):
        cell = row.cells.get(key)
        value = None if cell is None else (cell.text.casefold() or None) if is_text else cell.value
        if value is None:
            absent.append(row)
        else:
            present.append((value, row))
    present.sort(key=lambda pair: pair[0], reverse=descending)
    return [row for _, row in present] + absent


def _is_wanted(row: TableRow, filters: BoardFilters) -> bool:
    facts = row.facts
    texts = (row.model, str(facts.get("organisation", "")), str(facts.get("route", "")))
    return (
        (not filters.text or any(filters.text.casefold() in text.casefold() for text in texts))
        and (not filters.size or _is_in_range(facts.get("parameters"), filters.size))
        and (not filters.weights or facts.get("weights") in filters.weights)
        and _is_in_time(str(facts.get("released") or ""), filters.since, filters.until)
        and (not filters.evidence or row.evidence in filters.evidence)
        and (not filters.route or _is_same(facts.get("route"), filters.route))
        and (not filters.organisation or _is_same(facts.get("organisation"), filters.organisation))
        and (not filters.capability or (row.level or facts.get("capability")) in filters.capability)
    )


def _is_same(fact: object, wanted: str) -> bool:
    return isinstance(fact, str) and fact.casefold() == wanted.casefold()


def _is_in_range(parameters: object, size: str) -> bool:
    if not isinstance(parameters, int | float):
        return False
    low, high = _ends(size)
    return (low is None or parameters >= low) and (high is None or parameters <= high)


def _ends(size: str) -> tuple[float | None, float | None]:
    """The lower and the upper end of a size."""
    low, dots, high = size.partition("..")
    first = float(low) if low else None
    return first, (float(high) if high else None) if dots else first


def _is_in_time(released: str, since: str, until: str) -> bool:
    """Whether a date may lie between two others; each is a year, a month or a day."""
    if not (since or until):
        return True
    if not released:
        return False
    # Digits of shorter dates stand for their first or last day: ISO dates compare as texts.
    return (not since or _last_day(released) >= since) and (not until or released <= _last_day(until))


def _last_day(date: str) -> str:
    return date + "-12-31"[-(10 - len(date)) :] if len(date) < 10 else date


def _read_choices(given: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The chosen ones, in their fixed order."""
    choices = _CHOICES[name]
    chosen = {part.strip() for part in given.get(name, "").split(",")} - {""}
    unknown = sorted(chosen - set(choices))
    if unknown:
        raise UsageError(f"{name}={unknown[0][:80]}: expected some of {', '.join(choices)}")
    return tuple(one for one in choices if one in chosen)
