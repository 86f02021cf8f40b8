"""Numbers of a run that asked each question several times.

Draw r of all questions is a run of its own, which the benchmark sums up by its own rule, whatever
that is; the numbers are the means over those runs. Counts of outcomes are of draws.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, stdev

from msgspec import structs

from snellen.core.benchmark import Benchmark, summed
from snellen.core.examples import Examples
from snellen.core.record import Record
from snellen.core.repeats import draws_of
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
from snellen.stats.student import two_sided_quantile

Summarise = Callable[[Sequence[Record]], Summary]

JUDGE_VARIANCE = "judge_variance"
"""Value of a record: the variance of its score that comes from repeated verdicts of a judge."""
_CLOSE = 1e-9
_OF_SAMPLES = re.compile(r"^(\d+ of \d+) samples?\b")


def summary_of(
    benchmark: Benchmark, records: Sequence[Record], examples: Examples | None = None
) -> Summary:
    """The benchmark's numbers, also of questions that were asked several times."""
    if any(record.repeats for record in records):
        benchmark = replace(benchmark, summarise=partial(_over_draws, benchmark.summarise))
    return summed(benchmark, records, examples)


def _over_draws(summarise: Summarise, records: Sequence[Record]) -> Summary:
    repeats = max(len(record.repeats) for record in records)
    # A question that was not asked is the same in every run.
    every = [draws if len(draws := draws_of(record)) > 1 else draws * repeats for record in records]
    runs = [summarise([draws[number] for draws in every]) for number in range(repeats)]
    together = summarise([
        structs.replace(draw, unit=record.unit or f"repeats of {record.id}")
        for record, draws in zip(records, every, strict=True)
        for draw in draws
    ])  # fmt: skip
    headline = _mean([run.headline for run in runs], together.headline)
    metrics = {
        name: _mean([run.metrics[name] for run in runs if name in run.metrics], metric)
        for name, metric in together.metrics.items()
    }
    return Summary(
        headline=headline,
        metrics={**metrics, headline.name: headline} if headline.name in metrics else metrics,
        groups={
            column: {
                label: _mean(
                    [
                        run.groups[column][label]
                        for run in runs
                        if label in run.groups.get(column, {})
                    ],
                    metric,
                )
                for label, metric in labels.items()
            }
            for column, labels in together.groups.items()
        },
        outcomes={name: sum(run.outcomes[name] for run in runs) for name in runs[0].outcomes},
        n=max(run.n for run in runs),
        total=runs[0].total,
        no_gold=runs[0].no_gold,
        bounds=_bounds(runs),
        notices=(
            f"each question was asked {repeats} times; outcomes are counted by draws",
            *(_OF_SAMPLES.sub(r"\1 draws", notice) for notice in together.notices),
        ),
        beside=runs[0].beside,
        draws=_draws(records, repeats, runs, headline),
    )


def _mean(of_runs: Sequence[Metric], together: Metric) -> Metric:
    """The mean over runs. Where that is the mean over all draws too, the interval is that of these,
    clustered by question; else it is as wide as that of one run, which the mean of several never
    needs."""
    values = [one.value for one in of_runs if one.value is not None]
    if not values:
        return of_runs[0] if of_runs else together
    value = fmean(values)
    n = max(one.n for one in of_runs)
    if together.value is not None and math.isclose(value, together.value, abs_tol=_CLOSE):
        return structs.replace(together, value=value, n=n)
    found = [one.interval for one in of_runs if one.interval is not None]
    interval = None
    if len(found) == len(values):
        low, high = fmean(one.low for one in found), fmean(one.high for one in found)
        interval = Interval(low, high, f"{found[0].method}, as of one draw", found[0].level)
    return structs.replace(of_runs[0], value=value, n=n, interval=interval)


def _bounds(runs: Sequence[Summary]) -> Bounds | None:
    """Draws without failures are their own bounds."""
    if not any(run.bounds for run in runs):
        return None
    found = [
        run.bounds or Bounds(run.headline.value, run.headline.value)
        for run in runs
        if run.bounds or run.headline.value is not None
    ]
    return Bounds(fmean(one.worst for one in found), fmean(one.best for one in found))


