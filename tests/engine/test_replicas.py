"""Replicas that pull requests, with losses: nothing is lost, nothing is answered twice."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from types import FrameType

import pytest

from snellen.core.errors import UsageError
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Generate, Media, Ref, Request, Text, user
from snellen.engine.loop.batching import QueuedRequest
from snellen.engine.ray.replicas import ReplicaLost, ReplicaPool, ReplicaSlot, _fair_part


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
        number = self.batches
        await asyncio.sleep(self._pause)
        if number == self._lost_at:
            raise ReplicaLost("the power went")
        said = [request.messages[0].text() for request in requests]
        self.seen.extend(said)
        return [Generated(one) for one in said]


def question(text: str, picture: str = "") -> Generate:
    parts = (Media("image", picture),) if picture else ()
    return Generate(messages=(user(*parts, Text(text)),), ref=Ref(text))


async def asked(pool: ReplicaPool, count: int) -> list[Output]:
    try:
        return list(await asyncio.gather(*(pool.answer(question(str(n))) for n in range(count))))
    finally:
        pool.close()


def slot_of(*replicas: Counting) -> ReplicaSlot:
    waiting = iter(replicas)

    async def start() -> Counting:
        return next(waiting)

    return ReplicaSlot(start)


def test_free_replicas_take_more() -> None:
    seen: list[str] = []
    slow, quick = Counting(seen, pause=0.2), Counting(seen, pause=0.005)

    async def main() -> list[Output]:
        return await asked(ReplicaPool([slot_of(slow), slot_of(quick)]), 60)

    outputs = asyncio.run(main())
    assert [one.text for one in outputs if isinstance(one, Generated)] == list(map(str, range(60)))
    assert quick.batches > 2 * slow.batches


def test_requests_of_a_lost_replica_are_asked_again_once() -> None:
    seen: list[str] = []
    first = slot_of(Counting(seen, lost_at=3), Counting(seen))
    second = slot_of(Counting(seen, pause=0.01))

    async def main() -> list[Output]:
        return await asked(ReplicaPool([first, second]), 80)

    outputs = asyncio.run(main())
    assert [one.text for one in outputs if isinstance(one, Generated)] == list(map(str, range(80)))
    assert sorted(seen, key=int) == list(map(str, range(80)))
    assert first.losses == 1


def test_a_request_that_kills_replicas_is_given_up() -> None:
    async def start() -> Counting:
        return Counting([], lost_at=1)

    async def main() -> list[Output]:
        return await asked(ReplicaPool([ReplicaSlot(start)]), 1)

    [output] = asyncio.run(main())
    assert isinstance(output, Failure)
    assert output.kind == "server"
    assert "3 replicas were lost" in output.message


def test_a_model_that_no_replica_can_load_ends_the_run() -> None:
    async def start() -> Counting:
        raise UsageError("a replica of hf/nothing cannot load it")

    async def main() -> list[Output]:
        return await asked(ReplicaPool([ReplicaSlot(start), ReplicaSlot(start)]), 9)

    with pytest.raises(UsageError, match="cannot load"):
        asyncio.run(main())


class Looking(Counting):
    """Notes which pictures it was shown."""

    def __init__(self, pause: float) -> None:
        super().__init__([], pause=pause)
        self.pictures: list[str] = []

    async def answer(self, requests: Sequence[Request]) -> Sequence[Output]:
        outputs = await super().answer(requests)
        self.pictures += [part.digest for one in requests for part in one.messages[0].media()]
        return outputs


def test_questions_about_a_picture_go_to_the_replica_that_has_seen_it() -> None:
    """Each question is asked when the one before is answered, as rotations are."""
    replicas = [Looking(0.01), Looking(0.013)]

    async def main() -> None:
        pool = ReplicaPool([slot_of(one) for one in replicas])

        async def rotations(picture: str) -> None:
            for number in range(6):
                await pool.answer(question(f"{picture} {number}", picture))

        await asyncio.gather(*(rotations(f"picture {number}") for number in range(24)))
        pool.close()

    asyncio.run(main())
    assert sum(len(one.pictures) for one in replicas) == 24 * 6
    both = set(replicas[0].pictures) & set(replicas[1].pictures)
    assert len(both) <= 4, "more than what was left at the end was seen by both"


def test_questions_asked_together_are_not_torn_apart() -> None:
    replicas = [Looking(0.01), Looking(0.01)]

    async def main() -> None:
        pool = ReplicaPool([slot_of(one) for one in replicas])
        asked = [question(f"{picture} {number}", f"picture {picture}") for number in range(2) for picture in range(16)]
        await asyncio.gather(*map(pool.answer, asked))
        pool.close()

    asyncio.run(main())
    assert not set(replicas[0].pictures) & set(replicas[1].pictures)
    assert all(14 <= len(one.pictures) <= 18 for one in replicas)


def test_an_idle_replica_takes_what_another_remembers() -> None:
    slow, quick = Looking(0.5), Looking(0.001)

    async def main() -> float:
        pool = ReplicaPool([slot_of(slow), slot_of(quick)])
        started = asyncio.get_running_loop().time()
        asked = [question(str(number), "one picture") for number in range(40)]
        await asyncio.gather(*map(pool.answer, asked))
        pool.close()
        return asyncio.get_running_loop().time() - started

    assert asyncio.run(main()) < 2
    assert len(quick.pictures) >= 24


@pytest.mark.parametrize(
    ("pictures", "share", "taken"),
    [
        ("aaab", 1, 3),
        ("aabb", 1, 2),
        ("aabb", 3, 4),
        ("abcd", 2, 2),
        ("aaaa", 2, 4),
        # Without pictures nothing holds requests together.
        ("    ", 2, 2),
    ],
)
def test_a_fair_share_ends_between_pictures(pictures: str, share: int, taken: int) -> None:
    async def main() -> list[QueuedRequest]:
        future: asyncio.Future[Output] = asyncio.get_running_loop().create_future()
        batch = [
            QueuedRequest(number, 1, tuple(one.strip()), question(str(number)), future)
            for number, one in enumerate(pictures)
        ]
        return _fair_part(batch, share)

    assert [one.order for one in asyncio.run(main())] == list(range(taken))


def test_remaining_requests_are_divided_among_replicas() -> None:
    replicas = [Looking(0.01), Looking(0.01)]
    for one in replicas:
        one.batch_size = 16

    async def main() -> list[Output]:
        return await asked(ReplicaPool([slot_of(one) for one in replicas]), 10)

    asyncio.run(main())
    assert all(one.batches for one in replicas)


def test_batch_size_follows_the_current_limit_of_the_replica() -> None:
    sizes: list[int] = []

    class Growing(Counting):
        async def answer(self, requests: Sequence[Request]) -> Sequence[Output]:
            sizes.append(len(requests))
            self.batch_size = 8
            return await super().answer(requests)

    async def main() -> list[Output]:
        return await asked(ReplicaPool([slot_of(Growing([], pause=0.001))]), 60)

    asyncio.run(main())
    assert sizes[0] == 4
    assert max(sizes) == 8


def calls_per_request(replicas: int) -> float:
    """Python calls a request of `replicas` slow replicas, with four requests about each picture."""
    requests = [question(f"{n}", f"picture {n // 4}") for n in range(32 * replicas)]
    waiting = iter(requests)
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    async def main() -> None:
        pool = ReplicaPool([slot_of(Counting([], pause=0.05)) for _ in range(replicas)])

        async def flow() -> None:
            for one in waiting:
                await pool.answer(one)

        await asyncio.gather(*(flow() for _ in range(16 * replicas)))
        pool.close()

    sys.setprofile(count)
    try:
        asyncio.run(main())
    finally:
        sys.setprofile(None)
    return calls / len(requests)


def test_what_a_request_costs_does_not_grow_with_the_replicas() -> None:
    assert calls_per_request(100) < 1.5 * calls_per_request(5)


def test_a_cancelled_request_is_not_sent() -> None:
    seen: list[str] = []

    async def main() -> None:
        pool = ReplicaPool([slot_of(Counting(seen, pause=0.01))])
        flows = [asyncio.ensure_future(pool.answer(question(str(n), f"picture {n // 2}"))) for n in range(40)]
        await asyncio.sleep(0.005)
        for flow in flows[20:]:
            flow.cancel()
        await asyncio.gather(*flows, return_exceptions=True)
        await pool.answer(question("last"))
        pool.close()

    asyncio.run(main())
    assert sorted(seen[:-1], key=int) == list(map(str, range(20)))
    assert seen[-1] == "last"


def test_an_idle_slot_whose_replica_is_lost_starts_another() -> None:
    """Both pulls of the slot wait for the lost replica; the request must not wait with them."""
    seen: list[str] = []
    first = Counting(seen, lost_at=2)

    async def main() -> list[Output]:
        pool = ReplicaPool([slot_of(first, Counting(seen))])
        outputs = [await pool.answer(question(str(n))) for n in range(6)]
        pool.close()
        return outputs

    assert [one.text for one in asyncio.run(main()) if isinstance(one, Generated)] == list("012345")
