"""A rule looks at the mean of the samples' scores; a report says so where its headline is another
number by definition."""

from __future__ import annotations

import random

import numpy as np
import pytest
from test_declarations import FILES, Layout, of, roles
from test_intervals_everywhere import half_right

from snellen.core.record import Record
from snellen.engine.contest import Contest
from snellen.engine.until import Precision
from snellen.scoring.accuracy import counted_score

EVEN = {"coco-caption", "llava-bench", "mmdu", "vcr-wiki@lang=zh"}
"""CIDEr, a ratio of sums and means over turns and blanks, which on these files, of one picture or
as many turns and blanks in every row, are the means of samples."""
SENTENCE = "not at the headline"


def is_mean_of_samples(layout: Layout, records: list[Record]) -> bool:
    """Whether the headline is the mean of the scores in each of some random subsets."""
    benchmark, draw = of(layout, judges=int("judge" in roles(layout))), random.Random(4)
    for _ in range(4):
        kept = [record for record in records if draw.random() < 0.7]
        headline = benchmark.summarise(kept).headline
        scores = [one for record in kept if (one := counted_score(record, "exclude")) is not None]
        if headline.value != pytest.approx(headline.top * np.mean(scores), rel=1e-9):
            return False
    return True


@pytest.mark.parametrize("layout", FILES, ids=lambda one: one.path.name)
def test_a_headline_that_is_no_mean_of_samples_is_named(layout: Layout) -> None:
    benchmark = of(layout, judges=int("judge" in roles(layout)))
    if benchmark.unscorable:
        return
    records = list(half_right(layout))
    samples = list(benchmark.samples(benchmark.open()))
    stopper = Precision(5).stopper(samples, 0, "exclude")
    for sample in samples:
        stopper.finished(Record(sample.id, "open", "?", "answered", score=1.0))
    summary = stopper.told(benchmark.summarise(records), benchmark)
    said = any(SENTENCE in notice for notice in summary.notices)
    if layout.path.stem in EVEN:
        assert said
    else:
        assert said is not is_mean_of_samples(layout, records)


def test_a_contest_says_it_too() -> None:
    layout = next(one for one in FILES if one.benchmark == "pope")
    benchmark = of(layout)
    contest = Contest(("a", "b"))
    side = contest.side(0)
    samples = list(benchmark.samples(benchmark.open()))
    side.stopper(samples, 0, "exclude")
    for sample in samples:
        for which in (0, 1):
            contest.note(which, Record(sample.id, "yes_no", "?", "answered", score=1.0))
    summary = side.told(benchmark.summarise(list(half_right(layout))), benchmark)
    assert any("not at the headline f1" in notice for notice in summary.notices)
