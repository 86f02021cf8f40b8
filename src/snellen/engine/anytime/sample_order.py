"""Runs that may stop early: the random order of their samples, and the mean score so far.

Samples are ordered by unit (`stratified_order`) and weighted by what they add to the headline
(`headline_weights`); `OrderedScores` and `AnytimeMean` look at their scores in that order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, cast

from snellen.core.benchmark import Benchmark
from snellen.core.record import Record
from snellen.core.sample import Sample, sampling_key
from snellen.core.summary import FailurePolicy, Interval
from snellen.scoring.accuracy import cluster_samples, counted_score
from snellen.scoring.headlines import weights_of_scores
from snellen.stats.confidence_sequences import Bet, ConfidenceSequence
from snellen.stats.finite_sequences import FiniteSequence, StratumSize

_MAX_STRATA = 20
MIN_UNITS = 10
"""Units that must be scored before a stop rule may decide."""


class SampleUnit(NamedTuple):
    """Samples that are asked together, and the stratum they belong to."""

    stratum: str
    samples: tuple[Sample, ...]
    weights: tuple[float, ...] = ()
    """Weights of the samples' scores in the mean; () if all weigh the same."""

    def sample_weights(self) -> tuple[float, ...]:
        """The weight of each sample, 1 by default."""
        return self.weights or (1.0,) * len(self.samples)


def stratified_order(
    samples: Sequence[Sample], seed: int, *, by_media: bool = True, weights: Sequence[float] = ()
) -> list[SampleUnit]:
    """Order units at random so that every prefix holds the strata nearly in proportion.

    A unit is a cluster of correlated samples (`cluster_samples`): samples of one `Sample.unit`
    and, with `by_media`, samples about the same media, compared by digest.

    Strata are samples of equal weight if there are 2 to 20 different `weights`; else the labels of
    the group column with the fewest labels, of those with 2 to 20. Within a stratum, units are
    sorted by the hash of the seed and their name. The strata are then interleaved evenly, each
    from a random offset.
    """
    labels = _stratum_labels(samples, weights)
    weight = dict(zip((sample.id for sample in samples), weights, strict=False))
    strata: dict[str, list[tuple[bytes, SampleUnit]]] = defaultdict(list)
    for members in _group_units(samples, by_media):
        name = min(sample.unit or sample.id for sample in members)
        stratum = _majority_label([labels[sample.id] for sample in members])
        unit_weights = tuple(weight[sample.id] for sample in members) if weight else ()
        strata[stratum].append((sampling_key(seed, name), SampleUnit(stratum, tuple(members), unit_weights)))
    # Unit i of n in a stratum gets the position (i + offset) / n in 0..1. Sorted by position, the
    # strata interleave: any prefix holds each of them within one unit of its proportion.
    ordered: list[tuple[float, bytes, SampleUnit]] = []
    for stratum, keyed_units in strata.items():
        start = int.from_bytes(sampling_key(seed, f"stratum:{stratum}")[:8]) / 2**64
        keyed_units.sort(key=lambda keyed: keyed[0])
        ordered += [((index + start) / len(keyed_units), lot, unit) for index, (lot, unit) in enumerate(keyed_units)]
    return [unit for _, _, unit in sorted(ordered, key=lambda keyed: keyed[:2])]


class SampleLinks(NamedTuple):
    """What makes samples correlated (`cluster_samples`): their unit and their media."""

    unit: str
    media: tuple[str, ...]


def _group_units(samples: Sequence[Sample], by_media: bool) -> Iterable[list[Sample]]:
    """Lists of correlated samples; an uncorrelated sample is a list of length 1."""
    links = [
        SampleLinks(sample.unit, tuple(ref.digest for ref in sample.media) if by_media else ()) for sample in samples
    ]
    units: dict[str, list[Sample]] = defaultdict(list)
    for index, (sample, cluster) in enumerate(zip(samples, cluster_samples(links), strict=True)):
        units[cluster or f"sample {index}"].append(sample)
    return units.values()


