"""Which requests go to a local model together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from snellen.core.media import InlineSource, digest_bytes
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Generated, Output
from snellen.core.request import Generate, Media, Ref, Request, Text, user
from snellen.engine.loop.batching import Batcher
from snellen.engine.loop.request_broker import RequestBroker
from snellen.store.responses import ResponseStore


def asked(text: str, picture: bytes | None = None) -> Generate:
    parts = [] if picture is None else [Media("image", digest_bytes(picture))]
    media = {} if picture is None else {digest_bytes(picture): InlineSource(picture)}
    return Generate(messages=(user(*parts, Text(text)),), ref=Ref(text), media=media)


def batches(requests: Sequence[Generate], size: int) -> tuple[list[list[str]], list[str]]:
    """The batches a model is given, and the requests it was told of before."""
    seen: list[list[str]] = []
    told: list[str] = []

    def answer(batch: Sequence[Request]) -> list[Output]:
        seen.append([request.ref.sample for request in batch])
        return [Generated("A") for _ in batch]

    async def main() -> None:
        batcher = Batcher(answer, lambda: size, lambda request: told.append(request.ref.sample))
        await asyncio.gather(*map(batcher.answer, requests))
        batcher.close()

    asyncio.run(main())
    return seen, told


def test_requests_about_the_same_picture_meet() -> None:
    requests = [asked(f"{name}{number}", name.encode()) for number in (1, 2) for name in "abc"]
    seen, told = batches(requests, 2)
    assert [sorted(batch) for batch in seen] == [["a1", "a2"], ["b1", "b2"], ["c1", "c2"]]
    assert told == [request.ref.sample for request in requests]


def test_engine_announces_requests_to_the_model() -> None:
    told: list[str] = []

    class Foresighted:
        identity = Identity("test", "foresighted")
        capabilities = Capabilities()
        batch_size = 2

        def prepare(self, request: Request) -> None:
            told.append(request.ref.sample)

        def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
            return [Generated("A") for _ in requests]

    async def main() -> None:
        with ResponseStore(None) as nowhere:
            broker = RequestBroker({"model": Foresighted()}, nowhere)
            await asyncio.gather(*(broker.ask(asked(name)) for name in "abc"))
            broker.close()

    asyncio.run(main())
    assert told == ["a", "b", "c"]


def test_batches_prefer_similar_lengths() -> None:
    requests = [asked("long " * 50 + "1"), asked("x"), asked("long " * 50 + "2"), asked("y")]
    seen, _ = batches(requests, 2)
    assert [len(batch[0]) > 9 for batch in seen] == [True, False]
    assert seen[1] == ["x", "y"]
