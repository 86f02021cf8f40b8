"""Numbers arranged for the templates of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from snellen.analysis.findings.reply_budgets import BudgetPoint, budget_curve, token_counts, usual_budgets
from snellen.analysis.findings.score_groups import ScoreGroups
from snellen.core.output import RETRYABLE, Outcome
from snellen.core.run import Report
from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.report.documents.result_tables import baselines
from snellen.report.page.samples import Result
from snellen.report.ticks import Scale, metric_scale
from snellen.scoring.accuracy import SAME_LETTER
from snellen.store.runs import RunFolder

RESULT_LABELS: dict[Result, str] = {
    "right": "right",
    "partly": "partly right",
    "wrong": "wrong",
    "unscored": "without gold",
}

Tallies = Mapping[tuple[Result, Outcome], int]
"""The number of samples with this result and this outcome."""


class BaselineMark(NamedTuple):
    """A value that is marked beside bars."""

    name: str
    value: float


class BarTable(NamedTuple):
    """Numbers by name, drawn as bars over one scale."""

    title: str
    rows: tuple[tuple[str, Metric], ...]
    marks: tuple[BaselineMark, ...] = ()

    @property
    def scale(self) -> Scale:
        return metric_scale([metric for _, metric in self.rows])


class BarSegment(NamedTuple):
    """A part of a stacked bar; `kind` is its class in the style sheet."""

    kind: str
    name: str
    samples: int


class RunRow(NamedTuple):
    """A run in the overview."""

    model: str
    link: str
    metric: Metric
    outcomes: str


class RunTable(NamedTuple):
    """The runs of one benchmark and metric."""

    benchmark: str
    metric: str
    level: str
    """The confidence level of the intervals, e.g. `95 %`."""
    runs: tuple[RunRow, ...]
    marks: tuple[BaselineMark, ...]

    @property
    def scale(self) -> Scale:
        return metric_scale([run.metric for run in self.runs])


def headline_table(report: Report) -> BarTable:
    """The headline as one bar, with the scores of guessing as marks."""
    metric = report.summary.headline
    # Always answering the same letter scores 0 with rotations, which is the start of the axis.
    marks = tuple(
        BaselineMark(fmt.metric_label(guess.key), guess.metric.value)
        for guess in baselines([report])
        if guess.key != SAME_LETTER and guess.metric.value is not None
    )
    return BarTable(metric.name, ((metric.name, metric),), marks)


def outcome_segments(tallies: Tallies) -> list[BarSegment]:
    """The numbers of right, partly right, wrong and ungraded samples, then of each other
    outcome."""
    shares = [
        BarSegment(result, words, tallies.get((result, "answered"), 0)) for result, words in RESULT_LABELS.items()
    ]
    lost = Counter[Outcome]()
    for (_, outcome), samples in tallies.items():
        lost[outcome] += samples
    shares += [
        BarSegment("lost" if outcome in RETRYABLE else "unread", words, lost[outcome])
        for outcome, words in fmt.OUTCOME_LABELS.items()
        if outcome != "answered"
    ]
    return [share for share in shares if share.samples]


def grouping_tables(report: Report) -> list[BarTable]:
    """The headline by group, one table for each group column.

    Columns with few groups come first, others in the summary's order; groups are sorted by score. A
    column with a single group is left out.
    """
    groups = report.summary.groups
    columns = sorted(groups, key=lambda column: len(groups[column]))
    return [
        BarTable(column, tuple(sorted(groups[column].items(), key=lambda item: (-(item[1].value or 0.0), item[0]))))
        for column in columns
        if len(groups[column]) > 1
    ]


class GroupSection(NamedTuple):
    """A section of tables of groups of questions."""

    id: str
    title: str
    lead: str
    tables: list[BarTable]


_DOCUMENT_KINDS = frozenset({"fields", "page"})


def answer_groups(run: RunFolder, kinds: Iterable[str]) -> list[GroupSection]:
    """Scores of the questions by what their gold places or documents are like, for runs that ask for
    these."""
    sections: list[GroupSection] = []
    if "place" in kinds:
        from snellen.analysis.findings.place_groups import place_groups

        lead = (
            "The score by what the gold places are like. A question with several places counts with their mean size, "
            "at no position, and in each of their labels."
        )
        sections.append(GroupSection("places", "Places", lead, _bar_tables(place_groups(run))))
    if _DOCUMENT_KINDS.intersection(kinds):
        from snellen.analysis.findings.document_groups import document_groups

        lead = (
            "The score by what the gold documents are like; of kinds of blocks and of values that of these parts. "
            "Groups are means over samples, also where the headline is a mean of the parts of pages."
        )
        sections.append(GroupSection("documents", "Documents", lead, _bar_tables(document_groups(run))))
    return [section for section in sections if section.tables]


def _bar_tables(groups: Sequence[ScoreGroups]) -> list[BarTable]:
    return [
        BarTable(
            each.title,
            tuple((fmt.display_name(label) if each.is_share else label, metric) for label, metric in each.rows),
        )
        for each in groups
    ]


def circular_table(report: Report) -> BarTable | None:
    """Vanilla next to circular scoring; None for a run that asked every question once."""
    first = report.summary.metrics.get("vanilla")
    if first is None:
        return None
    rows = (("first pass only (vanilla)", first), ("every pass (circular)", report.summary.headline))
    return BarTable("counted", rows)


def other_metrics(report: Report) -> list[Metric]:
    """Metrics that appear nowhere else on the page."""
    displayed = {report.summary.headline.name, "vanilla", "drop", *fmt.BASELINES}
    return [metric for name, metric in report.summary.metrics.items() if name not in displayed]


def run_table(runs: Sequence[tuple[Report, str]]) -> RunTable:
    """A table of the runs of a board: each report with the link to its page, which may be empty."""
    reports = [report for report, _ in runs]
    rows = [
        RunRow(name, link, report.summary.headline, fmt.outcomes_text(report))
        for name, (report, link) in zip(fmt.run_labels(reports), runs, strict=True)
    ]
    headline = reports[0].summary.headline
    level = fmt.level_text(headline.interval)
    return RunTable(reports[0].run.benchmark, headline.name, level, tuple(rows), _board_marks(reports))


def _board_marks(board: Sequence[Report]) -> tuple[BaselineMark, ...]:
    """Each baseline of a board once, labelled as in the tables of the terminal."""
    return tuple(
        BaselineMark(guess.label, guess.metric.value)
        for guess in baselines(board)
        if guess.key != SAME_LETTER and guess.metric.value is not None
    )


class BudgetTable(NamedTuple):
    """Each budget with its score as a bar, over one scale."""

    rows: tuple[tuple[BudgetPoint, Metric], ...]

    @property
    def scale(self) -> Scale:
        return metric_scale([metric for _, metric in self.rows])


def budget_table(run: RunFolder, report: Report) -> BudgetTable | None:
    """The scores with fewer tokens a reply. None unless replies were cut, in this run or in the one
    that it extends: elsewhere its limit decides nothing. None too without counts of tokens."""
    config = report.run.config
    if not report.summary.outcomes.get("truncated") and config.extend_truncated is None:
        return None
    counts = token_counts(run.records())
    if not counts.draws:
        return None
    budgets = usual_budgets(counts.draws, config.longest_reply)
    early = config.parameters.get("circular") == "early"
    points = budget_curve(counts.draws, budgets, stops_early=early)
    return BudgetTable(
        tuple((one, Metric(f"{one.budget} tokens", one.score, one.samples, one.score_interval)) for one in points)
    )
