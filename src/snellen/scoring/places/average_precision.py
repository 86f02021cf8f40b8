"""Average precision of labelled boxes over a whole run, as COCO's evaluation computes it
(https://github.com/cocodataset/cocoapi, `cocoeval`).

Boxes are ranked by confidence, over all pictures. In this order each takes the free gold box of its
picture and label with the highest IoU of at least the threshold; with none it is wrong. The
precision at 101 recalls, 0, 0.01, ..., 1, is the highest at that recall or a higher one; their mean
is the average precision. mAP is its mean over the thresholds 0.5, 0.55, ..., 0.95 and over the
labels that have a gold box. At most 100 boxes of a label count in a picture. A box without a partner
that lies in a crowd of its label to the threshold does not count. There are no ranges of areas.

Where a reply does not state the confidence of each box, all of its boxes have 1. Boxes of one
confidence are ranked in the order of the pictures, then in that of the reply. Without confidences that
tell right boxes from wrong ones the number over few pictures is too high, as the highest precision is
taken at each recall: on made-up pictures 27 for 200 of them where it is 22 for thousands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from snellen.core.arrays import Bools, Floats, Ints, np
from snellen.core.place import Box, Places, box_iou
from snellen.scoring.places.matching import crowded_boxes

THRESHOLDS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
"""IoU from which a box is right, of COCO's mAP."""
_MAX_BOXES = 100
_RECALLS = 101
_ALMOST_ONE = 1 - 1e-10
"""COCO's highest threshold."""


class JudgedBox(NamedTuple):
    """A predicted box, and whether it is right at each threshold."""

    label: str
    score: float
    picture: int
    """Its picture, from 0."""
    right: tuple[bool, ...]
    counts: tuple[bool, ...]
    """Whether it counts at each threshold; it does not in a crowd."""


class JudgedBoxes(NamedTuple):
    """The predicted boxes of a run, and the gold boxes of each label in each picture."""

    boxes: Sequence[JudgedBox]
    """In the order of the pictures, then of the replies."""
    gold: Mapping[str, Floats]
    thresholds: Sequence[float]


class AveragePrecision(NamedTuple):
    """A mean of average precisions, 0..1, and by how much each picture moves it."""

    value: float
    influences: Floats
    """Its derivative by the weight of each picture: of the area below the same precisions, which
    does not jump at one of the 101 recalls. They sum to 0."""


def judge_boxes(
    predicted: Sequence[Places], gold: Sequence[Places], thresholds: Sequence[float] = THRESHOLDS
) -> JudgedBoxes:
    """Judge the boxes of a run; `predicted` and `gold` are by picture, in one order. Labels are equal
    but for case; if no gold box has one, those of replies do not count."""
    labelled = any(places.labels for places in gold)
    counts: dict[str, Floats] = {}
    judged: list[JudgedBox] = []
    for picture, (reply, truth) in enumerate(zip(predicted, gold, strict=True)):
        golds, said = _boxes_by_label(truth, labelled), _boxes_by_label(reply, labelled)
        for label, places in golds.items():
            counts.setdefault(label, np.zeros(len(gold)))[picture] = len(places)
        verdicts: dict[int, JudgedBox] = {}
        in_crowds = [crowded_boxes(reply, truth, min(threshold, _ALMOST_ONE)) for threshold in thresholds]
        for label, places in said.items():
            ranked = sorted(places, key=lambda place: -_score(reply, place))[:_MAX_BOXES]
            truths = [truth.boxes[place] for place in golds.get(label, ())]
            rights = _judge_ranked([reply.boxes[place] for place in ranked], truths, thresholds)
            for place, right in zip(ranked, rights, strict=True):
                counted = tuple(found or place not in crowded for found, crowded in zip(right, in_crowds, strict=True))
                verdicts[place] = JudgedBox(label, _score(reply, place), picture, right, counted)
        judged += [verdicts[place] for place in sorted(verdicts)]
    return JudgedBoxes(judged, counts, thresholds)


