"""What repeated sampling of each question shows, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import structs

from snellen.core.run import Report
from snellen.core.summary import Draws, Interval, Metric
from snellen.report import format as fmt


class RepeatLine(NamedTuple):
    name: str
    value: str


def draw_lines(report: Report) -> list[RepeatLine]:
    """The section on repeated sampling; empty if each question was asked once."""
    draws = report.summary.draws
    return list(_lines(report, draws)) if draws is not None else []


def draw_metrics(report: Report) -> Iterator[Metric]:
    """The metrics of that section."""
    draws = report.summary.draws
    if draws is None or draws.repeats == 1:
        return
    headline, n = report.summary.headline, draws.questions
    yield structs.replace(headline, name=f"{headline.name}, these questions", interval=draws.these)
    best = "pass" if draws.right_or_wrong else "best"
    for k, value in draws.best.items():
        yield Metric(f"{best}@{k}", value, n)
    for k, value in draws.majority.items():
        yield Metric(f"majority@{k}", value, n)
    for name, share in (("same_answer", draws.same_answer), ("same_score", draws.same_score)):
        if share is not None:
            yield Metric(name, share, n)


def draws_text(report: Report) -> str:
    """How often and with which settings the model's replies were sampled."""
    how = report.run.config.sampling.get("model")
    texts = {
        "temperature": how.temperature if how else None,
        "top_p": how.top_p if how else None,
        "seed": how.seed if how else None,
    }
    words = [f"{name} {value:g}" for name, value in texts.items() if value is not None]
    if how is None or how.temperature is None:
        words.insert(0, "sampled as the benchmark asks")
    return ", ".join([f"{report.run.config.repeats} of each question", *words])


def _lines(report: Report, draws: Draws) -> Iterator[RepeatLine]:
    """The lines on repeats, on verdicts of judges, and on the variance they cause."""
    headline = report.summary.headline
    name = fmt.metric_label(headline.name)
    if draws.repeats > 1:
        yield RepeatLine("draws", draws_text(report))
        yield RepeatLine(f"{name}, these questions", _value_text(headline.value, draws.these))
        yield RepeatLine(f"{name}, questions like these", _value_text(headline.value, draws.alike))
        best = "pass@k" if draws.right_or_wrong else "best of k"
        yield RepeatLine(f"{best} for k", _by_size(draws.best))
        if draws.majority:
            yield RepeatLine("majority@k for k", _by_size(draws.majority))
        if draws.same_answer is not None:
            yield RepeatLine("two draws, same answer", f"{fmt.score_text(draws.same_answer)} %")
        if draws.same_score is not None:
            yield RepeatLine("two draws, same score", f"{fmt.score_text(draws.same_score)} %")
    if draws.verdicts > 1:
        yield RepeatLine("verdicts", f"asked for {draws.verdicts} times each")
    parts = _variance_parts(draws)
    if parts:
        yield RepeatLine("variance of one draw", parts)
    if draws.errors:
        yield RepeatLine("standard error in points, k draws", _by_size(draws.errors, ".2f"))
        yield RepeatLine("the same, otherwise", _other_errors(draws))


def _value_text(value: float | None, interval: Interval | None) -> str:
    if value is None or interval is None:
        return fmt.score_text(value)
    return f"{fmt.score_text(value)} ({fmt.level_text(interval)}: {fmt.interval_text(interval)})"


def _by_size(values: Mapping[int, float], digits: str = ".1f") -> str:
    return ", ".join(f"{k}: {value:{digits}}" for k, value in values.items()) or fmt.NONE


def _variance_parts(draws: Draws) -> str:
    """The fractions of a score's variance from sampling and, if there are judges, from their
    verdicts."""
    judge = draws.judge or 0.0
    if draws.between is None or draws.within is None:
        return f"{judge:.4f} between verdicts of a judge" if draws.judge is not None else ""
    shares = {
        "between questions": draws.between,
        "between draws of a question": max(0.0, draws.within - judge / draws.verdicts),
    }
    if draws.judge is not None:
        shares["between verdicts of a judge"] = judge
    total = sum(shares.values())
    if not total:
        return "none: all scores are the same"
    return ", ".join(f"{100 * part / total:.0f} % {name}" for name, part in shares.items())


def _other_errors(draws: Draws) -> str:
    """The error that more repeats, or more questions, would leave."""
    twice = draws.errors[draws.repeats] / math.sqrt(2)
    return f"draws without end: {draws.floor or 0.0:.2f}, twice the questions: {twice:.2f}"
