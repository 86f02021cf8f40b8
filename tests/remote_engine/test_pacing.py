"""The window of an account opens, narrows and pauses as it should, one event at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps

import pytest

from snellen.core.output import FailureKind
from snellen.engine.limits.pacing import INITIAL_WINDOW, ConcurrencyWindow, WindowPlace


def in_loop(test: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(**given: object) -> None:
        asyncio.run(test(**given))

    return run


def skip_time(seconds: float) -> None:
    """Have the clock of the loop go on: beside it, what this machine takes is nothing."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]


async def fill(pace: ConcurrencyWindow) -> list[WindowPlace]:
    """As many requests as the window lets in."""
    return [await pace.acquire() for _ in range(int(pace.size - pace.in_flight))]


async def round_trip(pace: ConcurrencyWindow) -> None:
    """All that are in flight are answered after a second, and others take their places."""
    now = asyncio.get_running_loop().time()
    sent = [place._replace(time=now) for place in await fill(pace)]
    # Those of an earlier call, whose places nobody kept, were sent now too.
    sent += [WindowPlace(pace._sent, now, pace.in_flight)] * (pace.in_flight - len(sent))
    skip_time(1.0)
    for place in sent:
        pace.on_answer(place)
        pace.release()
        await fill(pace)


@in_loop
async def test_window_doubles_until_the_first_rate_limit_then_recovers_on_a_curve() -> None:
    pace = ConcurrencyWindow(1000)
    assert pace.size == INITIAL_WINDOW
    await round_trip(pace)
    assert pace.size == 2 * INITIAL_WINDOW
    await round_trip(pace)
    assert pace.size == 4 * INITIAL_WINDOW
    pace.on_failure("rate_limit", WindowPlace(4 * INITIAL_WINDOW + 1, 0.0, 1))
    narrowed = 0.85 * 4 * INITIAL_WINDOW
    assert pace.size == narrowed
    while pace.in_flight > narrowed - 1:
        pace.release()
    sizes = [narrowed]
    for _ in range(6):
        await round_trip(pace)
        sizes.append(pace.size)
    assert sizes == sorted(sizes)
    del sizes[0]
    assert narrowed < sizes[1] < sizes[-1] <= 4 * INITIAL_WINDOW
    # It is fast at first, and slow near the size that was too large.
    assert sizes[1] - sizes[0] > 3 * (sizes[-1] - sizes[-2]) > 0


@in_loop
async def test_window_stays_within_the_smallest_model_limit() -> None:
    pace = ConcurrencyWindow(20)
    pace.restrict(10)
    for _ in range(5):
        await round_trip(pace)
    assert pace.size == 10


@in_loop
async def test_simultaneous_rate_limits_narrow_the_window_once() -> None:
    pace = ConcurrencyWindow(64, initial_size=64)
    numbers = [await pace.acquire() for _ in range(64)]
    for number in numbers:
        pace.on_failure("rate_limit", number)
        pace.release()
    assert pace.size == 0.85 * 64
    # All were refused: the next one shows that the window is far beyond what the server takes.
    pace.on_failure("rate_limit", await pace.acquire())
    assert pace.size == 0.5 * 0.85 * 64


@pytest.mark.parametrize("kind", ["server", "connection", "timeout"])
@in_loop
async def test_faults_of_single_requests_do_not_hold_it_back(kind: FailureKind) -> None:
    pace = ConcurrencyWindow(64)
    sent = await fill(pace)
    skip_time(1.0)
    for place in sent:
        await fill(pace)
        if place.ordinal <= 4:
            pace.on_failure(kind, place)
        else:
            pace.on_answer(place)
        pace.release()
    # As after eight answers, less the growth for which only answers count.
    assert pace.size == INITIAL_WINDOW + 4
    await round_trip(pace)
    assert pace.size > 1.9 * INITIAL_WINDOW


@in_loop
async def test_a_round_trip_that_mostly_fails_narrows_it() -> None:
    pace = ConcurrencyWindow(64, initial_size=64)
    for _ in range(2):
        await fill(pace)
        for number in range(64):
            pace.on_failure("server", WindowPlace(number + 1, 0.0, 64))
            pace.release()
    assert pace.size < 64 / 2


@in_loop
async def test_an_error_with_retry_after_is_overload() -> None:
    pace = ConcurrencyWindow(64, initial_size=64)
    pace.on_failure("server", await pace.acquire(), 0.01)
    assert pace.size == 0.85 * 64
    assert pace.remaining_pause() > 0


@in_loop
async def test_window_does_not_widen_until_it_is_full() -> None:
    pace = ConcurrencyWindow(64)
    for _ in range(50):
        pace.on_answer(await pace.acquire())
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
async def test_nothing_holds_back_requests_of_an_aborted_run() -> None:
    pace = ConcurrencyWindow(8)
    sent = await fill(pace)
    pace.open_fully()
    pace.on_failure("rate_limit", sent[-1], retry_after=3600.0)
    for _ in range(3 * len(sent)):
        await asyncio.wait_for(pace.acquire(), 1)
    assert pace.remaining_pause() == 0.0


@in_loop
async def test_retried_requests_go_first() -> None:
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
async def test_cancelled_waiting_frees_its_place() -> None:
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
        for _ in range(29):
            pace.on_failure("rate_limit", await pace.acquire())
            pace.release()
        return pace.size

    assert asyncio.run(narrowed()) == pytest.approx(1.0)
