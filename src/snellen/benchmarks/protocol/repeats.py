"""Numbers of a run that asked each question several times.

Draw r of all questions is a run of its own, which the benchmark summarises by its own rule; the
numbers are the means over these runs. Outcomes are counted over all draws.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, stdev

from msgspec import structs

from snellen.benchmarks.protocol.judging import JUDGE_REPEATS, JUDGE_VARIANCE
from snellen.core.benchmark import Benchmark, final_summary
from snellen.core.record import Record, draws_of
from snellen.core.run import FewShotInfo
from snellen.core.summary import Bounds, Draws, Interval, Metric, Summary
from snellen.scoring.accuracy import cluster_samples
from snellen.stats.draws import (
    agreement_of,
    best_of,
    draw_variance,
    draws_half_width,
    expected_error,
    majority_of,
    variance_components,
)
from snellen.stats.intervals import DEFAULT_LEVEL, standard_error
from snellen.stats.student_t import two_sided_quantile

Summarise = Callable[[Sequence[Record]], Summary]

_CLOSE = 1e-9
_OF_SAMPLES = re.compile(r"^(\d+ of \d+) samples?\b")


def summary_of(benchmark: Benchmark, records: Sequence[Record], examples: FewShotInfo | None = None) -> Summary:
    """The benchmark's summary, also of questions or verdicts that were asked for several times."""
    verdicts = int(benchmark.parameters.get(JUDGE_REPEATS, "1"))
    if verdicts > 1 or any(record.repeats for record in records):
        plain = benchmark.headline_sums is None
        summarise = partial(_summarise_draws, benchmark.summarise, verdicts, plain)
        benchmark = replace(benchmark, summarise=summarise)
    return final_summary(benchmark, records, examples)


def with_never_asked(benchmark: Benchmark, summary: Summary, planned: int) -> Summary:
    """The summary of a run that was stopped, with bounds that include those of the `planned`
    samples that were never asked. Unchanged if all were asked, or if the headline is not a plain
    mean of sample scores."""
    headline, bounds = summary.headline, summary.bounds
    never_asked = planned - summary.total
    if never_asked <= 0 or headline.value is None or benchmark.headline_sums is not None:
        return summary
    if bounds is None:
        bounds = Bounds(headline.value, headline.value)
    asked = headline.n + summary.outcomes["failed"] + summary.outcomes["missing"]
    worst = bounds.worst * asked / (asked + never_asked)
    best = (bounds.best * asked + headline.top * never_asked) / (asked + never_asked)
    return structs.replace(summary, bounds=Bounds(worst, best), never_asked=never_asked)


def _summarise_draws(summarise: Summarise, verdicts: int, is_plain_mean: bool, records: Sequence[Record]) -> Summary:
    """Summarise each draw as a run of its own, and average.

    `is_plain_mean`: whether the headline is the plain mean of the samples' scores.
    """
    repeats = max((len(record.repeats) for record in records), default=0)
    if not repeats:
        summary = summarise(records)
        draws = _draw_statistics([draws_of(record) for record in records], 1, verdicts, [summary])
        return structs.replace(summary, metrics=_drop_judge_variance(summary.metrics), draws=draws)
    # A question that was not asked is the same in every run.
    draws_by_question = [drawn if len(drawn := draws_of(record)) > 1 else drawn * repeats for record in records]
    runs = [summarise([drawn[number] for drawn in draws_by_question]) for number in range(repeats)]
    outcomes = {name: sum(run.outcomes[name] for run in runs) for name in runs[0].outcomes}
    draws_notice = f"each question was asked {repeats} times; outcomes are counted by draws"
    withheld = next((run for run in runs if run.n and run.headline.value is None), None)
    if withheld is not None:
        # What may not be said of one draw may not be said of their mean.
        return structs.replace(withheld, outcomes=outcomes, notices=(draws_notice, *withheld.notices))
    all_draws = summarise(
        [
            structs.replace(draw, unit=draw.unit or f"draws of {draw.id}")
            for drawn in draws_by_question
            for draw in drawn
        ]
    )
    # The draws of a question as samples of one unit give the interval of the mean over runs,
    # clustered by question. Headlines that are not plain means (F1, means of subtasks) use samples
    # for more than their scores, so draws would count as further questions: these keep the
    # interval of one run.
    pooled = all_draws if is_plain_mean else structs.replace(all_draws, metrics={}, groups={})
    metrics = _mean_metrics([run.metrics for run in runs], pooled.metrics)
    headline = _mean_metric([run.headline for run in runs], all_draws.headline if is_plain_mean else None)
    if headline.name in metrics:
        metrics[headline.name] = headline
    averaged = Summary(
        headline=headline,
        metrics=_drop_judge_variance(metrics),
        groups={
            column: _mean_metrics([run.groups.get(column, {}) for run in runs], pooled.groups.get(column, {}))
            for column in dict.fromkeys(column for run in runs for column in run.groups)
        },
        outcomes=outcomes,
        n=max(run.n for run in runs),
        total=runs[0].total,
        no_gold=runs[0].no_gold,
        bounds=_bounds(runs),
        notices=(draws_notice, *(_OF_SAMPLES.sub(r"\1 draws", notice) for notice in all_draws.notices)),
        beside=runs[0].beside,
    )
    repeated = [draws_of(record) for record in records if record.repeats]
    return structs.replace(averaged, draws=_draw_statistics(repeated, repeats, verdicts, runs, averaged))


