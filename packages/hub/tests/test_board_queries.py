"""What a link asks of a board: filters, sorting, columns."""

from __future__ import annotations

from typing import Any

import pytest

from snellen.core.errors import UsageError
from snellen_hub.boards.queries import BoardQuery, apply_query, apply_query_to_page, parse_query
from snellen_hub.boards.tables import BoardCell, BoardColumn, BoardPage, BoardTable, TableRow

COLUMNS = (
    BoardColumn("rank", "Rank", "rank"),
    BoardColumn("score", "Score"),
    BoardColumn("released", "Released", "date"),
    BoardColumn("organisation", "Organisation", "text", is_default=False),
)


def row(model: str, score: float | None, evidence: str = "verified", **facts: Any) -> TableRow:
    cells = {name: BoardCell(text=str(facts[name])) for name in ("released", "organisation") if name in facts}
    if score is not None:
        cells["score"] = BoardCell(score)
    return TableRow(model, cells, evidence=evidence, facts=facts)


ROWS = (
    row("Small", 50.0, parameters=2, weights="open", released="2023", route="local"),
    row("Middle", 60.0, parameters=7, weights="open", released="2024-05", organisation="Lab A"),
    row(
        "Large",
        70.0,
        "reported",
        parameters=72.7,
        weights="closed",
        released="2024-05-13",
        organisation="Lab B",
        route="an API",
        capability="L3",
    ),
    row("Silent", None),
)
TABLE = BoardTable("main", "Main", "", COLUMNS, ROWS, models=4)
PAGE = BoardPage("signs", "Signs", "benchmark", "table", (TABLE,))


def ask(text: str) -> BoardQuery:
    pairs = [tuple(pair.split("=", 1)) for pair in text.split("&") if pair]
    return parse_query([(name, value) for name, value in pairs])


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("", ["Large", "Middle", "Small", "Silent"]),
        ("sort=score&order=up", ["Small", "Middle", "Large", "Silent"]),
        ("sort=model", ["Large", "Middle", "Silent", "Small"]),
        ("sort=model&order=down", ["Small", "Silent", "Middle", "Large"]),
        ("sort=released", ["Large", "Middle", "Small", "Silent"]),
        ("sort=organisation", ["Middle", "Large", "Silent", "Small"]),
        ("size=..7", ["Middle", "Small"]),
        ("size=7..", ["Large", "Middle"]),
        ("size=7", ["Middle"]),
        ("size=2..7", ["Middle", "Small"]),
        ("size-from=3&size-to=80", ["Large", "Middle"]),
        ("size-to=3", ["Small"]),
        ("weights=open", ["Middle", "Small"]),
        ("weights=closed&weights=open", ["Large", "Middle", "Small"]),
        ("since=2024", ["Large", "Middle"]),
        ("since=2024-05-14", ["Middle"]),
        ("since=2023-06", ["Large", "Middle", "Small"]),
        ("until=2023", ["Small"]),
        ("until=2024-05-13", ["Large", "Middle", "Small"]),
        ("evidence=reported", ["Large"]),
        ("route=AN api", ["Large"]),
        ("organisation=lab a", ["Middle"]),
        ("capability=L3,L4", ["Large"]),
        ("text=LAB", ["Large", "Middle"]),
        ("text=api", ["Large"]),
        ("lang=zh&csrf=x", ["Large", "Middle", "Small", "Silent"]),
    ],
)
def test_rows_that_a_link_asks_for(text: str, models: list[str]) -> None:
    assert [row.model for row in apply_query(TABLE, ask(text)).rows] == models


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", ["rank", "score", "released"]),
        ("columns=all", ["rank", "score", "released", "organisation"]),
        ("columns=organisation,score", ["score", "organisation"]),
        ("columns=score&columns=organisation", ["score", "organisation"]),
    ],
)
def test_columns_that_a_link_asks_for(text: str, keys: list[str]) -> None:
    table = apply_query(TABLE, ask(text))
    assert [column.key for column in table.columns] == keys
    assert table.models == 4


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("size=big", "size=big: expected billions of parameters"),
        ("size=9..2", "the smaller first"),
        ("size=-3", "expected billions"),
        ("weights=free", "weights=free: expected some of open, closed"),
        ("evidence=rumour", "expected some of verified, submitted, reported, mixed"),
        ("since=yesterday", "expected a date such as 2024-05"),
        ("until=2024-13", "expected a date"),
        ("order=sideways", "expected up or down"),
        ("sort=a b", "expected the key of a column"),
        ("columns=a;b", "expected keys of columns"),
        ("as-of=@x", "expected a date such as 2026-05-31"),
        ("table=../x", "expected the name of a table"),
        ("text=" + "x" * 3000, "the query is too long"),
    ],
)
def test_a_link_with_a_mistake_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        ask(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sort=nothing", "has a column nothing"),
        ("columns=x", "has a column x"),
        ("table=other", "signs has no table other; expected one of main"),
    ],
)
def test_refuses_queries_that_the_board_does_not_have(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        apply_query_to_page(PAGE, ask(text))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("lang=en", ""),
        ("columns=score,organisation&sort=score", "sort=score&columns=organisation,score"),
        ("weights=closed&evidence=verified&size-to=7", "size=..7&weights=closed&evidence=verified"),
        ("as-of=@17&order=up", "order=up&as-of=@17"),
        ("text=a %26 b", "text=a+%2526+b"),
    ],
)
def test_the_same_view_has_the_same_link(text: str, canonical: str) -> None:
    query = ask(text)
    assert query.text() == canonical
    assert ask(query.text().replace("+", " ").replace("%25", "%")) == query
