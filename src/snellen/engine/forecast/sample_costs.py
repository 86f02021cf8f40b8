"""What samples took: requests, tokens and seconds, by the role of the model that was asked."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from snellen.core.output import Failure, Output, Usage
from snellen.core.price import Price, cost
from snellen.core.request import Request


@dataclass(slots=True)
class RoleCost:
    """What the requests of one sample to one role took."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    """Sum over the requests; 0 if the model does not say."""

    def add(self, output: Output) -> None:
        """Add the output of a request."""
        self.requests += 1
        if isinstance(output, Failure):
            return
        if output.usage is not None:
            self.prompt_tokens += output.usage.prompt_tokens
            self.completion_tokens += output.usage.completion_tokens
            self.cached_tokens += output.usage.cached_tokens
        self.seconds += output.seconds or 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def cost(self, price: Price) -> float:
        """In the currency of the price."""
        usage = Usage(self.prompt_tokens, self.completion_tokens, 0, self.cached_tokens)
        return cost(usage, price)


class SampleCost(NamedTuple):
    """What one sample took; without roles if it sent no request."""

    size: float
    """About how long its prompt is (`probe_samples.sample_size`)."""
    roles: Mapping[str, RoleCost]

    def of(self, role: str) -> RoleCost:
        return self.roles.get(role, RoleCost())


@dataclass(slots=True)
class CostLedger:
    """What the samples of a probe took while they were asked, and how fast samples ended."""

    sizes: Mapping[str, float]
    """The sizes of the samples of the probe, by id."""
    warm_up: int
    """Samples that end before the pace is measured: until then fewer requests are in flight."""
    costs: dict[str, dict[str, RoleCost]] = field(default_factory=dict)
    """By sample and role, of all samples that sent a request."""
    ended: set[str] = field(default_factory=set)
    """Samples of the probe that have ended."""
    _started_at: float = field(default_factory=time.monotonic)
    _ends: list[float] = field(default_factory=list)
    """When samples ended for which requests were sent, in seconds since the start."""

    def add_output(self, request: Request, output: Output) -> None:
        """Add the output of a request that was sent."""
        roles = self.costs.setdefault(request.ref.sample, {})
        roles.setdefault(request.to, RoleCost()).add(output)

    def add_end(self, sample: str) -> None:
        """Note that a sample has ended."""
        if sample in self.costs:
            self._ends.append(time.monotonic() - self._started_at)
        if sample in self.sizes:
            self.ended.add(sample)

    @property
    def is_complete(self) -> bool:
        """Whether all samples of the probe have ended."""
        return len(self.ended) == len(self.sizes)

    def sample_costs(self) -> list[SampleCost]:
        """What the ended samples of the probe took; nothing, if the store had their replies."""
        return [SampleCost(self.sizes[sample], self.costs.get(sample, {})) for sample in self.ended]

    def seconds_per_sample(self, until: float | None = None) -> float | None:
        """Seconds between two ends of samples once the server was busy, up to the time `until`
        (`time.monotonic`), when the last was begun; None if too few ended in between."""
        last = float("inf") if until is None else until - self._started_at
        ends = [end for end in self._ends if end <= last]
        measured = len(ends) - self.warm_up
        if self.warm_up < 1 or measured < max(4, self.warm_up // 2):
            return None
        return (ends[-1] - ends[self.warm_up - 1]) / measured
