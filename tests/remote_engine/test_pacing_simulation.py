"""What the window gets out of servers of every kind, in simulated time.

Each case stands beside the capacity of the server: questions a second with the best fixed number of
requests in flight, which the window does not know.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import pytest
from benchmarks.perf.faults import measured
from benchmarks.perf.fixed_pool import FixedPool
from simulated_servers import (
    Abandoned,
    HardLimit,
    Quota,
    RateLimit,
    Recovering,
    Run,
    Server,
    Slots,
    Thrashing,
    simulate,
)

RELEASE = pytest.mark.release
SHARES = (0.002, 0.02, 0.2, *(pytest.param(share, marks=RELEASE) for share in (0.01, 0.05, 0.1)))
STEADY = (0.3, 0.9)
"""The part of a run between its start and its last retries."""


class Measured(NamedTuple):
    """Answers a second, and the share of the faultless rate that they are to reach."""

    rate: float
    least: float


@functools.cache
def measured_run(seconds: float, width: int, share: float, seed: int, pool: bool) -> Measured:
    """The drill of `benchmarks.perf faults` in simulated time."""
    server = Server(seconds=seconds, faults=share, timeout=2 * seconds, concurrency=width, seed=seed)
    window = FixedPool(width) if pool else None
    with pytest.MonkeyPatch.context() as patch:
        run = simulate(server, max(1_000, 32 * width), patch, window)
    assert run.failed == 0
    return Measured(*measured(run.answered, server.faulty, width))


@pytest.mark.parametrize("pool", [False, True], ids=["ours", "fixed pool"])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("seconds", "width"), [(0.2, 64), (1.0, 32), (5.0, 16), pytest.param(0.2, 256, marks=RELEASE)])
def test_independent_faults_cost_about_their_share(share: float, seconds: float, width: int, pool: bool) -> None:
    for seed in range(2):
        faultless = measured_run(seconds, width, 0.0, seed, pool).rate
        faulty = measured_run(seconds, width, share, seed, pool)
        assert faulty.rate >= faulty.least * faultless * (1 - 1e-9)


def test_the_share_that_is_drawn_decides_whether_the_bar_is_met() -> None:
    """Of 1,000 questions, also a fixed pool misses 1 - 1.5 x by x itself where more are drawn."""
    share, missed = 0.002, 0
    for seed in range(12):
        faultless = measured_run(1.0, 32, 0.0, seed, pool=True).rate
        kept = measured_run(1.0, 32, share, seed, pool=True).rate / faultless
        missed += kept < (1 - 1.5 * share) / (1 + share / 4)
    assert 2 <= missed <= 10, missed


def test_timeouts_cost_their_seconds_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(seconds=0.2, spread=0.5, faults=0.1, timeout=6.0)
    assert simulate(server, 12_000, monkeypatch).rate(*STEADY) >= 0.9 * server.capacity()


def test_ten_thousand_questions_with_a_fifth_of_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    faultless = simulate(Server(seconds=0.2), 10_000, monkeypatch)
    faulty = simulate(Server(seconds=0.2, faults=0.2, timeout=0.2), 10_000, monkeypatch)
    # Questions that fail several times in a row wait a few round trips at most.
    assert faulty.seconds <= 1.6 * faultless.seconds
    assert faulty.failed == 0


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_timeouts_are_not_taken_for_overload(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all answers take the same time, a round trip ends a whole one later for each place that
    a timeout holds: that is no loss of rate."""
    seconds = []
    for window in (None, FixedPool(128)):
        server = Server(seconds=0.4, faults=share, timeout=1.0, concurrency=128)
        seconds.append(simulate(server, 10_000, monkeypatch, window).seconds)
    assert seconds[0] <= 1.07 * seconds[1]


