"""The boards of benchmarks and suites: their tables, with tabs, filters and links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request, Response
from msgspec.structs import replace
from sqlalchemy.orm import Session

from snellen_hub.boards.queries import ALL_COLUMNS, BoardFilters, BoardQuery, apply_query, parse_query
from snellen_hub.boards.tables import EVIDENCE, BoardPage, BoardTable, TableRow
from snellen_hub.hub import Hub
from snellen_hub.web.board_api import find_board
from snellen_hub.web.pages.board_view import address, drawn_columns, row_link, view_table
from snellen_hub.web.pages.frame import redirect, render
from snellen_hub.web.pages.page_cache import public_page, read_board_page
from snellen_hub.web.pages.scales import IntervalBar, number_text, scale_of
from snellen_hub.web.parameters import BoardName, HubOf

router = APIRouter(include_in_schema=False)

TOP = 5
"""Rows of the small tables beside the chosen one."""
_SIZES = (("..4", "up to 4B"), ("4..10", "4B to 10B"), ("10..40", "10B to 40B"), ("40..", "40B and more"))
_LABELS = {
    "text": "Text",
    "size": "Size",
    "weights": "Weights",
    "since": "Released since",
    "until": "Released until",
    "evidence": "Evidence",
    "route": "Route",
    "organisation": "Organisation",
    "capability": "Capability",
}
_MOST_OPTIONS = 200


@router.get("/benchmarks/{name}")
@router.get("/suites/{name}")
def board_page(request: Request, name: BoardName, hub: HubOf) -> Response:
    """The board of a benchmark or of a suite."""
    return public_page(request, lambda session: _draw(request, session, hub, name))


def _draw(request: Request, session: Session, hub: Hub, name: str) -> Response:
    query = parse_query(request.query_params.multi_items())
    board = find_board(session, request, name)
    page = read_board_page(request, session, hub, board, query.as_of)
    query = _canonical(page, query)
    # A form sends what is empty too. The canonical address is short, and there is one of each view.
    if query.text() != parse_query(request.query_params.multi_items()).text() or any(
        not value.strip() for _, value in request.query_params.multi_items()
    ):
        return redirect(address(request.url.path, query))
    return render(request, "board.html", **board_context(page, query))


def _canonical(page: BoardPage, query: BoardQuery) -> BoardQuery:
    """The query without what is so anyway. Raises 404 for a table that the page does not have."""
    if query.table and page.table(query.table) is None:
        raise HTTPException(404, f"{page.name} has no table {query.table}")
    if query.table == page.tables[0].name:
        query = replace(query, table="")
    table = chosen_table(page, query)
    usual = {column.key for column in drawn_columns(table.columns) if column.is_default}
    if query.columns and set(query.columns) == usual:
        query = replace(query, columns=())
    main = table.column(table.main)
    if query.sort == table.main and main is not None:
        if query.descending in (None, main.kind != "rank"):
            query = replace(query, sort="", descending=None)
    elif not query.sort:
        query = replace(query, descending=None)
    return query


class TableTab(NamedTuple):
    """A link to a table of the same page."""

    title: str
    address: str
    is_current: bool


class FilterChoice(NamedTuple):
    """A choice of the filter form: values and what is written for them."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    chosen: str


class SmallRow(NamedTuple):
    rank: int
    model: str
    link: str
    text: str
    bar: IntervalBar | None


def board_context(page: BoardPage, query: BoardQuery) -> dict[str, Any]:
    """The variables of `board.html`."""
    path = board_path(page)
    table = chosen_table(page, query)
    view = view_table(table, query, path)
    plain = replace(query, filters=BoardFilters())
    keys = [head.key for head in view.columns]
    return {
        "page": page,
        "table": table,
        "view": view,
        "query": query,
        "path": path,
        "models": max((len(each.rows) for each in page.tables), default=0),
        "tabs": _tabs(page, table, query, path) if len(page.tables) > 1 else [],
        "small": _small_tables(page, table, query, path),
        "fields": filter_fields(table, query.filters),
        "applied": [
            (_LABELS[name], value, address(path, replace(query, filters=_without(query.filters, name))))
            for name, value in query.filters.in_use().items()
        ],
        "unfiltered": address(path, plain),
        "shown_columns": keys,
        "default_columns": address(path, replace(query, columns=())),
        "all_columns": address(path, replace(query, columns=(ALL_COLUMNS,))),
        "columns": drawn_columns(table.columns),
        "column_notes": [(head.label, head.note) for head in view.columns if head.note],
        # Before the first change there is nothing to come back to.
        "permanent": address(path, replace(query, as_of=query.as_of or f"@{page.change}")) if page.change else "",
        "downloads": [
            (label, f"/api/v1{path}/board?{'&'.join(filter(None, (f'form={label.lower()}', query.text())))}")
            for label in ("CSV", "JSON", "Parquet")
        ],
        "feed": f"{path}/feed.xml",
        "links": _page_links(page, path),
    }


