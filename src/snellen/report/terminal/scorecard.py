"""The scores of recorded predictions, as a JSON object or as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from snellen.core.benchmark import Benchmark
from snellen.core.run import DataInfo
from snellen.core.summary import Interval, Metric, Summary
from snellen.report import format as fmt

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def scorecard(
    benchmark: Benchmark,
    summary: Summary,
    warnings: Sequence[str] = (),
    data: DataInfo | None = None,
) -> dict[str, Any]:
    """The JSON of `snellen score`. `metrics` holds values by name, and by group under
    `by_group`; `groups` holds the same with n and interval; `data` is the source of questions
    and gold answers."""
    headline = summary.headline
    by_group = {
        column: {label: metric.value for label, metric in labels.items()}
        for column, labels in summary.groups.items()
    }
    values: dict[str, Any] = {name: metric.value for name, metric in summary.metrics.items()}
    return {
        "benchmark": benchmark.name,
        "version": benchmark.version,
        "parameters": dict(benchmark.parameters),
        **({} if data is None else {"data": msgspec.to_builtins(data)}),
        "headline": {
            "name": headline.name,
            "value": headline.value,
            "interval": _interval(headline.interval),
            "unit": headline.unit,
            "n": headline.n,
        },
        "metrics": {**values, "by_group": by_group},
        "groups": {
            column: {label: _metric(metric) for label, metric in labels.items()}
            for column, labels in summary.groups.items()
        },
        "outcomes": dict(summary.outcomes),
        "n": summary.n,
        "total": summary.total,
        "no_gold": summary.no_gold,
        "bounds": (
            None
            if summary.bounds is None
            else {"worst": summary.bounds.worst, "best": summary.bounds.best}
        ),
        "notices": list(summary.notices),
        "warnings": list(warnings),
    }


def print_scorecard(benchmark: Benchmark, summary: Summary, console: Console) -> None:
    """Print the same numbers as tables: all metrics, then each grouping. Groupings with other
    metrics of the same groups become columns of the first one."""
    from rich.text import Text

    for notice in summary.notices:
        console.print(Text(f"! {notice}", style="yellow"))
    sheets = {benchmark.name: summary.metrics, **summary.groups}
    printed: set[str] = set()
    for title, metrics in sheets.items():
        if title in printed:
            continue
        secondary = {
            column: labels
            for column, labels in summary.groups.items()
            if title in summary.groups and _adds_groups(labels, metrics)
        }
        printed.update(secondary)
        heading = (
            _scorecard_title(benchmark) if title == benchmark.name else fmt.display_name(title)
        )
        console.print(_metrics_table(heading, metrics, secondary))
        console.print()
    counts = [
        f"{fmt.count_text(count)} {name}" for name, count in summary.outcomes.items() if count
    ]
    console.print(Text(", ".join(counts), style="dim"))


def _scorecard_title(benchmark: Benchmark) -> str:
    """The benchmark, and its parsing rule if that is not Snellen's."""
    rule = benchmark.parameters.get("rule")
    return benchmark.name if rule is None else f"{benchmark.name}, rule {rule}"


def _adds_groups(labels: Mapping[str, Metric], metrics: Mapping[str, Metric]) -> bool:
    """Whether `labels` are among the groups of `metrics`, with another metric."""
    names = {metric.name for metric in labels.values()}
    return labels.keys() <= metrics.keys() and not names & {
        metric.name for metric in metrics.values()
    }


def _metrics_table(
    title: str, metrics: Mapping[str, Metric], secondary: Mapping[str, Mapping[str, Metric]]
) -> Table:
    """Metrics by name with interval and n; `secondary` adds a column for each further metric."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column(Text(title), style="bold", overflow="fold")
    for column in ("score", "95 % interval", "n", *map(fmt.metric_label, secondary)):
        table.add_column(column, justify="right", no_wrap=True)
    for name, metric in metrics.items():
        more = (labels.get(name) for labels in secondary.values())
        table.add_row(
            fmt.metric_label(name),
            fmt.score_text(metric.value),
            fmt.interval_text(metric.interval),
            fmt.count_text(metric.n),
            *(fmt.score_text(metric.value) if metric else "" for metric in more),
        )
    return table


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "value": metric.value,
        "unit": metric.unit,
        "n": metric.n,
        "interval": _interval(metric.interval),
        **({"note": metric.note} if metric.note else {}),
    }


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    return {
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "method": interval.method,
    }