def _majority_label(labels: Sequence[str]) -> str:
    """The most frequent label of a unit: questions about one image may have different labels."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def _stratum_labels(samples: Sequence[Sample], weights: Sequence[float]) -> dict[str, str]:
    """The stratum label of each sample, by id."""
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
    label_counts = {column: len(values) for column, values in labels.items() if 2 <= len(values) <= _MAX_STRATA}
    return min(label_counts, key=lambda column: label_counts[column]) if label_counts else None


class AnytimeMean:
    """A confidence sequence for the weighted mean score, updated unit by unit in random order.

    If the set is `finite` and every sample so far had a score, the mean is that of all samples of
    the given units, asked or not (`stats.finite_sequences`). Once a sample has no score, the number
    of scores to come is unknown, and the mean is that of an infinite population of such samples
    (`stats.confidence_sequences`).

    The strata of the units so far are nearly, not exactly, in proportion. Half the sum of the
    absolute differences of their fractions bounds how far that can move a mean of values in 0..1;
    the interval of the infinite population is extended by this slack on both sides.

    The betting martingale predicts each unit from the units before it, or as the constant
    `prediction`. A constant makes the result independent of the order, and has the most power
    against the hypothesis that the mean equals it.
    """

    def __init__(
        self,
        units: Sequence[SampleUnit],
        mixture: Sequence[Bet],
        *,
        finite: bool = False,
        prediction: float | None = None,
    ) -> None:
        """`units` are in the order of asking; `mixture` holds the bets of the confidence sequence;
        `prediction` is in 0..1."""
        self._prediction = prediction
        # Sequences take values in 0..1: a unit counts as its weighted sum over the largest unit.
        self._largest = max(sum(unit.sample_weights()) for unit in units)
        sizes: dict[str, float] = defaultdict(float)
        counts = Counter[str]()
        for unit in units:
            sizes[unit.stratum] += sum(unit.sample_weights())
            counts[unit.stratum] += 1
        self._infinite = ConfidenceSequence(mixture)
        self._finite = FiniteSequence(
            {stratum: StratumSize(counts[stratum], size / self._largest) for stratum, size in sizes.items()}, mixture
        )
        self._all_scored = finite
        self._remaining = len(units)
        total = sum(sizes.values())
        self._fractions = {stratum: count / total for stratum, count in sizes.items()}
        self._sums: dict[str, list[float]] = {stratum: [0.0, 0.0] for stratum in sizes}
        """Per stratum: the weighted sum of the scores so far, and the sum of their weights."""
        self.samples = 0
        """Samples with a score so far."""
        self.units = 0
        """Units with a score so far."""

    def add(self, unit: SampleUnit, values: Sequence[float | None]) -> None:
        """Add the scores of a unit's samples: 0..1 each, None for a sample without a score."""
        scored = [
            (value, weight) for value, weight in zip(values, unit.sample_weights(), strict=True) if value is not None
        ]
        self._all_scored &= len(scored) == len(unit.samples)
        self._remaining -= 1
        weight = sum(weight for _, weight in scored)
        if not scored:
            return
        self.samples += len(scored)
        self.units += 1
        sums, total = self._sums[unit.stratum], sum(value * weight for value, weight in scored)
        # The prediction must not use this unit's scores, else the sequence is no martingale.
        expected = self._prediction
        if expected is None:
            # Mean of the stratum, shrunk towards the overall mean by two units' worth of weight.
            expected = (sums[0] + 2 * self._largest * self._infinite.prediction()) / (sums[1] + 2 * self._largest)
        size = weight / self._largest
        if size:
            self._infinite.add(total / self._largest, size, size * expected)
        if self._all_scored:
            # Once a score is missing this stops for good: `interval` then uses the infinite one.
            self._finite.add(unit.stratum, total / self._largest, size, expected)
        sums[0] += total
        sums[1] += weight

    @property
    def is_exhausted(self) -> bool:
        """Whether every unit was added."""
        return not self._remaining

    @property
    def all_scored(self) -> bool:
        """Whether the set is finite and every sample so far had a score."""
        return self._all_scored

    @property
    def mean(self) -> float | None:
        return self._infinite.mean

    def interval(self) -> Interval:
        if self._all_scored:
            return self._finite.interval()
        return self._infinite.interval(self.slack())

    def excludes(self, value: float) -> bool:
        """Whether the interval of the infinite population excludes the value."""
        slack = self.slack()
        return self._infinite.is_above(value + slack) or self._infinite.is_below(value - slack)

    def slack(self) -> float:
        """How far strata out of proportion can move the mean: their total variation distance."""
        weight = sum(seen[1] for seen in self._sums.values())
        if not weight:
            return 1.0
        return 0.5 * sum(abs(self._sums[stratum][1] / weight - share) for stratum, share in self._fractions.items())


class OrderedScores:
    """Scores of finished samples, released unit by unit in the random order.

    Samples end in any order: a fast wrong answer must not count before a slow right one.
    """

    def __init__(self, units: Sequence[SampleUnit], failures: str) -> None:
        self._units = units
        self._failures = cast(FailurePolicy, failures)
        self._scores: dict[str, float | None] = {}
        self._next = 0

    def add_record(self, record: Record) -> None:
        self._scores[record.id] = counted_score(record, self._failures)

    def is_complete(self, index: int) -> bool:
        """Whether all samples of the unit at that index ended."""
        return index < len(self._units) and all(sample.id in self._scores for sample in self._units[index].samples)

    def scores(self, index: int) -> list[float | None]:
        return [self._scores[sample.id] for sample in self._units[index].samples]

    def pop_complete(self) -> Iterator[int]:
        """Yield the indices of units that are complete, in order and each once; stop at the first
        that is not."""
        while self.is_complete(self._next):
            self._next += 1
            yield self._next - 1


class ScoreWeights(NamedTuple):
    """What each sample's score weighs in the headline."""

    by_sample: tuple[float, ...]
    """In the order of the samples: positive, or 0 for a sample that does not count."""
    headline: Literal["plain mean", "weighted mean", "other"]
    """What the headline is. A weighted mean has these weights if every sample has a score; for a
    headline of another kind all weights are 1."""


def headline_weights(benchmark: Benchmark, samples: Sequence[Sample]) -> ScoreWeights:
    """Weights of the samples, known before anything is asked.

    The benchmark's own formula is applied to records of which all are right, and the weights are
    read off its sums (`scoring.headlines`).
    """
    plain = (1.0,) * len(samples)
    if benchmark.headline_sums is None:
        return ScoreWeights(plain, "plain mean")
    if not benchmark.weighs_scores:
        return ScoreWeights(plain, "other")
    sums = benchmark.headline_sums([_correct_record(sample) for sample in samples])
    if sums is None:
        return ScoreWeights(plain, "other")
    weights = weights_of_scores(sums)
    # Scaled so that the smallest weight is 1.
    min_weight = min((weight for weight in weights if weight > 0), default=0.0)
    if not min_weight:
        return ScoreWeights(plain, "other")
    return ScoreWeights(tuple(weight / min_weight for weight in weights), "weighted mean")


def _correct_record(sample: Sample) -> Record:
    """A record as if the sample had been answered correctly; without gold it has no score."""
    return Record(
        id=sample.id,
        kind=sample.kind,
        question=sample.question,
        outcome="answered",
        score=1.0 if sample.gold else None,
        gold=sample.gold,
        options=dict(sample.options),
        groups=dict(sample.groups),
        unit=sample.unit,
    )
