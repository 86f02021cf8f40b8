"""One finished sample, as it stands in `samples.jsonl`: the only contract between running,
reporting, analysing and submitting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from snellen.core.answer import RETRYABLE, Answer, Outcome
from snellen.core.message import Message
from snellen.core.output import FailureKind, Generated, Output
from snellen.core.sample import Kind

Unscored = Literal["failed", "missing", "no_gold", "unsupported", "ungraded"]
"""Why a sample has no score; such samples are left out of every mean. `unsupported`: the model
lacks what the question needs, so it was not asked; asking again would change nothing. `ungraded`:
there is a reply, but no judge to grade it, or none whose verdict could be read."""


class Verdict(Struct, frozen=True, gc=False, omit_defaults=True):
    """What one judge said about a reply, and what was read from it."""

    judge: str
    """Its role: `judge`, `judge-2`, ..."""
    output: Output
    """The reply that was read, or the last one where none could be."""
    step: str = ""
    """What it was asked: `extraction`, `grade`, ..."""
    values: dict[str, float] = {}
    """Grades by dimension, in the range of the rubric; empty where none could be read."""
    text: str | None = None
    """The answer it extracted, where that was its task and it could be read."""
    tries: int = 1
    """How often it was asked until its reply could be read."""
    repeat: int = 0
    """Which of its repeated verdicts this is, from 0."""

    @property
    def is_legible(self) -> bool:
        """Whether it could be read."""
        return bool(self.values) or self.text is not None


class Pass(Struct, frozen=True, gc=False, omit_defaults=True):
    """One question put to the model: a circular pass, or the only one."""

    prompt: tuple[Message, ...]
    output: Output
    answer: Answer | None = None
    """None when the output is a failure."""
    gold: tuple[str, ...] = ()
    correct: bool | None = None
    """None when there is no gold or no answer."""
    credit: float | None = None
    """What an answer earned that is neither right nor wrong: between 0 and 1."""
    options: dict[str, str] = {}
    row: str | None = None
    extraction: Output | None = None
    """What the LLM extractor said, where it was asked."""
    by_rules: Answer | None = None
    """What the rules alone made of the reply, where a language model was asked to read it."""
    verdicts: tuple[Verdict, ...] = ()
    """What judges said about the reply, in the order they were asked."""


class Repeat(Struct, frozen=True, gc=False, omit_defaults=True):
    """One draw of a question that was asked several times: what came of it, as of a question that
    was asked once."""

    outcome: Outcome
    score: float | None = None
    unscored: Unscored | None = None
    answer: str | None = None
    values: dict[str, float] = {}
    saved: int = 0
    failure: FailureKind | None = None
    passes: tuple[Pass, ...] = ()
    """Of the first draw they stand in the record. A pass that showed what the first draw's showed
    leaves its prompt out."""


class Record(Struct, frozen=True, gc=False, omit_defaults=True):
    """A sample's whole story. `score` is 0..1, or None with the reason in `unscored`."""

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
    """The pictures and videos in the data, where others were made of them to be shown (frames,
    pages, boxes); `media` has those. None where the data's own were shown."""
    passes: tuple[Pass, ...] = ()
    values: dict[str, float] = {}
    """Further per-sample numbers, e.g. `vanilla` beside a circular score."""
    saved: int = 0
    """Requests that early stop made unnecessary."""
    asked_once: bool = False
    """Under CircularEval: a choice whose options cannot be rotated, asked once."""
    lacking: int = 0
    """Under CircularEval: rotations of its options that the data should hold and do not."""
    failure: FailureKind | None = None
    """What went wrong, where something did: of the request that ended the sample."""
    unit: str = ""
    """`Sample.unit`."""
    requests: tuple[str, ...] = ()
    """Digests (hex) of the requests, in order: where the outputs are in the store."""
    holds_verdict: bool = False
    """Whether a reply that judges graded states what looks like a verdict, or asks for one."""
    repeats: tuple[Repeat, ...] = ()
    """The draws of a question that was asked several times, in order. `score` is then their mean,
    `answer` and `outcome` what most of them have, `passes` are those of the first draw."""

    @property
    def is_retryable(self) -> bool:
        """Whether it has no score because it failed or its reply is missing."""
        return self.unscored in RETRYABLE


def credits_empty_reply(score: float | None, passes: Sequence[Pass]) -> bool:
    """Whether a score comes of a reply without words: some rules of other people read one there."""
    if not score:
        return False
    empty = [isinstance(one.output, Generated) and not one.output.text.strip() for one in passes]
    if all(empty):
        return bool(empty)
    return any(
        silent and bool(one.correct or one.credit)
        for silent, one in zip(empty, passes, strict=True)
    )
