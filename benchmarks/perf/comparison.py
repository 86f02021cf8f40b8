"""What is known of Snellen beside other tools: the shape of `peers.json`."""

from __future__ import annotations

from benchmarks.perf.machine import Machine
from msgspec import Struct

WIDTHS = (32, 256)
"""Connections of Snellen's runs."""
WIDE = max(WIDTHS)
BAR = 10.0
"""Snellen's rate at `WIDE` connections must be so many times that of each peer as it comes."""


class Rates(Struct, frozen=True):
    """Medians over the repeats."""

    rate: float
    """Requests per second."""
    cpu: float
    """Milliseconds of processor time per request."""


class Measured(Struct, frozen=True, omit_defaults=True):
    """One tool: as it comes and at its widest, or why it was not measured."""

    name: str
    package: str
    version: str = ""
    default: Rates | None = None
    wide: Rates | None = None
    ratio: float | None = None
    """Snellen's rate at `WIDE` connections over that of the tool as it comes, pair by pair."""
    missing: str = ""


class Comparison(Struct, frozen=True):
    """What `peers.json` holds."""

    machine: Machine
    requests: int
    repeats: int
    snellen: dict[int, Rates]
    """By connections."""
    peers: tuple[Measured, ...]
