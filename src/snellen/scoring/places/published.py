"""How published scorers grade places where no metric of `scoring.places.metrics` does."""

from __future__ import annotations

import json
import math

from snellen.core.arrays import Bools, np
from snellen.core.place import load_places
from snellen.core.sample import Sample
from snellen.scoring.assignment import least_sum_pairs
from snellen.scoring.places.masks import pixels_of_mask
from snellen.scoring.places.metrics import grade_places, place_metric


def share_of_pixels(answer: str, sample: Sample) -> float:
    """The share of the pixels that a reply names which lie in the mask of the gold answer: a point is
    one, a box all of its own. Pixels beyond the picture lie outside; 0 for none (RoboPoint,
    https://arxiv.org/abs/2406.10721, and RefSpatial-Bench)."""
    said = load_places(answer)
    mask = pixels_of_mask(load_places(sample.gold[0]).masks[0])
    height, width = mask.shape
    points = ((int(point.x), int(point.y)) for point in said.points)
    held = sum(bool(mask[y, x]) for x, y in points if 0 <= x < width and 0 <= y < height)
    named = len(said.points)
    for box in said.boxes:
        left, top, right, bottom = map(int, box)
        named += (right - left) * (bottom - top)
        held += int(np.count_nonzero(mask[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]))
    return held / named if named else 0.0


def recall_at_half(answer: str, sample: Sample) -> float:
    """The share of gold boxes that are found with an IoU of at least 0.5 (lmms-eval, ODinW)."""
    return grade_places(place_metric("recall@0.5"), answer, sample.gold)


def any_inside(answer: str, sample: Sample) -> float:
    """1 if one of the points of a reply lies in a gold place, else 0 (lmms-eval, RoboSpatial)."""
    return float(grade_places(place_metric("inside"), answer, sample.gold) > 0)


def f1_by_distance(answer: str, sample: Sample) -> float:
    """F1 of points that are paired with the gold points by the least sum of distances, then lie in the
    mask of their partner or not (Molmo, https://arxiv.org/abs/2409.17146). The gold points are those of
    the sample's `points`, as the data write them, while the reply's are in pixels: the authors' script
    compares the two."""
    said = load_places(answer).points
    golds = [(one["x"], one["y"]) for one in json.loads(sample.metadata["points"])]
    if not said or not golds:
        return float(not said and not golds)
    masks = [pixels_of_mask(mask) for mask in load_places(sample.gold[0]).masks]
    pairs = least_sum_pairs([[math.dist(one, gold) for gold in golds] for one in said])
    # Nothing is held by a gold point that has no mask.
    held = sum(_holds(masks[gold], *map(round, said[one])) for one, gold in pairs if gold < len(masks))
    precision, recall = held / len(said), held / len(masks)
    return 2 * precision * recall / (precision + recall) if held else 0.0


def _holds(mask: Bools, x: int, y: int) -> bool:
    height, width = mask.shape
    return 0 <= x < width and 0 <= y < height and bool(mask[y, x])
