"""Models that raise what no program should raise: a sample each, never the run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from snellen import evaluate
from snellen.core.errors import ModelError, UsageError
from snellen.core.model import Capabilities, Identity, Model
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Generate, Ref, Request, Text, user
from snellen.engine.loop.batching import Batcher
from snellen.engine.loop.request_broker import RequestBroker
from snellen.engine.ray.replicas import ReplicaPool, ReplicaSlot
from snellen.store.responses import ResponseStore

ASKED = [Generate(messages=(user(Text(name)),), ref=Ref(name)) for name in "abcd"]


class Panic(BaseException):
    """As libraries in other languages raise it."""


class Batched:
    identity = Identity("test", "batched")
    capabilities = Capabilities()
    batch_size = 1

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        if requests[0].ref.sample == "b":
            raise self.error("it went wrong")
        return [Generated("A") for _ in requests]


class Single:
    identity = Identity("test", "single")
    capabilities = Capabilities()

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def answer(self, request: Request) -> Output:
        return Batched(self.error).answer_batch([request])[0]


class Asynchronous(Single):
    async def answer(self, request: Request) -> Output:  # type: ignore[override]
        return super().answer(request)


def outputs(model: Model) -> list[Output]:
    async def main() -> list[Output]:
        with ResponseStore(None) as nowhere:
            broker = RequestBroker({"model": model}, nowhere)
            try:
                found = await asyncio.wait_for(asyncio.gather(*map(broker.ask, ASKED)), 10)
                return [one.output for one in found]
            except KeyboardInterrupt:
                # It came out of the event loop already, which now closes. Raised once more it
                # would leave the loop open, and its threads waiting when the process ends.
                return []
            finally:
                broker.close()

    return asyncio.run(main())


@pytest.mark.parametrize("error", [Panic, asyncio.CancelledError, ValueError, SystemExit])
@pytest.mark.parametrize("kind", [Batched, Single, Asynchronous])
def test_an_odd_error_fails_its_sample_alone(
    kind: Callable[[type[BaseException]], Model], error: type[BaseException]
) -> None:
    first, failed, *others = outputs(kind(error))
    assert [first, *others] == [Generated("A")] * 3
    assert isinstance(failed, Failure)
    assert failed.message.startswith(f"{error.__name__}: it went wrong (test_panics.py, line ")
    assert failed.traceback.endswith(f"{error.__name__}: it went wrong")
    assert "/src/snellen/" not in failed.traceback


@pytest.mark.parametrize("kind", [Batched, Single, Asynchronous])
@pytest.mark.parametrize("error", [UsageError, KeyboardInterrupt])
def test_user_errors_end_all_requests(kind: Callable[[type[BaseException]], Model], error: type[BaseException]) -> None:
    with pytest.raises(error, match="it went wrong"):
        outputs(kind(error))


def test_a_refused_batch_does_not_stop_those_behind_it() -> None:
    def answer(requests: Sequence[Request]) -> list[Output]:
        if requests[0].ref.sample == "a":
            raise UsageError("no weights")
        return [Generated("A")]

    async def main() -> list[Output | BaseException]:
        batcher = Batcher(answer, lambda: 1)
        asking = asyncio.gather(*map(batcher.answer, ASKED), return_exceptions=True)
        found = await asyncio.wait_for(asking, 10)
        later = await asyncio.wait_for(batcher.answer(ASKED[1]), 10)
        batcher.close()
        return [*found, later]

    refused, *others = asyncio.run(main())
    assert isinstance(refused, UsageError)
    assert others == [Generated("A")] * 4


def test_batch_size_error_fails_all_waiting_requests() -> None:
    def size() -> int:
        raise ModelError("no memory is left to look at", kind="out_of_memory")

    async def main() -> list[BaseException | Output]:
        batcher = Batcher(lambda _: [], size)
        asking = asyncio.gather(*map(batcher.answer, ASKED), return_exceptions=True)
        found = await asyncio.wait_for(asking, 10)
        batcher.close()
        return list(found)

    assert {type(one) for one in asyncio.run(main())} == {ModelError}


def test_a_run_of_a_model_that_panics_ends(tmp_path: Path) -> None:
    rows = "".join(f"{name}\tWhich {name}?\tred\tblue\tA\n" for name in "abcd")
    data = tmp_path / "questions.tsv"
    data.write_text("index\tquestion\tA\tB\tanswer\n" + rows)
    for kind in (Batched, Asynchronous):
        for error in (Panic, asyncio.CancelledError):
            out = tmp_path / f"{kind.__name__}-{error.__name__}"
            (run,) = evaluate([kind(error)], [str(data)], out=out, html=False).runs
            assert (run.info.status, run.info.counts.done) == ("incomplete", 3)
            assert [record.id for record in run.failures()] == ["b"]


class Odd:
    """A replica that raises what it should not, or gives too little."""

    batch_size = 1

    async def answer(self, requests: Sequence[Request]) -> Sequence[Output]:
        if requests[0].ref.sample == "b":
            raise ValueError("it went wrong")
        return [] if requests[0].ref.sample == "c" else [Generated("A")]


def of_pool(start: Callable[[], Awaitable[Odd]]) -> list[Output | BaseException]:
    async def main() -> list[Output | BaseException]:
        pool = ReplicaPool([ReplicaSlot(start)])
        asking = asyncio.gather(*map(pool.answer, ASKED), return_exceptions=True)
        try:
            return list(await asyncio.wait_for(asking, 10))
        finally:
            pool.close()

    return asyncio.run(main())


def test_an_odd_error_of_a_replica_fails_its_batch_alone() -> None:
    async def start() -> Odd:
        return Odd()

    good = Generated("A")
    short = Failure("request", "0 outputs came back for 1 request")
    first, failed, *others = of_pool(start)
    assert [first, *others] == [good, short, good]
    assert isinstance(failed, Failure)
    assert failed.message.startswith("ValueError: it went wrong (test_panics.py, line ")


def test_a_replica_that_cannot_be_made_ends_all() -> None:
    async def start() -> Odd:
        raise OSError("no room")

    assert [str(one) for one in of_pool(start)] == ["no replica: OSError: no room"] * 4
