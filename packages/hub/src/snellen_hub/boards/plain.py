"""The plain board: the headline with its interval, then other metrics and groups as columns that
can be chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from snellen_hub.boards.columns import (
    MODEL_COLUMNS,
    RANK,
    TIER,
    digits_of,
    distinct_keys,
    mark_of,
    number_cell,
    rank_rows,
    row_of,
)
from snellen_hub.boards.published import BoardRow
from snellen_hub.boards.tables import BoardCell, BoardColumn, BoardTable
from snellen_hub.public_scores import PublicNumber

_DEFAULT_GROUPS = 6
"""So many groups of a single grouping are seen unless other columns are chosen."""
_EARLIER = "earlier"
_METRIC = "metric"


class NumberPlace(NamedTuple):
    """Where a number stands in a score: a metric, or a label of a grouping."""

    column: str
    """The grouping; empty for a metric."""
    label: str


def plain_table(title: str, rows: Sequence[BoardRow]) -> BoardTable:
    """All rows by their headline, without tiers."""
    places = _places(rows)
    keys = {}
    prefixes = distinct_keys(dict.fromkeys(place.column or _METRIC for place in places))
    for column in dict.fromkeys(place.column for place in places):
        labels = [place.label for place in places if place.column == column]
        for label, key in distinct_keys(labels, f"{prefixes[column or _METRIC]}.").items():
            keys[NumberPlace(column, label)] = key
    # One grouping of few labels is seen at once; of more, readers choose.
    groupings = {place.column for place in places if place.column}
    is_seen = len(groupings) == 1 and sum(bool(place.column) for place in places) <= _DEFAULT_GROUPS
    main = rows[0].score if rows else None
    top = main.headline.top if main else 100.0
    columns = [
        RANK,
        BoardColumn(
            "score",
            main.name if main else "score",
            unit=main.headline.unit if main else "percent",
            top=top,
            digits=digits_of(top),
        ),
        BoardColumn("n", "n", note="samples behind the score", digits=0),
        TIER,
        *(
            BoardColumn(
                keys[place],
                place.label,
                unit=sample.unit,
                note=place.column,
                is_default=is_seen and bool(place.column),
                top=sample.top,
                digits=digits_of(sample.top),
            )
            for place, sample in places.items()
        ),
    ]
    if any(row.earlier for row in rows):
        columns.append(
            BoardColumn(_EARLIER, "Before", note="the score on the version of the benchmark before this one")
        )
    lines = []
    for row in rows:
        mark = mark_of(row)
        cells = {"score": number_cell(row.score.headline, mark)}
        if row.score.headline.n:
            cells["n"] = BoardCell(float(row.score.headline.n))
        if row.earlier:
            before = row.earlier[0]
            note = f"version {before.version} of the benchmark"
            cells[_EARLIER] = number_cell(before.headline, note)
        for place, number in _numbers(row):
            cells[keys[place]] = number_cell(number, mark)
        lines.append(row_of(row, cells))
    return BoardTable(
        name="main",
        title=title,
        section="",
        columns=(*columns, *MODEL_COLUMNS),
        rows=tuple(rank_rows(lines, "score")),
        models=len(lines),
    )


def _places(rows: Sequence[BoardRow]) -> dict[NumberPlace, PublicNumber]:
    """Metrics, then groups, in the order of the first row that has each, with a number of each."""
    places: dict[NumberPlace, PublicNumber] = {}
    for row in rows:
        for place, number in _numbers(row):
            places.setdefault(place, number)
    return dict(sorted(places.items(), key=lambda pair: bool(pair[0].column)))


def _numbers(row: BoardRow) -> Iterator[tuple[NumberPlace, PublicNumber]]:
    for name, number in row.score.metrics.items():
        if name != row.score.name:
            yield NumberPlace("", name), number
    for column, labels in row.score.groups.items():
        for label, number in labels.items():
            yield NumberPlace(column, label), number
