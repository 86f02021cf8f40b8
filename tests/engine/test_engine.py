"""The engine with models that are real code, in this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from snellen import evaluate
from snellen.core.benchmark import Variant
from snellen.core.errors import ModelError, UsageError
from snellen.core.media import InlineSource, digest_bytes
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure, Generated, Output, Usage
from snellen.core.request import Generate, Media, Ref, Request, Text, user
from snellen.engine.loop.batching import Batcher, estimate_length
from snellen.engine.loop.request_broker import RequestBroker
from snellen.store.responses import ResponseStore

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


class First:
    """Answers with the first choice; counts what it was sent."""

    identity = Identity("test", "first")
    capabilities = Capabilities()
    concurrency = 4

    def __init__(self, output: Output | None = None) -> None:
        self.sent: list[Request] = []
        self.output = output

    async def answer(self, request: Request) -> Output:
        self.sent.append(request)
        await asyncio.sleep(0)
        assert isinstance(request, Generate)
        return self.output or Generated(request.choices[0], usage=Usage(5, 1))


class Plain(First):
    """The same, as a plain function."""

    identity = Identity("test", "plain")

    def answer(self, request: Request) -> str:  # type: ignore[override]
        self.sent.append(request)
        assert isinstance(request, Generate)
        return request.choices[0]


class Batched(First):
    """The same, in batches; keeps their sizes."""

    identity = Identity("test", "batched")
    batch_size = 4

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        self.sizes.append(len(requests))
        self.sent += requests
        return [Generated(request.choices[0]) for request in requests]


def table(tmp_path: Path, rows: int = 20, gold: str = "A") -> str:
    path = tmp_path / "questions.tsv"
    lines = ["index\tquestion\tA\tB\tanswer\tcategory"]
    lines += [f"{i}\tWhat is {i}?\tone\ttwo\t{gold}\tc{i % 2}" for i in range(rows)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def ran(model: object, data: str, out: Path, **options):
    (run,) = evaluate([model], data, out=out, html=False, **options).runs
    return run


def ask(number: int = 1, media: bytes | None = None) -> Generate:
    parts = (Text(f"question {number}"),)
    sources = {}
    if media is not None:
        digest = digest_bytes(media)
        parts = (Media("image", digest), *parts)
        sources = {digest: InlineSource(media)}
    return Generate(messages=(user(*parts),), ref=Ref(str(number)), choices=("A",), media=sources)


@pytest.mark.parametrize("kind", [First, Plain, Batched])
def test_every_kind_of_model_is_driven_and_scored(tmp_path: Path, kind) -> None:
    model = kind()
    run = ran(model, table(tmp_path), tmp_path / "out")
    assert run.info.status == "complete"
    assert run.report().summary.headline.value == 100.0
    assert len(model.sent) == 20


def test_a_complete_run_is_only_reported(tmp_path: Path) -> None:
    model = First()
    ran(model, table(tmp_path), tmp_path / "out")
    again = ran(model, table(tmp_path), tmp_path / "out")
    assert len(model.sent) == 20
    assert again.info.counts.sent == 20


def test_another_run_reuses_the_store(tmp_path: Path) -> None:
    model = First()
    data = table(tmp_path)
    ran(model, data, tmp_path / "out", limit=5)
    ran(model, data, tmp_path / "out")
    circular = ran(model, data, tmp_path / "out", variant=Variant(circular="early"))
    assert len(model.sent) == 20 + 20
    assert circular.info.counts.reused == 20


def test_limits_are_nested_and_seeded(tmp_path: Path) -> None:
    data = table(tmp_path)

    def ids(limit: int, seed: int = 0) -> set[str]:
        run = ran(First(), data, tmp_path / "out", limit=limit, seed=seed)
        return {record.id for record in run.records()}

    assert ids(5) < ids(10)
    assert ids(5) == ids(5)
    assert ids(5) != ids(5, seed=1)


def test_failures_are_owed_and_asked_again(tmp_path: Path) -> None:
    data = table(tmp_path)
    broken = First(Failure("request", "server gone"))
    run = ran(broken, data, tmp_path / "out")
    assert run.info.status == "incomplete"
    assert run.report().summary.headline.value is None
    assert run.report().summary.outcomes["failed"] == 20
    assert len(list(run.failures())) == 20
    mended = ran(First(), data, tmp_path / "out")
    assert mended.info.status == "complete"
    assert list(mended.failures()) == []
    assert mended.report().summary.headline.value == 100.0


@pytest.mark.parametrize(("policy", "value"), [("exclude", 100.0), ("count-wrong", 50.0), ("withhold", None)])
def test_failure_policies(tmp_path: Path, policy: str, value: float | None) -> None:
    class HalfDead(First):
        identity = Identity("test", "half dead")

        async def answer(self, request: Request) -> Output:
            if int(request.ref.sample) % 2:
                raise ModelError("no answer")
            return await super().answer(request)

    variant = Variant(failures=policy)
    run = ran(HalfDead(), table(tmp_path), tmp_path / "out", variant=variant)
    summary = run.report().summary
    assert summary.headline.value == value
    assert summary.bounds is not None
    assert (summary.bounds.worst, summary.bounds.best) == (50.0, 100.0)
    assert "10 of 20 samples failed" in summary.notices[0]


def test_a_fault_in_the_models_own_code_is_data(tmp_path: Path) -> None:
    class Faulty(Batched):
        identity = Identity("test", "faulty")

        def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
            raise ZeroDivisionError("division by zero")

    run = ran(Faulty(), table(tmp_path, 3), tmp_path / "out")
    outputs = [record.passes[0].output for record in run.failures()]
    (failure,) = set(outputs)
    assert isinstance(failure, Failure)
    assert failure.message == ("ZeroDivisionError: division by zero (test_engine.py, line 174, in answer_batch)")
    assert failure.traceback.splitlines()[0] == "Traceback (most recent call last):"
    assert len(outputs) == 3


def test_a_model_that_lacks_what_is_needed_is_skipped_with_the_reason(tmp_path: Path) -> None:
    class Blind(First):
        capabilities = Capabilities(inputs=frozenset({"text"}))

    results = evaluate([Blind()], "eyechart", out=tmp_path, html=False)
    assert results.runs == []
    assert "needs image input" in results.skipped[0].reason


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("index\tA\n", "no row"),
        ("index\timage\n1\tabc\n", "no question"),
        ("index\tquestion\tA\tB\tanswer\n1\tq\tx\ty\tF\n", "the answer 'F' is none of"),
        ("index\tquestion\tanswer\n1\tq\tyes\n1\tr\tno\n", "rows 1 and 2 have the same id"),
    ],
)
def test_bad_data_is_reported_before_asking(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text(text)
    model = First()
    with pytest.raises(UsageError, match=sentence):
        ran(model, str(path), tmp_path / "out")
    assert model.sent == []


def asked(model, requests: Sequence[Request]) -> tuple[RequestBroker, list[Output]]:
    async def main() -> tuple[RequestBroker, list[Output]]:
        with ResponseStore(None) as store:
            broker = RequestBroker({"model": model}, store)
            pairs = await asyncio.gather(*map(broker.ask, requests))
            broker.close()
        return broker, [output for _, output in pairs]

    return asyncio.run(main())


def test_equal_requests_in_flight_are_one() -> None:
    model = First()
    broker, outputs = asked(model, [ask(1), ask(1), ask(2)])
    assert len(model.sent) == 2
    assert outputs == [Generated("A", usage=Usage(5, 1))] * 3
    assert (broker.clients["model"].usage.sent, broker.clients["model"].usage.reused) == (2, 1)


def test_usage_is_added_up() -> None:
    broker, _ = asked(First(), [ask(1), ask(2)])
    assert (
        broker.clients["model"].usage.sent_usage.prompt_tokens,
        broker.clients["model"].usage.sent_usage.completion_tokens,
    ) == (10, 2)


def test_a_broken_picture_fails_alone_and_is_never_sent() -> None:
    model = First()
    broker, outputs = asked(model, [ask(1, PNG), ask(2, b"no picture"), ask(3)])
    assert isinstance(outputs[1], Failure)
    assert outputs[1].kind == "media"
    assert len(model.sent) == 2
    assert broker.clients["model"].usage.failed == 1


def test_batches_fill_up_and_hold_like_lengths() -> None:
    lengths: list[list[int]] = []

    def answer(requests: Sequence[Request]) -> list[Output]:
        lengths.append([estimate_length(request) for request in requests])
        return [Generated("A")] * len(requests)

    def long(number: int) -> Generate:
        text = Text(f"{number} " + "word " * 200)
        return Generate(messages=(user(text),), ref=Ref(str(number)))

    async def main() -> None:
        batcher = Batcher(answer, lambda: 4)
        mixed = [ask(i) if i % 2 else long(i) for i in range(16)]
        await asyncio.gather(*map(batcher.answer, mixed))
        batcher.close()

    asyncio.run(main())
    assert [len(batch) for batch in lengths] == [4, 4, 4, 4]
    assert all(max(batch) - min(batch) < 10 for batch in lengths)


def test_the_model_works_outside_the_loop() -> None:
    threads: list[str] = []

    def answer(requests: Sequence[Request]) -> list[Output]:
        threads.append(threading.current_thread().name)
        return [Generated("A")] * len(requests)

    async def main() -> None:
        batcher = Batcher(answer, lambda: 1)
        await batcher.answer(ask(1))
        batcher.close()

    asyncio.run(main())
    assert threads == ["snellen-model"]


def test_a_recording_answers_rows_though_they_read_the_same(tmp_path: Path) -> None:
    from snellen import evaluate

    data, replies = tmp_path / "same.tsv", tmp_path / "p.csv"
    data.write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tx\ty\tA\n2\tWhich?\tx\ty\tB\n")
    replies.write_text("index,prediction\n1,A\n2,B\n")
    (run,) = evaluate([f"replay/{replies}"], [str(data)], out=tmp_path / "o", html=False).runs
    assert {record.id: record.answer for record in run.records()} == {"1": "A", "2": "B"}
