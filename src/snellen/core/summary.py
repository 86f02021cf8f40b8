"""Summary of a set of records: named numbers with n and an interval, and outcomes; the headline as a function of
sums over samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from snellen.core.output import Outcome
from snellen.core.record import Record

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


ANYTIME = "anytime"
"""Name of the metric whose interval is valid at any time."""


FailurePolicy = Literal["exclude", "count-wrong", "withhold", "as-reply"]
"""How failed samples count in a summary."""


class Interval(Struct, frozen=True, gc=False):
    low: float
    high: float
    method: str
    level: float = 0.95

    def scale(self, factor: float = 100.0) -> Interval:
        """The interval in another unit: of a fraction in percent."""
        return Interval(factor * self.low, factor * self.high, self.method, self.level)


Unit = Literal["percent", "points"]


class Metric(Struct, frozen=True, gc=False, omit_defaults=True):
    """A named number. `value` is None if nothing could be scored, or a gate withheld it.

    `percent` runs from 0 to 100; `points` has the range its benchmark declares, up to `top`.
    """

    name: str
    value: float | None
    n: int
    interval: Interval | None = None
    note: str = ""
    unit: Unit = "percent"
    top: float = 100.0
    """The highest possible value."""


class Bounds(Struct, frozen=True, gc=False):
    """The headline if every unscored sample (failed, missing) were wrong, or right."""

    worst: float
    best: float


class Draws(Struct, frozen=True, omit_defaults=True):
    """Results of repeated draws. Scores are means over questions in percent; those at k draws are
    expectations over all subsets of k draws, keyed by k."""

    repeats: int
    """Draws of each question."""
    questions: int
    """Questions with at least one scored draw."""
    verdicts: int = 1
    """Repeats of each verdict of a judge."""
    runs: tuple[float | None, ...] = ()
    """The headline of each draw alone."""
    these: Interval | None = None
    """Interval of the headline for these questions: only the draws vary."""
    alike: Interval | None = None
    """Interval of the headline for questions like these: questions and draws vary."""
    best: dict[int, float] = {}
    """Best of k draws: pass@k if every draw is right or wrong."""
    right_or_wrong: bool = True
    majority: dict[int, float] = {}
    """Majority vote of k draws; empty if answers cannot be counted."""
    same_answer: float | None = None
    """Probability in percent that two draws of a question give the same answer; a draw without an
    answer agrees with none. None if answers cannot be counted."""
    same_score: float | None = None
    between: float | None = None
    """Variance of one draw's score (0..1) between questions; None for a single draw."""
    within: float | None = None
    """Variance between the draws of a question."""
    judge: float | None = None
    """Variance between repeated verdicts of one judge about one reply. Each draw's score contains
    the part 1 / `verdicts` of it."""
    errors: dict[int, float] = {}
    """Standard error in points of the mean score over questions like these, by draws per
    question."""
    floor: float | None = None
    """Limit of this standard error for infinitely many draws."""


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
    """Names of secondary metrics, in tables of runs next to the headline."""
    never_asked: int = 0
    """Samples that a stopped run had not asked yet and that `bounds` include."""
    draws: Draws | None = None
    """Set if each question was asked more than once."""


class HeadlineSums(NamedTuple):
    """A headline that is not the plain mean of the samples' scores, e.g. an F1 or a mean of
    subtasks' accuracies: what each sample adds to some sums, and the headline of these sums.

    This suffices to resample, to leave samples out, and to compare the headlines of two runs on
    the same samples.
    """

    rows: NDArray[float64]
    """What each sample adds, in the order of the records: shape (samples, columns). Rows of samples
    that do not count are zero."""
    value: Callable[[NDArray[float64]], NDArray[float64]]
    """The headline, on its own scale, of each row of sums: (draws, columns) to (draws,)."""
    strata: Sequence[str] = ()
    """For each sample the stratum that it is drawn from, if the sizes of strata belong to the
    benchmark's design (subtasks); () if there is one stratum."""
    links: Sequence[str] = ()
    """A name for each sample; samples that share it are counted and resampled together, in addition
    to the clusters of `cluster_samples`. () if there are no links."""
    weights: NDArray[float64] | None = None
    """Each sample's weight in the headline, on any scale; None if all weigh the same."""

    def of_all(self) -> float:
        """The headline over all samples."""
        return float(self.value(self.rows.sum(axis=0, keepdims=True))[0])


SumsOf = Callable[[Sequence[Record]], HeadlineSums | None]
"""Sums of finished samples; None if they have no headline (e.g. a subtask is missing)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryContext:
    """The plain summary and the choices of the run, for summaries that build on them."""

    plain: Callable[[Sequence[Record]], Summary]
    """The summary by the mean of the samples' scores."""
    plain_headline: str
    """The headline's name in the plain summary."""
    failures: FailurePolicy
    options: Mapping[str, str]
    """Every option with its value."""
    rule: str
    """Whose rule parses the replies."""
    judges: tuple[str, ...] = ()
    """The roles that its flows ask beside the model, such as judges."""

    @property
    def failed_score(self) -> float | None:
        """What a failed sample counts: 0 with `--failures count-wrong`, else nothing."""
        return 0.0 if self.failures == "count-wrong" else None