def chosen_table(page: BoardPage, query: BoardQuery) -> BoardTable:
    """The table that is drawn in full: the first one unless another is asked for."""
    return page.table(query.table) or page.tables[0]


def board_path(page: BoardPage) -> str:
    folder = "suites" if page.kind == "suite" else "benchmarks"
    return f"/{folder}/{quote(page.name)}"


def filter_fields(table: BoardTable, filters: BoardFilters) -> list[FilterChoice]:
    """The filters that the rows of a table give something to choose from."""
    facts = [row.facts for row in table.rows]
    names = {
        name: sorted({str(each[name]) for each in facts if each.get(name)}, key=str.casefold)
        for name in ("weights", "released", "route", "organisation")
    }
    evidence = [kind for kind in EVIDENCE if kind in {row.evidence for row in table.rows}]
    values = {
        "weights": names["weights"],
        "evidence": evidence if len(evidence) > 1 else [],
        "since": sorted({released[:4] for released in names["released"]}, reverse=True),
        "capability": sorted({row.level or str(row.facts.get("capability") or "") for row in table.rows} - {""}),
        "organisation": names["organisation"][:_MOST_OPTIONS],
        "route": names["route"][:_MOST_OPTIONS],
    }
    options: dict[str, tuple[tuple[str, str], ...]] = {
        "size": _SIZES if any(each.get("parameters") for each in facts) else ()
    }
    options |= {name: tuple((value, value) for value in own) for name, own in values.items()}
    chosen = filters.in_use()
    fields = []
    for name, choices in options.items():
        value = chosen.get(name, "")
        if value and value not in dict(choices):
            choices = (*choices, (value, value))
        if choices:
            fields.append(FilterChoice(name, _LABELS[name], choices, value))
    return fields


def _without(filters: BoardFilters, name: str) -> BoardFilters:
    return replace(filters, **{name: getattr(BoardFilters(), name)})


def _tabs(page: BoardPage, current: BoardTable, query: BoardQuery, path: str) -> list[tuple[str, list[TableTab]]]:
    """Links to the tables of a page, by section."""
    sections: dict[str, list[TableTab]] = {}
    for index, table in enumerate(page.tables):
        target = _table_address(table, index, query, path)
        tab = TableTab(table.title, target, table.name == current.name)
        sections.setdefault(table.section, []).append(tab)
    return list(sections.items())


def _table_address(table: BoardTable, index: int, query: BoardQuery, path: str) -> str:
    """Another table of the page, with the same filters; columns differ from table to table."""
    name = "" if not index else table.name
    return address(path, BoardQuery(table=name, filters=query.filters, as_of=query.as_of))


def _small_tables(
    page: BoardPage, current: BoardTable, query: BoardQuery, path: str
) -> list[tuple[str, str, tuple[SmallRow, ...], int]]:
    """Title, address, best rows and number of the other rows of each table beside the current
    one."""
    small = []
    for index, table in enumerate(page.tables):
        if table.column(table.main) is None or table.name == current.name:
            continue
        rows = apply_query(table, BoardQuery(filters=query.filters)).rows
        best = best_rows(table, rows[:TOP])
        target = _table_address(table, index, query, path)
        small.append((table.title, target, best, max(0, len(rows) - len(best))))
    return small


def best_rows(table: BoardTable, rows: Sequence[TableRow]) -> tuple[SmallRow, ...]:
    """Some rows of a table by its main column, without those that have no rank."""
    column = table.column(table.main)
    if column is None:
        return ()
    cells = [row.cells[table.main] for row in rows if table.main in row.cells]
    scale = scale_of(end for cell in cells for end in (cell.value, cell.low, cell.high))
    best = []
    for row in rows:
        cell = row.cells.get(table.main)
        if cell is None or row.rank is None:
            continue
        bar = scale.bar(cell.value, cell.low, cell.high) if column.kind == "number" else None
        text = number_text(cell.value, column.digits)
        best.append(SmallRow(row.rank, row.model, row_link(row), text, bar))
    return tuple(best)


def _page_links(page: BoardPage, path: str) -> list[tuple[str, str]]:
    if page.kind == "suite":
        return [("History", f"{path}/history")]
    links = [("Protocol", f"{path}/protocol"), ("History", f"{path}/history")]
    if not page.samples:
        # A board of reported numbers alone.
        return links
    if page.offers_questions:
        links.append(("Questions", f"/api/v1{path}/data"))
    if not page.is_hidden:
        links.append(("Samples", f"{path}/samples"))
    return [*links, ("Submit", f"{path}/submit")]
