"""Every benchmark says what its headline is made of: sums over samples, or the plain mean of their
scores."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from test_declarations import FILES, Layout, of, roles
from test_intervals_everywhere import COPIES, half_right

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.output import Generated
from snellen.core.record import Record
from snellen.core.summary import FailurePolicy, HeadlineSums
from snellen.engine.offline.gold_check import answer_samples
from snellen.scoring.accuracy import cluster_samples, counted_score

HOW: tuple[tuple[FailurePolicy, str], ...] = (
    ("exclude", "snellen"),
    ("count-wrong", "snellen"),
    ("exclude", "official"),
)
"""What failures do to scores, and whose rules are followed where the benchmark has them."""
OF_ALL_RECORDS = {"coco-caption", "odinw-13"}
"""CIDEr of some pictures depends on the references of all, and average precision on the ranking of all
boxes: its sums are exact for all pictures together."""


def made(layout: Layout, failures: FailurePolicy, rule: str) -> Benchmark:
    variant = Variant(
        data=str(layout.path), options=layout.options, judges=int("judge" in roles(layout)), failures=failures
    )
    opened = open_benchmark(layout.benchmark, variant)
    if rule not in opened.rules or rule == opened.rules[0]:
        return opened
    return open_benchmark(layout.benchmark, replace(variant, rule=rule))


def some_failed(layout: Layout) -> list[Record]:
    draw = random.Random(2)
    return [
        msgspec.structs.replace(record, score=None, outcome="failed", unscored="failed", values={})
        if draw.random() < 0.1
        else record
        for record in half_right(layout)
    ]


def value_of(sums: HeadlineSums, chosen: list[bool]) -> float:
    found = sums.value(sums.rows[chosen].sum(axis=0, keepdims=True))
    assert found.shape == (1,)
    return float(found[0])


@pytest.mark.parametrize("layout", FILES, ids=lambda one: one.path.name)
def test_the_headline_is_what_the_benchmark_declares(layout: Layout) -> None:
    records = some_failed(layout)
    # Whole copies of the layout are left out, so that every part of the benchmark remains.
    kept = [int(record.id.rpartition("#")[2]) < COPIES // 2 for record in records]
    for failures, rule in HOW:
        benchmark = made(layout, failures, rule)
        if benchmark.unscorable:
            continue
        for chosen in ([True] * len(records), kept):
            part = [record for record, keep in zip(records, chosen, strict=True) if keep]
            headline = benchmark.summarise(part).headline
            assert headline.value is not None
            if benchmark.headline_sums is None:
                scores = [one for record in part if (one := counted_score(record, failures)) is not None]
                assert headline.value == pytest.approx(headline.top * np.mean(scores), rel=1e-9)
                continue
            sums = benchmark.headline_sums(records)
            assert sums is not None
            assert len(sums.rows) == len(records)
            assert all(len(names) in (0, len(records)) for names in (sums.strata, sums.links))
            if all(chosen) or benchmark.name not in OF_ALL_RECORDS:
                assert value_of(sums, chosen) == pytest.approx(headline.value, rel=1e-9)


@pytest.mark.parametrize("layout", FILES, ids=lambda one: one.path.name)
def test_headline_sums_of_clusters_add_up(layout: Layout) -> None:
    """A cluster alone adds to the sums what it adds among the others."""
    benchmark = of(layout, judges=int("judge" in roles(layout)))
    records = list(half_right(layout))
    if benchmark.headline_sums is None or benchmark.unscorable or benchmark.name in OF_ALL_RECORDS:
        return
    sums = benchmark.headline_sums(records)
    assert sums is not None
    held = cluster_samples(records, sums.links)
    first = held[0]
    alone = [at for at, name in enumerate(held) if at == 0 or (first and name == first)]
    rest = [at for at in range(len(records)) if at not in alone]
    again = benchmark.headline_sums([records[at] for at in rest])
    assert again is not None
    assert again.rows.sum(axis=0) == pytest.approx(sums.rows[rest].sum(axis=0))


def test_a_missing_subtask_has_no_sums() -> None:
    layout = next(one for one in FILES if one.benchmark == "mme")
    benchmark = of(layout)
    assert benchmark.headline_sums is not None
    records = [one for one in half_right(layout) if one.groups["category"] != "OCR"]
    assert benchmark.headline_sums(records) is None
    assert benchmark.summarise(records).headline.value is None


def test_own_table_can_count_by_units(tmp_path: Path) -> None:
    data = tmp_path / "own.csv"
    lines = [f"{at},Which?,A,x,y,{at // 2}" for at in range(6)]
    data.write_text("\n".join(["index,question,answer,A,B,problem", *lines]))
    benchmark = open_benchmark(str(data), Variant(columns={"unit": "problem"}))
    records = answer_samples(
        benchmark, benchmark.samples(benchmark.open()), lambda sample, _: Generated("B" if sample.id == "3" else "A")
    )
    assert benchmark.headline_sums is not None
    sums = benchmark.headline_sums(records)
    assert sums is not None
    assert value_of(sums, [True] * 6) == pytest.approx(200 / 3)
    assert benchmark.summarise(records).headline.value == pytest.approx(200 / 3)
