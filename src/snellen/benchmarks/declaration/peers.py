"""Benchmarks of other tools by name, `vlmevalkit/MMStar`: loaded and scored by that tool's own code.

Nothing of the bridge is imported here before such a name is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from snellen.core.benchmark import BenchmarkFactory

PEERS = {"vlmevalkit": "VLMEvalKit", "lmms-eval": "lmms-eval", "inspect": "Inspect"}
"""Prefix of names to the tool's own name."""
_BRIDGE = "snellen.bridge"


class PeerName(NamedTuple):
    """A name with a tool's prefix."""

    peer: str
    task: str


def parse_peer_name(name: str) -> PeerName | None:
    """The tool and the task of a name without options; None if it has no tool's prefix."""
    prefix, slash, task = name.partition("/")
    peer = prefix.lower()
    return PeerName(peer, task) if slash and task and peer in PEERS else None


def bridged_factory(name: PeerName) -> BenchmarkFactory:
    """What builds a benchmark of another tool."""
    factory: Callable[[str, str], BenchmarkFactory] = importlib.import_module(f"{_BRIDGE}.benchmark").bridge_factory
    return factory(name.peer, name.task)


def known_elsewhere(name: str) -> Mapping[str, str]:
    """Tools that have a task of this name, ignoring case, and how they spell it."""
    find: Callable[[str], Mapping[str, str]] = importlib.import_module(f"{_BRIDGE}.catalogue").peers_with
    return find(name)


def facts_elsewhere(name: PeerName) -> dict[str, str]:
    """What is known of a benchmark of another tool. Raises UnknownName."""
    find: Callable[[str, str], dict[str, str]] = importlib.import_module(f"{_BRIDGE}.benchmark").listed_facts
    return find(name.peer, name.task)
