"""Parity of two backends of one model: equal prompts, images and replies.

A score that moves between an in-process checkpoint and a server of it is nearly always a chat
template, an image that was resized, or a generation setting: so these are compared one by one,
on the same requests.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from snellen.core.benchmark import Benchmark
from snellen.core.errors import MediaError, ModelError, UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.model import Model, PromptRenderer, RenderedPrompt
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Flow
from snellen.core.request import Generate, Message, Request
from snellen.engine.loop.plan import RunPlan, build_flow, select_ids
from snellen.engine.loop.request_broker import MAIN, ask_all
from snellen.store.responses import ResponseStore

MAX_DIFFERENCES = 5
"""Differences that are listed for each aspect."""
TOLERANCE = 0.02
"""Nats by which the log-probabilities of a token may differ. Other kernels and batch sizes change
bfloat16 by about as much, float32 by far less."""

Aspect = Literal["rendered prompt", "image sizes", "image pixels", "prompt tokens", "reply", "log-probabilities"]


class BackendReply(NamedTuple):
    """One backend's output for a request, and the prompt it made of the request."""

    output: Output
    rendered: RenderedPrompt | None = None


class ParityQuestion(NamedTuple):
    """One request, and the replies of both backends."""

    sample: str
    messages: tuple[Message, ...]
    first: BackendReply
    second: BackendReply


class ParityDifference(Struct, frozen=True):
    """One aspect of one sample that differs between the backends."""

    sample: str
    first: str
    second: str
    words: str = ""
    """Word diff of both texts: [-only in the first-] {+only in the second+}."""


class ParityCheck(Struct, frozen=True):
    """One aspect over all questions."""

    aspect: Aspect
    compared: int
    equal: int
    silent: tuple[str, ...] = ()
    """Backends that did not report this aspect for some question, which is then not compared."""
    differences: tuple[ParityDifference, ...] = ()
    """The first few."""
    largest: float | None = None
    """Log-probabilities: the largest difference, in nats."""

    @property
    def same(self) -> bool:
        return self.equal == self.compared


class Parity(Struct, frozen=True):
    """The comparison of two backends, aspect by aspect."""

    first: str
    second: str
    benchmark: str
    questions: int
    checks: tuple[ParityCheck, ...]
    failed: dict[str, int] = {}
    """Requests that a backend did not answer; they are not compared."""
    failure: str = ""
    """The first of their messages."""

    @property
    def equal(self) -> bool:
        """Whether every aspect that both backends report is equal, and no request failed."""
        replies = next(check for check in self.checks if check.aspect == "reply")
        answered = replies.compared == self.questions and not any(self.failed.values())
        return answered and all(check.same for check in self.checks)


def compare(
    first: str, second: str, benchmark: str, questions: Sequence[ParityQuestion], tolerance: float = TOLERANCE
) -> Parity:
    """Compare two backends, aspect by aspect. `tolerance` for log-probabilities is in nats."""
    names = (first, second)
    failures = [
        (name, reply.output)
        for question in questions
        for name, reply in zip(names, (question.first, question.second), strict=True)
        if isinstance(reply.output, Failure)
    ]
    return Parity(
        first=first,
        second=second,
        benchmark=benchmark,
        questions=len(questions),
        checks=(
            _compare_aspect("rendered prompt", questions, names, _prompt),
            _compare_aspect("image sizes", questions, names, _sizes),
            _compare_aspect("image pixels", questions, names, _pixels),
            _compare_aspect("prompt tokens", questions, names, _tokens),
            _compare_aspect("reply", questions, names, _reply),
            _compare_logprobs(questions, names, tolerance),
        ),
        failed=dict(Counter(name for name, _ in failures)),
        failure=next((f"{name}: {failure.message}" for name, failure in failures), ""),
    )


def word_diff(first: str, second: str) -> str:
    """Word diff of two texts, with [-words-] only in the first and {+words+} only in the second."""
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


def _compare_aspect(
    aspect: Aspect,
    questions: Sequence[ParityQuestion],
    names: tuple[str, str],
    extract: Callable[[BackendReply], str | None],
) -> ParityCheck:
    """Compare one aspect of all replies. `extract` returns it as text, or None if the backend does
    not report it; such a question is not compared."""
    compared, differences, silent = 0, [], dict.fromkeys(names, False)
    for question in questions:
        left, right = extract(question.first), extract(question.second)
        silent[names[0]] |= left is None and not isinstance(question.first.output, Failure)
        silent[names[1]] |= right is None and not isinstance(question.second.output, Failure)
        if left is None or right is None:
            continue
        compared += 1
        if left != right:
            words = word_diff(left, right) if aspect in ("reply", "rendered prompt") else ""
            differences.append(ParityDifference(question.sample, left, right, words))
    return ParityCheck(
        aspect,
        compared,
        compared - len(differences),
        tuple(name for name, quiet in silent.items() if quiet),
        tuple(differences[:MAX_DIFFERENCES]),
    )


def _prompt(reply: BackendReply) -> str | None:
    return reply.rendered.text if reply.rendered else None


def _sizes(reply: BackendReply) -> str | None:
    if reply.rendered is None:
        return None
    return ", ".join(f"{width} x {height}" for width, height in reply.rendered.image_sizes)


