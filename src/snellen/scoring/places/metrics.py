"""The named metrics of one reply's places against the gold answer's, each 0..1.

| name | what it is |
| --- | --- |
| `iou` | IoU of the regions that both cover (`overlap.region_iou`); its mean is mIoU |
| `iou@T` | 1 if that IoU is at least T, else 0: accuracy at T |
| `rK@T` | 1 if one of the first K places of the reply has an IoU of at least T with a gold place: R@K, IoU=T |
| `inside` | share of the reply's points, or centres of boxes, in a gold box, polygon or mask, edges included |
| `closeness` | 1 - distance of the two first points / diagonal of the picture, at least 0 |
| `precision@T`, `recall@T`, `f1@T` | of the best pairing of places that agree to T or more (`matching`) |
| `count` | 1 if reply and gold answer name as many places, else 0 |
| `count_closeness` | 1 - difference of these numbers / that of the gold answer, at least 0 |

Where the gold answer names no place, each is 1 for a reply without places, else 0. Of several gold
answers the best counts. Numbers are rounded to nine digits, so that the way from
pixels to another space and back costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from snellen.core import lazy_re as re
from snellen.core.errors import UnknownName
from snellen.core.place import Places, Point, load_places
from snellen.scoring.places.matching import PairCount, count_pairs
from snellen.scoring.places.overlap import DIGITS, holds_point, overlap, places_in_order, reaches, region_iou

PlaceMetric = Callable[[Places, Places], float]
"""The places of a reply and those of a gold answer, to 0..1."""

_AT_THRESHOLD = re.compile(r"(iou|precision|recall|f1|r[1-9]\d?)@(0?\.\d+|1(?:\.0)?)")
_WITH_THRESHOLD = ("iou@0.5", "r1@0.5", "precision@0.5", "recall@0.5", "f1@0.5")


def place_metric(name: str) -> PlaceMetric:
    """The metric of a name. Raises UnknownName."""
    if name in _PLAIN:
        return _PLAIN[name]
    match = _AT_THRESHOLD.fullmatch(name)
    if match is None:
        raise UnknownName("metric of places", name, (*_PLAIN, *_WITH_THRESHOLD))
    kind, threshold = match[1], float(match[2])
    if kind == "iou":
        return partial(_iou_at, threshold)
    if kind in _OF_PAIRS:
        return partial(_of_pairs, _OF_PAIRS[kind], threshold)
    return partial(_recall_of_first, int(kind[1:]), threshold)


def grade_places(metric: PlaceMetric, answer: str, golds: Sequence[str]) -> float:
    """What an answer earns by a metric, both as texts of `Places`: the best over the gold answers."""
    predicted = load_places(answer)
    return round(max(_against(metric, predicted, load_places(gold)) for gold in golds), DIGITS)


def _against(metric: PlaceMetric, predicted: Places, gold: Places) -> float:
    return metric(predicted, gold) if len(gold) else float(not _number(predicted, gold))


def inside(predicted: Places, gold: Places) -> float:
    """`inside` of the table above; 0 for a reply without a point."""
    points = _points(predicted)
    regions = places_in_order(gold)
    held = sum(any(holds_point(region, point) for region in regions) for point in points)
    return held / len(points) if points else 0.0


def _points(places: Places) -> Sequence[Point]:
    """The points, else the centres of the boxes."""
    return places.points or [box.centre for box in places.boxes]


def _iou_at(threshold: float, predicted: Places, gold: Places) -> float:
    return float(reaches(region_iou(predicted, gold), threshold))


def _recall_of_first(number: int, threshold: float, predicted: Places, gold: Places) -> float:
    extent = gold.extent or predicted.extent
    pairs = ((one, other) for one in places_in_order(predicted)[:number] for other in places_in_order(gold))
    return float(any(reaches(overlap(one, other, extent), threshold) for one, other in pairs))


def _of_pairs(value: Callable[[PairCount], float], threshold: float, predicted: Places, gold: Places) -> float:
    return value(count_pairs(predicted, gold, threshold))


def _closeness(predicted: Places, gold: Places) -> float:
    said, true = _points(predicted), _points(gold)
    return overlap(said[0], true[0], gold.extent or predicted.extent) if said and true else 0.0


def _count(predicted: Places, gold: Places) -> float:
    return float(_number(predicted, gold) == len(gold))


def _count_closeness(predicted: Places, gold: Places) -> float:
    return max(0.0, 1 - abs(_number(predicted, gold) - len(gold)) / max(1, len(gold)))


def _number(predicted: Places, gold: Places) -> int:
    """How many places a reply names, without those that only a crowd explains."""
    return count_pairs(predicted, gold, 0.5).predicted if gold.crowds else len(predicted)


_PLAIN: dict[str, PlaceMetric] = {
    "iou": region_iou,
    "inside": inside,
    "closeness": _closeness,
    "count": _count,
    "count_closeness": _count_closeness,
}
_OF_PAIRS: dict[str, Callable[[PairCount], float]] = {
    "precision": lambda count: count.precision,
    "recall": lambda count: count.recall,
    "f1": lambda count: count.f1,
}
