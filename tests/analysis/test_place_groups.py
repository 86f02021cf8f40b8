"""Groups of questions with places: sizes, positions, labels and outcomes by hand."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest

from snellen.analysis.findings.place_groups import place_groups
from snellen.core.place import Box, Mask, Places, Point, Span
from snellen.core.record import Record
from snellen.stats.intervals import wilson


class Info(NamedTuple):
    headline: str = "iou@0.5"


class Run:
    """As much of a run folder as is read."""

    def __init__(self, records: list[Record]) -> None:
        self.lines = [msgspec.json.encode(record) for record in records]
        self.info = Info()

    def read_as(self, kind):
        return [msgspec.json.decode(line, type=kind) for line in self.lines]


def record(gold: Places, score: float | None = 1.0, outcome: str = "answered", kind: str = "place") -> Record:
    number = id(gold)
    return Record(str(number), kind, "Where?", outcome, score, gold=(gold.text(),), media=(str(number),))  # type: ignore[arg-type]


def groups_of(*records: Record) -> dict[str, dict[str, tuple[float | None, int]]]:
    found = place_groups(Run(list(records)))  # type: ignore[arg-type]
    return {each.title: {label: (metric.value, metric.n) for label, metric in each.rows} for each in found}


def box(left: float, top: float, width: float, height: float, *labels: str) -> Places:
    return Places(boxes=(Box(left, top, left + width, top + height),), labels=labels, extent=(300, 300))


def test_sizes_are_those_of_coco_and_in_order() -> None:
    groups = groups_of(
        record(box(0, 0, 96, 96), 0.0),
        record(box(0, 0, 31, 33)),
        record(box(0, 0, 32, 32)),
        record(box(0, 0, 95, 97), 0.5),
    )
    assert list(groups["size"].items()) == [
        ("small, below 32² pixels", (100.0, 1)),
        ("medium, below 96² pixels", (75.0, 2)),
        ("large", (0.0, 1)),
    ]


def test_thirds_are_of_the_centre() -> None:
    groups = groups_of(
        record(box(200, 0, 20, 20)),
        record(box(90, 210, 20, 20), 0.0),
        record(box(140, 140, 20, 20)),
        record(box(0, 0, 9, 9)),
    )
    assert groups["across"] == {"left third": (100.0, 1), "middle third": (50.0, 2), "right third": (100.0, 1)}
    assert [*groups["down"]] == ["upper third", "middle third", "lower third"]


def test_the_centre_of_a_mask_is_that_of_its_pixels() -> None:
    columns = Mask(6, 1, (1, 2, 3))
    first = Mask(6, 1, (0, 1, 5))
    groups = groups_of(*(record(Places(masks=(mask,), extent=(6, 1))) for mask in (columns, first)))
    assert groups["across"] == {"left third": (100.0, 1), "middle third": (100.0, 1)}


def test_quarters_of_the_part_of_the_picture() -> None:
    groups = groups_of(*(record(box(0, 0, 30 * side, 30), float(side < 3)) for side in range(1, 5)))
    assert groups["part of the picture"] == {
        "quarter 1, up to 1.8 %": (100.0, 1),
        "quarter 2, up to 2.5 %": (100.0, 1),
        "quarter 3, up to 3.2 %": (0.0, 1),
        "quarter 4, above 3.2 %": (0.0, 1),
    }


def test_labels_and_numbers_of_places() -> None:
    both = Places(boxes=(Box(0, 0, 9, 9), Box(10, 10, 19, 19)), labels=("cup", "pen"), extent=(300, 300))
    groups = groups_of(record(both, 0.0), record(box(0, 0, 9, 9, "cup")), record(Places(extent=(300, 300)), 1.0))
    assert groups["label"] == {"cup": (50.0, 2), "pen": (0.0, 1)}
    assert groups["places asked for"] == {"none": (100.0, 1), "1": (100.0, 1), "2": (0.0, 1)}
    assert "across" not in groups


def test_points_have_no_size_and_spans_a_time() -> None:
    points = groups_of(*(record(Places(points=(Point(x, 5),), extent=(300, 300))) for x in (10, 290)))
    assert "size" not in points
    assert "part of the picture" not in points
    assert [*points["across"]] == ["left third", "right third"]
    spans = groups_of(*(record(Places(spans=(Span(start, start + 1),), extent=(9.0,))) for start in (0, 4, 8)))
    assert [*spans["time"]] == ["first third", "second third", "last third"]
    assert "across" not in spans


def test_masks_and_polygons_count_their_pixels() -> None:
    mask = Mask(60, 60, (0, 1800, 1800))
    triangle = (Point(0, 0), Point(30, 0), Point(0, 30))
    groups = groups_of(
        record(Places(masks=(mask,), extent=(60, 60))), record(Places(polygons=(triangle,), extent=(60, 60)), 0.0)
    )
    assert groups["size"] == {"small, below 32² pixels": (0.0, 1), "medium, below 96² pixels": (100.0, 1)}


def test_outcomes_are_shares_with_wilson_intervals() -> None:
    run = Run([record(box(0, 0, 9, 9), 0.0, "other_space"), record(box(0, 0, 9, 9)), record(box(1, 1, 9, 9))])
    *_, outcomes = place_groups(run)  # type: ignore[arg-type]
    assert outcomes.is_share
    rows = dict(outcomes.rows)
    assert rows["other_space"].value == pytest.approx(100 / 3)
    assert rows["other_space"].interval == wilson(1, 3).scale()
    assert [*rows] == ["answered", "other_space"]


def test_other_kinds_failures_and_broken_golds_are_left_out() -> None:
    assert groups_of(record(box(0, 0, 9, 9), kind="open")) == {}
    assert groups_of(record(box(0, 0, 9, 9), None, "failed")) == {}
    odd = msgspec.structs.replace(record(box(0, 0, 9, 9)), gold=("somewhere",))
    assert [*groups_of(odd)] == ["outcome"]
