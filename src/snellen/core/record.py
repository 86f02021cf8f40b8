"""One finished sample, as `samples.jsonl` stores it: the only contract between running, reporting, analysing and
submitting. And the flow that makes it: how one sample is asked, without any I/O.

A flow is a generator: it yields `Request`s, receives an `Output` for each, and returns the sample's `Record`. Whatever
asks more than once is a flow, so that tests can drive it with `send()` and one engine drives all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from statistics import fmean
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from snellen.core.output import DRAWN, RETRYABLE, Answer, FailureKind, Generated, Outcome, Output, ParsedAnswer
from snellen.core.request import Message, Request
from snellen.core.sample import Kind

T = TypeVar("T")

Unscored = Literal["failed", "missing", "no_gold", "unsupported", "ungraded"]
"""Why a sample has no score and is left out of every mean. `unsupported`: the model cannot take the
question, so it was not asked; asking again would change nothing. `ungraded`: there is a reply, but
no judge to grade it, or no verdict that could be parsed."""


KEPT = "scored"
"""Name among a record's metadata of what another tool's code needs for the numbers of a whole run."""


class Verdict(Struct, frozen=True, gc=False, omit_defaults=True):
    """One judge's reply about a model's reply, and what was parsed from it."""

    judge: str
    """Its role: `judge`, `judge-2`, ..."""
    output: Output
    """The reply that was parsed, or the last one if none could be."""
    step: str = ""
    """Task of the judge: `extraction`, `grade`, ..."""
    values: dict[str, float] = {}
    """Grades by dimension, in the range of the rubric; empty if none could be parsed."""
    text: str | None = None
    """The answer it extracted, if that was its task and it could be parsed."""
    tries: int = 1
    """Requests until its reply could be parsed."""
    repeat: int = 0
    """Index of this verdict among its repeated ones, from 0."""

    @property
    def is_legible(self) -> bool:
        """Whether a grade or an answer could be parsed."""
        return bool(self.values) or self.text is not None


class CutReply(Struct, frozen=True, gc=False, omit_defaults=True):
    """A reply that reached its token limit, after which the model was asked again with a larger
    one."""

    max_new_tokens: int
    """The limit that it reached."""
    output: Generated


class Pass(Struct, frozen=True, gc=False, omit_defaults=True):
    """One request for an answer: a pass of CircularEval, or the only one."""

    prompt: tuple[Message, ...]
    output: Output
    answer: Answer | None = None
    """None if the output is a failure."""
    gold: tuple[str, ...] = ()
    correct: bool | None = None
    """None if there is no gold or no answer."""
    credit: float | None = None
    """Partial credit, 0..1, of an answer that is neither right nor wrong."""
    options: dict[str, str] = {}
    row: str | None = None
    extraction: Output | None = None
    """Output of the LLM extractor, if it was asked."""
    by_rules: Answer | None = None
    """Answer by the parsing rules alone, if an LLM extractor was asked as well."""
    verdicts: tuple[Verdict, ...] = ()
    """Verdicts of judges, in the order in which these were asked."""
    cut_reply: CutReply | None = None
    """The reply that `output` replaces, which was asked for with the run's larger limit
    (`RunConfig.extend_truncated`) because this one was cut. None: `output` is the first reply."""


class Repeat(Struct, frozen=True, gc=False, omit_defaults=True):
    """Result of one draw of a question that was asked several times."""

    outcome: Outcome
    score: float | None = None
    unscored: Unscored | None = None
    answer: str | None = None
    values: dict[str, float] = {}
    saved: int = 0
    failure: FailureKind | None = None
    passes: tuple[Pass, ...] = ()
    """Empty for the first draw, whose passes are in the record. A pass with the prompt of the
    first draw's pass leaves its prompt out."""


