"""Numbers of a run that asked each question several times.

Draw r of all questions is a run of its own, which the benchmark sums up by its own rule, whatever
that is; the numbers are the means over those runs. Counts of outcomes are of draws.
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
from snellen.core.benchmark import Benchmark, summed
from snellen.core.record import Record
from snellen.core.repeats import draws_of
from snellen.core.run import Examples
from snellen.core.summary import Bounds, Draws, Interval, Metric, Summary
from snellen.scoring.clusters import clusters
from snellen.stats.draws import (
    agreement_of,
    best_of,
    components,
    draw_variance,
    draws_half_width,
    expected_error,
    majority_of,
)
from snellen.stats.intervals import DEFAULT_LEVEL, standard_error
from snellen.stats.student_t import two_sided_quantile

Summarise = Callable[[Sequence[Record]], Summary]

_CLOSE = 1e-9
_OF_SAMPLES = re.compile(r"^(\d+ of \d+) samples?\b")


def summary_of(
    benchmark: Benchmark, records: Sequence[Record], examples: Examples | None = None
) -> Summary:
    """The benchmark's numbers, also of questions or verdicts that were asked for several times."""
    verdicts = int(benchmark.parameters.get(JUDGE_REPEATS, "1"))
    if verdicts > 1 or any(record.repeats for record in records):
        plain = benchmark.headline_sums is None
        summarise = partial(_over_draws, benchmark.summarise, verdicts, plain)
        benchmark = replace(benchmark, summarise=summarise)
    return summed(benchmark, records, examples)


def _over_draws(
    summarise: Summarise, verdicts: int, plain: bool, records: Sequence[Record]
) -> Summary:
    """`plain`: whether the headline is the plain mean of the samples' scores."""
    repeats = max((len(record.repeats) for record in records), default=0)
    if not repeats:
        alone = summarise(records)
        draws = _draws([draws_of(record) for record in records], 1, verdicts, [alone])
        return structs.replace(alone, metrics=_without(alone.metrics), draws=draws)
    # A question that was not asked is the same in every run.
    every = [drawn if len(drawn := draws_of(record)) > 1 else drawn * repeats for record in records]
    runs = [summarise([drawn[number] for drawn in every]) for number in range(repeats)]
    outcomes = {name: sum(run.outcomes[name] for run in runs) for name in runs[0].outcomes}
    told = f"each question was asked {repeats} times; outcomes are counted by draws"
    withheld = next((run for run in runs if run.n and run.headline.value is None), None)
    if withheld is not None:
        # What may not be said of one draw may not be said of their mean.
        return structs.replace(withheld, outcomes=outcomes, notices=(told, *withheld.notices))
    together = summarise([
        structs.replace(draw, unit=draw.unit or f"draws of {draw.id}")
        for drawn in every
        for draw in drawn
    ])  # fmt: skip
    # Other numbers take samples for more than the mean of their scores: draws would count as more.
    pooled = together if plain else structs.replace(together, metrics={}, groups={})
    metrics = _means([run.metrics for run in runs], pooled.metrics)
    headline = _mean([run.headline for run in runs], together.headline if plain else None)
    if headline.name in metrics:
        metrics[headline.name] = headline
    averaged = Summary(
        headline=headline,
        metrics=_without(metrics),
        groups={
            column: _means(
                [run.groups.get(column, {}) for run in runs], pooled.groups.get(column, {})
            )
            for column in dict.fromkeys(column for run in runs for column in run.groups)
        },
        outcomes=outcomes,
        n=max(run.n for run in runs),
        total=runs[0].total,
        no_gold=runs[0].no_gold,
        bounds=_bounds(runs),
        notices=(
            told,
            *(_OF_SAMPLES.sub(r"\1 draws", notice) for notice in together.notices),
        ),
        beside=runs[0].beside,
    )
    asked = [draws_of(record) for record in records if record.repeats]
    return structs.replace(averaged, draws=_draws(asked, repeats, verdicts, runs, averaged))