def _pixels(reply: BackendReply) -> str | None:
    """The beginnings of the digests of the images."""
    if reply.rendered is None or reply.rendered.image_pixels is None:
        return None
    return ", ".join(digest[:16] for digest in reply.rendered.image_pixels)


def _tokens(reply: BackendReply) -> str | None:
    usage = None if isinstance(reply.output, Failure) else reply.output.usage
    return str(usage.prompt_tokens) if usage is not None and usage.prompt_tokens else None


def _reply(reply: BackendReply) -> str | None:
    return reply.output.text if isinstance(reply.output, Generated) else None


def _first_logprobs(reply: BackendReply) -> Mapping[str, float]:
    return reply.output.first_logprobs if isinstance(reply.output, Generated) else {}


def _compare_logprobs(questions: Sequence[ParityQuestion], names: tuple[str, str], tolerance: float) -> ParityCheck:
    """Compare the log-probabilities of the first token.

    Two replies are equal if their most likely first tokens are the same, and no token that both
    list differs by more than the tolerance.
    """
    compared, largest, differences = 0, None, []
    silent = dict.fromkeys(names, False)
    for question in questions:
        pair = _first_logprobs(question.first), _first_logprobs(question.second)
        silent[names[0]] |= not pair[0] and not isinstance(question.first.output, Failure)
        silent[names[1]] |= not pair[1] and not isinstance(question.second.output, Failure)
        if not pair[0] or not pair[1]:
            continue
        compared += 1
        gap = max((abs(pair[0][token] - pair[1][token]) for token in pair[0] if token in pair[1]), default=None)
        if gap is not None:
            largest = max(gap, largest or 0.0)
        if gap is None or gap > tolerance or _likeliest_token(pair[0]) != _likeliest_token(pair[1]):
            differences.append(ParityDifference(question.sample, *map(_format_logprobs, pair)))
    return ParityCheck(
        "log-probabilities",
        compared,
        compared - len(differences),
        tuple(name for name, quiet in silent.items() if quiet),
        tuple(differences[:MAX_DIFFERENCES]),
        largest,
    )


def _likeliest_token(logprobs: Mapping[str, float]) -> str:
    return max(logprobs, key=lambda token: logprobs[token])


def _format_logprobs(logprobs: Mapping[str, float]) -> str:
    ranked = sorted(logprobs.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{token!r} {value:.3f}" for token, value in ranked)


LOGPROBS = 5
"""Number of most likely first tokens that are compared."""


class FirstRequest(NamedTuple):
    """A sample, and the first request of its flow."""

    sample: str
    request: Generate


def first_requests(plan: RunPlan) -> list[FirstRequest]:
    """The first request about each sample of a plan, with log-probabilities requested.

    Raises UsageError if a benchmark asks for something other than text.
    """
    table = plan.benchmark.open()
    selected, flow = select_ids(plan, table), build_flow(plan)
    requests: list[FirstRequest] = []
    for sample in plan.benchmark.samples(table):
        if sample.id not in selected:
            continue
        request = _first_request(flow(sample))
        if not isinstance(request, Generate):
            what = "nothing of the models" if request is None else type(request).__name__
            raise UsageError(
                f"{plan.benchmark.name} asks {what} first (sample {sample.id}); parity compares replies in text"
            )
        settings = replace(request.settings, logprobs=LOGPROBS)
        requests.append(FirstRequest(sample.id, replace(request, settings=settings, to=MAIN)))
    return requests


def ask_both(
    benchmark: Benchmark,
    models: tuple[Model, Model],
    requests: Sequence[FirstRequest],
    stores: tuple[ResponseStore, ResponseStore],
    before_model: Callable[[Model], object] = lambda model: None,
) -> list[ParityQuestion]:
    """Ask both models the requests, one model after the other.

    `stores` may be two stores or the same one twice. `before_model` is called with each model
    before it is asked. Raises UsageError if a model cannot take the benchmark.
    """
    for model in models:
        missing = benchmark.requires(model.capabilities)
        if missing:
            raise UsageError(f"{model.identity.name} on {benchmark.name}: {missing}")
    replies: list[list[BackendReply]] = []
    for model, store in zip(models, stores, strict=True):
        before_model(model)
        replies.append(run_coroutine(_backend_replies(model, [first.request for first in requests], store)))
    return [
        ParityQuestion(first_request.sample, first_request.request.messages, first, second)
        for first_request, first, second in zip(requests, *replies, strict=True)
    ]


async def _backend_replies(model: Model, requests: Sequence[Request], store: ResponseStore) -> list[BackendReply]:
    async with ask_all(model, MAIN, requests, store) as outputs:
        # After all replies, and in sequence: a processor is not safe to use from two threads.
        return [
            BackendReply(output, await _render(model, request, output))
            for request, output in zip(requests, outputs, strict=True)
        ]


async def _render(model: Model, request: Request, output: Output) -> RenderedPrompt | None:
    if isinstance(output, Failure) or not isinstance(model, PromptRenderer):
        return None
    try:
        return await model.render_prompt(request)
    except (ModelError, MediaError):
        return None


def _first_request(flow: Flow) -> Request | None:
    try:
        return next(flow)
    except StopIteration:
        return None
