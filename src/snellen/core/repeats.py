"""Several draws of one question as one record, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import TypeVar

from msgspec.structs import replace

from snellen.core.record import Pass, Record, Repeat

T = TypeVar("T")


def merge_draws(draws: Sequence[Record]) -> Record:
    """One record of a question that was asked once or more, each time as a whole.

    The score is the mean of the draws that have one. While a draw is owed (it failed, or its reply
    is missing) the question has no score and is owed: the next start asks for that draw alone.
    """
    first = draws[0]
    if len(draws) == 1:
        return first
    retryable = next((draw for draw in draws if draw.is_retryable), None)
    scores = [draw.score for draw in draws if draw.score is not None]
    answers = [draw.answer for draw in draws if draw.answer is not None]
    unscored = None if scores else first.unscored
    return replace(
        first,
        outcome=retryable.outcome if retryable else _most_common(draw.outcome for draw in draws),
        score=None if retryable or not scores else fmean(scores),
        unscored=retryable.unscored if retryable else unscored,
        answer=_most_common(answers) if answers else None,
        media=tuple(dict.fromkeys(digest for draw in draws for digest in draw.media)),
        values=_mean_values(draws),
        saved=sum(draw.saved for draw in draws),
        failure=retryable.failure if retryable else first.failure,
        repeats=tuple(_repeat(draw, first) for draw in draws),
    )


def draws_of(record: Record) -> tuple[Record, ...]:
    """A record for each draw of the question, as if it had been asked once; itself where it was.
    The digests of requests are left to the whole."""
    if not record.repeats:
        return (record,)
    return tuple(
        replace(
            record,
            outcome=one.outcome,
            score=one.score,
            unscored=one.unscored,
            answer=one.answer,
            values=one.values,
            saved=one.saved,
            failure=one.failure,
            passes=one.passes if number else record.passes,
            requests=(),
            repeats=(),
        )
        for number, one in enumerate(record.repeats)
    )


def every_pass(record: Record) -> Iterator[Pass]:
    """The passes of all draws."""
    yield from record.passes
    for one in record.repeats:
        yield from one.passes


def _repeat(draw: Record, first: Record) -> Repeat:
    return Repeat(
        outcome=draw.outcome,
        score=draw.score,
        unscored=draw.unscored,
        answer=draw.answer,
        values=draw.values,
        saved=draw.saved,
        failure=draw.failure,
        passes=() if draw is first else tuple(_without_equal_prompts(draw.passes, first.passes)),
    )


def _without_equal_prompts(passes: Sequence[Pass], firsts: Sequence[Pass]) -> Iterator[Pass]:
    for number, one in enumerate(passes):
        same = number < len(firsts) and one.prompt == firsts[number].prompt
        yield replace(one, prompt=()) if same else one


def _most_common(values: Iterable[T]) -> T:
    """Of several that are as common the one that came first."""
    return Counter(values).most_common(1)[0][0]


def _mean_values(draws: Sequence[Record]) -> dict[str, float]:
    names = dict.fromkeys(name for draw in draws for name in draw.values)
    return {
        name: fmean(draw.values[name] for draw in draws if name in draw.values) for name in names
    }
