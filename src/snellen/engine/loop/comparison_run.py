"""`--until 'A>B'`: two runs on the same samples, until one is known to score higher."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from msgspec import structs

from snellen.core.benchmark import Benchmark
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.core.summary import Interval, Metric, Summary
from snellen.engine.anytime.early_stop import ANYTIME, Stopper, anytime_words, no_mean
from snellen.engine.anytime.sample_order import FEWEST, InOrder, Strata, Unit, units_in_order
from snellen.engine.loop.plan import Plan
from snellen.engine.loop.run import run
from snellen.stats.confidence_sequences import EVEN, bets_for_samples
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

_FIRST_SLICE = 64
_GROWTH = 1.5
_AT_STOP = (
    "where a difference decides when to stop, the score of the model that is ahead is too high on "
    "average and the other's too low; the anytime interval of the difference holds"
)


@dataclass(slots=True)
class Contest:
    """The difference is the first less the second, sample by sample: over such questions without
    end, because on a finite set one of two models that guess is ahead too; and so questions about
    one picture are one draw. The two are asked slice by slice, in turn, so that both models need
    not be in memory at once."""

    names: tuple[str, str]
    until: int = _FIRST_SLICE
    """Units that each may be asked in the present slice."""
    reason: str = ""
    _units: list[Unit] = field(default_factory=list)
    _sides: list[InOrder] = field(default_factory=list)
    _next: int = 0
    _strata: Strata | None = None

    @property
    def text(self) -> str:
        return f"{self.names[0]}>{self.names[1]}"

    def side(self, which: Literal[0, 1]) -> _Side:
        return _Side(self, which)

    def widen(self) -> bool:
        """Let more be asked; False where nothing is left, or all is decided."""
        if self.reason or self.until >= len(self._units):
            return False
        self.until = max(self.until + 1, int(self.until * _GROWTH))
        return True

    def begin(self, samples: Sequence[Sample], seed: int, failures: str) -> None:
        if self._units:
            return
        self._units = units_in_order(samples, seed)
        self._sides = [InOrder(self._units, failures) for _ in self.names]
        mixture = bets_for_samples(len(self._units))
        self._strata = Strata(self._units, mixture, predicted=EVEN)

    def units(self) -> Sequence[Unit]:
        return self._units

    def note(self, which: int, record: Record) -> None:
        self._sides[which].note(record)
        first, second = self._sides
        while first.whole(self._next) and second.whole(self._next):
            pairs = zip(first.scores(self._next), second.scores(self._next), strict=True)
            # Differences lie in -1..1; a confidence sequence wants 0..1.
            halves = [
                None if one is None or other is None else (one - other + 1) / 2
                for one, other in pairs
            ]
            assert self._strata is not None
            self._strata.add(self._units[self._next], halves)
            self._next += 1
            if (
                any(half is not None for half in halves)
                and not self.reason
                and self._strata.units >= FEWEST
            ):
                self._decide()

    def difference(self) -> Metric | None:
        """In points, with its anytime interval."""
        if self._strata is None or self._strata.mean is None:
            return None
        return Metric(
            f"{ANYTIME}_difference",
            100 * (2 * self._strata.mean - 1),
            self._strata.samples,
            self._interval(),
            note=self.text,
            unit="points",
        )

    def total(self) -> int:
        return sum(len(unit.samples) for unit in self._units)

    def _interval(self) -> Interval:
        assert self._strata is not None
        found = self._strata.interval()
        return structs.replace(
            found, low=100 * (2 * found.low - 1), high=100 * (2 * found.high - 1)
        )

    def _decide(self) -> None:
        assert self._strata is not None
        if not self._strata.apart(EVEN):
            return
        found, difference = self._interval(), self.difference()
        assert difference is not None
        better, worse = self.names if found.low > 0 else reversed(self.names)
        self.reason = (
            f"decided after {difference.n:,} of {self.total():,} samples: {better} is ahead of "
            f"{worse} (difference {difference.value:.1f}, {anytime_words(found)})"
        )


def run_contest(
    plans: Sequence[Plan], store: ResponseStore, keep: Callable[..., object]
) -> list[RunFolder]:
    """Make both runs, slice by slice, until one is known to score higher or all was asked; once
    more at the end, so that both folders tell how it ended. `keep` is told the models of a plan
    before they are asked.

    Raises as `run` does.
    """
    first, second = plans
    contest = Contest((first.model_name, second.model_name))
    sides = (contest.side(0), contest.side(1))
    made = [replace(plan, until=side) for plan, side in zip(plans, sides, strict=True)]
    models = [model for plan in plans for model in (plan.model, *plan.roles.values())]
    while True:
        for plan, side in zip(made, sides, strict=True):
            keep(*models)
            folder = run(plan, store)
            if folder.info.status == "interrupted" and not side.waiting and not side.reason:
                # A spent budget, a model that does not answer: the other waits for nothing.
                return [folder]
        if not contest.widen():
            return [run(plan, store) for plan in made]


class _Side:
    """One model's part in a contest: the rule and its stopper in one."""

    def __init__(self, contest: Contest, which: Literal[0, 1]) -> None:
        self._contest = contest
        self._which = which
        self._broken_off = False
        self._plain_mean = True

    @property
    def text(self) -> str:
        return self._contest.text

    @property
    def reason(self) -> str:
        return self._contest.reason

    @property
    def waiting(self) -> str:
        if self.reason or not self._broken_off:
            return ""
        return f"--until {self.text} waits for the other model"

    def stopper(
        self, samples: Sequence[Sample], seed: int, failures: str, benchmark: Benchmark
    ) -> Stopper:
        self._plain_mean = benchmark.headline_sums is None
        self._contest.begin(samples, seed, failures)
        self._broken_off = False
        return self

    def order(self, owed: set[str]) -> Iterator[Sample]:
        for place, unit in enumerate(self._contest.units()):
            if self.reason:
                return
            wanted = [sample for sample in unit.samples if sample.id in owed]
            if wanted and place >= self._contest.until:
                self._broken_off = True
                return
            yield from wanted

    def finished(self, record: Record) -> None:
        self._contest.note(self._which, record)

    def told(self, summary: Summary) -> Summary:
        found = self._contest.difference()
        if found is None or found.interval is None:
            return summary
        said = self.reason or (
            f"not decided by {found.n:,} samples (difference {found.value:.1f}, "
            f"{anytime_words(found.interval)})"
        )
        note = f"--until {self.text}: {said}"
        looked = "the difference of the means of the samples' scores"
        notes = [*summary.notices, note]
        if not self._plain_mean:
            notes += no_mean(summary, looked)
        if self.reason:
            notes.append(_AT_STOP)
        metrics = {**summary.metrics, found.name: found}
        return structs.replace(summary, metrics=metrics, notices=tuple(notes))
