"""The window of an account opens, narrows and pauses as it should."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from snellen.engine.limits.pacing import INITIAL_WINDOW, ConcurrencyWindow


def in_loop(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())

    run.__name__ = test.__name__
    return run


async def fill(pace: ConcurrencyWindow) -> None:
    """As many requests as the window lets in."""
    while pace.in_flight <= pace.size - 1:
        await pace.acquire()


async def round_trip(pace: ConcurrencyWindow) -> None:
    """All that are in flight are answered, and others take their places."""
    await fill(pace)
    for _ in range(pace.in_flight):
        pace.on_answer()
        pace.release()
        await fill(pace)


@in_loop
async def test_it_doubles_until_the_first_setback_and_then_adds_one() -> None:
    pace = ConcurrencyWindow(1000)
    assert pace.size == INITIAL_WINDOW
    await round_trip(pace)
    assert pace.size == 2 * INITIAL_WINDOW
    await round_trip(pace)
    assert pace.size == 4 * INITIAL_WINDOW
    pace.on_failure("rate_limit", sent=4 * INITIAL_WINDOW + 1)
    assert pace.size == 2 * INITIAL_WINDOW
    for _ in range(2 * INITIAL_WINDOW):
        pace.release()
    await round_trip(pace)
    assert 2 * INITIAL_WINDOW + 0.9 < pace.size <= 2 * INITIAL_WINDOW + 1


@in_loop
async def test_it_never_opens_beyond_the_least_of_the_models() -> None:
    pace = ConcurrencyWindow(20)
    pace.restrict(10)
    for _ in range(5):
        await round_trip(pace)
    assert pace.size == 10


@in_loop
async def test_one_wave_of_complaints_narrows_it_once() -> None:
    pace = ConcurrencyWindow(64, initial_size=64)
    numbers = [await pace.acquire() for _ in range(64)]
    for number in numbers:
        pace.on_failure("rate_limit", number)
        pace.release()
    assert pace.size == 32
    number = await pace.acquire()
    pace.on_failure("connection", number)
    assert pace.size == 16


@in_loop
async def test_a_server_error_keeps_it_as_it_is() -> None:
    pace = ConcurrencyWindow(64)
    number = await pace.acquire()
    pace.on_failure("server", number)
    pace.release()
    await round_trip(pace)
    assert pace.size == INITIAL_WINDOW


@in_loop
async def test_it_does_not_open_while_it_is_not_full() -> None:
    pace = ConcurrencyWindow(64)
    for _ in range(50):
        await pace.acquire()
        pace.on_answer()
        pace.release()
    assert pace.size == INITIAL_WINDOW


@in_loop
async def test_retry_after_holds_the_whole_account_back() -> None:
    pace = ConcurrencyWindow(8)
    number = await pace.acquire()
    pace.on_failure("rate_limit", number, 0.05)
    pace.release()
    assert pace.remaining_pause() > 0
    until = asyncio.get_running_loop().time() + pace.remaining_pause()
    await asyncio.gather(*(pace.acquire() for _ in range(4)))
    assert asyncio.get_running_loop().time() >= until - 0.001


@in_loop
async def test_those_who_were_sent_before_go_first() -> None:
    pace = ConcurrencyWindow(1)
    await pace.acquire()
    order: list[str] = []

    async def wait(name: str, again: bool) -> None:
        await pace.acquire(again)
        order.append(name)
        pace.release()

    tasks = [asyncio.create_task(wait("new", False)), asyncio.create_task(wait("old", True))]
    await asyncio.sleep(0)
    pace.release()
    await asyncio.gather(*tasks)
    assert order == ["old", "new"]


@in_loop
async def test_who_gives_up_waiting_takes_no_place_along() -> None:
    pace = ConcurrencyWindow(1)
    await pace.acquire()
    waiting = asyncio.create_task(pace.acquire())
    woken = asyncio.create_task(pace.acquire())
    await asyncio.sleep(0)
    waiting.cancel()
    pace.release()
    # The place is given to `woken`, which is cancelled before it could take it.
    await asyncio.sleep(0)
    woken.cancel()
    await asyncio.gather(waiting, woken, return_exceptions=True)
    if not woken.cancelled():
        pace.release()
    assert pace.in_flight == 0
    await asyncio.wait_for(pace.acquire(), 5)


def test_the_window_is_at_least_one() -> None:
    async def narrowed() -> float:
        pace = ConcurrencyWindow(4)
        for _ in range(9):
            pace.on_failure("rate_limit", await pace.acquire())
            pace.release()
        return pace.size

    assert asyncio.run(narrowed()) == pytest.approx(1.0)
