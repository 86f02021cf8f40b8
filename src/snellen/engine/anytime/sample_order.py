"""The random order of samples in a run that may stop early, and what is known so far."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from snellen.core.record import Record
from snellen.core.sample import Sample, lot
from snellen.core.summary import Interval
from snellen.scoring.accuracy import FailurePolicy, counted_score
from snellen.scoring.clusters import clusters
from snellen.stats.confidence_sequences import Bet, ConfidenceSequence
from snellen.stats.finite_sequences import FiniteSequence, Stratum

_MOST_STRATA = 20
FEWEST = 10
"""Units before which nothing is decided."""


class Unit(NamedTuple):
    """Samples that are asked together, and the stratum they are drawn from."""

    stratum: str
    samples: tuple[Sample, ...]
    weights: tuple[float, ...] = ()
    """Of the samples' scores in the mean that is looked at; () where they weigh the same."""

    def weighed(self) -> tuple[float, ...]:
        """The weight of each sample, 1 where nothing is said."""
        return self.weights or (1.0,) * len(self.samples)


def units_in_order(
    samples: Sequence[Sample],
    seed: int,
    *,
    by_media: bool = True,
    weights: Sequence[float] = (),
) -> list[Unit]:
    """Units in a random order in which every beginning holds the strata nearly in proportion.

    A unit is what may err together (`scoring.clusters`): samples of one `Sample.unit`, and with
    `by_media` those that show the same media, known by the digests that the data were opened with.
    Strata are the samples of one of the `weights`, where there are 2 to 20 different ones, else
    the labels of the coarsest group column that has 2 to 20; each lies at random within its
    stratum, by the hash of the seed and its name, and the strata are dealt evenly from a random
    start.
    """
    labels = _labels(samples, weights)
    weight = dict(zip((sample.id for sample in samples), weights, strict=False))
    strata: dict[str, list[tuple[bytes, Unit]]] = defaultdict(list)
    for members in _units(samples, by_media):
        name = min(sample.unit or sample.id for sample in members)
        stratum = _stratum([labels[sample.id] for sample in members])
        weighed = tuple(weight[sample.id] for sample in members) if weight else ()
        strata[stratum].append((lot(seed, name), Unit(stratum, tuple(members), weighed)))
    dealt: list[tuple[float, bytes, Unit]] = []
    for stratum, drawn in strata.items():
        start = int.from_bytes(lot(seed, f"stratum:{stratum}")[:8]) / 2**64
        drawn.sort(key=lambda one: one[0])
        dealt += [
            ((place + start) / len(drawn), lot, unit) for place, (lot, unit) in enumerate(drawn)
        ]
    return [unit for _, _, unit in sorted(dealt, key=lambda one: one[:2])]


class _Linked(NamedTuple):
    """What `scoring.clusters` looks at."""

    unit: str
    media: tuple[str, ...]


def _units(samples: Sequence[Sample], by_media: bool) -> Iterable[list[Sample]]:
    linked = [
        _Linked(sample.unit, tuple(ref.digest for ref in sample.media) if by_media else ())
        for sample in samples
    ]
    units: dict[str, list[Sample]] = defaultdict(list)
    for place, (sample, cluster) in enumerate(zip(samples, clusters(linked), strict=True)):
        units[cluster or f"sample {place}"].append(sample)
    return units.values()


def _stratum(labels: Sequence[str]) -> str:
    """The label of most of a unit's samples: questions about one picture may have several."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def _labels(samples: Sequence[Sample], weights: Sequence[float]) -> dict[str, str]:
    """Of each sample's id, its label."""
    rounded = [f"{weight:.6g}" for weight in weights]
    if 2 <= len(set(rounded)) <= _MOST_STRATA:
        return dict(zip((sample.id for sample in samples), rounded, strict=True))
    column = _stratifying(samples)
    return {sample.id: sample.groups.get(column, "") if column else "" for sample in samples}


def _stratifying(samples: Sequence[Sample]) -> str | None:
    labels: dict[str, set[str]] = defaultdict(set)
    for sample in samples:
        for column, label in sample.groups.items():
            labels[column].add(label)
    fit = {
        column: len(found) for column, found in labels.items() if 2 <= len(found) <= _MOST_STRATA
    }
    return min(fit, key=lambda column: fit[column]) if fit else None


