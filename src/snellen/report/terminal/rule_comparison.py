"""The same replies under several parsing rules, side by side, and the replies on which the rules
disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from snellen.core.benchmark import Benchmark
from snellen.core.run import DataInfo
from snellen.core.summary import Summary
from snellen.core.terminal_text import shorten
from snellen.report import format as fmt
from snellen.report.terminal.scorecard import scorecard
from snellen.scoring.disagreements import Disagreement, RuleResult

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

MAX_EXAMPLES = 20
"""Disagreements in the table; JSON has all."""
_MAX_LENGTH = 60


def rule_scorecard(
    benchmarks: Mapping[str, Benchmark],
    summaries: Mapping[str, Summary],
    disagreements: Sequence[Disagreement],
    warnings: Sequence[str] = (),
    data: DataInfo | None = None,
) -> dict[str, Any]:
    """The JSON of `snellen score --rule all`: a scorecard for each rule by its name, and every
    reply that the rules parse or judge differently."""
    return {
        "benchmark": next(iter(benchmarks.values())).name,
        "rules": {
            rule: scorecard(benchmarks[rule], summary, data=data)
            for rule, summary in summaries.items()
        },
        "disagreements": msgspec.to_builtins(disagreements),
        "warnings": list(warnings),
    }


def print_rule_scorecard(
    benchmark: Benchmark,
    summaries: Mapping[str, Summary],
    disagreements: Sequence[Disagreement],
    console: Console,
) -> None:
    """Print a row for each rule, then the first replies on which they disagree."""
    from rich.text import Text

    for notice in dict.fromkeys(
        notice for summary in summaries.values() for notice in summary.notices
    ):
        console.print(Text(f"! {notice}", style="yellow"))
    console.print(_scores(benchmark, summaries))
    console.print()
    if not disagreements:
        console.print("the rules read and judge every reply alike")
        return
    console.print(_parses_table(list(summaries), disagreements[:MAX_EXAMPLES]))
    hidden = len(disagreements) - MAX_EXAMPLES
    more = f"; {fmt.count_text(hidden)} not shown, --json has all" if hidden > 0 else ""
    console.print(Text(f"\n{_counts(disagreements)}{more}", style="dim"))


def _counts(disagreements: Sequence[Disagreement]) -> str:
    judged = sum(disagreement.is_parsed_alike for disagreement in disagreements)
    counts = (
        (len(disagreements) - judged, "read differently"),
        (judged, "read alike, judged differently"),
    )
    return ", ".join(
        f"{'1 reply is' if count == 1 else f'{fmt.count_text(count)} replies are'} {how}"
        for count, how in counts
        if count
    )


def _scores(benchmark: Benchmark, summaries: Mapping[str, Summary]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column(f"{benchmark.name}: rule", style="bold")
    for column in ("score", "95 % interval", "n", "answered", "unread"):
        table.add_column(column, justify="right", no_wrap=True)
    for rule, summary in summaries.items():
        headline, outcomes = summary.headline, summary.outcomes
        unread = sum(outcomes.get(outcome, 0) for outcome in ("unparsed", "no_match", "refused"))
        table.add_row(
            rule,
            fmt.score_text(headline.value),
            fmt.interval_text(headline.interval),
            fmt.count_text(headline.n),
            fmt.count_text(outcomes.get("answered", 0)),
            fmt.count_text(unread),
        )
    return table


def _parses_table(rules: Sequence[str], disagreements: Sequence[Disagreement]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("reply", overflow="fold")
    table.add_column("gold")
    for rule in rules:
        table.add_column(rule)
    for disagreement in disagreements:
        short = shorten(disagreement.reply, _MAX_LENGTH)
        cells = [
            _cell(disagreement.readings.get(rule), with_verdict=disagreement.is_parsed_alike)
            for rule in rules
        ]
        table.add_row(disagreement.id, Text(short), ", ".join(disagreement.gold), *cells)
    return table


def _cell(reading: RuleResult | None, *, with_verdict: bool) -> Text:
    """The answer that a rule parses; `with_verdict` adds whether it is right."""
    from rich.text import Text

    if reading is None:
        return Text("not reached", style="dim")
    style = {True: "green", False: "red", None: ""}[reading.correct]
    verdict = "right" if reading.correct else "wrong"
    if reading.credit is not None:
        verdict = f"{reading.credit:.2g}"
    text = reading.value or reading.how
    return Text(f"{text} ({verdict})" if with_verdict else text, style=style)
