"""Runs of benchmarks whose headline is no mean over samples, compared by their headlines."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from test_declarations import FILES, Layout, of, roles
from test_intervals_everywhere import half_right

from snellen.analysis.causes.gains import gains
from snellen.analysis.comparison.paired import compare
from snellen.benchmarks.protocol.judging import JUDGE
from snellen.core.benchmark import Benchmark
from snellen.core.model import Identity
from snellen.core.record import Record, merge_draws
from snellen.core.run import DataInfo, Report, RunConfig, RunInfo
from snellen.store.runs import RunFolder, RunWriter, open_run


def made(layout: Layout) -> Benchmark:
    return of(layout, judges=int("judge" in roles(layout)))


HEADLINES = [one for one in FILES if made(one).headline_sums is not None and not made(one).unscorable]


def stored(folder: Path, layout: Layout, name: str, records: Sequence[Record], **parameters: str) -> RunFolder:
    benchmark = made(layout)
    config = RunConfig(
        Identity("told", name, {}),
        benchmark.name,
        "1",
        {**benchmark.parameters, **parameters},
        "data",
        roles={JUDGE: Identity("told", "judge", {})} if "judge" in roles(layout) else {},
    )
    data = DataInfo(str(layout.path), "data", len(records))
    info = RunInfo(
        name, name, benchmark.name, benchmark.title, config, data, "complete", "", headline=benchmark.headline
    )
    path = folder / name
    path.mkdir(parents=True)
    with RunWriter(path) as writer:
        for record in records:
            (writer.append_failure if record.unscored == "failed" else writer.append)(record)
        writer.write_info(info)
        writer.write_report(Report(info, benchmark.summarise(records)))
    return open_run(path)


def shuffled(records: Sequence[Record], seed: int) -> list[Record]:
    """Each question answered as in another copy of the layout."""
    copies: dict[str, list[Record]] = {}
    for record in records:
        copies.setdefault(record.id.rpartition("#")[0], []).append(record)
    order = list(range(len(next(iter(copies.values())))))
    random.Random(seed).shuffle(order)
    return [
        msgspec.structs.replace(
            copies[record.id.rpartition("#")[0]][order[int(record.id.rpartition("#")[2])]],
            id=record.id,
            unit=record.unit,
            media=record.media,
        )
        for record in records
    ]


@pytest.mark.parametrize("layout", HEADLINES, ids=lambda one: one.path.name)
def test_the_difference_is_that_of_the_headlines(layout: Layout, tmp_path: Path) -> None:
    records = list(half_right(layout))
    # The second has nothing wrong in a fifth of the copies.
    best = {one.id: one for one in records if one.score == 1.0}
    right = {name.rpartition("#")[0]: one for name, one in best.items()}
    others = [
        msgspec.structs.replace(right[record.id.rpartition("#")[0]], id=record.id, unit=record.unit, media=record.media)
        if int(record.id.rpartition("#")[2]) % 5 == 0 and record.id.rpartition("#")[0] in right
        else record
        for record in shuffled(records, 3)
    ]
    runs = [stored(tmp_path, layout, "one", records), stored(tmp_path, layout, "two", others)]
    first, second = (run.report().summary.headline for run in runs)
    assert first.value is not None
    assert second.value is not None
    found = compare(runs, ["one", "two"])
    (pair,) = found.pairs
    assert (pair.first_score, pair.second_score) == (pytest.approx(first.value), pytest.approx(second.value))
    assert pair.difference == pytest.approx(second.value - first.value)
    assert (pair.metric, found.benchmarks[0].unit) == (first.name, first.unit)
    assert pair.p is not None
    assert not any("no mean over samples" in one for one in found.benchmarks[0].notices)
    if pair.interval is not None:
        assert pair.interval.low <= pair.difference <= pair.interval.high
        leaves_out = not pair.interval.low <= 0 <= pair.interval.high
        assert (pair.p < 0.05) == leaves_out
    places = {place.run: place for place in found.benchmarks[0].places}
    assert places["two"].score == pytest.approx(second.value)
    assert places["two"].rank == (1 if second.value >= first.value else 2)


def layout_of(benchmark: str) -> Layout:
    return next(one for one in HEADLINES if one.benchmark == benchmark)


def failed(records: Sequence[Record], names: set[str]) -> list[Record]:
    return [
        msgspec.structs.replace(one, score=None, outcome="failed", unscored="failed", values={}, answer=None)
        if one.id in names
        else one
        for one in records
    ]


def test_unit_failed_in_one_run_is_left_out_of_both(tmp_path: Path) -> None:
    """A pair of MMVP, one question of which failed in one run, counts in none."""
    layout = layout_of("mmvp")
    records = list(half_right(layout))
    unit = records[0].unit
    lost = failed(records, {records[0].id})
    runs = [stored(tmp_path, layout, "one", shuffled(records, 1)), stored(tmp_path, layout, "two", lost)]
    (pair,) = compare(runs, ["one", "two"]).pairs
    rest = [[one for one in run if one.unit != unit] for run in (shuffled(records, 1), lost)]
    first, second = (made(layout).summarise(one).headline.value or 0.0 for one in rest)
    assert pair.difference == pytest.approx(second - first)
    # Over all pairs, the one that failed is wrong or right.
    (summary, other) = (run.report().summary for run in runs)
    assert summary.headline.value is not None
    assert other.bounds is not None
    assert pair.bounds == pytest.approx(
        (other.bounds.worst - summary.headline.value, other.bounds.best - summary.headline.value)
    )


def test_replies_drawn_several_times_count_with_the_mean_of_their_headlines(tmp_path: Path) -> None:
    layout = layout_of("pope")
    records = list(half_right(layout))
    draws = [shuffled(records, seed) for seed in (1, 2, 3)]
    repeated = [merge_draws(list(one)) for one in zip(*draws, strict=True)]
    runs = [stored(tmp_path, layout, "one", records), stored(tmp_path, layout, "three", repeated)]
    (pair,) = compare(runs, ["one", "three"]).pairs
    values = [made(layout).summarise(one).headline.value or 0.0 for one in draws]
    assert pair.second_score == pytest.approx(sum(values) / 3)
    assert pair.interval is not None


def test_a_headline_that_cannot_be_made_is_not_compared(tmp_path: Path) -> None:
    """Without a subtask MME has no total: the means of the scores are compared, and a line says
    so where the headline is another number."""
    layout = layout_of("mme")
    records = [one for one in half_right(layout) if one.groups["category"] != "OCR"]
    runs = [stored(tmp_path, layout, name, shuffled(records, seed)) for seed, name in enumerate(("one", "two"))]
    found = compare(runs, ["one", "two"])
    (pair,) = found.pairs
    scores = [100 * sum(one.score or 0.0 for one in run.records()) / len(records) for run in runs]
    assert pair.difference == pytest.approx(scores[1] - scores[0])
    assert found.benchmarks[0].unit == "percent"


def test_a_gain_is_that_of_the_headline(tmp_path: Path) -> None:
    layout = layout_of("pope")
    records = list(half_right(layout))
    runs = [
        stored(tmp_path / "a", layout, "one", records),
        stored(tmp_path / "b", layout, "one", shuffled(records, 2), cot="zero-shot"),
    ]
    (gain,) = (one for one in gains(runs) if not one.group)
    first, second = (run.report().summary.headline for run in runs)
    assert (gain.metric, gain.setting) == (first.name, "cot")
    assert gain.gain == pytest.approx((second.value or 0.0) - (first.value or 0.0))
    assert gain.interval is not None
    assert gain.p is not None
