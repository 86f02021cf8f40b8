"""The window of an account opens, narrows and pauses as it should."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from snellen.engine.limits.pacing import FIRST, Pace


def in_loop(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())

    run.__name__ = test.__name__
    return run


async def fill(pace: Pace) -> None:
    """As many requests as the window lets in."""
    while pace.in_flight <= pace.window - 1:
        await pace.enter()


async def round_trip(pace: Pace) -> None:
    """All that are in flight are answered, and others take their places."""
    await fill(pace)
    for _ in range(pace.in_flight):
        pace.answered()
        pace.leave()
        await fill(pace)


@in_loop
async def test_it_doubles_until_the_first_setback_and_then_adds_one() -> None:
    pace = Pace(1000)
    assert pace.window == FIRST
    await round_trip(pace)
    assert pace.window == 2 * FIRST
    await round_trip(pace)
    assert pace.window == 4 * FIRST
    pace.failed("rate_limit", sent=4 * FIRST + 1)
    assert pace.window == 2 * FIRST
    for _ in range(2 * FIRST):
        pace.leave()
    await round_trip(pace)
    assert 2 * FIRST + 0.9 < pace.window <= 2 * FIRST + 1


@in_loop
async def test_it_never_opens_beyond_the_least_of_the_models() -> None:
    pace = Pace(20)
    pace.limit(10)
    for _ in range(5):
        await round_trip(pace)
    assert pace.window == 10


@in_loop
async def test_one_wave_of_complaints_narrows_it_once() -> None:
    pace = Pace(64, first=64)
    numbers = [await pace.enter() for _ in range(64)]
    for number in numbers:
        pace.failed("rate_limit", number)
        pace.leave()
    assert pace.window == 32
    number = await pace.enter()
    pace.failed("connection", number)
    assert pace.window == 16


@in_loop
async def test_a_server_error_keeps_it_as_it_is() -> None:
    pace = Pace(64)
    number = await pace.enter()
    pace.failed("server", number)
    pace.leave()
    await round_trip(pace)
    assert pace.window == FIRST


@in_loop
async def test_it_does_not_open_while_it_is_not_full() -> None:
    pace = Pace(64)
    for _ in range(50):
        await pace.enter()
        pace.answered()
        pace.leave()
    assert pace.window == FIRST


@in_loop
async def test_retry_after_holds_the_whole_account_back() -> None:
    pace = Pace(8)
    number = await pace.enter()
    pace.failed("rate_limit", number, 0.05)
    pace.leave()
    assert pace.paused_for() > 0
    until = asyncio.get_running_loop().time() + pace.paused_for()
    await asyncio.gather(*(pace.enter() for _ in range(4)))
    assert asyncio.get_running_loop().time() >= until - 0.001


@in_loop
async def test_those_who_were_sent_before_go_first() -> None:
    pace = Pace(1)
    await pace.enter()
    order: list[str] = []

    async def wait(name: str, again: bool) -> None:
        await pace.enter(again)
        order.append(name)
        pace.leave()

    tasks = [asyncio.create_task(wait("new", False)), asyncio.create_task(wait("old", True))]
    await asyncio.sleep(0)
    pace.leave()
    await asyncio.gather(*tasks)
    assert order == ["old", "new"]


@in_loop
async def test_who_gives_up_waiting_takes_no_place_along() -> None:
    pace = Pace(1)
    await pace.enter()
    waiting = asyncio.create_task(pace.enter())
    woken = asyncio.create_task(pace.enter())
    await asyncio.sleep(0)
    waiting.cancel()
    pace.leave()
    # The place is given to `woken`, which is cancelled before it could take it.
    await asyncio.sleep(0)
    woken.cancel()
    await asyncio.gather(waiting, woken, return_exceptions=True)
    if not woken.cancelled():
        pace.leave()
    assert pace.in_flight == 0
    await asyncio.wait_for(pace.enter(), 5)


def test_the_window_is_at_least_one() -> None:
    async def narrowed() -> float:
        pace = Pace(4)
        for _ in range(9):
            pace.failed("rate_limit", await pace.enter())
            pace.leave()
        return pace.window

    assert asyncio.run(narrowed()) == pytest.approx(1.0)
