"""What the score of each sample weighs in a headline, known before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from snellen.core.benchmark import Benchmark
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.scoring.headlines import weights_of_scores


class ScoreWeights(NamedTuple):
    """`by_sample`, in their order: positive, or 0 for a sample that does not count."""

    by_sample: tuple[float, ...]
    headline: Literal["plain mean", "weighted mean", "other"]
    """What the headline is. A weighted mean has these weights as long as every sample has a score;
    beside a headline of another kind they are all 1."""


def headline_weights(benchmark: Benchmark, samples: Sequence[Sample]) -> ScoreWeights:
    """Of the samples that are to be asked."""
    plain = (1.0,) * len(samples)
    if benchmark.headline_sums is None:
        return ScoreWeights(plain, "plain mean")
    if not benchmark.weighs_scores:
        return ScoreWeights(plain, "other")
    sums = benchmark.headline_sums([_correct_record(sample) for sample in samples])
    if sums is None:
        return ScoreWeights(plain, "other")
    weights = weights_of_scores(sums)
    # A sample of a group of many, beside which others weigh more, is 1.
    min_weight = min((one for one in weights if one > 0), default=0.0)
    if not min_weight:
        return ScoreWeights(plain, "other")
    return ScoreWeights(tuple(one / min_weight for one in weights), "weighted mean")


def _correct_record(sample: Sample) -> Record:
    """As if it had been asked and was right; without gold there is no score."""
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
