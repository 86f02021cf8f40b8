"""Expected times of runs, held against simulated runs whose clock no busy machine disturbs."""

from __future__ import annotations

import heapq
import math
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from snellen.core.output import Generated, Usage
from snellen.core.request import Generate, Ref, Text, user
from snellen.engine.forecast.probe_samples import SampleSize, choose_probe, most_ends, probe_count
from snellen.engine.forecast.projection import Forecast, forecast
from snellen.engine.forecast.sample_costs import CostLedger
from snellen.engine.forecast.wall_time import Capacity

ASKED = 400
FLOWS = 8
SEEDS = 20
ASKING = (user(Text("?")),)


@dataclass
class Server:
    """How long a simulated server takes, in seconds of the simulation."""

    draws: random.Random
    length: Callable[[random.Random], float] = lambda draws: 1.0
    slots: int = FLOWS
    """Requests that it computes at once."""
    per_second: float = math.inf
    """Requests a second that it takes; others wait, and their seconds do not count the wait."""
    cold: float = 0.0
    """Seconds until it answers the first request."""
    unrest: float = 0.0
    """Standard deviation of the logarithm of its speed, which changes with every tenth request."""
    _free: list[float] = field(default_factory=list)
    _next: float = 0.0
    _answered: int = 0
    _speed: float = 1.0

    def answer(self, at: float) -> tuple[float, float]:
        """When a request sent now ends, and the seconds that the client sees it take."""
        sent = max(at, self._next)
        self._next = sent + 1 / self.per_second
        self._free = self._free or [self.cold] * self.slots
        begun = max(sent, heapq.heappop(self._free))
        if self._answered % 10 == 0:
            self._speed = math.exp(self.draws.gauss(0, self.unrest))
        self._answered += 1
        end = begun + self.length(self.draws) * self._speed
        heapq.heappush(self._free, end)
        return end, end - sent


def any_length(draws: random.Random) -> float:
    return draws.lognormvariate(0, 0.8)


SERVERS: dict[str, Callable[[random.Random], list[Server]]] = {
    "equal replies": lambda draws: [Server(draws)],
    "replies of any length": lambda draws: [Server(draws, any_length)],
    "four slots": lambda draws: [Server(draws, any_length, slots=4)],
    "a rate limit": lambda draws: [Server(draws, any_length, per_second=3.0)],
    "a cold start": lambda draws: [Server(draws, any_length, cold=20.0)],
    "a busy machine": lambda draws: [Server(draws, any_length, unrest=0.4)],
    "a slow judge": lambda draws: [Server(draws), Server(draws, any_length, slots=2)],
}


def simulated(servers: list[Server], seed: int, flows: int) -> tuple[Forecast, float]:
    """What a run expects after its probe, and what the rest then takes. Each sample asks one server
    after the other; `flows` samples are in work at once."""
    ids = [str(number) for number in range(ASKED)]
    draws = random.Random(seed)
    sizes = {name: draws.lognormvariate(4, 0.5) for name in ids}
    count = probe_count(ASKED, FLOWS)
    warm_up = min(flows, count // 3)
    first = choose_probe((SampleSize(*item) for item in sizes.items()), count, seed, warm_up)
    ledger = CostLedger(warm_up, most_ends(count, ASKED), sizes={name: sizes[name] for name in first}, is_begun=True)
    began = ledger._started_at
    order = [*first, *(name for name in ids if name not in set(first))]
    waiting = iter(order)
    remaining = dict(sizes)
    capacity = Capacity(
        accounts={f"role {at}": f"account {at}" for at in range(len(servers))},
        concurrency={f"account {at}": FLOWS for at in range(len(servers))},
    )
    events = [(0.0, at, name, 0) for at, name in zip(range(flows), waiting, strict=False)]
    heapq.heapify(events)
    expected: Forecast | None = None
    said = now = 0.0
    number = flows
    while events:
        now, _, name, step = heapq.heappop(events)
        number += 1
        if step < len(servers):
            end, seconds = servers[step].answer(now)
            request = Generate(messages=ASKING, ref=Ref(name), to=f"role {step}")
            ledger.add_output(request, Generated("A", usage=Usage(10, 10), seconds=seconds))
            heapq.heappush(events, (end, number, name, step + 1))
            continue
        remaining.pop(name)
        ledger.add_end(name, began + now)
        if expected is None and ledger.is_complete:
            said = now
            expected = forecast(
                ledger.sample_costs(), list(remaining.values()), {}, capacity, ledger.pace(), ledger.timed_costs()
            )
        if (following := next(waiting, None)) is not None:
            heapq.heappush(events, (now, number, following, 0))
    assert expected is not None
    return expected, now - said


@pytest.mark.parametrize("name", SERVERS)
def test_times_lie_in_their_intervals(name: str) -> None:
    held, errors, widths = 0, [], []
    for seed in range(SEEDS):
        servers = SERVERS[name](random.Random(seed))
        expected, truth = simulated(servers, seed, FLOWS * len(servers))
        assert expected.seconds is not None
        held += expected.seconds.low <= truth <= expected.seconds.high
        errors.append(expected.seconds.expected / truth - 1)
        widths.append((expected.seconds.high - expected.seconds.low) / truth / 2)
    middle, width = statistics.fmean(errors), statistics.median(widths)
    print(
        f"{name}: {held} of {SEEDS}, off by {min(errors):+.0%} to {max(errors):+.0%}, "
        f"mean {middle:+.0%}, half-width {width:.0%}"
    )
    assert held >= 0.85 * SEEDS
    assert abs(middle) < 0.1
    assert width < 0.8
