"""`--until 'A>B'`: two runs on the same samples, stopped once one is known to score higher."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from msgspec import structs

from snellen.core.benchmark import Benchmark
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.core.summary import ANYTIME, Interval, Metric, Summary
from snellen.engine.anytime.early_stop import StopMonitor, anytime_text, other_headline_notice
from snellen.engine.anytime.sample_order import MIN_UNITS, AnytimeMean, OrderedScores, SampleUnit, stratified_order
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
    """The stop rule of two paired runs: the sign of the mean score difference, first less second.

    The mean is that of an infinite population of such questions: on a finite set one of two models
    that guess is always ahead. So all questions about one image are a single draw. The models are
    asked in turn, slice by slice, so that both need not be in memory at once.
    """

    names: tuple[str, str]
    unit_limit: int = _FIRST_SLICE
    """Units that each model may be asked up to the end of the current slice."""
    reason: str = ""
    """Why no more samples are needed: a clause; empty until the comparison is decided."""
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
        """Allow more units; False if all were allowed or the comparison is decided."""
        if self.reason or self.unit_limit >= len(self._units):
            return False
        self.unit_limit = max(self.unit_limit + 1, int(self.unit_limit * _GROWTH))
        return True

    def start(self, samples: Sequence[Sample], seed: int, failures: str) -> None:
        """Order the samples; does nothing for the second model, or in later slices."""
        if self._units:
            return
        self._units = stratified_order(samples, seed)
        self._scores = [OrderedScores(self._units, failures) for _ in self.names]
        mixture = bets_for_samples(len(self._units))
        self._anytime_mean = AnytimeMean(self._units, mixture, prediction=NO_DIFFERENCE)

    def units(self) -> Sequence[SampleUnit]:
        return self._units

    def add_record(self, model_index: int, record: Record) -> None:
        """Add a finished sample of one model; may decide the comparison.

        A unit counts once both models have finished it, in the random order.
        """
        self._scores[model_index].add_record(record)
        first, second = self._scores
        while first.is_complete(self._next) and second.is_complete(self._next):
            pairs = zip(first.scores(self._next), second.scores(self._next), strict=True)
            # Differences lie in -1..1 and a confidence sequence takes 0..1: no difference is 0.5.
            differences = [None if left is None or right is None else (left - right + 1) / 2 for left, right in pairs]
            assert self._anytime_mean is not None
            self._anytime_mean.add(self._units[self._next], differences)
            self._next += 1
            has_score = any(difference is not None for difference in differences)
            if has_score and not self.reason and self._anytime_mean.units >= MIN_UNITS:
                self._decide()

    def difference(self) -> Metric | None:
        """The mean difference in points, with its anytime interval; None before the first unit."""
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
        return structs.replace(interval, low=100 * (2 * interval.low - 1), high=100 * (2 * interval.high - 1))

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
    monitored_plans = [replace(plan, stop_rule=monitor) for plan, monitor in zip(plans, monitors, strict=True)]
    models = [model for plan in plans for model in (plan.model, *plan.roles.values())]
    while True:
        # Each `run` asks one slice and then ends as interrupted, waiting for the other model; the
        # next one resumes it from its folder.
        for plan, monitor in zip(monitored_plans, monitors, strict=True):
            keep_servers(*models)
            folder = run(plan, store)
            if folder.info.status == "interrupted" and not monitor.waits_for and not monitor.reason:
                # Interrupted for another reason (a spent budget, a model that does not answer):
                # the comparison cannot be decided, so the other model is not asked any further.
                return [folder]
        if not comparison.extend_slice():
            return [run(plan, store) for plan in monitored_plans]
        # What the others take is known by now.
        monitored_plans = [replace(plan, on_forecast=None) for plan in monitored_plans]


class _ComparisonMonitor:
    """One model's side of a comparison: both its stop rule and its stop monitor."""

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

    def start_monitor(self, samples: Sequence[Sample], seed: int, failures: str, benchmark: Benchmark) -> StopMonitor:
        self._plain_mean = benchmark.headline_sums is None
        self._comparison.start(samples, seed, failures)
        self._slice_ended = False
        return self

    def units(self) -> Sequence[SampleUnit]:
        return self._comparison.units()

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
