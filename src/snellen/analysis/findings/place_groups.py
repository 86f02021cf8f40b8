"""Scores of questions that ask for places, by what the gold places are like: their size, where they
are, their label, and how the questions ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.analysis.findings.score_groups import (
    GroupedRecord,
    GroupOrder,
    ScoreGroups,
    grouped_scores,
    outcome_shares,
    quarter_label,
)
from snellen.core.answer_text import number_text
from snellen.core.arrays import np
from snellen.core.errors import DataError
from snellen.core.place import Places, load_places
from snellen.scoring.accuracy import cluster_samples
from snellen.scoring.places.masks import pixels_of_mask
from snellen.store.runs import RunFolder

_SIZES = ((32.0**2, "small, below 32² pixels"), (96.0**2, "medium, below 96² pixels"), (float("inf"), "large"))
"""The sizes of objects in COCO (Lin et al. 2014), by the pixels that they stay below."""
_ORDERS = {
    "size": tuple(label for _, label in _SIZES),
    "across": ("left third", "middle third", "right third"),
    "down": ("upper third", "middle third", "lower third"),
    "time": ("first third", "second third", "last third"),
    "places asked for": ("none", "1", "2", "3", "4", "5 or more"),
}
"""The groupings of fixed groups, with these in their order."""
LABEL = "label"
_GROUPINGS: Mapping[str, GroupOrder] = {
    "size": _ORDERS["size"],
    "part of the picture": None,
    "part of the video": None,
    **{title: _ORDERS[title] for title in ("across", "down", "time", "places asked for")},
    LABEL: 20,
}
_Labels = Iterator[tuple[str, str]]
"""Titles of groupings, each with a label that a question has in it."""


class _PlaceGeometry(NamedTuple):
    """A place: area and centre in pixels; of a span length and middle in seconds."""

    area: float
    x: float
    y: float = 0.0


def place_groups(run: RunFolder) -> list[ScoreGroups]:
    """The groupings of a run's questions with places; empty if it has none. A question with several
    places counts with their mean size, at no position, and in each of their labels."""
    records = [each for each in run.read_as(GroupedRecord) if each.kind == "place" and each.score is not None]
    if not records:
        return []
    golds = [_load_gold(each.gold) for each in records]
    cuts = _quartiles([part for gold in golds if (part := _part(gold))])
    labels = (_labels(gold, cuts) for gold in golds)
    found = grouped_scores(run.info.headline, records, cluster_samples(records), labels, _GROUPINGS)
    return [*found, outcome_shares(records)]


def _load_gold(gold: Sequence[str]) -> Places:
    """The places of the first gold answer; none if there is no such answer."""
    try:
        return load_places(gold[0]) if gold else Places()
    except DataError:
        return Places()


def _labels(gold: Places, cuts: Sequence[float]) -> _Labels:
    geometries = list(_geometries(gold))
    is_time = len(gold.extent) == 1
    area = sum(one.area for one in geometries) / len(geometries) if geometries else 0.0
    # Points have no size.
    if area and not is_time:
        yield "size", next(label for most, label in _SIZES if area < most)
    if part := _part(gold):
        yield f"part of the {'video' if is_time else 'picture'}", _quarter(part, cuts)
    if len(geometries) == 1 and is_time:
        yield _third("time", geometries[0].x / gold.extent[0])
    elif len(geometries) == 1 and gold.extent:
        yield _third("across", geometries[0].x / gold.extent[0])
        yield _third("down", geometries[0].y / gold.extent[1])
    counts = _ORDERS["places asked for"]
    yield "places asked for", counts[min(len(gold), len(counts) - 1)]
    for label in set(gold.labels):
        yield LABEL, label


def _part(gold: Places) -> float:
    """The mean part of the picture, or of the video, that a place takes, 0..1; 0 if unknown."""
    geometries = list(_geometries(gold))
    if not geometries or not gold.extent:
        return 0.0
    return sum(one.area for one in geometries) / len(geometries) / float(np.prod(gold.extent))


def _third(title: str, share: float) -> tuple[str, str]:
    return title, _ORDERS[title][min(2, max(0, int(3 * share)))]


def _quartiles(parts: Sequence[float]) -> list[float]:
    return np.quantile(parts, (0.25, 0.5, 0.75)).tolist() if parts else []


def _quarter(part: float, cuts: Sequence[float]) -> str:
    """The quarter of the questions that a part is in, with its bounds."""
    return quarter_label(part, cuts, [f"{number_text(100 * cut)} %" for cut in cuts])


def _geometries(places: Places) -> Iterator[_PlaceGeometry]:
    for left, top, right, bottom in places.boxes:
        yield _PlaceGeometry((right - left) * (bottom - top), (left + right) / 2, (top + bottom) / 2)
    for x, y in places.points:
        yield _PlaceGeometry(0.0, x, y)
    for start, end in places.spans:
        yield _PlaceGeometry(end - start, (start + end) / 2)
    for polygon in places.polygons:
        across, down = np.array(polygon).reshape(-1, 2).T
        doubled = across @ np.roll(down, -1) - down @ np.roll(across, -1)
        yield _PlaceGeometry(abs(float(doubled)) / 2, float(across.mean()), float(down.mean()))
    for mask in places.masks:
        rows, columns = np.nonzero(pixels_of_mask(mask))
        if len(rows):
            yield _PlaceGeometry(float(len(rows)), float(columns.mean()) + 0.5, float(rows.mean()) + 0.5)