def sizes(repeats: int) -> list[int]:
    """1, 2, 4, ... and the number of draws itself."""
    powers = [1 << power for power in range(repeats.bit_length())]
    return powers if powers[-1] == repeats else [*powers, repeats]


def _draws(
    records: Sequence[Record], repeats: int, runs: Sequence[Summary], headline: Metric
) -> Draws:
    scored = [
        (record, tuple(one for one in record.repeats if one.score is not None))
        for record in records
    ]
    known = [(record, draws) for record, draws in scored if draws]
    scores = [[one.score or 0.0 for one in draws] for _, draws in known]
    # What is said of k draws is said of questions whose every draw came back.
    whole = [one for one in scores if len(one) == repeats]
    answers = [[one.answer for one in draws] for (_, draws) in known if len(draws) == repeats]
    votes = _votes(answers, whole)
    agreed = [agreement_of(one) for one in answers] if votes else []
    equal = [agreement_of(one) for one in whole]
    parts = components(scores)
    errors = _errors(known, scores, repeats)
    return Draws(
        repeats=repeats,
        questions=len(known),
        runs=tuple(run.headline.value for run in runs),
        these=_these(scores, runs, headline),
        alike=headline.interval,
        best={
            k: 100 * fmean(best_of(one, k) for one in whole) for k in sizes(repeats) if whole
        },
        right_or_wrong=all(score in (0.0, 1.0) for one in scores for score in one),
        majority={
            k: 100 * fmean(
                majority_of(one, worth, k) for one, worth in zip(answers, votes, strict=True)
            )
            for k in sizes(repeats)
            if votes
        },
        same_answer=_percent(agreed),
        same_score=_percent(equal),
        between=parts.questions if parts else None,
        within=parts.draws if parts else None,
        judge=_judge(known),
        errors=errors,
        floor=_floor(known, scores),
    )  # fmt: skip


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
    return found if any(found) else []


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
    mean = 100 * fmean(fmean(one) for one in scores)
    if half is not None and math.isclose(value, mean, abs_tol=1e-6):
        low, high = max(0.0, value - 100 * half), min(100.0, value + 100 * half)
        return Interval(low, high, "draws within questions", DEFAULT_LEVEL)
    values = [run.headline.value for run in runs if run.headline.value is not None]
    if len(values) < 2:
        return None
    error = stdev(values) / math.sqrt(len(values))
    half = two_sided_quantile(DEFAULT_LEVEL, len(values) - 1) * error
    return Interval(value - half, value + half, "t over draws", DEFAULT_LEVEL)


def _errors(
    known: Sequence[tuple[Record, object]], scores: Sequence[Sequence[float]], repeats: int
) -> dict[int, float]:
    found = _variances(known, scores)
    if found is None:
        return {}
    total, draws = found
    wanted = [1 << power for power in range((2 * repeats).bit_length())]
    return {k: 100 * expected_error(total, draws, repeats, k) for k in wanted}


def _floor(
    known: Sequence[tuple[Record, object]], scores: Sequence[Sequence[float]]
) -> float | None:
    found = _variances(known, scores)
    return None if found is None else 100 * math.sqrt(max(0.0, found[0] - found[1]))


def _variances(
    known: Sequence[tuple[Record, object]], scores: Sequence[Sequence[float]]
) -> tuple[float, float] | None:
    """Of the mean over questions like these, and the part of it that comes from the draws."""
    draws = draw_variance(scores)
    held = clusters([record for record, _ in known])
    error = standard_error([fmean(one) for one in scores], held) if len(scores) > 1 else None
    return None if draws is None or error is None else (error**2, draws)


def _judge(known: Iterable[tuple[Record, object]]) -> float | None:
    found = [
        record.values[JUDGE_VARIANCE] for record, _ in known if JUDGE_VARIANCE in record.values
    ]
    return fmean(found) if found else None


def _percent(shares: Sequence[float | None]) -> float | None:
    known = [one for one in shares if one is not None]
    return 100 * fmean(known) if known else None