def _without(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """The metrics but for the variance of a judge, which is told among the draws."""
    return {name: metric for name, metric in metrics.items() if name != JUDGE_VARIANCE}


def _means(
    of_runs: Sequence[Mapping[str, Metric]], together: Mapping[str, Metric]
) -> dict[str, Metric]:
    names = dict.fromkeys(name for run in of_runs for name in run)
    return {
        name: _mean([run[name] for run in of_runs if name in run], together.get(name))
        for name in names
    }


def _mean(of_runs: Sequence[Metric], together: Metric | None) -> Metric:
    """The mean over runs. Where that is the mean over all draws (`together`) too, the interval is
    that of these, clustered by question; else it is as wide as that of one run, which the mean of
    several never needs."""
    values = [one.value for one in of_runs if one.value is not None]
    if not values:
        return of_runs[0]
    value = fmean(values)
    n = max(one.n for one in of_runs)
    if together is not None and _is_mean_over_all(value, together):
        return structs.replace(together, value=value, n=n)
    found = [one.interval for one in of_runs if one.interval is not None]
    interval = None
    if len(found) == len(values):
        low, high = fmean(one.low for one in found), fmean(one.high for one in found)
        interval = Interval(low, high, f"{found[0].method}, as of one draw", found[0].level)
    return structs.replace(of_runs[0], value=value, n=n, interval=interval)


def _is_mean_over_all(value: float, together: Metric) -> bool:
    """Whether the number over all draws is the mean over runs, with an interval that knows draws of
    a question for what they are. That of a mean of subtasks takes the size of a subtask for a
    measure of how well its variance is known, and draws would inflate it."""
    if together.value is None or abs(value - together.value) > _CLOSE:
        return False
    return together.interval is None or "combined" not in together.interval.method


def _bounds(runs: Sequence[Summary]) -> Bounds | None:
    """Draws without failures are their own bounds."""
    if not any(run.bounds for run in runs):
        return None
    found = [bounds for run in runs if (bounds := _bounds_of(run)) is not None]
    return Bounds(fmean(one.worst for one in found), fmean(one.best for one in found))


def _bounds_of(run: Summary) -> Bounds | None:
    value = run.headline.value
    return run.bounds or (None if value is None else Bounds(value, value))


def sizes(repeats: int) -> list[int]:
    """1, 2, 4, ... and the number of draws itself."""
    powers = [1 << power for power in range(repeats.bit_length())]
    return powers if powers[-1] == repeats else [*powers, repeats]


def _draws(
    every: Sequence[Sequence[Record]],
    repeats: int,
    verdicts: int,
    runs: Sequence[Summary],
    summary: Summary | None = None,
) -> Draws:
    """`every` has the draws of each question; `summary` what the runs amount to, where there are
    several."""
    known = [kept for draws in every if (kept := [one for one in draws if one.score is not None])]
    scores = [[one.score or 0.0 for one in draws] for draws in known]
    spread = _spread(known, scores, repeats, verdicts)
    if summary is None:
        return structs.replace(spread, runs=(runs[0].headline.value,))
    # What is said of k draws is said of questions whose every draw has a score.
    whole = [one for one in scores if len(one) == repeats]
    answers = [[one.answer for one in draws] for draws in known if len(draws) == repeats]
    worth = _votes(answers, whole)
    return structs.replace(
        spread,
        runs=tuple(run.headline.value for run in runs),
        these=_these(scores, runs, summary.headline),
        alike=summary.headline.interval,
        best={k: _percent([best_of(one, k) for one in whole]) for k in sizes(repeats) if whole},
        right_or_wrong=all(score in (0.0, 1.0) for one in scores for score in one),
        majority={
            k: _percent([majority_of(one, of, k) for one, of in zip(answers, worth, strict=True)])
            for k in sizes(repeats)
            if worth
        },
        same_answer=_percent([agreement_of(one) or 0.0 for one in answers]) if worth else None,
        same_score=_percent([agreement_of(one) or 0.0 for one in whole]) if whole else None,
    )


def _spread(
    known: Sequence[Sequence[Record]],
    scores: Sequence[Sequence[float]],
    repeats: int,
    verdicts: int,
) -> Draws:
    """Where the variance comes from, and the standard error that other numbers of draws would
    have."""
    parts, total = components(scores), None
    if len(scores) > 1:
        held = clusters([draws[0] for draws in known])
        total = standard_error([fmean(one) for one in scores], held)
    drawn = draw_variance(scores)
    errors, floor = {}, None
    if total is not None and drawn is not None:
        wanted = [*sizes(repeats), 2 * repeats]
        errors = {k: 100 * expected_error(total**2, drawn, repeats, k) for k in wanted}
        floor = 100 * expected_error(total**2, drawn, repeats, math.inf)
    judge = [
        one.values[JUDGE_VARIANCE]
        for draws in known
        for one in draws
        if JUDGE_VARIANCE in one.values
    ]
    return Draws(
        repeats=repeats,
        verdicts=verdicts,
        questions=len(known),
        between=parts.questions if parts else None,
        within=parts.draws if parts else None,
        judge=fmean(judge) if judge else None,
        errors=errors,
        floor=floor,
    )


def _votes(
    answers: Sequence[Sequence[str | None]], scores: Sequence[Sequence[float]]
) -> list[Mapping[str, float]]:
    """For each question what each answer is worth; empty where an answer has several scores, as
    where rotations or a judge decide, or where no answer was read."""
    found: list[Mapping[str, float]] = []
    for given, earned in zip(answers, scores, strict=True):
        worth: dict[str, float] = {}
        for answer, score in zip(given, earned, strict=True):
            if answer is not None and worth.setdefault(answer, score) != score:
                return []
        found.append(worth)
    agree = any(len(set(given)) < len(given) for given in answers)
    return found if any(found) and agree else []


def _these(
    scores: Sequence[Sequence[float]], runs: Sequence[Summary], headline: Metric
) -> Interval | None:
    """Of the headline where the questions stay the same. Of a mean of scores by the variance of
    each question's draws; of any other number by what the draws make of it, one by one: Student's
    t over the runs."""
    value = headline.value
    if value is None or not scores:
        return None
    half = draws_half_width(scores)
    mean = fmean(fmean(one) for one in scores)
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


def _percent(shares: Sequence[float]) -> float:
    return 100 * fmean(shares)
