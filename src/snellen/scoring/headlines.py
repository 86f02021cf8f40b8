"""Headlines that are ratios of sums: means of subtasks, fractions of units, weighted means, F1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.record import Record
from snellen.core.summary import FailurePolicy, HeadlineSums, Interval, Metric, SumsOf
from snellen.scoring.accuracy import cluster_samples, counted_score
from snellen.stats.linearised import interval_of_sums

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class RatioTerm(NamedTuple):
    """What a sample adds to the named ratio: to its numerator and to its denominator."""

    ratio: str
    numerator: float
    denominator: float = 1.0


def sum_of_ratios(
    terms: Sequence[Sequence[RatioTerm]],
    weights: Mapping[str, float] | None = None,
    *,
    strata: Sequence[str] = (),
    links: Sequence[str] = (),
) -> HeadlineSums | None:
    """The headline that is a weighted sum of ratios, from the terms of each sample. None if no
    sample has a term.

    Without `weights` it is the plain mean of the ratios, in percent. In a resample in which a ratio
    has no samples, the ratio keeps its value over all samples (0 if its denominator is 0).
    """
    import numpy as np

    names = sorted({term.ratio for of_sample in terms for term in of_sample})
    if not names:
        return None
    column = {name: 2 * index for index, name in enumerate(names)}
    # (samples, 2 * ratios): numerator and denominator of each ratio in turn.
    rows = np.zeros((len(terms), 2 * len(names)))
    for row, of_sample in zip(rows, terms, strict=True):
        for name, numerator, denominator in of_sample:
            row[column[name]] += numerator
            row[column[name] + 1] += denominator
    ratio_weights = np.array([100 / len(names) if weights is None else weights[name] for name in names])
    total = rows.sum(axis=0)
    parts, wholes = total[0::2], total[1::2]
    observed = np.where(wholes > 0, parts, 0.0) / np.where(wholes > 0, wholes, 1.0)

    def value(sums: NDArray[float64]) -> NDArray[float64]:
        numerators, denominators = sums[:, 0::2], sums[:, 1::2]
        ratios = np.where(denominators > 0, numerators / np.where(denominators > 0, denominators, 1.0), observed)
        values: NDArray[float64] = ratios @ ratio_weights
        return values

    # How much a sample can move the headline: its part of each denominator, times the weight.
    sample_weights = rows[:, 1::2] @ (np.abs(ratio_weights) / np.where(wholes > 0, wholes, 1.0))
    return HeadlineSums(rows, value, strata, links, sample_weights)


def mean_of_ratios(sums: NDArray[float64]) -> NDArray[float64]:
    """Mean of ratios in percent, shape (draws,), from sums of shape (draws, 2 * ratios) with
    numerators and denominators alternating. A ratio with denominator 0 is 0."""
    import numpy as np

    parts, wholes = sums[:, 0::2], sums[:, 1::2]
    ratios = np.where(wholes > 0, parts, 0.0) / np.where(wholes > 0, wholes, 1.0)
    means: NDArray[float64] = 100 * ratios.mean(axis=1)
    return means


def headline_interval(sums: HeadlineSums | None, records: Sequence[Record], top: float = 100.0) -> Interval | None:
    """Interval of a headline in 0..`top` over the records it was computed from."""
    if sums is None:
        return None
    cluster_ids = cluster_samples(records, sums.links)
    return interval_of_sums(sums.rows, sums.value, cluster_ids, top=top)


def metric_of_sums(name: str, sums: HeadlineSums | None, count: int, records: Sequence[Record]) -> Metric:
    """The headline of sums in percent as a metric of `count` samples, with its interval; without a
    value where there are no sums."""
    if sums is None:
        return Metric(name, None, count)
    return Metric(name, sums.of_all(), count, headline_interval(sums, records))


def metric_of_terms(name: str, terms: Sequence[Sequence[RatioTerm]], records: Sequence[Record]) -> Metric:
    """The plain mean of the ratios of these terms, one list for each record; of those that have a term."""
    return metric_of_sums(name, sum_of_ratios(terms), sum(map(bool, terms)), records)


def mean_of_groups(
    records: Sequence[Record],
    group: Callable[[Record], str | None],
    failures: FailurePolicy,
    weights: Callable[[Sequence[str]], Mapping[str, float] | None] = lambda names: None,
) -> HeadlineSums | None:
    """The mean of the groups' mean scores, in percent. Records for which `group` is None do not
    count. `weights` maps the groups that have a score to their weights; None weighs them equally.
    """
    scores = [counted_score(record, failures) for record in records]
    names = [group(record) for record in records]
    terms = [
        [] if score is None or name is None else [RatioTerm(name, score)]
        for score, name in zip(scores, names, strict=True)
    ]
    present = sorted({shares[0].ratio for shares in terms if shares})
    return sum_of_ratios(terms, weights(present), strata=[name or "" for name in names])


def weighted_mean(
    records: Sequence[Record],
    weight: Callable[[Record], float],
    failures: FailurePolicy,
    score: Callable[[Record, float], float] = lambda record, score: score,
    scale: float = 100.0,
) -> HeadlineSums | None:
    """The weighted mean of scores on the scale `scale`; `score` may transform a record's score."""
    terms = [
        []
        if (counted := counted_score(record, failures)) is None
        else [RatioTerm("", weight(record) * score(record, counted), weight(record))]
        for record in records
    ]
    return sum_of_ratios(terms, {"": scale})


