"""Questions that count only together: a unit is right if all its questions are right.

MMVP's pairs (Tong et al. 2024, https://arxiv.org/abs/2401.06209, Sec. 3.1), and in the user's data
file the rows that share a value of the column named with `--columns unit=...`, such as the three
questions of an MMEvalPro problem, whose accuracy over units its authors call genuine accuracy
(Huang et al. 2024, https://arxiv.org/abs/2407.00468).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import msgspec

from snellen.benchmarks.declaration.rows import AdjustSample
from snellen.core.benchmark import CHANCE
from snellen.core.errors import UnknownName, UsageError
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.data.columns import canonical_column, column_name
from snellen.scoring.accuracy import GUESSES, cluster_samples, mean_metric
from snellen.scoring.grouped import all_right, apply_failure_policy, bounds_of
from snellen.scoring.headlines import sum_of_ratios, unit_terms

UNIT = "unit"
"""The role of a column with `--columns`, and the parameter of a run."""
HEADLINE = "unit_accuracy"


def unit_column(columns: Mapping[str, str]) -> str:
    """The column that names the unit of a row; "" if none is chosen."""
    return columns.get(UNIT, "")


def refuse_units(name: str, columns: Mapping[str, str]) -> None:
    """Raise UsageError for a benchmark that defines its own units."""
    if unit_column(columns):
        raise UsageError(
            f"{name} knows which of its questions count together; --columns unit=... is for a data file of your own"
        )


def renamed_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """The chosen columns without the unit's, which keeps its name: it may also be a group, an
    image or an id."""
    return {role: name for role, name in columns.items() if role != UNIT}


def add_units(columns: Mapping[str, str]) -> AdjustSample:
    """Give samples the unit that their rows name; `a+b` joins two columns. A row without a name
    is a unit of its own. Raises UnknownName for a column the data do not have."""
    column_of_name = {name: canonical_column(role) for role, name in renamed_columns(columns).items()}
    parts = [column_of_name.get(part) or column_name(part, 0) for part in columns[UNIT].split("+")]
    columns_present: set[str] = set()

    def add_unit(sample: Sample, row: Row) -> Sample:
        if not columns_present:
            columns_present.update(row.cells)
        for part in parts:
            if part not in row.cells and part not in columns_present:
                raise UnknownName("column", columns[UNIT], row.cells)
        named = [row.cells.get(part, "") for part in parts]
        return msgspec.structs.replace(sample, unit="/".join(named) if all(named) else "")

    return add_unit


def summarise_units(headline: str, context: SummaryContext, records: Sequence[Record]) -> Summary:
    """Accuracy over units with a score in every question; chance is that of guessing whole
    units."""
    summary = context.plain(records)
    units = _unit_scores(apply_failure_policy(records, context.failures))
    if summary.headline.value is None or not units:
        headline_metric = Metric(headline, None, len(units), note=summary.headline.note)
    else:
        named = zip(records, cluster_samples(records), strict=True)
        cluster_of_unit = {_unit(record): cluster for record, cluster in named}
        headline_metric = mean_metric(headline, list(units.values()), [cluster_of_unit[unit] for unit in units])
    other_metrics = {name: metric for name, metric in summary.metrics.items() if name not in GUESSES}
    chance = _chance(records)
    chance_metric = {} if chance is None else {CHANCE: Metric(CHANCE, chance, len(units))}
    return msgspec.structs.replace(
        summary,
        headline=headline_metric,
        metrics={headline: headline_metric, **other_metrics, **chance_metric},
        bounds=bounds_of(records, _unit_accuracy),
        beside=(context.plain_headline, *summary.beside),
    )


def further_units(
    summary: Summary, units: Mapping[str, Callable[[Record], str]], context: SummaryContext, records: Sequence[Record]
) -> Summary:
    """The summary with the accuracies over further units, by the name of the metric; none where it
    has no headline."""
    if summary.headline.value is None:
        return summary
    scored = apply_failure_policy(records, context.failures)
    metrics = dict(summary.metrics)
    for name, unit in units.items():
        right = all_right(scored, unit)
        cluster_of_unit = dict(zip(map(unit, records), cluster_samples(records), strict=True))
        metrics[name] = mean_metric(name, list(right.values()), [cluster_of_unit[one] for one in right])
    return msgspec.structs.replace(summary, metrics=metrics)


def unit_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """The accuracy over units as a function of sums."""
    units = _unit_scores(apply_failure_policy(records, context.failures))
    return sum_of_ratios(unit_terms(records, units, _unit, HEADLINE))


def _unit(record: Record) -> str:
    return record.unit or f"row {record.id}"


def _unit_scores(records: Sequence[Record]) -> dict[str, float]:
    return all_right(records, _unit)


def _unit_accuracy(records: Sequence[Record]) -> float | None:
    scores = _unit_scores(records).values()
    return 100 * sum(scores) / len(scores) if scores else None


def _chance(records: Sequence[Record]) -> float | None:
    """The accuracy of guessing whole units, in percent; None if some question cannot be guessed."""
    units: dict[str, float] = defaultdict(lambda: 1.0)
    for record in records:
        if record.kind in ("open", "place", "fields", "page") or (record.kind == "choice" and not record.options):
            return None
        if record.gold:
            width = 2 if record.kind == "yes_no" else len(record.options)
            units[_unit(record)] /= width
    return 100 * sum(units.values()) / len(units) if units else None
