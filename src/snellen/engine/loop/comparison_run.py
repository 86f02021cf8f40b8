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
from snellen.engine.anytime.early_stop import (
    ANYTIME,
    StopMonitor,
    anytime_text,
    other_headline_notice,
)
from snellen.engine.anytime.sample_order import (
    MIN_UNITS,
    AnytimeMean,
    OrderedScores,
    SampleUnit,
    stratified_order,
)
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.run import run
from snellen.stats.confidence_sequences import NO_DIFFERENCE, bets_for_samples
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

_FIRST_SLICE = 64
_GROWTH = 1.5
_BIAS_NOTICE = (
    "where a difference decides when to stop, the score of the model that is ahead is too high on "
    "average and the other's too low; the anytime interval of the difference holds"
)


@dataclass(slots=True)
class ComparisonStop:
    """The difference is the first less the second, sample by sample: over such questions without
    end, because on a finite set one of two models that guess is ahead too; and so questions about
    one picture are one draw. The two are asked slice by slice, in turn, so that both models need
    not be in memory at once."""

    names: tuple[str, str]
    unit_limit: int = _FIRST_SLICE
    """Units that each may be asked in the present slice."""
    reason: str = ""
    _units: list[SampleUnit] = field(default_factory=list)
    _scores: list[OrderedScores] = field(default_factory=list)
    _next: int = 0
    _anytime_mean: AnytimeMean | None = None

    @property
    def text(self) -> str:
        return f"{self.names[0]}>{self.names[1]}"

    def monitor(self, model_index: Literal[0, 1]) -> _ComparisonMonitor:
        return _ComparisonMonitor(self, model_index)

    def extend_slice(self) -> bool:
        """Let more be asked; False where nothing is left, or all is decided."""
        if self.reason or self.unit_limit >= len(self._units):
            return False
        self.unit_limit = max(self.unit_limit + 1, int(self.unit_limit * _GROWTH))
        return True

    def start(self, samples: Sequence[Sample], seed: int, failures: str) -> None:
        if self._units:
            return
        self._units = stratified_order(samples, seed)
        self._scores = [OrderedScores(self._units, failures) for _ in self.names]
        mixture = bets_for_samples(len(self._units))
        self._anytime_mean = AnytimeMean(self._units, mixture, prediction=NO_DIFFERENCE)

    def units(self) -> Sequence[SampleUnit]:
        return self._units

    def add_record(self, model_index: int, record: Record) -> None:
        self._scores[model_index].add_record(record)
        first, second = self._scores
        while first.is_complete(self._next) and second.is_complete(self._next):
            pairs = zip(first.scores(self._next), second.scores(self._next), strict=True)
            # Differences lie in -1..1; a confidence sequence wants 0..1.
            halves = [
                None if one is None or other is None else (one - other + 1) / 2
                for one, other in pairs
            ]
            assert self._anytime_mean is not None
            self._anytime_mean.add(self._units[self._next], halves)
            self._next += 1
            if (
                any(half is not None for half in halves)
                and not self.reason
                and self._anytime_mean.units >= MIN_UNITS
            ):
                self._decide()

    def difference(self) -> Metric | None:
        """In points, with its anytime interval."""
        if self._anytime_mean is None or self._anytime_mean.mean is None:
            return None
        return Metric(
            f"{ANYTIME}_difference",
            100 * (2 * self._anytime_mean.mean - 1),
            self._anytime_mean.samples,
            self._interval(),
            note=self.text,
            unit="points",
        )

    def total_samples(self) -> int:
        return sum(len(unit.samples) for unit in self._units)

    def _interval(self) -> Interval:
        assert self._anytime_mean is not None
        interval = self._anytime_mean.interval()
        return structs.replace(
            interval, low=100 * (2 * interval.low - 1), high=100 * (2 * interval.high - 1)
        )

    def _decide(self) -> None:
        assert self._anytime_mean is not None
        if not self._anytime_mean.excludes(NO_DIFFERENCE):
            return
        interval, difference = self._interval(), self.difference()
        assert difference is not None
        better, worse = self.names if interval.low > 0 else reversed(self.names)
        self.reason = (
            f"decided after {difference.n:,} of {self.total_samples():,} samples: {better} is "
            f"ahead of {worse} (difference {difference.value:.1f}, {anytime_text(interval)})"
        )


def run_comparison(
    plans: Sequence[RunPlan], store: ResponseStore, keep_servers: Callable[..., object]
) -> list[RunFolder]:
    """Run both plans slice by slice until the comparison is decided or all samples were asked.

    Both are run once more at the end, so that both folders state the result. `keep_servers` is
    called with the models of a plan before they are asked. Raises as `run` does.
    """
    first, second = plans
    comparison = ComparisonStop((first.model_name, second.model_name))
    monitors = (comparison.monitor(0), comparison.monitor(1))
    monitored_plans = [
        replace(plan, stop_rule=side) for plan, side in zip(plans, monitors, strict=True)
    ]
    models = [model for plan in plans for model in (plan.model, *plan.roles.values())]
    while True:
        for plan, side in zip(monitored_plans, monitors, strict=True):
            keep_servers(*models)
            folder = run(plan, store)
            if folder.info.status == "interrupted" and not side.waits_for and not side.reason:
                # A spent budget, a model that does not answer: the other waits for nothing.
                return [folder]
        if not comparison.extend_slice():
            return [run(plan, store) for plan in monitored_plans]


class _ComparisonMonitor:
    """One model's part in a contest: the rule and its stopper in one."""

    def __init__(self, comparison: ComparisonStop, model_index: Literal[0, 1]) -> None:
        self._comparison = comparison
        self._model_index = model_index
        self._slice_ended = False
        self._plain_mean = True

    @property
    def text(self) -> str:
        return self._comparison.text

    @property
    def reason(self) -> str:
        return self._comparison.reason

    @property
    def waits_for(self) -> str:
        if self.reason or not self._slice_ended:
            return ""
        return f"--until {self.text} waits for the other model"

    def start_monitor(
        self, samples: Sequence[Sample], seed: int, failures: str, benchmark: Benchmark
    ) -> StopMonitor:
        self._plain_mean = benchmark.headline_sums is None
        self._comparison.start(samples, seed, failures)
        self._slice_ended = False
        return self

    def order(self, pending: set[str]) -> Iterator[Sample]:
        for index, unit in enumerate(self._comparison.units()):
            if self.reason:
                return
            samples = [sample for sample in unit.samples if sample.id in pending]
            if samples and index >= self._comparison.unit_limit:
                self._slice_ended = True
                return
            yield from samples

    def add_record(self, record: Record) -> None:
        self._comparison.add_record(self._model_index, record)

    def annotate(self, summary: Summary) -> Summary:
        difference = self._comparison.difference()
        if difference is None or difference.interval is None:
            return summary
        outcome = self.reason or (
            f"not decided by {difference.n:,} samples (difference {difference.value:.1f}, "
            f"{anytime_text(difference.interval)})"
        )
        notice = f"--until {self.text}: {outcome}"
        basis = "the difference of the means of the samples' scores"
        notices = [*summary.notices, notice]
        if not self._plain_mean:
            notices += other_headline_notice(summary, basis)
        if self.reason:
            notices.append(_BIAS_NOTICE)
        metrics = {**summary.metrics, difference.name: difference}
        return structs.replace(summary, metrics=metrics, notices=tuple(notices))
