"""The plain board: the headline with its interval, then other metrics and groups as columns that
can be chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

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
from snellen_hub.boards.published import PublishedScore
from snellen_hub.boards.tables import BoardCell, BoardColumn, BoardTable, TableRow
from snellen_hub.public_scores import PublicNumber, PublicScore

_DEFAULT_GROUPS = 6
"""So many groups of a single grouping are seen unless other columns are chosen."""
_EARLIER = "earlier"
_METRIC = "metric"


class NumberPlace(NamedTuple):
    """Where a number stands in a score: a metric, or a label of a grouping."""

    column: str
    """The grouping; empty for a metric."""
    label: str


def plain_table(title: str, published: Sequence[PublishedScore]) -> BoardTable:
    """All rows by their headline, without tiers."""
    places = _places(published)
    keys = _keys(places)
    # One grouping of few labels is seen at once; of more, readers choose.
    groups = [place.column for place in places if place.column]
    is_seen = len(set(groups)) == 1 and len(groups) <= _DEFAULT_GROUPS
    name, main = (
        (published[0].score.name, published[0].score.headline) if published else ("score", PublicNumber(None, 0))
    )
    columns = [
        RANK,
        BoardColumn("score", name, unit=main.unit, top=main.top, digits=digits_of(main.top)),
        BoardColumn("n", "n", note="samples behind the score", digits=0),
        TIER,
    ]
    for place, number in places.items():
        column = BoardColumn(keys[place], place.label, unit=number.unit, note=place.column, top=number.top)
        columns.append(replace(column, is_default=is_seen and bool(place.column), digits=digits_of(number.top)))
    if any(one.earlier for one in published):
        columns.append(
            BoardColumn(_EARLIER, "Before", note="the score on the version of the benchmark before this one")
        )
    rows = rank_rows([_row(one, keys) for one in published], "score")
    return BoardTable("main", title, "", (*columns, *MODEL_COLUMNS), tuple(rows), models=len(rows))


def _row(one: PublishedScore, keys: Mapping[NumberPlace, str]) -> TableRow:
    mark, headline = mark_of(one), one.score.headline
    cells = {"score": number_cell(headline, mark)}
    if headline.n:
        cells["n"] = BoardCell(float(headline.n))
    for before in one.earlier[:1]:
        cells[_EARLIER] = number_cell(before.headline, f"version {before.version} of the benchmark")
    return row_of(one, cells | {keys[place]: number_cell(number, mark) for place, number in _numbers(one.score)})


def _keys(places: Mapping[NumberPlace, PublicNumber]) -> dict[NumberPlace, str]:
    """The key of the column of each place."""
    labels: dict[str, list[str]] = {}
    for place in places:
        labels.setdefault(place.column, []).append(place.label)
    prefixes = distinct_keys(dict.fromkeys(column or _METRIC for column in labels))
    return {
        NumberPlace(column, label): key
        for column, own in labels.items()
        for label, key in distinct_keys(own, f"{prefixes[column or _METRIC]}.").items()
    }


def _places(published: Sequence[PublishedScore]) -> dict[NumberPlace, PublicNumber]:
    """Metrics, then groups, in the order of the first row that has each, with a number of each."""
    places: dict[NumberPlace, PublicNumber] = {}
    for one in published:
        for place, number in _numbers(one.score):
            places.setdefault(place, number)
    return dict(sorted(places.items(), key=lambda pair: bool(pair[0].column)))


def _numbers(score: PublicScore) -> Iterator[tuple[NumberPlace, PublicNumber]]:
    for name, number in score.metrics.items():
        if name != score.name:
            yield NumberPlace("", name), number
    for column, labels in score.groups.items():
        for label, number in labels.items():
            yield NumberPlace(column, label), number
