"""Intervals of POPE's, MME's, We-Math's and LLaVA-Bench's numbers: against plain loops, and by
simulation."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from snellen.benchmarks.abilities.mme.subtasks import SUBTASK, SUBTASKS
from snellen.benchmarks.abilities.mme.summary import summarise_mme
from snellen.benchmarks.mathematics.wemath import CompositeProblem, _mode_metrics
from snellen.benchmarks.open_answers.llava_bench import MODEL, REFERENCE, _relative_metric
from snellen.benchmarks.perception.pope.summary import MEAN, POOLED, compute_intervals
from snellen.core.record import Record
from snellen.core.summary import Metric
from snellen.scoring.accuracy import mean_metric
from snellen.scoring.yes_no import NO, YES, YesNoReply, confusion
from snellen.stats.intervals import wilson

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
                        id=f"{image}/{track}/{gold}",
                        kind="yes_no",
                        question="?",
                        gold=(gold,),
                        outcome="answered",
                        answer=said or (NO if gold == YES else YES),
                        score=float(said is not None),
                        unit=str(image),
                    )
                )
    return found


def answering(record: Record) -> YesNoReply:
    return YesNoReply(record.gold[0], record.answer)


def test_popes_intervals_are_about_its_numbers() -> None:
    by_track = asked(3)
    found = compute_intervals(by_track, answering)
    names = ("f1", "accuracy", "precision", "recall", "yes_rate")
    assert set(found) == {*((name, track) for name in names for track in (*TRACKS, MEAN)), (POOLED, MEAN)}
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
    assert set(compute_intervals(asked(1, images=1), answering).values()) == {None}


def test_popes_accuracy_is_covered() -> None:
    """Of 40 runs at 95 %, 0.85 is three standard errors below; `simulations` has F1."""
    hits = 0
    for seed in range(40):
        interval = compute_intervals(asked(seed, images=20), answering)["accuracy", MEAN]
        assert interval is not None
        hits += interval.low <= 80.0 <= interval.high
    assert hits / 40 > 0.85


def pairs(seed: int) -> list[Record]:
    """Two questions about each of the same 40 images in every subtask. A quarter of the images are
    hard: of their questions 40 % are right, of the others 90 %."""
    draw = np.random.default_rng(seed)
    shares = np.where(draw.random(40) < 0.25, 0.4, 0.9)
    return [
        Record(
            id=f"{subtask}/{image}/{gold}",
            kind="yes_no",
            question="?",
            gold=(gold,),
            outcome="answered",
            answer=YES,
            score=float(draw.random() < shares[image]),
            unit=f"{subtask}/{image}",
            media=(f"image {image}",),
            groups={SUBTASK: subtask},
        )
        for subtask in SUBTASKS
        for image in range(40)
        for gold in (YES, NO)
    ]


def test_mmes_total_is_covered() -> None:
    """Of 40 runs at 95 %, more than 0.85 lie within three standard errors; as if each subtask had
    images of its own, it would be two of three."""
    accuracy, plus = 0.25 * 0.4 + 0.75 * 0.9, 0.25 * 0.4**2 + 0.75 * 0.9**2
    truth = 100 * len(SUBTASKS) * (accuracy + plus)
    hits = 0
    for seed in range(40):
        found = summarise_mme(pairs(seed), parsing_rule="official", parsing_rules=["official"])
        interval = found.headline.interval
        assert interval is not None
        hits += interval.low <= truth <= interval.high
    assert hits / 40 > 0.85
    one = found.groups["accuracy_plus"][SUBTASKS[0]]
    assert one.n == 40
    assert one.interval is not None
    assert one.interval.method == "wilson"
    assert found.metrics["accuracy_plus"].interval is not None
    assert found.metrics["accuracy_plus"].interval.method == "wilson, clustered"


def test_f1_of_100_is_not_certain() -> None:
    """72 questions about 4 images, all right: 100 %, and fewer images tell less."""
    lows = []
    for images in (4, 40):
        by_track = {
            track: [msgspec.structs.replace(one, answer=one.gold[0]) for one in records]
            for track, records in asked(3, images).items()
        }
        found = compute_intervals(by_track, answering)
        for name in ("f1", "precision", "recall", "accuracy"):
            interval = found[name, MEAN]
            assert interval is not None
            assert interval.high == 100.0
            assert interval.low < 100.0
        f1 = found["f1", MEAN]
        assert f1 is not None
        lows.append(f1.low)
    assert lows == pytest.approx([100 * wilson(images, images).low for images in (4, 40)])


def test_llava_bench_resamples_pictures() -> None:
    """Three questions about each of 20 pictures, all as good as the picture is easy: the interval
    is that of 20 answers, and the value does not change."""
    draw = np.random.default_rng(4)
    worth = [float(value) for value in draw.uniform(2, 9, 20)]

    def asked_about(media: bool) -> list[Record]:
        return [
            Record(
                id=f"{picture}/{question}",
                kind="open",
                question="?",
                outcome="answered",
                score=value / 10,
                values={MODEL: value, REFERENCE: 8.0},
                media=(f"p{picture}",) if media else (),
            )
            for picture, value in enumerate(worth)
            for question in range(3)
        ]

    plain = Metric("score", 50.0, 60)
    together, apart = (_relative_metric(asked_about(True), plain), _relative_metric(asked_about(False), plain))
    assert together.value == pytest.approx(apart.value) == pytest.approx(np.mean(worth) / 8 * 100)
    assert together.n == apart.n == 60
    assert together.interval is not None
    assert apart.interval is not None
    error = 100 / 8 * np.std(worth) / np.sqrt(20)
    width = together.interval.high - together.interval.low
    assert width == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert width > 1.5 * (apart.interval.high - apart.interval.low)


def test_wemaths_intervals_are_about_its_rates() -> None:
    draw = np.random.default_rng(2)
    problems = [CompositeProblem(tuple((draw.random(2) < 0.7).tolist()), bool(draw.random() < 0.6)) for _ in range(200)]
    for mode in ("strict", "loose"):
        for metric in _mode_metrics(problems, mode).values():
            assert metric.interval is not None
            assert metric.interval.low < (metric.value or 0.0) < metric.interval.high
    # The score is a mean over problems of 1, 1/2 or 0: its interval is that of such a mean.
    worth = [
        1.0 if one.is_solved and all(one.steps) else 0.5 if all(one.steps) and not one.is_solved else 0.0
        for one in problems
    ]
    score = _mode_metrics(problems, "strict")["score_strict"].interval
    assert score is not None
    error = 100 * np.std(worth) / np.sqrt(200)
    assert score.high - score.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    rote = _mode_metrics(problems, "strict")["rote_memorisation_strict"]
    right = [one for one in problems if one.is_solved]
    assert rote.interval == mean_metric("", [float(not all(one.steps)) for one in right]).interval
