"""Placement of replicas on a Ray cluster: the cores and GPUs of each, on one node.

Each replica has a placement group, so that its resources stay reserved while it is replaced, and an
autoscaling cluster sees what is still missing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from snellen.core.errors import UsageError

_POLL_INTERVAL = 3.0
"""Seconds between two checks of the nodes while a replica waits for one."""
_NODE_TIMEOUT = 900.0
"""Seconds within which an autoscaling cluster must add a node that is large enough; machines with
GPUs take minutes."""

NO_NODE = (
    "the Ray cluster has lost its last node, and every replica with it; what was finished is kept, "
    "and the same command goes on"
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RayCluster:
    """Where replicas run, and the resources of each."""

    address: str | None = None
    """Address of a running cluster, or `auto`; None: RAY_ADDRESS, else one is started on this
    machine."""
    replicas: int = 1
    gpus: float = 0.0
    """GPUs of one replica."""
    cpus: float = 1.0
    """CPU cores of one replica."""

    def __post_init__(self) -> None:
        """Raises UsageError for amounts that no replica can have."""
        if self.replicas < 1:
            raise UsageError(f"replicas is {self.replicas}; expected a whole number from 1")
        for name, amount in (("gpus", self.gpus), ("cpus", self.cpus)):
            if not 0 <= amount < float("inf"):
                raise UsageError(f"{name} is {amount:g}; expected 0 or more")

    @property
    def bundle(self) -> dict[str, float]:
        """The resources of one replica, as a Ray bundle."""
        resources = {"CPU": self.cpus, "GPU": self.gpus}
        return {name: amount for name, amount in resources.items() if amount}


class Placement:
    """The placement group of one replica, created when the replica is first started."""

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster
        self._group: Any = None

    def options(self, ray: Any) -> dict[str, Any]:
        """Options for an actor in this placement group."""
        cluster = self._cluster
        options: dict[str, Any] = {"num_cpus": cluster.cpus, "num_gpus": cluster.gpus}
        if not cluster.bundle:
            return options
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        if self._group is None:
            self._group = ray.util.placement_group([cluster.bundle], strategy="STRICT_PACK")
        strategy = PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=0)
        return {**options, "scheduling_strategy": strategy}

    def release(self, ray: Any) -> None:
        if self._group is not None:
            ray.util.remove_placement_group(self._group)
            self._group = None


async def wait_for_placement(startup: Awaitable[T], ray: Any, cluster: RayCluster, *, can_grow: bool) -> T:
    """Wait for the result of `startup`, which a replica gives once Ray has placed it.

    A replica waits as long as others hold the resources it requires. Raises UsageError if no node
    is large enough; with `can_grow`, only after the time an autoscaler takes to add one.
    """
    waiting = asyncio.ensure_future(startup)
    deadline = time.monotonic() + (_NODE_TIMEOUT if can_grow else 0.0)
    try:
        while True:
            done, _ = await asyncio.wait([waiting], timeout=_POLL_INTERVAL)
            if done:
                return waiting.result()
            nodes = ray.nodes()
            if not any(node["Alive"] for node in nodes):
                raise UsageError(NO_NODE)
            missing = _missing_resources(cluster, nodes)
            if missing and time.monotonic() > deadline:
                raise UsageError(missing)
    finally:
        waiting.cancel()


def _missing_resources(cluster: RayCluster, nodes: list[Mapping[str, Any]]) -> str:
    """Why no node is large enough for a replica, however idle; "" if one is."""
    living = [node["Resources"] for node in nodes if node["Alive"]]
    required = cluster.bundle
    if any(all(node.get(name, 0.0) >= amount for name, amount in required.items()) for node in living):
        return ""
    nothing: dict[str, float] = {}
    largest = max(living, key=lambda node: (node.get("GPU", 0.0), node.get("CPU", 0.0)), default=nothing)
    available = {name: largest.get(name, 0.0) for name in required}
    return (
        f"a replica is to have {_format_resources(required)} on one node, and no node of the Ray "
        f"cluster has as much; the largest has {_format_resources(available)}; give "
        "--executor ray:gpus=G,cpus=C what a node has"
    )


def _format_resources(amounts: Mapping[str, float]) -> str:
    return " and ".join(f"{amount:g} {name}{'s' * (amount != 1)}" for name, amount in amounts.items())