def mean_by_label(judged: JudgedBoxes) -> AveragePrecision | None:
    """Macro: the mean of the labels' average precisions; None without gold boxes."""
    parts = [average_precision(judged, label) for label in judged.gold]
    return _mean(parts) if parts else None


def average_precision(judged: JudgedBoxes, label: str | None = None) -> AveragePrecision:
    """The mean over the thresholds of the average precision of a label; None: of the boxes of all
    labels in one ranking (micro), in which labels without a gold box are wrong."""
    boxes = [box for box in judged.boxes if label in (None, box.label)]
    boxes.sort(key=lambda box: -box.score)
    gold = judged.gold[label] if label is not None else np.sum(list(judged.gold.values()), axis=0)
    pictures = np.array([box.picture for box in boxes], dtype=np.int64)
    shape = len(boxes), len(judged.thresholds)
    right = np.array([box.right for box in boxes], dtype=bool).reshape(shape)
    counts = np.array([box.counts for box in boxes], dtype=bool).reshape(shape)
    columns = zip(right.T, counts.T, strict=True)
    return _mean([_of_ranking(found[counted], pictures[counted], gold) for found, counted in columns])


def _of_ranking(right: Bools, pictures: Ints, gold: Floats) -> AveragePrecision:
    """The average precision of ranked boxes at one threshold. `gold` counts the gold boxes of each
    picture."""
    total = float(gold.sum())
    found, ranks = np.cumsum(right), np.arange(1, len(right) + 1)
    precision = found / ranks
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    reached = np.searchsorted(found / total, np.linspace(0, 1, _RECALLS), side="left")
    value = float(envelope[reached[reached < len(right)]].sum()) / _RECALLS
    # The rank whose precision is the envelope's, for each rank.
    marks = np.where(precision == envelope, ranks - 1, len(right))
    best = np.minimum.accumulate(marks[::-1])[::-1]
    # How a box moves the area: by the gold box that it finds, and by the precisions behind it.
    mass = np.bincount(best[right], minlength=len(right)) / total
    gained = np.cumsum((mass / ranks)[::-1])[::-1]
    lost = np.cumsum((mass * precision / ranks)[::-1])[::-1]
    moves = right * (envelope / total + gained) - lost
    area = float((right * envelope).sum()) / total
    influences = np.bincount(pictures, weights=moves, minlength=len(gold)) - area * gold / total
    return AveragePrecision(value, influences)


def _mean(parts: Sequence[AveragePrecision]) -> AveragePrecision:
    influences = np.mean([part.influences for part in parts], axis=0)
    return AveragePrecision(fmean(part.value for part in parts), influences)


def _boxes_by_label(places: Places, labelled: bool) -> dict[str, list[int]]:
    """The numbers of the boxes of each label; one without a label has the label ""."""
    found: dict[str, list[int]] = defaultdict(list)
    for number in range(len(places.boxes)):
        label = places.labels[number].strip().casefold() if labelled and places.labels else ""
        found[label].append(number)
    return found


def _score(places: Places, number: int) -> float:
    return places.scores[number] if places.scores else 1.0


def _judge_ranked(
    boxes: Sequence[Box], golds: Sequence[Box], thresholds: Sequence[float]
) -> Iterable[tuple[bool, ...]]:
    """Whether each box is right at each threshold; the boxes by falling confidence."""
    overlaps = [[box_iou(box, gold) for gold in golds] for box in boxes]
    by_threshold = [_match_in_order(overlaps, min(threshold, _ALMOST_ONE)) for threshold in thresholds]
    return zip(*by_threshold, strict=True)


def _match_in_order(overlaps: Sequence[Sequence[float]], threshold: float) -> list[bool]:
    """Each box in turn takes the free gold box with the highest overlap, of equal ones the last."""
    taken: set[int] = set()
    right: list[bool] = []
    for of_box in overlaps:
        best, chosen = threshold, None
        for number, value in enumerate(of_box):
            if number not in taken and value >= best:
                best, chosen = value, number
        right.append(chosen is not None)
        if chosen is not None:
            taken.add(chosen)
    return right
