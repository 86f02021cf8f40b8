"""Headlines made of ratios of sums: means of subtasks, shares of units, weighted means, F1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.headline import HeadlineSums, SumsOf
from snellen.core.record import Record
from snellen.core.summary import Interval
from snellen.scoring.accuracy import FailurePolicy, counted_score
from snellen.scoring.clusters import clusters
from snellen.stats.linearised import interval_of_sums

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class Share(NamedTuple):
    """What a sample adds to the ratio of that name: to its numerator and to its denominator."""

    ratio: str
    part: float
    whole: float = 1.0


def sum_of_ratios(
    added: Sequence[Sequence[Share]],
    weights: Mapping[str, float] | None = None,
    *,
    strata: Sequence[str] = (),
    links: Sequence[str] = (),
) -> HeadlineSums | None:
    """The headline that is the weighted sum of ratios, of what each sample adds to them; None
    where nothing is added.

    Without `weights` it is the plain mean of the ratios, in percent. A ratio of which a draw has
    nothing keeps its value over all samples, which is 0 where its denominator is 0.
    """
    import numpy as np

    names = sorted({share.ratio for shares in added for share in shares})
    if not names:
        return None
    column = {name: 2 * at for at, name in enumerate(names)}
    rows = np.zeros((len(added), 2 * len(names)))
    for row, shares in zip(rows, added, strict=True):
        for name, part, whole in shares:
            row[column[name]] += part
            row[column[name] + 1] += whole
    weighed = np.array([100 / len(names) if weights is None else weights[name] for name in names])
    total = rows.sum(axis=0)
    parts, wholes = total[0::2], total[1::2]
    observed = np.where(wholes > 0, parts, 0.0) / np.where(wholes > 0, wholes, 1.0)

    def value(sums: NDArray[float64]) -> NDArray[float64]:
        part, whole = sums[:, 0::2], sums[:, 1::2]
        ratios = np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), observed)
        found: NDArray[float64] = ratios @ weighed
        return found

    bears = rows[:, 1::2] @ (np.abs(weighed) / np.where(wholes > 0, wholes, 1.0))
    return HeadlineSums(rows, value, strata, links, bears)


def mean_of_ratios(sums: NDArray[float64]) -> NDArray[float64]:
    """In percent, of sums (draws, 2 * ratios), numerators and denominators in turn: (draws,). A
    ratio without a denominator is 0."""
    import numpy as np

    parts, wholes = sums[:, 0::2], sums[:, 1::2]
    ratios = np.where(wholes > 0, parts, 0.0) / np.where(wholes > 0, wholes, 1.0)
    found: NDArray[float64] = 100 * ratios.mean(axis=1)
    return found


def interval_of(
    found: HeadlineSums | None, records: Sequence[Record], top: float = 100.0
) -> Interval | None:
    """Interval of a headline between 0 and `top` over the records it was made of."""
    if found is None:
        return None
    held = clusters(records, found.links)
    return interval_of_sums(found.rows, found.value, held, top=top)


def mean_of_groups(
    records: Sequence[Record],
    group: Callable[[Record], str | None],
    failures: FailurePolicy,
    weights: Callable[[Sequence[str]], Mapping[str, float] | None] = lambda names: None,
) -> HeadlineSums | None:
    """The mean of the groups' mean scores, in percent; samples of no group do not count. `weights`
    says what each of the groups that have a score weighs; nothing makes them weigh the same."""
    scores = [counted_score(record, failures) for record in records]
    names = [group(record) for record in records]
    added = [
        [] if score is None or name is None else [Share(name, score)]
        for score, name in zip(scores, names, strict=True)
    ]
    there = sorted({shares[0].ratio for shares in added if shares})
    return sum_of_ratios(added, weights(there), strata=[name or "" for name in names])


def weighted_mean(
    records: Sequence[Record],
    weight: Callable[[Record], float],
    failures: FailurePolicy,
    score: Callable[[Record, float], float] = lambda record, score: score,
    scale: float = 100.0,
) -> HeadlineSums | None:
    """The weighted mean of scores (or of what `score` makes of a record and its score)."""
    added = [
        []
        if (counted := counted_score(record, failures)) is None
        else [Share("", weight(record) * score(record, counted), weight(record))]
        for record in records
    ]
    return sum_of_ratios(added, {"": scale})


def weights_of_scores(sums: HeadlineSums) -> list[float]:
    """What each sample's score adds to a headline that is a weighted mean of scores, from its sums
    over samples that all have a score (`sum_of_ratios`)."""
    import numpy as np

    wholes = sums.rows[:, 1::2].sum(axis=0)
    # Everything wrong, but for one ratio in each row: what it weighs.
    single = np.zeros((len(wholes), sums.rows.shape[1]))
    single[:, 1::2] = wholes
    single[range(len(wholes)), range(0, 2 * len(wholes), 2)] = wholes
    found: list[float] = ((sums.rows[:, 1::2] / wholes) @ sums.value(single)).tolist()
    return found


def plain_mean(failures: FailurePolicy, records: Sequence[Record]) -> HeadlineSums | None:
    """The mean of the scores, in percent."""
    return weighted_mean(records, lambda one: 1.0, failures)


def share_of_units(
    records: Sequence[Record], units: Mapping[str, float], unit: Callable[[Record], str], name: str
) -> list[list[Share]]:
    """What the samples add to the mean of `units`, unit to score: each with its first sample."""
    seen: set[str] = set()
    added: list[list[Share]] = []
    for record in records:
        key = unit(record)
        counts = key in units and key not in seen
        added.append([Share(name, units[key])] if counts else [])
        seen.add(key)
    return added


def mean_of_sums(parts: Sequence[HeadlineSums]) -> HeadlineSums:
    """The mean of headlines over the same samples, such as those of several draws of a reply."""
    import numpy as np

    ends = np.cumsum([one.rows.shape[1] for one in parts])

    def value(sums: NDArray[float64]) -> NDArray[float64]:
        columns = np.split(sums, ends[:-1], axis=1)
        values = [one.value(part) for one, part in zip(parts, columns, strict=True)]
        found: NDArray[float64] = np.mean(values, axis=0)
        return found

    bears = [one.weights for one in parts if one.weights is not None]
    rows = np.concatenate([one.rows for one in parts], axis=1)
    weights = np.mean(bears, axis=0) if len(bears) == len(parts) else None
    return HeadlineSums(rows, value, parts[0].strata, parts[0].links, weights)


def of_kept(kept: Callable[[Record], bool], sums: SumsOf) -> SumsOf:
    """The headline of those samples alone that are kept."""
    import numpy as np

    def of_records(records: Sequence[Record]) -> HeadlineSums | None:
        places = [at for at, record in enumerate(records) if kept(record)]
        found = sums([records[at] for at in places])
        if found is None:
            return None
        rows = np.zeros((len(records), found.rows.shape[1]))
        rows[places] = found.rows

        def spread(names: Sequence[str]) -> Sequence[str]:
            if not names:
                return ()
            held = [""] * len(records)
            for at, name in zip(places, names, strict=True):
                held[at] = name
            return held

        bears = np.zeros(len(records))
        bears[places] = 1.0 if found.weights is None else found.weights
        return HeadlineSums(rows, found.value, spread(found.strata), spread(found.links), bears)

    return of_records
