"""The same replies under several parsing rules, side by side, and the replies on which the rules
disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from snellen.core.benchmark import Benchmark
from snellen.core.run import DataInfo
from snellen.core.summary import Summary
from snellen.core.terminal_text import shorten
from snellen.report import format as fmt
from snellen.report.document import Block, Column, Document, EmptyLine, Line, Table, table_of
from snellen.report.documents.scorecard import scorecard
from snellen.scoring.disagreements import Disagreement, RuleResult

MAX_EXAMPLES = 20
"""Disagreements in the table; JSON has all."""
_MAX_LENGTH = 60


def rules_document(
    benchmarks: Mapping[str, Benchmark],
    summaries: Mapping[str, Summary],
    disagreements: Sequence[Disagreement],
    warnings: Sequence[str] = (),
    data: DataInfo | None = None,
    *,
    scores_alone: bool = False,
) -> Document:
    """A row for each rule, then the first replies on which they disagree; JSON holds a scorecard
    for each rule by its name, and every reply that the rules parse or judge differently. With
    `scores_alone` the disagreements are about scores, whatever was read."""
    notices = dict.fromkeys(notice for summary in summaries.values() for notice in summary.notices)
    name = next(iter(benchmarks.values())).name
    blocks: list[Block] = [*(Line(notice, "notice") for notice in notices)]
    blocks += [Line(name, "heading", "by each rule"), _scores(summaries), EmptyLine()]
    if disagreements:
        blocks.append(_parses_table(list(summaries), disagreements[:MAX_EXAMPLES], with_verdict=scores_alone))
        hidden = len(disagreements) - MAX_EXAMPLES
        more = f"; {fmt.count_text(hidden)} not shown, --json has all" if hidden > 0 else ""
        counts = _count_text(len(disagreements), "scored differently") if scores_alone else _counts(disagreements)
        blocks += [EmptyLine(), Line(f"{counts}{more}", "note")]
    else:
        alike = "both score every reply alike" if scores_alone else "the rules read and judge every reply alike"
        blocks.append(Line(alike))
    object = {
        "benchmark": name,
        "rules": {rule: scorecard(benchmarks[rule], summary, data=data) for rule, summary in summaries.items()},
        "disagreements": disagreements,
        "warnings": warnings,
    }
    return Document(blocks, data=object)


def _counts(disagreements: Sequence[Disagreement]) -> str:
    judged = sum(disagreement.is_parsed_alike for disagreement in disagreements)
    counts = ((len(disagreements) - judged, "read differently"), (judged, "read alike, judged differently"))
    return ", ".join(_count_text(count, how) for count, how in counts if count)


def _count_text(count: int, how: str) -> str:
    return f"{'1 reply is' if count == 1 else f'{fmt.count_text(count)} replies are'} {how}"


def _scores(summaries: Mapping[str, Summary]) -> Table:
    def unread(summary: Summary) -> int:
        return sum(summary.outcomes.get(name, 0) for name in ("unparsed", "no_match", "refused"))

    return table_of(
        "",
        summaries.items(),
        [
            (Column("rule"), lambda row: row[0]),
            (Column("score", "points", best="highest"), lambda row: row[1].headline.value),
            (Column("95 % interval", "points"), lambda row: row[1].headline.interval),
            (Column("n", "count"), lambda row: row[1].headline.n),
            (Column("answered", "count"), lambda row: row[1].outcomes.get("answered", 0)),
            (Column("unread", "count"), lambda row: unread(row[1])),
        ],
    )


def _parses_table(rules: Sequence[str], disagreements: Sequence[Disagreement], *, with_verdict: bool) -> Table:
    rows = [
        [
            disagreement.id,
            shorten(disagreement.reply, _MAX_LENGTH),
            ", ".join(disagreement.gold),
            *(
                _cell(disagreement.readings.get(rule), with_verdict=with_verdict or disagreement.is_parsed_alike)
                for rule in rules
            ),
        ]
        for disagreement in disagreements
    ]
    return Table("", [Column(name) for name in ("id", "reply", "gold", *rules)], rows)


def _cell(reading: RuleResult | None, *, with_verdict: bool) -> str:
    """The answer that a rule parses; `with_verdict` adds whether it is right."""
    if reading is None:
        return "not reached"
    verdict = "right" if reading.correct else "wrong"
    if reading.credit is not None:
        verdict = f"{reading.credit:.2g}"
    text = reading.value or reading.how
    return f"{text} ({verdict})" if with_verdict else text
