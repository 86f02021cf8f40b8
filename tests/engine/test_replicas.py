"""Replicas that pull requests, with losses: nothing is lost, nothing is answered twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from snellen.core.errors import UsageError
from snellen.core.message import Text, user
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Generate, Ref, Request
from snellen.engine.replicas import Pool, ReplicaLost, Slot


class Counting:
    """A replica that answers with the question, and is lost at some of its batches."""

    def __init__(self, seen: list[str], lost_at: int | None = None, pause: float = 0.0) -> None:
        self.batch_size = 4
        self.seen = seen
        self.batches = 0
        self._lost_at = lost_at
        self._pause = pause

    async def answer(self, requests: Sequence[Request]) -> Sequence[Output]:
        self.batches += 1
        await asyncio.sleep(self._pause)
        if self.batches == self._lost_at:
            raise ReplicaLost("the power went")
        said = [request.messages[0].text() for request in requests]
        self.seen.extend(said)
        return [Generated(one) for one in said]


def question(text: str) -> Generate:
    return Generate(messages=(user(Text(text)),), ref=Ref(text))


async def asked(pool: Pool, count: int) -> list[Output]:
    try:
        return list(await asyncio.gather(*(pool.answer(question(str(n))) for n in range(count))))
    finally:
        pool.close()


def slot_of(*replicas: Counting) -> Slot:
    waiting = iter(replicas)

    async def start() -> Counting:
        return next(waiting)

    return Slot(start)


def test_free_replicas_take_more() -> None:
    seen: list[str] = []
    slow, quick = Counting(seen, pause=0.2), Counting(seen, pause=0.005)

    async def main() -> list[Output]:
        return await asked(Pool([slot_of(slow), slot_of(quick)]), 60)

    outputs = asyncio.run(main())
    assert [one.text for one in outputs if isinstance(one, Generated)] == list(map(str, range(60)))
    assert quick.batches > 2 * slow.batches


def test_what_a_lost_replica_held_is_asked_again_once() -> None:
    seen: list[str] = []
    first = slot_of(Counting(seen, lost_at=3), Counting(seen))
    second = slot_of(Counting(seen, pause=0.01))

    async def main() -> list[Output]:
        return await asked(Pool([first, second]), 80)

    outputs = asyncio.run(main())
    assert [one.text for one in outputs if isinstance(one, Generated)] == list(map(str, range(80)))
    assert sorted(seen, key=int) == list(map(str, range(80)))
    assert first.losses == 1


def test_a_request_that_kills_replicas_is_given_up() -> None:
    async def start() -> Counting:
        return Counting([], lost_at=1)

    async def main() -> list[Output]:
        return await asked(Pool([Slot(start)]), 1)

    [output] = asyncio.run(main())
    assert isinstance(output, Failure)
    assert output.kind == "server"
    assert "3 replicas were lost" in output.message


def test_a_model_that_no_replica_can_load_ends_the_run() -> None:
    async def start() -> Counting:
        raise UsageError("a replica of hf/nothing cannot load it")

    async def main() -> list[Output]:
        return await asked(Pool([Slot(start), Slot(start)]), 9)

    with pytest.raises(UsageError, match="cannot load"):
        asyncio.run(main())
