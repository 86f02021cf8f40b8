"""Average precision against the verdicts of COCO's own evaluation (cocodataset/cocoapi, kept in
coco_verdicts.json) on made-up pictures, and its interval against resampling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.scoring.places.made_boxes import LABELS, SETS, MadePicture, make_pictures

from snellen.core.place import Box, Places
from snellen.core.record import Record
from snellen.scoring.places.average_precision import THRESHOLDS, average_precision, judge_boxes, mean_by_label
from snellen.scoring.places.run_metrics import run_metrics, run_sums

VERDICTS: dict[str, Any] = json.loads((Path(__file__).parent / "coco_verdicts.json").read_text())["boxes"]


def places_of(picture: MadePicture, *, scores: bool = True) -> tuple[Places, Places]:
    """Prediction and gold of a made picture."""
    predicted = Places(
        boxes=tuple(Box(*box) for _, box, _ in picture.predicted),
        labels=tuple(label for label, _, _ in picture.predicted),
        scores=tuple(score for _, _, score in picture.predicted) if scores else (),
    )
    gold = Places(
        boxes=tuple(Box(*box) for _, box in picture.gold),
        labels=tuple(label for label, _ in picture.gold),
        crowds=tuple(Box(*box) for _, box in picture.crowds),
        crowd_labels=tuple(label for label, _ in picture.crowds),
    )
    return predicted, gold


@pytest.mark.parametrize("name", SETS)
def test_equals_coco(name: str) -> None:
    pairs = [places_of(picture, scores=name != "none") for picture in make_pictures(name)]
    predicted, gold = zip(*pairs, strict=True)
    verdicts = VERDICTS[name]
    assert sum(map(len, gold)) == verdicts["gold"]
    assert sum(map(len, predicted)) == verdicts["predicted"]
    judged = judge_boxes(predicted, gold)
    mean = mean_by_label(judged)
    assert mean is not None
    assert mean.value == pytest.approx(verdicts["map"], abs=1e-12)
    for label in LABELS:
        assert average_precision(judged, label).value == pytest.approx(verdicts["labels"][label], abs=1e-12)
    for threshold, expected in zip(THRESHOLDS, verdicts["thresholds"], strict=True):
        at_threshold = mean_by_label(judge_boxes(predicted, gold, (threshold,)))
        assert at_threshold is not None
        assert at_threshold.value == pytest.approx(expected, abs=1e-12)


def records_of(name: str, number: int) -> list[Record]:
    pairs = map(places_of, make_pictures(name)[:number])
    return [
        Record(f"p{index}", "place", "Which?", "answered", 0.5, answer=reply.text(), gold=(gold.text(),))
        for index, (reply, gold) in enumerate(pairs)
    ]


@pytest.mark.parametrize("name", ["map", "map_micro", "ap@0.5", "f1_micro@0.5"])
def test_the_interval_is_as_wide_as_that_of_resampled_pictures(name: str) -> None:
    records = records_of("confidences", 150)
    metric = run_metrics([name], "exclude", records)[name]
    assert metric.value is not None
    assert metric.interval is not None
    draw = np.random.default_rng(1)
    values = []
    for _ in range(60):
        resampled = [records[index] for index in draw.integers(0, len(records), len(records))]
        sums = run_sums(name, "exclude", resampled)
        assert sums is not None
        values.append(sums.of_all())
    width = metric.interval.high - metric.interval.low
    assert width == pytest.approx(2 * 1.96 * float(np.std(values)), rel=0.35)
    assert metric.interval.low < metric.value < metric.interval.high


def test_influences_are_the_derivative_by_the_weight_of_a_picture() -> None:
    pairs = [places_of(picture) for picture in make_pictures("confidences")[:60]]
    predicted, gold = zip(*pairs, strict=True)
    found = mean_by_label(judge_boxes(predicted, gold))
    assert found is not None
    assert found.influences.sum() == pytest.approx(0, abs=1e-12)
    # Twice the same run has the same score; a picture more moves it by about its influence.
    twice = mean_by_label(judge_boxes(predicted * 8, gold * 8))
    more = mean_by_label(judge_boxes((*(predicted * 8), predicted[3]), (*(gold * 8), gold[3])))
    assert twice is not None
    assert more is not None
    assert (more.value - twice.value) * 8 == pytest.approx(found.influences[3], abs=0.003)


def test_micro_ranks_all_labels_together() -> None:
    gold = Places(boxes=(Box(0, 0, 10, 10), Box(20, 20, 30, 30)), labels=("a", "b"))
    right_a = Places(boxes=(Box(0, 0, 10, 10), Box(20, 20, 30, 30)), labels=("A", "c"), scores=(0.5, 0.9))
    judged = judge_boxes([right_a], [gold])
    macro = mean_by_label(judged)
    assert macro is not None
    assert macro.value == pytest.approx(0.5)
    # The label c, which no gold box has, ranks first and is wrong: precision 1/2 at recall 1/2.
    assert average_precision(judged).value == pytest.approx(0.5 * 51 / 101)


def test_without_gold_places_there_is_no_number() -> None:
    empty = Record("p", "place", "Which?", "answered", 1.0, answer=Places().text(), gold=(Places().text(),))
    metric = run_metrics(["map"], "exclude", [empty])["map"]
    assert metric.value is None
    assert "no gold places" in metric.note
