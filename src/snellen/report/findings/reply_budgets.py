"""Findings about token budgets: what shorter replies would have cost a run in points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from snellen.analysis.findings.reply_budgets import BudgetPoint, CountedDraws, budget_curve, token_counts, usual_budgets
from snellen.core.errors import UsageError
from snellen.core.run import RunConfig, RunInfo
from snellen.report import format as fmt
from snellen.report.document import Column, Document, Table, table_of, titled_document
from snellen.report.plots.budgets import BudgetSeries, budget_plot
from snellen.store.runs import RunFolder

_ASSUMPTION = (
    "a reply longer than the budget counts as wrong, and as that many tokens: an answer that "
    "stands early in a long reply is not seen, so a run with this limit may score higher "
    "(`measured`, if one is among the runs)"
)


def reply_budgets(runs: Sequence[RunFolder], names: Sequence[str], budgets: Sequence[int] = ()) -> Document:
    """Score, and right answers per million tokens, of each run over the token budget of a reply.

    `budgets` are those of the curve; empty: powers of two. Raises UsageError for runs whose replies
    have no counts of tokens, and for budgets above the limit of every run.
    """
    tables: list[Table] = []
    notices = [_ASSUMPTION]
    series: list[BudgetSeries] = []
    _check_budgets(budgets, [run.info.config.longest_reply for run in runs])
    shorter_by_run = [_shorter_runs(run.info, runs) for run in runs]
    # They are marks on the curve of the longer run, and have no curve of their own.
    marks = {run.path for shorter_runs in shorter_by_run for run in shorter_runs.values()}
    for run, name, shorter_runs in zip(runs, names, shorter_by_run, strict=True):
        if run.path in marks:
            continue
        info, counts = run.info, _counts_of(run)
        limit = info.config.longest_reply
        chosen = {budget for budget in budgets if not limit or budget <= limit}
        usual = {*usual_budgets(counts.draws, limit), *shorter_runs}
        points = list(
            budget_curve(
                counts.draws, sorted(chosen or usual), stops_early=info.config.parameters.get("circular") == "early"
            )
        )
        measured = {budget: _mean_score(shorter) for budget, shorter in shorter_runs.items()}
        tables.append(_curve_table(name, points, measured))
        notices += _notices(name, info, counts, points)
        series.append(BudgetSeries(name, points, measured))
    title = "Score over the token budget of a reply"
    return titled_document(title, tables, notices, partial(budget_plot, title, series))


def _counts_of(run: RunFolder) -> CountedDraws:
    """Raises UsageError for a run without replies, or without counts of their tokens."""
    if not (reply_counts := run.info.counts).done:
        raise UsageError(
            f"{run.path} holds no replies, so that there is no budget to vary: "
            f"{reply_counts.failed:,} of its {reply_counts.samples:,} samples failed; ask them "
            "again with the command of the run"
        )
    counts = token_counts(run.records())
    if not counts.draws:
        raise UsageError(
            f"{run.path}: its replies come without counts of tokens (candidates are ranked, or "
            "the model does not say), so that there is no budget to vary"
        )
    return counts


def _check_budgets(budgets: Sequence[int], limits: Sequence[int]) -> None:
    """Raises UsageError for a budget above the limits of all runs; the limit 0 is not known."""
    longest = max(limits)
    beyond = [budget for budget in budgets if budget > longest]
    if beyond and all(limits):
        raise UsageError(
            f"--at {beyond[0]}: no run has replies of more than {longest:,} tokens, so that a "
            "larger budget cannot be computed; ask for longer ones with "
            "--generation extend_truncated=N"
        )


def _curve_table(name: str, points: Sequence[BudgetPoint], measured: Mapping[int, float | None]) -> Table:
    return table_of(
        name,
        points,
        [
            (Column("budget", "count"), lambda point: point.budget),
            (Column("cut", "share"), lambda point: point.cut / point.samples),
            (Column("score", "points"), lambda point: point.score),
            (Column("95 % interval", "points"), lambda point: point.score_interval),
            (Column("measured", "points"), lambda point: measured.get(point.budget)),
            (Column("tokens a sample", "count", is_optional=True), lambda point: round(point.tokens)),
            (Column("right per M tokens", "count"), lambda point: round(point.right_per_million)),
            (Column("95 % interval of these", "points", is_optional=True), lambda point: point.right_interval),
        ],
    )


def _shorter_runs(info: RunInfo, runs: Sequence[RunFolder]) -> dict[int, RunFolder]:
    """Runs of the same model on the same questions with a smaller limit, by this limit."""
    config = info.config
    return {
        run.info.config.max_new_tokens: run
        for run in runs
        if run.info.config.longest_reply < config.longest_reply
        and _without_limits(run.info.config) == _without_limits(config)
        and run.info.config.extend_truncated is None
    }


def _without_limits(config: RunConfig) -> RunConfig:
    return replace(config, max_new_tokens=0, extend_truncated=None)


def _mean_score(run: RunFolder) -> float | None:
    scores = [record.score for record in run.records() if record.score is not None]
    return 100 * sum(scores) / len(scores) if scores else None


def _notices(name: str, info: RunInfo, counts: CountedDraws, points: Sequence[BudgetPoint]) -> Iterator[str]:
    best = max(points, key=lambda point: point.right_per_million)
    yield (
        f"{name}: most right answers per million tokens with {best.budget:,} tokens a reply "
        f"({best.right_per_million:,.0f}, at a score of {best.score:.1f})"
    )
    limit = info.config.longest_reply
    if counts.cut:
        yield (
            f"{name}: {counts.cut:,} of {len(counts.draws):,} samples were cut at the run's own "
            f"limit of {limit:,}; what more tokens would give is not known"
        )
    if info.config.extend_truncated is not None:
        yield (
            f"{name}: replies were asked for with {info.config.max_new_tokens:,} tokens, and those "
            f"that were cut with {info.config.extend_truncated:,}; the later ones are counted"
        )
    if counts.uncounted:
        were = fmt.plural(counts.uncounted, "sample")
        yield f"{name}: {were} left out, whose replies have no counts of tokens"
    if counts.repeated_passes:
        yield (
            f"{name}: {counts.repeated_passes:,} samples have several replies, and count as wrong "
            "if one of them is longer than the budget"
        )
    if info.headline not in ("accuracy", "circular"):
        yield (f"{name}: the score is the mean over samples, not the headline {fmt.metric_label(info.headline)}")
