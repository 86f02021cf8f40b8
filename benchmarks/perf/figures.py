"""Figures with their spread, and the sizes they are taken at."""

from __future__ import annotations

import cProfile
import pstats
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from benchmarks.perf.origin import Origin
from msgspec import Struct

SizeName = Literal["tiny", "small", "full"]
MET, MISSED = "met", "MISSED"


class Size(NamedTuple):
    """How much of everything is measured."""

    repeats: int
    flows: int
    """Samples driven through the engine."""
    starts: int
    """Times each command is started."""
    rows: int
    """Rows of the large TSV, and of the predictions."""
    megabytes: int
    """Size of the large TSV."""
    samples: int
    """Samples of the longest run whose memory is watched."""
    questions: int
    """Questions asked of the larger local model, and of replicas."""
    many_questions: int
    """Questions asked of the bundled model."""
    requests: int
    """Requests with a picture that are sent to a server."""
    runs: int
    """Run folders that the viewer's first page lists."""
    items: int
    """Items whose statistics are taken."""
    stores: tuple[float, ...]
    """Gigabytes of stores of replies, the smallest first."""


SIZES: dict[SizeName, Size] = {
    "tiny": Size(1, 200, 1, 200, 2, 400, 4, 4, 40, 60, 400, (0.01, 0.04)),
    "small": Size(3, 10_000, 5, 3_000, 60, 10_000, 12, 24, 4_000, 2_000, 50_000, (0.2, 1.0)),
    "full": Size(5, 100_000, 21, 31_000, 1_500, 100_000, 24, 200, 10_000, 12_000, 1_000_000, (1.0, 5.0, 23.2)),
}


class Figure(Struct, frozen=True, omit_defaults=True):
    """A measured quantity: median, least and most over `repeats`."""

    name: str
    unit: str
    value: float
    low: float
    high: float
    repeats: int
    reference: str = ""
    """What it is compared with, measured in the same run."""
    ratio: float | None = None
    """Median of value / reference, taken pair by pair."""
    bar: float | None = None
    """What it must not exceed, in `unit`."""
    at_least: bool = False
    """The bar is what it must reach."""
    ratio_bar: float | None = None
    """What `ratio` must not exceed."""

    @property
    def verdict(self) -> str:
        if self.ratio is not None and self.ratio_bar is not None:
            return MET if self.ratio <= self.ratio_bar else MISSED
        if self.bar is None:
            return ""
        met = self.value >= self.bar if self.at_least else self.value <= self.bar
        return MET if met else MISSED


class Share(Struct, frozen=True):
    """A function's part of the time, from a profile."""

    what: str
    percent: float


class Part(Struct, frozen=True, omit_defaults=True):
    """What one file of this folder measures."""

    name: str
    title: str
    method: str
    figures: tuple[Figure, ...]
    limits: tuple[Share, ...] = ()
    """Where the time goes, most first."""
    origin: Origin | None = None
    """When and of which files it was measured."""


def figure(
    name: str,
    unit: str,
    values: Sequence[float],
    *,
    reference: str = "",
    against: Sequence[float] = (),
    bar: float | None = None,
    at_least: bool = False,
    ratio_bar: float | None = None,
) -> Figure:
    """The figure of some repeats; `against` holds the reference's, pair by pair."""
    ratio = None
    if against:
        ratio = statistics.median(a / b for a, b in zip(values, against, strict=True))
    return Figure(
        name,
        unit,
        statistics.median(values),
        min(values),
        max(values),
        len(values),
        reference,
        ratio,
        bar,
        at_least,
        ratio_bar,
    )


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def profiled(work: Callable[[], object], most: int = 6) -> tuple[Share, ...]:
    """Where the time goes: compiled functions by name, Python by file.

    The profiler weighs on Python functions more than on compiled ones, so the shares are a
    guide, not a measurement.
    """
    profile = cProfile.Profile()
    profile.runcall(work)
    # Place to (calls, primitive calls, own seconds, cumulative seconds, callers).
    times = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    shares: Counter[str] = Counter()
    for (file, _, function), entry in times.items():
        shares[_compiled(function) if file == "~" else _file(file)] += entry[2]
    total = shares.total()
    return tuple(Share(what, 100 * took / total) for what, took in shares.most_common(most))


def _compiled(function: str) -> str:
    return re.sub(r"^<|>$|built-in method |method |'", "", function)


def _file(path: str) -> str:
    return re.split(r"/(?:src|site-packages|lib/python[\d.]+)/", path)[-1]