def _drop_judge_variance(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """The metrics without a judge's variance, which is among the draws' statistics."""
    return {name: metric for name, metric in metrics.items() if name != JUDGE_VARIANCE}


def _mean_metrics(runs: Sequence[Mapping[str, Metric]], pooled: Mapping[str, Metric]) -> dict[str, Metric]:
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: _mean_metric([run[name] for run in runs if name in run], pooled.get(name)) for name in names}


def _mean_metric(runs: Sequence[Metric], pooled: Metric | None) -> Metric:
    """The mean of one metric over runs.

    If it is also the metric over all draws (`pooled`), the interval is that one's, clustered by
    question. Otherwise it is as wide as one run's interval, which is conservative for a mean.
    """
    values = [metric.value for metric in runs if metric.value is not None]
    if not values:
        return runs[0]
    value = fmean(values)
    n = max(metric.n for metric in runs)
    if pooled is not None and _is_mean_over_all(value, pooled):
        return structs.replace(pooled, value=value, n=n)
    intervals = [metric.interval for metric in runs if metric.interval is not None]
    interval = None
    if len(intervals) == len(values):
        low, high = (fmean(interval.low for interval in intervals), fmean(interval.high for interval in intervals))
        interval = Interval(low, high, f"{intervals[0].method}, as of one draw", intervals[0].level)
    return structs.replace(runs[0], value=value, n=n, interval=interval)


def _is_mean_over_all(value: float, pooled: Metric) -> bool:
    """Whether the metric over all draws is the mean over runs, with an interval that clusters
    draws.

    Intervals of means of subtasks do not: they take a subtask's size for how well its variance is
    known, and draws would inflate it.
    """
    if pooled.value is None or abs(value - pooled.value) > _CLOSE:
        return False
    return pooled.interval is None or "combined" not in pooled.interval.method


def _bounds(runs: Sequence[Summary]) -> Bounds | None:
    """Mean bounds of the runs; a run without failures is its own bounds."""
    if not any(run.bounds for run in runs):
        return None
    bounds_of_runs = [bounds for run in runs if (bounds := _bounds_of(run)) is not None]
    return Bounds(
        fmean(interval.worst for interval in bounds_of_runs), fmean(interval.best for interval in bounds_of_runs)
    )


def _bounds_of(run: Summary) -> Bounds | None:
    value = run.headline.value
    return run.bounds or (None if value is None else Bounds(value, value))


def draw_counts(repeats: int) -> list[int]:
    """1, 2, 4, ... and the number of draws itself."""
    powers = [1 << power for power in range(repeats.bit_length())]
    return powers if powers[-1] == repeats else [*powers, repeats]