class Record(Struct, frozen=True, gc=False, omit_defaults=True):
    """One finished sample. `score` is 0..1, or None with the reason in `unscored`."""

    id: str
    kind: Kind
    question: str
    outcome: Outcome
    score: float | None = None
    unscored: Unscored | None = None
    answer: str | None = None
    gold: tuple[str, ...] = ()
    options: dict[str, str] = {}
    groups: dict[str, str] = {}
    media: tuple[str, ...] = ()
    data_media: tuple[str, ...] | None = None
    """Images and videos of the data, if the prompt held others that were derived from them
    (frames, pages, boxes), which `media` names. None if the prompt held those of the data."""
    passes: tuple[Pass, ...] = ()
    values: dict[str, float] = {}
    """Further per-sample numbers, e.g. `vanilla` in addition to a circular score."""
    saved: int = 0
    """Requests that early stop made unnecessary."""
    asked_once: bool = False
    """CircularEval: whether the options cannot be rotated, so that it was asked once."""
    lacking: int = 0
    """CircularEval: number of rotations of its options that are missing from the data."""
    failure: FailureKind | None = None
    """Kind of the failure that ended the sample, if any."""
    unit: str = ""
    """`Sample.unit`."""
    requests: tuple[str, ...] = ()
    """Digests (hex) of the requests, in order: the keys of the outputs in the store."""
    holds_verdict: bool = False
    """Whether a graded reply itself states what looks like a verdict, or asks for one."""
    repeats: tuple[Repeat, ...] = ()
    """Draws of a question that was asked several times, in order. Then `score` is their mean,
    `answer` and `outcome` are the most common ones, `passes` are those of the first draw."""
    position: int | None = None
    """Position of its question among those of the data, from 0; None if it was not recorded."""
    metadata: dict[str, str] = {}
    """`Sample.metadata`."""

    def label(self, group: str) -> str:
        """Its label in a group, or its cell of a column of the user's data; "" if it has none."""
        return self.groups.get(group) or self.metadata.get(group, "")

    @property
    def is_retryable(self) -> bool:
        """Whether it failed or its reply is missing, so that it is asked again on resume."""
        return self.unscored in RETRYABLE


PLACES_LOOKED_AT = 100
"""In so many first replies for places the summary looks for another coordinate space."""


def credits_empty_reply(score: float | None, passes: Sequence[Pass]) -> bool:
    """Whether a score was given to an empty reply, as some rules of other tools do."""
    if not score:
        return False
    for pass_ in passes:
        if isinstance(pass_.output, Generated) and not pass_.output.text.strip():
            break
    else:
        return False
    empty = [isinstance(pass_.output, Generated) and not pass_.output.text.strip() for pass_ in passes]
    if all(empty):
        return True
    return any(is_empty and bool(pass_.correct or pass_.credit) for is_empty, pass_ in zip(empty, passes, strict=True))


def is_drawn(passes: Sequence[Pass]) -> bool:
    """Whether an answer was drawn at random, as some rules of other tools do."""
    for one in passes:  # noqa: SIM110 - a generator costs more than the look
        if isinstance(one.answer, ParsedAnswer) and one.answer.rule == DRAWN:
            return True
    return False


def merge_draws(draws: Sequence[Record]) -> Record:
    """Merge the draws of one question into one record; a single draw is returned as it is.

    The score is the mean of the draws that have one. If a draw is retryable (it failed, or its
    reply is missing), so is the question, without a score: on resume that draw alone is asked.
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
    """Split a record into its draws, each as if the question had been asked once.

    They come without the digests of requests. A record of one draw is returned as it is.
    """
    if not record.repeats:
        return (record,)
    return tuple(
        replace(
            record,
            outcome=draw.outcome,
            score=draw.score,
            unscored=draw.unscored,
            answer=draw.answer,
            values=draw.values,
            saved=draw.saved,
            failure=draw.failure,
            passes=draw.passes if index else record.passes,
            requests=(),
            repeats=(),
        )
        for index, draw in enumerate(record.repeats)
    )


def every_pass(record: Record) -> Iterator[Pass]:
    """Iterate over the passes of all draws."""
    yield from record.passes
    for draw in record.repeats:
        yield from draw.passes


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
    for index, pass_ in enumerate(passes):
        is_same = index < len(firsts) and pass_.prompt == firsts[index].prompt
        yield replace(pass_, prompt=()) if is_same else pass_


def _most_common(values: Iterable[T]) -> T:
    """The most common value; of equally common ones, the first."""
    return Counter(values).most_common(1)[0][0]


def _mean_values(draws: Sequence[Record]) -> dict[str, float]:
    names = dict.fromkeys(name for draw in draws for name in draw.values)
    return {name: fmean(draw.values[name] for draw in draws if name in draw.values) for name in names}


Steps = Generator[Request, Output, T]
"""A part of a flow that returns a T and may ask on the way."""

Flow = Steps[Record]


def run_flow(flow: Steps[T], answer: Callable[[Request], Output]) -> T:
    """Run a flow to its end against a plain function, for tests and recorded replies."""
    try:
        request = next(flow)
        while True:
            request = flow.send(answer(request))
    except StopIteration as stop:
        result: T = stop.value
        return result


def change_requests(steps: Steps[T], change: Callable[[Request], Request]) -> Steps[T]:
    """Steps whose requests are changed before they are asked."""
    try:
        request = next(steps)
        while True:
            request = steps.send((yield change(request)))
    except StopIteration as stop:
        result: T = stop.value
        return result
