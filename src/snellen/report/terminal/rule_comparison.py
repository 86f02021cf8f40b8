"""One set of replies under several rules, side by side, and the replies they disagree on: in what
they read, or in whether it is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from snellen.core.benchmark import Benchmark
from snellen.core.run import DataInfo
from snellen.core.summary import Summary
from snellen.report import format as fmt
from snellen.report.terminal.scorecard import scorecard
from snellen.scoring.disagreements import Disagreement, Reading

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

SHOWN = 20
"""Disagreements in the table; the JSON has all."""
_LONGEST = 60


def rulecard(
    benchmarks: Mapping[str, Benchmark],
    summaries: Mapping[str, Summary],
    found: Sequence[Disagreement],
    warnings: Sequence[str] = (),
    data: DataInfo | None = None,
) -> dict[str, Any]:
    """What `snellen score --rule all --json` prints: a scorecard for each rule, by its name, and
    every reply that is not read and judged alike."""
    return {
        "benchmark": next(iter(benchmarks.values())).name,
        "rules": {
            rule: scorecard(benchmarks[rule], summary, data=data)
            for rule, summary in summaries.items()
        },
        "disagreements": msgspec.to_builtins(found),
        "warnings": list(warnings),
    }


def print_rulecard(
    benchmark: Benchmark,
    summaries: Mapping[str, Summary],
    found: Sequence[Disagreement],
    console: Console,
) -> None:
    """A row for each rule, then the first replies they disagree on."""
    from rich.text import Text

    for notice in dict.fromkeys(
        notice for summary in summaries.values() for notice in summary.notices
    ):
        console.print(Text(f"! {notice}", style="yellow"))
    console.print(_scores(benchmark, summaries))
    console.print()
    if not found:
        console.print("the rules read and judge every reply alike")
        return
    console.print(_readings(list(summaries), found[:SHOWN]))
    left = len(found) - SHOWN
    more = f"; {fmt.number(left)} not shown, --json has all" if left > 0 else ""
    console.print(Text(f"\n{_counts(found)}{more}", style="dim"))


def _counts(found: Sequence[Disagreement]) -> str:
    judged = sum(one.read_alike for one in found)
    counts = ((len(found) - judged, "read differently"), (judged, "read alike, judged differently"))
    return ", ".join(
        f"{'1 reply is' if count == 1 else f'{fmt.number(count)} replies are'} {how}"
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
        unread = sum(outcomes.get(one, 0) for one in ("unparsed", "no_match", "refused"))
        table.add_row(
            rule,
            fmt.points(headline.value),
            fmt.span(headline.interval),
            fmt.number(headline.n),
            fmt.number(outcomes.get("answered", 0)),
            fmt.number(unread),
        )
    return table


def _readings(rules: Sequence[str], found: Sequence[Disagreement]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("reply", overflow="fold")
    table.add_column("gold")
    for rule in rules:
        table.add_column(rule)
    for one in found:
        reply = " ".join(one.reply.split())
        short = reply if len(reply) <= _LONGEST else reply[: _LONGEST - 1] + "…"
        cells = [_cell(one.readings.get(rule), told=one.read_alike) for rule in rules]
        table.add_row(one.id, Text(short), ", ".join(one.gold), *cells)
    return table


def _cell(reading: Reading | None, *, told: bool) -> Text:
    """What a rule reads; `told` adds its verdict in words."""
    from rich.text import Text

    if reading is None:
        return Text("not reached", style="dim")
    style = {True: "green", False: "red", None: ""}[reading.correct]
    verdict = "right" if reading.correct else "wrong"
    if reading.credit is not None:
        verdict = f"{reading.credit:.2g}"
    text = reading.value or reading.how
    return Text(f"{text} ({verdict})" if told else text, style=style)
