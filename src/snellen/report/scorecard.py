"""Numbers of recorded predictions: one JSON object, or a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snellen.core.benchmark import Benchmark
from snellen.core.summary import Interval, Metric, Summary
from snellen.report import format as fmt

if TYPE_CHECKING:
    from rich.console import Console


def scorecard(
    benchmark: Benchmark, summary: Summary, warnings: Sequence[str] = ()
) -> dict[str, Any]:
    """What `snellen score --json` prints. `metrics` holds plain numbers by name, and by group
    under `by_group`; `groups` holds the same with n and interval."""
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
    """The same numbers as tables: all metrics, then each grouping."""
    from rich.table import Table
    from rich.text import Text

    for notice in summary.notices:
        console.print(Text(f"! {notice}", style="yellow"))
    sheets = [(benchmark.name, summary.metrics), *summary.groups.items()]
    for title, metrics in sheets:
        table = Table(box=None, pad_edge=False, title_justify="left", show_edge=False)
        table.add_column(title, style="bold", overflow="fold")
        for column in ("score", "95 % interval", "n"):
            table.add_column(column, justify="right", no_wrap=True)
        for name, metric in metrics.items():
            row = (fmt.points(metric.value), fmt.span(metric.interval), fmt.number(metric.n))
            table.add_row(fmt.metric_words(name), *row)
        console.print(table)
        console.print()
    counts = [f"{fmt.number(count)} {name}" for name, count in summary.outcomes.items() if count]
    console.print(Text(", ".join(counts), style="dim"))


def _metric(metric: Metric) -> dict[str, Any]:
    return {"value": metric.value, "n": metric.n, "interval": _interval(metric.interval)}


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    return {
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "method": interval.method,
    }
