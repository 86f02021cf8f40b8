"""The machine the figures were taken on."""

from __future__ import annotations

import os
import platform
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct


class Machine(Struct, frozen=True):
    processor: str
    cores: int
    memory_gb: float
    system: str
    python: str
    sqlite: str
    load: float
    """Runnable processes on average over the last minute, just before the first measurement."""
    day: str
    """UTC, ISO 8601."""


def this_machine() -> Machine:
    return Machine(
        processor=processor(),
        cores=os.cpu_count() or 0,
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        system=platform.platform(),
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        load=round(os.getloadavg()[0], 2),
        day=datetime.now(UTC).date().isoformat(),
    )


def processor() -> str:
    try:
        facts = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in facts.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()
