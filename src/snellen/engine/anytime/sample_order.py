"""The random order of samples in a run that may stop early, and what is known so far."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from snellen.core.record import Record
from snellen.core.sample import Sample, sampling_key
from snellen.core.summary import Interval
from snellen.scoring.accuracy import FailurePolicy, counted_score
from snellen.scoring.clusters import cluster_samples
from snellen.stats.confidence_sequences import Bet, ConfidenceSequence
from snellen.stats.finite_sequences import FiniteSequence, StratumSize

_MAX_STRATA = 20
MIN_UNITS = 10
"""Units before which nothing is decided."""


class SampleUnit(NamedTuple):
    """Samples that are asked together, and the stratum they are drawn from."""

    stratum: str
    samples: tuple[Sample, ...]
    weights: tuple[float, ...] = ()
    """Of the samples' scores in the mean that is looked at; () where they weigh the same."""

    def sample_weights(self) -> tuple[float, ...]:
        """The weight of each sample, 1 where nothing is said."""
        return self.weights or (1.0,) * len(self.samples)


def stratified_order(
    samples: Sequence[Sample],
    seed: int,
    *,
    by_media: bool = True,
    weights: Sequence[float] = (),
) -> list[SampleUnit]:
    """Units in a random order in which every beginning holds the strata nearly in proportion.

    A unit is what may err together (`scoring.clusters`): samples of one `Sample.unit`, and with
    `by_media` those that show the same media, known by the digests that the data were opened with.
    Strata are the samples of one of the `weights`, where there are 2 to 20 different ones, else
    the labels of the coarsest group column that has 2 to 20; each lies at random within its
    stratum, by the hash of the seed and its name, and the strata are dealt evenly from a random
    start.
    """
    labels = _stratum_labels(samples, weights)
    weight = dict(zip((sample.id for sample in samples), weights, strict=False))
    strata: dict[str, list[tuple[bytes, SampleUnit]]] = defaultdict(list)
    for members in _group_units(samples, by_media):
        name = min(sample.unit or sample.id for sample in members)
        stratum = _majority_label([labels[sample.id] for sample in members])
        unit_weights = tuple(weight[sample.id] for sample in members) if weight else ()
        strata[stratum].append(
            (sampling_key(seed, name), SampleUnit(stratum, tuple(members), unit_weights))
        )
    ordered: list[tuple[float, bytes, SampleUnit]] = []
    for stratum, keyed_units in strata.items():
        start = int.from_bytes(sampling_key(seed, f"stratum:{stratum}")[:8]) / 2**64
        keyed_units.sort(key=lambda one: one[0])
        ordered += [
            ((index + start) / len(keyed_units), lot, unit)
            for index, (lot, unit) in enumerate(keyed_units)
        ]
    return [unit for _, _, unit in sorted(ordered, key=lambda one: one[:2])]


class _SampleLinks(NamedTuple):
    """What `scoring.clusters` looks at."""

    unit: str
    media: tuple[str, ...]


def _group_units(samples: Sequence[Sample], by_media: bool) -> Iterable[list[Sample]]:
    links = [
        _SampleLinks(sample.unit, tuple(ref.digest for ref in sample.media) if by_media else ())
        for sample in samples
    ]
    units: dict[str, list[Sample]] = defaultdict(list)
    for index, (sample, cluster) in enumerate(zip(samples, cluster_samples(links), strict=True)):
        units[cluster or f"sample {index}"].append(sample)
    return units.values()


def _majority_label(labels: Sequence[str]) -> str:
    """The label of most of a unit's samples: questions about one picture may have several."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def _stratum_labels(samples: Sequence[Sample], weights: Sequence[float]) -> dict[str, str]:
    """Of each sample's id, its label."""
    rounded = [f"{weight:.6g}" for weight in weights]
    if 2 <= len(set(rounded)) <= _MAX_STRATA:
        return dict(zip((sample.id for sample in samples), rounded, strict=True))
    column = _stratum_column(samples)
    return {sample.id: sample.groups.get(column, "") if column else "" for sample in samples}


def _stratum_column(samples: Sequence[Sample]) -> str | None:
    labels: dict[str, set[str]] = defaultdict(set)
    for sample in samples:
        for column, label in sample.groups.items():
            labels[column].add(label)
    label_counts = {
        column: len(found) for column, found in labels.items() if 2 <= len(found) <= _MAX_STRATA
    }
    return min(label_counts, key=lambda column: label_counts[column]) if label_counts else None


