"""Whether two backends of one model are the same model: equal prompts, pictures and replies.

A score that moves between an in-process checkpoint and a server of it is nearly always a chat
template, a picture that was resized, or a generation setting: so these are compared one by one,
on the same requests.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from snellen.core.benchmark import Benchmark
from snellen.core.errors import MediaError, ModelError, UsageError
from snellen.core.flow import Flow
from snellen.core.message import Message
from snellen.core.model import Model, Rendered, Rendering
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Generate, Request
from snellen.engine.loop.plan import Plan, chosen_ids, flow_of
from snellen.engine.loop.request_broker import MAIN, outputs_of
from snellen.store.responses import ResponseStore

EXAMPLES = 5
"""Differences that are shown for each aspect."""
TOLERANCE = 0.02
"""Nats by which log-probabilities of one token may differ: what other kernels and batches make
of float32 is far less, of bfloat16 about as much."""

Aspect = Literal["rendered prompt", "image sizes", "prompt tokens", "reply", "log-probabilities"]


class Told(NamedTuple):
    """What one backend said about one request."""

    output: Output
    rendered: Rendered | None = None


class Question(NamedTuple):
    """One request, and what either backend made of it."""

    sample: str
    messages: tuple[Message, ...]
    first: Told
    second: Told


class Difference(Struct, frozen=True):
    sample: str
    first: str
    second: str
    words: str = ""
    """Both texts in one: [-only in the first-] {+only in the second+}."""


class Check(Struct, frozen=True):
    """One aspect over all questions."""

    aspect: Aspect
    compared: int
    equal: int
    silent: tuple[str, ...] = ()
    """Backends that did not tell it for some question, which was then not compared."""
    differences: tuple[Difference, ...] = ()
    """The first few."""
    largest: float | None = None
    """Log-probabilities: the largest difference, in nats."""

    @property
    def same(self) -> bool:
        return self.equal == self.compared


class Parity(Struct, frozen=True):
    """What the comparison of two backends found."""

    first: str
    second: str
    benchmark: str
    questions: int
    checks: tuple[Check, ...]
    failed: dict[str, int] = {}
    """Requests that a backend did not answer; they are not compared."""
    failure: str = ""
    """The first of their messages."""

    @property
    def equal(self) -> bool:
        """Every aspect that both backends tell is equal, and no request failed."""
        replies = next(check for check in self.checks if check.aspect == "reply")
        answered = replies.compared == self.questions and not any(self.failed.values())
        return answered and all(check.same for check in self.checks)


def compare(
    first: str,
    second: str,
    benchmark: str,
    questions: Sequence[Question],
    tolerance: float = TOLERANCE,
) -> Parity:
    """The two backends, aspect by aspect. `tolerance` is in nats, for log-probabilities."""
    names = (first, second)
    failures = [
        (name, told.output)
        for question in questions
        for name, told in zip(names, (question.first, question.second), strict=True)
        if isinstance(told.output, Failure)
    ]
    return Parity(
        first=first,
        second=second,
        benchmark=benchmark,
        questions=len(questions),
        checks=(
            _check("rendered prompt", questions, names, _prompt),
            _check("image sizes", questions, names, _sizes),
            _check("prompt tokens", questions, names, _tokens),
            _check("reply", questions, names, _reply),
            _log_probabilities(questions, names, tolerance),
        ),
        failed={name: sum(one == name for one, _ in failures) for name in dict(failures)},
        failure=next((f"{name}: {failure.message}" for name, failure in failures), ""),
    )


def word_diff(first: str, second: str) -> str:
    """Two texts as one, with [-words-] of the first alone and {+words+} of the second alone."""
    left, right = first.split(), second.split()
    parts: list[str] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, left, right, False).get_opcodes():
        if kind == "equal":
            parts.extend(left[a:b])
            continue
        if a < b:
            parts.append(f"[-{' '.join(left[a:b])}-]")
        if c < d:
            parts.append(f"{{+{' '.join(right[c:d])}+}}")
    return " ".join(parts)


def _check(
    aspect: Aspect,
    questions: Sequence[Question],
    names: tuple[str, str],
    tell: Callable[[Told], str | None],
) -> Check:
    compared, differences, silent = 0, [], dict.fromkeys(names, False)
    for question in questions:
        left, right = tell(question.first), tell(question.second)
        silent[names[0]] |= left is None and not isinstance(question.first.output, Failure)
        silent[names[1]] |= right is None and not isinstance(question.second.output, Failure)
        if left is None or right is None:
            continue
        compared += 1
        if left != right:
            words = word_diff(left, right) if aspect in ("reply", "rendered prompt") else ""
            differences.append(Difference(question.sample, left, right, words))
    return Check(
        aspect,
        compared,
        compared - len(differences),
        tuple(name for name, quiet in silent.items() if quiet),
        tuple(differences[:EXAMPLES]),
    )


def _prompt(told: Told) -> str | None:
    return told.rendered.text if told.rendered else None


def _sizes(told: Told) -> str | None:
    if told.rendered is None:
        return None
    return ", ".join(f"{width} x {height}" for width, height in told.rendered.image_sizes)


def _tokens(told: Told) -> str | None:
    usage = None if isinstance(told.output, Failure) else told.output.usage
    return str(usage.prompt_tokens) if usage is not None and usage.prompt_tokens else None


def _reply(told: Told) -> str | None:
    return told.output.text if isinstance(told.output, Generated) else None


def _first(told: Told) -> Mapping[str, float]:
    return told.output.first_logprobs if isinstance(told.output, Generated) else {}


def _log_probabilities(
    questions: Sequence[Question], names: tuple[str, str], tolerance: float
) -> Check:
    """Equal: the likeliest first token is one and the same, and no token that both list differs
    by more than the tolerance."""
    compared, largest, differences = 0, None, []
    silent = dict.fromkeys(names, False)
    for question in questions:
        pair = _first(question.first), _first(question.second)
        silent[names[0]] |= not pair[0] and not isinstance(question.first.output, Failure)
        silent[names[1]] |= not pair[1] and not isinstance(question.second.output, Failure)
        if not pair[0] or not pair[1]:
            continue
        compared += 1
        gap = max(
            (abs(pair[0][token] - pair[1][token]) for token in pair[0] if token in pair[1]),
            default=None,
        )
        if gap is not None:
            largest = max(gap, largest or 0.0)
        if gap is None or gap > tolerance or _likeliest(pair[0]) != _likeliest(pair[1]):
            differences.append(Difference(question.sample, *map(_shown, pair)))
    return Check(
        "log-probabilities",
        compared,
        compared - len(differences),
        tuple(name for name, quiet in silent.items() if quiet),
        tuple(differences[:EXAMPLES]),
        largest,
    )


def _likeliest(found: Mapping[str, float]) -> str:
    return max(found, key=lambda token: found[token])


def _shown(found: Mapping[str, float]) -> str:
    ranked = sorted(found.items(), key=lambda one: -one[1])[:3]
    return ", ".join(f"{token!r} {value:.3f}" for token, value in ranked)


LOGPROBS = 5
"""Likeliest first tokens that are compared."""


class Asked(NamedTuple):
    """A sample, and the first request of its flow."""

    sample: str
    request: Generate


def first_requests(plan: Plan) -> list[Asked]:
    """What the plan would ask first about each of its samples, with log-probabilities.

    Raises UsageError where a benchmark asks for something else than text.
    """
    table = plan.benchmark.open()
    chosen, flow = chosen_ids(plan, table), flow_of(plan)
    found: list[Asked] = []
    for sample in plan.benchmark.samples(table):
        if sample.id not in chosen:
            continue
        request = _first_of(flow(sample))
        if not isinstance(request, Generate):
            what = "nothing of the models" if request is None else type(request).__name__
            raise UsageError(
                f"{plan.benchmark.name} asks {what} first (sample {sample.id}); parity compares "
                "replies in text"
            )
        settings = replace(request.settings, logprobs=LOGPROBS)
        found.append(Asked(sample.id, replace(request, settings=settings, to=MAIN)))
    return found


def ask_both(
    benchmark: Benchmark,
    models: tuple[Model, Model],
    asked: Sequence[Asked],
    stores: tuple[ResponseStore, ResponseStore],
    before: Callable[[Model], object] = lambda model: None,
) -> list[Question]:
    """The requests with what either model made of them, each with a store of its own or both with
    one. `before` is told which model comes next.

    Raises UsageError where a model cannot take the benchmark.
    """
    for model in models:
        lacking = benchmark.needs(model.capabilities)
        if lacking:
            raise UsageError(f"{model.identity.name} on {benchmark.name}: {lacking}")
    told: list[list[Told]] = []
    for model, store in zip(models, stores, strict=True):
        before(model)
        told.append(asyncio.run(_told(model, [one.request for one in asked], store)))
    return [
        Question(one.sample, one.request.messages, first, second)
        for one, first, second in zip(asked, *told, strict=True)
    ]


async def _told(model: Model, requests: Sequence[Request], store: ResponseStore) -> list[Told]:
    async with outputs_of(model, MAIN, requests, store) as outputs:
        # Afterwards and one by one: a model's processor may not be used by two threads.
        return [
            Told(output, await _rendered(model, request, output))
            for request, output in zip(requests, outputs, strict=True)
        ]


async def _rendered(model: Model, request: Request, output: Output) -> Rendered | None:
    if isinstance(output, Failure) or not isinstance(model, Rendering):
        return None
    try:
        return await model.rendered(request)
    except (ModelError, MediaError):
        return None


def _first_of(flow: Flow) -> Request | None:
    try:
        return next(flow)
    except StopIteration:
        return None