def weights_of_scores(sums: HeadlineSums) -> list[float]:
    """The weight of each sample's score in a headline that is a weighted mean of scores, from its
    sums over samples that all have a score (`sum_of_ratios`)."""
    import numpy as np

    wholes = sums.rows[:, 1::2].sum(axis=0)
    # Row i has all numerators 0 except ratio i, which is 1: its value is the weight of ratio i.
    single = np.zeros((len(wholes), sums.rows.shape[1]))
    single[:, 1::2] = wholes
    single[range(len(wholes)), range(0, 2 * len(wholes), 2)] = wholes
    weights: list[float] = ((sums.rows[:, 1::2] / wholes) @ sums.value(single)).tolist()
    return weights


def plain_mean(failures: FailurePolicy, records: Sequence[Record]) -> HeadlineSums | None:
    """The mean of the scores, in percent."""
    return weighted_mean(records, lambda record: 1.0, failures)


def unit_terms(
    records: Sequence[Record], units: Mapping[str, float], unit: Callable[[Record], str], name: str
) -> list[list[RatioTerm]]:
    """Terms of the mean of `units` (unit to score): each unit counts once, with its first
    sample."""
    seen: set[str] = set()
    terms: list[list[RatioTerm]] = []
    for record in records:
        key = unit(record)
        counts = key in units and key not in seen
        terms.append([RatioTerm(name, units[key])] if counts else [])
        seen.add(key)
    return terms


def mean_of_sums(parts: Sequence[HeadlineSums]) -> HeadlineSums:
    """The mean of headlines over the same samples, such as those of several draws of a reply."""
    import numpy as np

    ends = np.cumsum([part.rows.shape[1] for part in parts])

    # The columns of all parts stand side by side, so that one resample draws all of them.
    def value(sums: NDArray[float64]) -> NDArray[float64]:
        columns = np.split(sums, ends[:-1], axis=1)
        values = [headline.value(columns_of_part) for headline, columns_of_part in zip(parts, columns, strict=True)]
        means: NDArray[float64] = np.mean(values, axis=0)
        return means

    part_weights = [part.weights for part in parts if part.weights is not None]
    rows = np.concatenate([part.rows for part in parts], axis=1)
    weights = np.mean(part_weights, axis=0) if len(part_weights) == len(parts) else None
    return HeadlineSums(rows, value, parts[0].strata, parts[0].links, weights)


def sums_of_subset(is_kept: Callable[[Record], bool], sums: SumsOf) -> SumsOf:
    """Restrict a headline to the samples that `is_kept` selects; the others add nothing to its
    sums."""
    import numpy as np

    def of_records(records: Sequence[Record]) -> HeadlineSums | None:
        """Sums over the records that are kept; the rows of all others are zero."""
        indices = [index for index, record in enumerate(records) if is_kept(record)]
        subset_sums = sums([records[index] for index in indices])
        if subset_sums is None:
            return None
        rows = np.zeros((len(records), subset_sums.rows.shape[1]))
        rows[indices] = subset_sums.rows

        def expand_names(names: Sequence[str]) -> Sequence[str]:
            if not names:
                return ()
            expanded = [""] * len(records)
            for index, name in zip(indices, names, strict=True):
                expanded[index] = name
            return expanded

        sample_weights = np.zeros(len(records))
        sample_weights[indices] = 1.0 if subset_sums.weights is None else subset_sums.weights
        return HeadlineSums(
            rows, subset_sums.value, expand_names(subset_sums.strata), expand_names(subset_sums.links), sample_weights
        )

    return of_records
