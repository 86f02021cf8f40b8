"""Places of a reply paired with those of the gold answer, each used once: precision, recall, F1.

The pairing has as many pairs as possible (a maximum matching, by augmenting paths; Kuhn 1955), so
that no order of the places can change a number.
"""

from __future__ import annotations

from typing import NamedTuple

from snellen.core.place import Places, share_inside
from snellen.scoring.places.overlap import overlap, places_in_order, reaches


class PairCount(NamedTuple):
    """How many places of a reply and of the gold answer there are, and how many pairs."""

    pairs: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Paired places of the reply among all of it; 1 where neither names any."""
        return self.pairs / self.predicted if self.predicted else float(not self.gold)

    @property
    def recall(self) -> float:
        """Paired gold places among all; 1 where neither names any."""
        return self.pairs / self.gold if self.gold else float(not self.predicted)

    @property
    def f1(self) -> float:
        total = self.predicted + self.gold
        return 2 * self.pairs / total if total else 1.0


def count_pairs(predicted: Places, gold: Places, threshold: float) -> PairCount:
    """Pair places that agree at least as well as `threshold` (`overlap`). Where the gold answer has
    labels, those of a pair are equal but for case; a place without a label then has no partner."""
    allowed = _allowed_pairs(predicted, gold, threshold)
    partner: dict[int, int] = {}
    crowded = crowded_boxes(predicted, gold, threshold)
    # Those in a crowd last: of them as many as possible are to stay without a partner.
    order = sorted(range(len(allowed)), key=crowded.__contains__)
    pairs = [place for place in order if _add_pair(place, allowed, partner)]
    return PairCount(len(pairs), len(predicted) - len(crowded.difference(pairs)), len(gold))


def crowded_boxes(predicted: Places, gold: Places, threshold: float) -> set[int]:
    """The numbers of the boxes of a reply that lie in a crowd of their label to the share `threshold`:
    without a partner they do not count."""
    if not gold.crowds:
        return set()
    labels = [label.strip().casefold() for label in gold.crowd_labels] or [""] * len(gold.crowds)
    said = [label.strip().casefold() for label in predicted.labels] or [""] * len(predicted.boxes)
    return {
        number
        for number, box in enumerate(predicted.boxes)
        if any(
            label in ("", said[number]) and reaches(share_inside(box, crowd), threshold)
            for crowd, label in zip(gold.crowds, labels, strict=True)
        )
    }


def _allowed_pairs(predicted: Places, gold: Places, threshold: float) -> list[list[int]]:
    """For each place of the reply the gold places it may be paired with."""
    extent = gold.extent or predicted.extent
    wanted = [label.strip().casefold() for label in gold.labels]
    said = [label.strip().casefold() for label in predicted.labels] or [""] * len(predicted)
    golds = list(enumerate(places_in_order(gold)))
    return [
        [
            index
            for index, other in golds
            if (not wanted or wanted[index] == said[number]) and reaches(overlap(place, other, extent), threshold)
        ]
        for number, place in enumerate(places_in_order(predicted))
    ]


def _add_pair(start: int, allowed: list[list[int]], partner: dict[int, int]) -> bool:
    """Pair the place `start`, others changing their partners where this makes room; `partner` maps
    gold places to places of the reply. Breadth first, so that no path is deeper than Python."""
    came_from: dict[int, tuple[int, int | None]] = {}
    queue: list[tuple[int, int | None]] = [(start, None)]
    for place, gold_before in queue:
        for gold in allowed[place]:
            if gold in came_from:
                continue
            came_from[gold] = (place, gold_before)
            if gold in partner:
                queue.append((partner[gold], gold))
                continue
            end: int | None = gold
            while end is not None:
                partner[end], end = came_from[end]
            return True
    return False