class Strata:
    """A confidence sequence of the mean over samples, by the weights of the units, fed unit by unit
    in the order of drawing.

    The mean is that over all samples of these units, asked or not, where the set is `finite`, as
    long as each sample had a score: else it is not known how many there are to be scored. Else it
    is that of an endless supply of such samples. What is drawn holds the strata nearly, not quite,
    in their proportion; half the sum of the absolute differences of the shares bounds what that can
    move a mean of values in 0..1, and stands on both sides of the latter's interval.

    What a unit will bring is predicted by those before it, or is always `predicted`: no prediction
    is as good for telling whether the mean is another one, and the order does not matter then.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        mixture: Sequence[Bet],
        *,
        finite: bool = False,
        predicted: float | None = None,
    ) -> None:
        self._predicted = predicted
        self._largest = max(sum(unit.weighed()) for unit in units)
        shares: dict[str, float] = defaultdict(float)
        counts = Counter[str]()
        for unit in units:
            shares[unit.stratum] += sum(unit.weighed())
            counts[unit.stratum] += 1
        self._endless = ConfidenceSequence(mixture)
        self._finite = FiniteSequence(
            {
                stratum: Stratum(counts[stratum], size / self._largest)
                for stratum, size in shares.items()
            },
            mixture,
        )
        self._known = finite
        self._left = len(units)
        total = sum(shares.values())
        self._shares = {stratum: count / total for stratum, count in shares.items()}
        self._seen: dict[str, list[float]] = {stratum: [0.0, 0.0] for stratum in shares}
        self.samples = 0
        self.units = 0

    def add(self, unit: Unit, values: Sequence[float | None]) -> None:
        """Values in 0..1 of the samples of a unit, None for those that were not scored."""
        scored = [
            (value, weight)
            for value, weight in zip(values, unit.weighed(), strict=True)
            if value is not None
        ]
        self._known &= len(scored) == len(unit.samples)
        self._left -= 1
        weight = sum(weight for _, weight in scored)
        if not scored:
            return
        self.samples += len(scored)
        self.units += 1
        seen, total = self._seen[unit.stratum], sum(value * weight for value, weight in scored)
        near = self._predicted
        if near is None:
            near = (seen[0] + 2 * self._largest * self._endless.predicted()) / (
                seen[1] + 2 * self._largest
            )
        size = weight / self._largest
        if size:
            self._endless.add(total / self._largest, size, size * near)
        if self._known:
            self._finite.add(unit.stratum, total / self._largest, size, near)
        seen[0] += total
        seen[1] += weight

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to be asked."""
        return not self._left

    @property
    def all_scored(self) -> bool:
        """Whether every sample so far had a score, of a finite set."""
        return self._known

    @property
    def mean(self) -> float | None:
        return self._endless.mean

    def interval(self) -> Interval:
        if self._known:
            return self._finite.interval()
        return self._endless.interval(self.slack())

    def apart(self, value: float) -> bool:
        """Whether the interval of an endless supply leaves out the value."""
        slack = self.slack()
        return self._endless.above(value + slack) or self._endless.below(value - slack)

    def slack(self) -> float:
        weight = sum(seen[1] for seen in self._seen.values())
        if not weight:
            return 1.0
        return 0.5 * sum(
            abs(self._seen[stratum][1] / weight - share) for stratum, share in self._shares.items()
        )


class InOrder:
    """Looks at finished units in the order of drawing."""

    def __init__(self, units: Sequence[Unit], failures: str) -> None:
        self._units = units
        self._failures = cast(FailurePolicy, failures)
        self._scores: dict[str, float | None] = {}
        self._next = 0

    def note(self, record: Record) -> None:
        self._scores[record.id] = counted_score(record, self._failures)

    def whole(self, place: int) -> bool:
        """Whether all samples of the unit at that place ended."""
        return place < len(self._units) and all(
            one.id in self._scores for one in self._units[place].samples
        )

    def scores(self, place: int) -> list[float | None]:
        return [self._scores[one.id] for one in self._units[place].samples]

    def ready(self) -> Iterator[int]:
        """Places that became ready, each once."""
        while self.whole(self._next):
            self._next += 1
            yield self._next - 1