class AnytimeMean:
    """A confidence sequence of the mean over samples, by the weights of the units, fed unit by unit
    in the order of drawing.

    The mean is that over all samples of these units, asked or not, where the set is `finite`, as
    long as each sample had a score: else it is not known how many there are to be scored. Else it
    is that of an endless supply of such samples. What is drawn holds the strata nearly, not quite,
    in their proportion; half the sum of the absolute differences of the shares bounds what that can
    move a mean of values in 0..1, and stands on both sides of the latter's interval.

    What a unit will bring is predicted by those before it, or is always `prediction`: no prediction
    is as good for telling whether the mean is another one, and the order does not matter then.
    """

    def __init__(
        self,
        units: Sequence[SampleUnit],
        mixture: Sequence[Bet],
        *,
        finite: bool = False,
        prediction: float | None = None,
    ) -> None:
        self._prediction = prediction
        self._largest = max(sum(unit.sample_weights()) for unit in units)
        sizes: dict[str, float] = defaultdict(float)
        counts = Counter[str]()
        for unit in units:
            sizes[unit.stratum] += sum(unit.sample_weights())
            counts[unit.stratum] += 1
        self._infinite = ConfidenceSequence(mixture)
        self._finite = FiniteSequence(
            {
                stratum: StratumSize(counts[stratum], size / self._largest)
                for stratum, size in sizes.items()
            },
            mixture,
        )
        self._all_scored = finite
        self._remaining = len(units)
        total = sum(sizes.values())
        self._fractions = {stratum: count / total for stratum, count in sizes.items()}
        self._sums: dict[str, list[float]] = {stratum: [0.0, 0.0] for stratum in sizes}
        self.samples = 0
        self.units = 0

    def add(self, unit: SampleUnit, values: Sequence[float | None]) -> None:
        """Values in 0..1 of the samples of a unit, None for those that were not scored."""
        scored = [
            (value, weight)
            for value, weight in zip(values, unit.sample_weights(), strict=True)
            if value is not None
        ]
        self._all_scored &= len(scored) == len(unit.samples)
        self._remaining -= 1
        weight = sum(weight for _, weight in scored)
        if not scored:
            return
        self.samples += len(scored)
        self.units += 1
        sums, total = self._sums[unit.stratum], sum(value * weight for value, weight in scored)
        expected = self._prediction
        if expected is None:
            expected = (sums[0] + 2 * self._largest * self._infinite.prediction()) / (
                sums[1] + 2 * self._largest
            )
        size = weight / self._largest
        if size:
            self._infinite.add(total / self._largest, size, size * expected)
        if self._all_scored:
            self._finite.add(unit.stratum, total / self._largest, size, expected)
        sums[0] += total
        sums[1] += weight

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left to be asked."""
        return not self._remaining

    @property
    def all_scored(self) -> bool:
        """Whether every sample so far had a score, of a finite set."""
        return self._all_scored

    @property
    def mean(self) -> float | None:
        return self._infinite.mean

    def interval(self) -> Interval:
        if self._all_scored:
            return self._finite.interval()
        return self._infinite.interval(self.slack())

    def excludes(self, value: float) -> bool:
        """Whether the interval of an endless supply leaves out the value."""
        slack = self.slack()
        return self._infinite.is_above(value + slack) or self._infinite.is_below(value - slack)

    def slack(self) -> float:
        weight = sum(seen[1] for seen in self._sums.values())
        if not weight:
            return 1.0
        return 0.5 * sum(
            abs(self._sums[stratum][1] / weight - share)
            for stratum, share in self._fractions.items()
        )


class OrderedScores:
    """Looks at finished units in the order of drawing."""

    def __init__(self, units: Sequence[SampleUnit], failures: str) -> None:
        self._units = units
        self._failures = cast(FailurePolicy, failures)
        self._scores: dict[str, float | None] = {}
        self._next = 0

    def add_record(self, record: Record) -> None:
        self._scores[record.id] = counted_score(record, self._failures)

    def is_complete(self, index: int) -> bool:
        """Whether all samples of the unit at that place ended."""
        return index < len(self._units) and all(
            one.id in self._scores for one in self._units[index].samples
        )

    def scores(self, index: int) -> list[float | None]:
        return [self._scores[one.id] for one in self._units[index].samples]

    def pop_complete(self) -> Iterator[int]:
        """Places that became ready, each once."""
        while self.is_complete(self._next):
            self._next += 1
            yield self._next - 1