@pytest.mark.parametrize("left", [1, 3, 10])
def test_the_last_questions_outlive_an_outage(left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They end no round trip any more, from whose failures an outage is known otherwise."""
    before = 40
    server = Recovering(seconds=0.2, concurrency=8, begin=0.9, end=5, failing="server")
    run = simulate(server, before + left, monkeypatch)
    assert [time for time in run.answered if time < 5] == run.answered[:before], run.answered[before]
    assert run.failed == 0


LIMITED = {
    "4 requests at a time": HardLimit(seconds=0.2, spread=0.5, limit=4),
    "40": HardLimit(seconds=0.2, spread=0.5, limit=40),
    "150": HardLimit(seconds=0.2, limit=150),
    "40, with Retry-After": HardLimit(seconds=1, spread=0.5, limit=40, retry_after=1),
    "40, beyond which it answers 503": HardLimit(seconds=1, spread=0.5, limit=40, kind="server"),
    "40, beyond which it hangs up": HardLimit(seconds=1, spread=0.5, limit=40, kind="connection"),
    "40, and a tenth of faults": HardLimit(seconds=1, spread=0.5, limit=40, faults=0.1, timeout=1),
    "10 a second": RateLimit(seconds=2, spread=0.5, rate=10, burst=10),
    "10 a second, with Retry-After": RateLimit(seconds=0.2, spread=0.5, rate=10, burst=10, retry_after=1),
    "100 a second": RateLimit(seconds=2, spread=0.5, rate=100, burst=100),
    "100 a second, with Retry-After": RateLimit(seconds=0.2, spread=0.5, rate=100, burst=100, retry_after=1),
    "600 a minute": Quota(seconds=2, spread=0.5, quota=600),
    "8 at a time, others queue": Slots(seconds=0.2, spread=0.5, slots=8),
    "40 at a time, others queue": Slots(seconds=5, spread=1.0, slots=40),
    "150 at a time, others queue": Slots(seconds=0.2, spread=0.5, slots=150),
    "12, others queue until they give up": Abandoned(seconds=1, spread=0.05, slots=12),
    "12, which also serves those who gave up": Abandoned(
        seconds=1, spread=0.05, slots=12, concurrency=32, is_blind=True
    ),
    "40, which also serves those who gave up": Abandoned(seconds=1, spread=0.5, slots=40, patience=3, is_blind=True),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if "up" in name or number % 3 == 0 else RELEASE)
        for number, name in enumerate(LIMITED)
    ],
)
def test_a_limit_of_the_server_is_used_and_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = LIMITED[name]
    run = simulate(server, min(12_000, max(4_000, int(150 * server.capacity()))), monkeypatch)
    assert run.rate(*STEADY) >= 0.9 * server.capacity()
    # No question is given up, and few requests are refused.
    assert run.failed == 0
    assert run.sent * (1 - server.faults) <= 1.25 * len(run.answered)
    least, greatest = run.variation()
    assert least > 0.6
    assert greatest < 3


def test_a_limit_is_used_as_by_the_best_fixed_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    def server() -> HardLimit:
        return HardLimit(seconds=1, spread=0.5, limit=40, faults=0.05, timeout=1)

    fixed = {size: simulate(server(), 2_500, monkeypatch, FixedPool(size)) for size in (10, 40, 120)}
    best = max(run.rate(*STEADY) for run in fixed.values())
    assert fixed[10].rate(*STEADY) < 0.3 * best
    assert fixed[40].rate(*STEADY) > 0.97 * best
    ours = simulate(server(), 6_000, monkeypatch)
    assert ours.rate(*STEADY) >= 0.9 * best
    # A pool that is too large burns through the retries of its questions.
    assert fixed[120].failed > 0
    assert ours.failed == 0


@pytest.mark.parametrize("knee", [8, 40, 150])
def test_window_avoids_thrashing(knee: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def server() -> Thrashing:
        return Thrashing(seconds=0.2, spread=0.5, knee=knee)

    ours = simulate(server(), 6_000, monkeypatch).rate(*STEADY)
    everything = simulate(server(), 4_000, monkeypatch, FixedPool(256)).rate(*STEADY)
    assert ours >= 0.6 * server().capacity()
    assert ours > everything


@pytest.mark.parametrize(
    "trouble",
    ["slow", "server", "timeout", *(pytest.param(one, marks=RELEASE) for one in ("rate_limit", "connection"))],
    ids=str,
)
def test_a_server_that_recovers_is_used_to_the_full_again(trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Recovering(seconds=0.2, spread=0.5, begin=2, end=5)
    if trouble == "slow":
        server.slowness = 10
    else:
        server.failing = trouble  # type: ignore[assignment]
    run = simulate(server, 12_000, monkeypatch)
    assert run.failed == 0
    undisturbed = 12_000 / server.capacity() + 3
    assert run.seconds <= undisturbed + 12
    assert run.rate(0.7, 0.9) >= 0.95 * server.capacity()


def test_the_same_seeds_give_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> Run:
        return simulate(HardLimit(seconds=0.2, spread=0.5, limit=30, faults=0.1), 2_000, monkeypatch)

    assert run() == run()
