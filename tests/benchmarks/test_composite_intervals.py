"""Intervals of POPE's and We-Math's numbers: against plain loops, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.benchmarks.pope_intervals import MEAN, POOLED, intervals
from snellen.benchmarks.wemath import _intervals, _metrics
from snellen.core.record import Record
from snellen.scoring.wemath import Composite
from snellen.scoring.yes_no import NO, YES, Reply, confusion

TRACKS = ("adversarial", "popular", "random")


def asked(seed: int, images: int = 60) -> dict[str, list[Record]]:
    """Six questions about each image, two of each track, answered by a model that likes yes."""
    draw = np.random.default_rng(seed)
    found: dict[str, list[Record]] = {track: [] for track in TRACKS}
    for image in range(images):
        for track in TRACKS:
            for gold in (YES, NO):
                said = gold if draw.random() < (0.9 if gold == YES else 0.7) else None
                found[track].append(
                    Record(
                        id=f"{image}/{track}/{gold}", kind="yes_no", question="?", gold=(gold,),
                        outcome="answered", answer=said or (NO if gold == YES else YES),
                        score=float(said is not None), unit=str(image),
                    )
                )  # fmt: skip
    return found


def answering(record: Record) -> Reply:
    return Reply(record.gold[0], record.answer)


def test_popes_intervals_are_about_its_numbers() -> None:
    by_track = asked(3)
    found = intervals(by_track, answering)
    names = ("f1", "accuracy", "precision", "recall", "yes_rate")
    assert set(found) == {
        *((name, track) for name in names for track in (*TRACKS, MEAN)),
        (POOLED, MEAN),
    }
    for track, records in by_track.items():
        table = confusion(map(answering, records))
        for name in names:
            interval = found[name, track]
            assert interval is not None
            assert interval.low < getattr(table, name) < interval.high
    mean, one = found["f1", MEAN], found["f1", "random"]
    assert mean is not None
    assert one is not None
    assert mean.high - mean.low < one.high - one.low
    assert intervals(asked(1, images=1), answering) == {}


def test_popes_accuracy_is_covered() -> None:
    """Nominal 95 %; the percentile bootstrap over 60 images is a little narrow."""
    hits = 0
    for seed in range(200):
        interval = intervals(asked(seed), answering)["accuracy", MEAN]
        assert interval is not None
        hits += interval.low <= 80.0 <= interval.high
    assert 0.90 <= hits / 200 <= 0.99


def test_wemaths_intervals_are_about_its_rates() -> None:
    draw = np.random.default_rng(2)
    problems = [
        Composite(tuple((draw.random(2) < 0.7).tolist()), bool(draw.random() < 0.6))
        for _ in range(200)
    ]
    for mode in ("strict", "loose"):
        found = _intervals(problems, mode)
        for name, metric in _metrics(problems, mode).items():
            interval = found[name.removesuffix(f"_{mode}")]
            assert metric.interval == interval
            assert interval is not None
            assert interval.low < (metric.value or 0.0) < interval.high
    # The score is a mean over problems of 1, 1/2 or 0: its interval is that of such a mean.
    worth = [
        1.0 if one.whole and all(one.steps) else 0.5 if all(one.steps) and not one.whole else 0.0
        for one in problems
    ]
    score = _intervals(problems, "strict")["score"]
    assert score is not None
    error = 100 * np.std(worth) / np.sqrt(200)
    assert score.high - score.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert _intervals(problems[:1], "strict") == {}
