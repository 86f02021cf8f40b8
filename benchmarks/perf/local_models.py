"""Local models: the engine with shared beginnings against transformers' generate, one by one."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.perf.figures import Figure, Part, Size, figure, profiled
from benchmarks.perf.large_model import build
from benchmarks.perf.questions import TOKENS, requests_of
from benchmarks.perf.reference import forced, generated

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.output import Generated, Output, Ranked
from snellen.core.record import Flow, Record
from snellen.core.request import Generate, Generation, Media, Rank, Ref, Request, Text, user
from snellen.core.sample import Sample
from snellen.engine.loop.driving import drive_all
from snellen.engine.loop.request_broker import RequestBroker, model_concurrency
from snellen.models.hf.model import HuggingFace
from snellen.store.responses import ResponseStore

METHOD = (
    "One core for the model. Reference A is the loop most toolkits run: transformers' processor "
    "and generate, one request after the other; for ranking, one forward pass a candidate. "
    "Snellen is the whole engine over the same requests in a process that has loaded the model, "
    "the test of whether sharing is safe included. 16 forced new tokens, early stop off, options "
    "of four; answers are compared and must be identical. The questions are divided into parts, "
    "each of which is a measurement of its own: {tiny} for the bundled model in all, {large} for "
    "the larger one, which has random weights, 162 M parameters and 256 tokens a picture."
)
_PARTS = {"tiny": 3, "large": 2}
_BARS = {
    "tiny": {"rotations": 3.5, "pairs": 2.4, "ranking": 3.0},
    "large": {"rotations": 3.3, "pairs": 1.9, "ranking": 3.0},
}
"""How many times faster than reference A."""


class _Timed(NamedTuple):
    apart: float
    together: float
    inside: float
    """Seconds of `together` inside the model's answers."""
    looked: int
    """Pictures that went through the vision tower, those of the test of sharing included."""


def measure(size: Size) -> Part:
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        names = {"tiny": "snellen/tiny", "large": str(build(Path(folder, "large")))}
        counts = {"tiny": size.many_questions, "large": size.questions}
        for label, name in names.items():
            parts = _parts(counts[label], min(size.repeats, _PARTS[label]))
            for what, bar in _BARS[label].items():
                flows = [_tasks(part)[what] for part in parts]
                figures += _compared(f"{label}, {what}", name, flows, bar)
            figures += _rankings_together(label, name, parts)
        model = forced(names["large"])
        [some] = _parts(min(counts.values()), 1)
        asked = [one for flow in _tasks(some)["rotations"]() for one in requests_of(flow)]
        limits = profiled(lambda: model.answer_batch(asked[: model.batch_size]))
    return Part("local", "Local models", METHOD.format(**counts), tuple(figures), limits)


def _compared(label: str, name: str, parts: Sequence[Callable[[], Iterator[Flow]]], bar: float) -> list[Figure]:
    timed = [_time(forced(name), flows) for flows in parts]
    share = [100 * one.together / one.apart for one in timed]
    outside = [100 * (1 - one.inside / one.together) for one in timed]
    looked = [one.looked for one in timed]
    return [
        figure(f"{label}: reference A", "s", [one.apart for one in timed]),
        figure(f"{label}: Snellen", "% of A", share, reference="reference A", bar=round(100 / bar, 1)),
        figure(f"{label}: outside the model", "%", outside, bar=3.0 if name != "snellen/tiny" else None),
        figure(f"{label}: pictures looked at, those of the test included", "", looked),
    ]


def _time(model: HuggingFace, flows: Callable[[], Iterator[Flow]]) -> _Timed:
    """Raises RuntimeError when the answers differ."""
    requests = [request for flow in flows() for request in requests_of(flow)]
    started = perf_counter()
    expected = [_apart(model, request) for request in requests]
    apart = perf_counter() - started
    with _watched(model) as watch:
        started = perf_counter()
        answers = _together(model, flows)
        together = perf_counter() - started
    got = [answer for request in requests for answer in answers[request.ref]]
    if not all(_same(one, other) for one, other in zip(got, expected, strict=True)):
        raise RuntimeError("the answers differ from those of transformers")
    return _Timed(apart, together, watch.seconds, watch.pictures)


def _rankings_together(label: str, name: str, parts: Sequence[Sequence[Sample]]) -> list[Figure]:
    """Rankings without shared prefixes: the candidates of all questions in batches, against one
    question at a time. Raises RuntimeError if a log-likelihood differs by more than 1e-3."""
    model = forced(name, {"sharing": "off"})
    apart, together = [], []
    for part in parts:
        requests = [one for sample in part for one in requests_of(_ranking(sample))]
        started = perf_counter()
        expected = [model.answer_batch([request])[0] for request in requests]
        apart.append(perf_counter() - started)
        started = perf_counter()
        # Read once: it grows while batches fit into the memory.
        size = model.batch_size
        got = [
            output
            for start in range(0, len(requests), size)
            for output in model.answer_batch(requests[start : start + size])
        ]
        together.append(perf_counter() - started)
        if not all(_same(one, other) for one, other in zip(got, expected, strict=True)):
            raise RuntimeError("the log-likelihoods depend on the batch")
    what = f"{label}, ranking without shared prefixes"
    return [
        figure(f"{what}: one question at a time", "s", apart),
        figure(f"{what}: questions together", "s", together, reference="one question at a time", against=apart),
    ]


class _Watch:
    seconds = 0.0
    pictures = 0