def _draw_statistics(
    draws_by_question: Sequence[Sequence[Record]],
    repeats: int,
    verdicts: int,
    runs: Sequence[Summary],
    summary: Summary | None = None,
) -> Draws:
    """How much the draws of a question agree, and what their number does to the uncertainty.

    `draws_by_question` has the draws of each question; `summary` is the mean of several runs.
    """
    scored_draws = [
        kept for draws in draws_by_question if (kept := [record for record in draws if record.score is not None])
    ]
    scores = [[record.score or 0.0 for record in draws] for draws in scored_draws]
    variances = _variance_components(scored_draws, scores, repeats, verdicts)
    if summary is None:
        return structs.replace(variances, runs=(runs[0].headline.value,))
    # Numbers by count of draws are comparable only over questions whose every draw has a score.
    complete = [draw_scores for draw_scores in scores if len(draw_scores) == repeats]
    answers = [[record.answer for record in draws] for draws in scored_draws if len(draws) == repeats]
    answer_scores = _score_by_answer(answers, complete)
    return structs.replace(
        variances,
        runs=tuple(run.headline.value for run in runs),
        these=_headline_interval(scores, runs, summary.headline),
        alike=summary.headline.interval,
        best={
            k: _percent([best_of(draw_scores, k) for draw_scores in complete]) for k in draw_counts(repeats) if complete
        },
        right_or_wrong=all(score in (0.0, 1.0) for draw_scores in scores for score in draw_scores),
        majority={
            k: _percent(
                [majority_of(draw_answers, of, k) for draw_answers, of in zip(answers, answer_scores, strict=True)]
            )
            for k in draw_counts(repeats)
            if answer_scores
        },
        same_answer=_percent([agreement_of(draw_answers) or 0.0 for draw_answers in answers])
        if answer_scores
        else None,
        same_score=_percent([agreement_of(draw_scores) or 0.0 for draw_scores in complete]) if complete else None,
    )


def _variance_components(
    scored_draws: Sequence[Sequence[Record]], scores: Sequence[Sequence[float]], repeats: int, verdicts: int
) -> Draws:
    """Variance between questions, within them and of judges, and the standard errors that other
    numbers of draws would have."""
    parts, total = variance_components(scores), None
    if len(scores) > 1:
        cluster_ids = cluster_samples([draws[0] for draws in scored_draws])
        total = standard_error([fmean(draw_scores) for draw_scores in scores], cluster_ids)
    drawn = draw_variance(scores)
    errors, floor = {}, None
    if total is not None and drawn is not None:
        counts = [*draw_counts(repeats), 2 * repeats]
        errors = {k: 100 * expected_error(total**2, drawn, repeats, k) for k in counts}
        floor = 100 * expected_error(total**2, drawn, repeats, math.inf)
    judge = [
        record.values[JUDGE_VARIANCE] for draws in scored_draws for record in draws if JUDGE_VARIANCE in record.values
    ]
    return Draws(
        repeats=repeats,
        verdicts=verdicts,
        questions=len(scored_draws),
        between=parts.questions if parts else None,
        within=parts.draws if parts else None,
        judge=fmean(judge) if judge else None,
        errors=errors,
        floor=floor,
    )


def _score_by_answer(
    answers: Sequence[Sequence[str | None]], scores: Sequence[Sequence[float]]
) -> list[Mapping[str, float]]:
    """The score of each answer, by question; empty if some answer has several scores (rotations,
    judges), or if no answer was parsed."""
    scores_by_question: list[Mapping[str, float]] = []
    for draw_answers, earned in zip(answers, scores, strict=True):
        worth: dict[str, float] = {}
        for answer, score in zip(draw_answers, earned, strict=True):
            if answer is not None and worth.setdefault(answer, score) != score:
                return []
        scores_by_question.append(worth)
    agree = any(len(set(draw_answers)) < len(draw_answers) for draw_answers in answers)
    return scores_by_question if any(scores_by_question) and agree else []


def _headline_interval(scores: Sequence[Sequence[float]], runs: Sequence[Summary], headline: Metric) -> Interval | None:
    """Interval of the headline for these very questions, over draws.

    For a mean of scores from the variance within questions; for any other headline Student's t over
    the runs.
    """
    value = headline.value
    if value is None or not scores:
        return None
    half = draws_half_width(scores)
    mean = fmean(fmean(draw_scores) for draw_scores in scores)
    top = headline.top
    if half is not None and math.isclose(value, top * mean, abs_tol=1e-6):
        low, high = max(0.0, value - top * half), min(top, value + top * half)
        return Interval(low, high, "draws within questions", DEFAULT_LEVEL)
    values = [run.headline.value for run in runs if run.headline.value is not None]
    if len(values) < 2:
        return None
    error = stdev(values) / math.sqrt(len(values))
    if not error:
        # That a few draws do not differ at all is no certainty.
        return None
    half = two_sided_quantile(DEFAULT_LEVEL, len(values) - 1) * error
    return Interval(value - half, value + half, "t over draws", DEFAULT_LEVEL)


def _percent(fractions: Sequence[float]) -> float:
    return 100 * fmean(fractions)
