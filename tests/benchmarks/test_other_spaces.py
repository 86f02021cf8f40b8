"""A run whose replies are in another space than declared says so, and scores them no better."""

from __future__ import annotations

import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.protocol.other_spaces import _replies
from snellen.core.benchmark import Variant, final_summary
from snellen.core.output import Generated
from snellen.core.place import Box, Places, Space, parse_space
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.core.summary import Summary
from snellen.store.runs import compact_records

EXTENT, SENT = (1280, 720), (980, 560)
BOXES = [Box(40.0 * index, 30.0 * index, 40.0 * index + 60, 30.0 * index + 50) for index in range(20)]


def run(declared: str, written: str, sizes: bool = True) -> tuple[list[Record], Summary]:
    """ScreenSpot asked in one space, answered in another with the centre of each box."""
    benchmark = open_benchmark(f"screenspot:coordinates={declared}", Variant())
    records = []
    for index, box in enumerate(BOXES):
        gold = Places(boxes=(box,), extent=EXTENT)
        sample = Sample(str(index), "place", "open it", gold=(gold.text(),), extent=EXTENT, space=declared)
        numbers = parse_space(written).write_box(box, EXTENT, SENT)
        decimals = 3 if written.startswith("fractions") else 0
        reply = str([round(number, decimals) if decimals else round(number) for number in numbers])
        flow = benchmark.flow(sample)
        next(flow)
        with pytest.raises(StopIteration) as done:
            flow.send(Generated(reply, image_sizes=(SENT,) if sizes else ()))
        records.append(done.value.value)
    return records, final_summary(benchmark, records)


def notices(summary: Summary) -> list[str]:
    return [notice for notice in summary.notices if "say coordinates=" in notice]


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("thousandths", "thousandths-yx"),
        ("fractions", "thousandths"),
        ("thousandths", "fractions"),
        ("pixels", "thousandths"),
        ("sent-pixels", "thousandths-yx"),
        ("pixels", "sent-pixels"),
    ],
)
def test_the_notice_names_the_space(declared: str, written: str) -> None:
    records, summary = run(declared, written)
    (notice,) = notices(summary)
    assert f"say coordinates={written} if the model writes so" in notice
    assert notice.startswith(("share of points inside is 0.", "mean IoU is 0."))
    assert summary.headline.value is not None
    assert summary.headline.value < 50
    benchmark = open_benchmark(f"screenspot:coordinates={declared}", Variant())
    assert final_summary(benchmark, compact_records(records)) == summary


@pytest.mark.parametrize("space", ["fractions", "thousandths", "thousandths-yx", "pixels", "sent-pixels", "percent"])
def test_no_notice_where_the_space_is_right(space: str) -> None:
    records, summary = run(space, space)
    assert notices(summary) == []
    assert sum(record.score or 0 for record in records) >= 19


def test_wrong_places_in_the_right_space_are_no_other_space() -> None:
    benchmark = open_benchmark("screenspot:coordinates=thousandths", Variant())
    records, _ = run("thousandths", "thousandths")
    gold = Places(boxes=(Box(1200, 700, 1279, 719),), extent=EXTENT).text()
    moved = [
        Record(**{**{name: getattr(one, name) for name in one.__struct_fields__}, "gold": (gold,)}) for one in records
    ]
    assert notices(final_summary(benchmark, moved)) == []


def test_spaces_have_names_that_are_said() -> None:
    assert parse_space("thousandths-yx") == Space("thousandths", "yx")


def test_replies_that_repeat_boxes_without_end_are_left_out() -> None:
    benchmark = open_benchmark("refcoco:coordinates=fractions", Variant())
    reply = str([[index / 10_000, 0.1, index / 10_000 + 0.01, 0.2] for index in range(9_000)])
    records = []
    for index, box in enumerate(BOXES[:6]):
        gold = Places(boxes=(box,), extent=EXTENT)
        flow = benchmark.flow(Sample(str(index), "place", "open it", gold=(gold.text(),), extent=EXTENT))
        next(flow)
        with pytest.raises(StopIteration) as done:
            flow.send(Generated(reply))
        records.append(done.value.value)
    found = list(_replies(records, parse_space("fractions"), 4, several=False))
    assert found == []
    assert {record.outcome for record in records} == {"other_count"}
