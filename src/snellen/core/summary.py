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


class Draws(Struct, frozen=True, omit_defaults=True):
    """What several draws of each question tell. Scores are means over questions in percent; those
    at k draws are expectations over all subsets of k, and have k as their key."""

    repeats: int
    """How often each question was asked."""
    questions: int
    """Questions of which a draw has a score."""
    verdicts: int = 1
    """How often each verdict of a judge was asked for."""
    runs: tuple[float | None, ...] = ()
    """The headline of each draw by itself, as if it were the whole run."""
    these: Interval | None = None
    """Of the headline over these very questions: the draws alone vary."""
    alike: Interval | None = None
    """Of the headline over questions like these: questions and draws vary."""
    best: dict[int, float] = {}
    """The best of k draws: pass@k where every draw is right or wrong."""
    right_or_wrong: bool = True
    majority: dict[int, float] = {}
    """The commonest answer of k draws; empty where answers cannot be counted."""
    same_answer: float | None = None
    """Chance in percent that two draws of a question give the same answer; one without an answer
    agrees with none. None where answers cannot be counted."""
    same_score: float | None = None
    between: float | None = None
    """Variance of one draw's score (0..1) between questions; None for a single draw."""
    within: float | None = None
    """The same between the draws of a question."""
    judge: float | None = None
    """The same between repeated verdicts of one judge about one reply. Of this, each draw's score
    holds a part: 1 / `verdicts`."""
    errors: dict[int, float] = {}
    """The standard error of the mean score over questions like these, in points, were each asked
    so often."""
    floor: float | None = None
    """The same, were each asked without end."""


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
    draws: Draws | None = None
    """Where each question was asked several times."""
