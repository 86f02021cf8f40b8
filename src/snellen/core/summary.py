"""What a set of records amounts to: named numbers with n and an interval, and outcomes."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from snellen.core.answer import Outcome


class Interval(Struct, frozen=True, gc=False):
    low: float
    high: float
    method: str
    level: float = 0.95


Unit = Literal["percent", "points"]


class Metric(Struct, frozen=True, gc=False, omit_defaults=True):
    """A named number. `value` is None when nothing could be scored, or a gate withheld it.

    `percent` runs from 0 to 100; `points` has the range its benchmark declares, up to `top`.
    """

    name: str
    value: float | None
    n: int
    interval: Interval | None = None
    note: str = ""
    unit: Unit = "percent"
    top: float = 100.0
    """The highest value there can be."""


class Bounds(Struct, frozen=True, gc=False):
    """The headline if every unscored sample (failed, missing) were wrong, or right."""

    worst: float
    best: float


class Summary(Struct, frozen=True, gc=False, omit_defaults=True):
    """`groups` maps a column (e.g. "category") to its labels and their headline metric.

    `n` counts scored samples, `total` all samples of the run.
    """

    headline: Metric
    metrics: dict[str, Metric]
    groups: dict[str, dict[str, Metric]]
    outcomes: dict[Outcome, int]
    n: int
    total: int
    no_gold: int = 0
    bounds: Bounds | None = None
    notices: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    """Names of metrics that stand beside the headline in tables of runs."""
