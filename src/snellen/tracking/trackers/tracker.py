"""Experiment trackers, the metrics that are logged, and their names (`--track KIND:WHERE`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Protocol

from snellen.analysis.card_file import stored_cards
from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.models.naming.spec import refuse_userinfo
from snellen.store.runs import RunFolder

TRACKERS = {
    "tensorboard": "tensorboard:DIR, a folder for its event files",
    "wandb": "wandb:PROJECT or wandb:ENTITY/PROJECT",
    "mlflow": "mlflow:URI, of its server or store",
}
"""Kinds of trackers, and how each is named."""

Warn = Callable[[str], object]


@dataclass(slots=True)
class RunMetrics:
    """What is logged of one run."""

    name: str
    """Name of the run folder."""
    model: str
    benchmark: str
    step: int | None
    """Training step; None for a run that is not a point of a curve."""
    folder: Path
    values: dict[str, float] = field(default_factory=dict)
    """Numbers by name, `BENCHMARK/NAME`: score, interval, n, outcomes, tokens, cost."""
    facts: dict[str, str] = field(default_factory=dict)
    """Texts: metric, version, protocol card, settings, where the run folder is."""


class Tracker(Protocol):
    """Logs runs somewhere. Any exception of a tracker becomes one warning; no run is lost."""

    def log(self, metrics: RunMetrics) -> None:
        """Log one run. Called as soon as it is finished."""
        ...

    def close(self) -> None:
        """Write what is pending, and end."""
        ...


def run_metrics(run: RunFolder, report: Report, step: int | None = None) -> RunMetrics:
    """What is logged of a finished run."""
    info, summary = run.info, report.summary
    headline, prefix = summary.headline, info.benchmark
    found = RunMetrics(run.name, info.model, info.benchmark, step, run.path.absolute())
    values = found.values
    if headline.value is not None:
        values[f"{prefix}/score"] = headline.value
    if headline.interval is not None:
        values[f"{prefix}/score_low"] = headline.interval.low
        values[f"{prefix}/score_high"] = headline.interval.high
    values[f"{prefix}/n"] = headline.n
    values[f"{prefix}/samples"] = summary.total
    for outcome, count in summary.outcomes.items():
        values[f"{prefix}/outcomes/{outcome}"] = count
    spent = info.spent.get("model")
    usage = spent.usage if spent is not None else None
    values[f"{prefix}/prompt_tokens"] = usage.prompt_tokens if usage else info.counts.prompt_tokens
    values[f"{prefix}/completion_tokens"] = usage.completion_tokens if usage else info.counts.completion_tokens
    values[f"{prefix}/seconds"] = info.counts.seconds
    costs = [role.cost for role in info.spent.values() if role.cost is not None]
    if costs:
        values[f"{prefix}/cost"] = sum(costs)
    card = stored_cards().get(info.benchmark)
    found.facts |= {
        "model": info.model,
        "benchmark": info.benchmark,
        "metric": headline.name,
        "version": info.config.version,
        "data": info.data.digest,
        "status": info.status,
        "folder": str(found.folder),
        **{f"setting.{key}": value for key, value in info.config.parameters.items()},
    }
    if info.config.limit is not None:
        found.facts["limit"] = str(info.config.limit)
    if card is not None and card.version == info.config.version:
        found.facts["protocol_card"] = card.digest
    return found


def open_tracker(spec: str, name: str, warn: Warn | None = None) -> Tracker:
    """Open a tracker by name: `tensorboard:DIR`, `wandb:PROJECT`, `mlflow:URI`.

    `name` is what its run is called where all points belong to one. After its first failure, which
    `warn` gets as a sentence, a tracker logs nothing more. Raises UsageError for another kind,
    nothing after the colon, and an address with a password; and MissingExtra.
    """
    kind, colon, where = spec.partition(":")
    if kind not in TRACKERS or not colon or not where.strip():
        raise UsageError(f"--track {spec}: expected {'; '.join(TRACKERS.values())}")
    refuse_userinfo(where, "and set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD")
    module = import_module(f"snellen.tracking.trackers.{kind}")
    tracker: Tracker = module.open_tracker(where.strip(), name)
    return SafeTracker(spec, tracker, warn or partial(print, file=sys.stderr))


class SafeTracker:
    """A tracker whose failures cannot end a run: after the first, which is a warning, it is left
    alone."""

    def __init__(self, spec: str, tracker: Tracker, warn: Warn) -> None:
        self._spec = spec
        self._tracker = tracker
        self._warn = warn
        self.has_failed = False

    def log(self, metrics: RunMetrics) -> None:
        self._attempt(lambda: self._tracker.log(metrics))

    def close(self) -> None:
        self._attempt(self._tracker.close)

    def _attempt(self, action: Callable[[], None]) -> None:
        if self.has_failed:
            return
        try:
            action()
        except Exception as error:  # noqa: BLE001 - foreign code, and the run matters more
            self.has_failed = True
            lines = str(error).strip().splitlines() or [type(error).__name__]
            self._warn(
                f"{self._spec} logs nothing more: {lines[0]} ({type(error).__name__}); the runs "
                "are kept, and nothing else depends on it"
            )


@contextmanager
def open_trackers(specs: Sequence[str], name: str, warn: Warn | None = None) -> Iterator[list[Tracker]]:
    """Trackers for the time of a `with` block; they are closed at its end. Raises as
    `open_tracker`."""
    trackers: list[Tracker] = []
    try:
        for spec in specs:
            trackers.append(open_tracker(spec, name, warn))
        yield trackers
    finally:
        for tracker in trackers:
            tracker.close()


@contextmanager
def open_run_log(specs: Sequence[str], warn: Warn | None = None) -> Iterator[Callable[[Sequence[RunFolder]], None]]:
    """A function that logs finished runs with these trackers. Raises as `open_tracker`."""
    with open_trackers(specs, "snellen", warn) as trackers:

        def log_runs(runs: Sequence[RunFolder]) -> None:
            for run in runs:
                metrics = run_metrics(run, run.report())
                for tracker in trackers:
                    tracker.log(metrics)

        yield log_runs


def track(runs: Sequence[RunFolder], *specs: str, warn: Warn | None = None) -> None:
    """Log finished runs: `track(results.runs, "tensorboard:logs", "wandb:my-project")`.

    Raises UsageError for a name that is no tracker's, and MissingExtra; a tracker that fails is a
    warning.
    """
    with open_run_log(specs, warn) as log_runs:
        log_runs(runs)