@contextmanager
def _watched(model: HuggingFace) -> Iterator[_Watch]:
    """Counts the time inside the model and the pictures its vision tower sees."""
    watch, plain = _Watch(), model.answer_batch

    def timed(requests: Sequence[Request]) -> list[Output]:
        started = perf_counter()
        try:
            return plain(requests)
        finally:
            watch.seconds += perf_counter() - started

    def seen(_: Any, __: Any, out: Any) -> None:
        watch.pictures += len(out.last_hidden_state)

    tower = model.load().model.model.vision_tower
    hook = tower.register_forward_hook(seen)
    model.answer_batch = timed  # type: ignore[method-assign]
    try:
        yield watch
    finally:
        hook.remove()
        model.answer_batch = plain  # type: ignore[method-assign]


def _together(model: HuggingFace, flows: Callable[[], Iterator[Flow]]) -> dict[Ref, list[Output]]:
    """Every answer by the question and pass it belongs to, through the engine."""
    found: dict[Ref, list[Output]] = {}

    async def main() -> None:
        with ResponseStore(None) as nowhere:
            broker = RequestBroker({"model": model}, nowhere)
            try:
                waiting = flows()
                samples = (_numbered(number) for number, _ in enumerate(flows()))
                await drive_all(
                    samples,
                    lambda _: _noting(next(waiting), found),
                    broker,
                    lambda record: None,
                    model_concurrency(model),
                )
            finally:
                broker.close()

    asyncio.run(main())
    return found


def _numbered(number: int) -> Sample:
    return Sample(str(number), "open", "")


def _noting(flow: Flow, found: dict[Ref, list[Output]]) -> Flow:
    """The flow, with its answers noted."""
    request = next(flow)
    while True:
        output = yield request
        found.setdefault(request.ref, []).append(output)
        try:
            request = flow.send(output)
        except StopIteration as stop:
            record: Record = stop.value
            return record


def _apart(model: HuggingFace, request: Request) -> Output:
    """Reference A: processor and model as transformers documents them, one request."""
    import torch

    from snellen.models.hf.prompt import encode, render, with_reply
    from snellen.models.image_cache import ImageCache

    torch.set_num_threads(1)
    if isinstance(request, Generate):
        return generated(model, request, ImageCache())
    assert isinstance(request, Rank)
    loaded = model.load()
    prompt = render(request, loaded, ImageCache(), "native")
    context = encode(loaded, [prompt.text], [prompt.images], "left")["input_ids"].shape[1]
    scores = []
    for candidate in request.candidates:
        text = with_reply(request, prompt, candidate, loaded, "native")
        inputs = encode(loaded, [text], [prompt.images], "left")
        with torch.inference_mode():
            steps = loaded.model(**inputs).logits[0].float().log_softmax(-1)
        ids = inputs["input_ids"][0]
        scores.append(sum(float(steps[at - 1, ids[at]]) for at in range(context, len(ids))))
    return Ranked(tuple(_score(one) for one in scores))


def _score(logprob: float) -> Any:
    from snellen.core.output import CandidateScore

    return CandidateScore(logprob, 0)


def _same(one: Output, other: Output) -> bool:
    if isinstance(one, Generated) and isinstance(other, Generated):
        return one.text == other.text
    assert isinstance(one, Ranked)
    assert isinstance(other, Ranked)
    pairs = zip(one.candidates, other.candidates, strict=True)
    return all(abs(mine.logprob - theirs.logprob) < 1e-3 for mine, theirs in pairs)


def _parts(questions: int, count: int) -> list[list[Sample]]:
    """The questions in `count` parts of nearly one size."""
    chosen = _four_options(_asked(), questions)
    return [chosen[number::count] for number in range(count)]


def _asked() -> Benchmark:
    return open_benchmark("eyechart", Variant(circular="full", max_new_tokens=TOKENS))


def _tasks(chosen: Sequence[Sample]) -> dict[str, Callable[[], Iterator[Flow]]]:
    flow = _asked().flow
    return {
        "rotations": lambda: (flow(sample) for sample in chosen),
        "pairs": lambda: (_pair(sample, number) for sample in chosen for number in (0, 1)),
        "ranking": lambda: (_ranking(sample) for sample in chosen),
    }


def _four_options(asked: Benchmark, count: int) -> list[Sample]:
    """Questions about pictures that no other chosen question is about."""
    found: dict[str, Sample] = {}
    for sample in asked.samples(asked.open()):
        if len(sample.options) == 4 and len(sample.media) == 1:
            found.setdefault(sample.media[0].digest, sample)
        if len(found) == count:
            break
    return list(found.values())


def _pair(sample: Sample, number: int) -> Flow:
    """One of two yes/no questions about a picture, as MME asks them."""
    said = list(sample.options.values())[number]
    text = f"{sample.question} Is it {said}? Please answer yes or no."
    messages = (user(Media("image", sample.media[0].digest), Text(text)),)
    ref = Ref(sample.id, number)
    settings = Generation(max_new_tokens=TOKENS)
    yield Generate(messages=messages, ref=ref, settings=settings, media=sample.sources())
    return _record(sample)


def _ranking(sample: Sample) -> Flow:
    messages = (user(Media("image", sample.media[0].digest), Text(sample.question)),)
    candidates = tuple(sample.options.values())
    yield Rank(messages=messages, ref=Ref(sample.id), candidates=candidates, media=sample.sources())
    return _record(sample)


def _record(sample: Sample) -> Record:
    return Record(id=sample.id, kind=sample.kind, question=sample.question, outcome="answered")
