"""Experiment trackers that runs and curves are logged to (TensorBoard, Weights & Biases, MLflow), the metrics that
are logged, and their names (`--track KIND:WHERE`)."""

from __future__ import annotations

import importlib.util
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from snellen.analysis.card_file import stored_cards
from snellen.core.errors import MissingExtra, UsageError, storage_errors
from snellen.core.run import Report
from snellen.models.naming.spec import refuse_userinfo
from snellen.settings import first_nonblank
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from tensorboard.summary import Writer

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


class TensorBoardTracker:
    """Points of a curve are steps of one TensorBoard run, `DIR/NAME`; every other run has a folder
    of its own, named like its run folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._writers: dict[str, Writer] = {}

    def log(self, metrics: RunMetrics) -> None:
        writer = self._writer(self._name if metrics.step is not None else metrics.name)
        step = metrics.step or 0
        for name, value in metrics.values.items():
            writer.add_scalar(name, value, step)
        writer.flush()

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _writer(self, name: str) -> Writer:
        from tensorboard.summary import Writer

        folder = self._folder / re.sub(r"[^\w.+-]+", "_", name)
        if str(folder) not in self._writers:
            self._writers[str(folder)] = Writer(str(folder))
        return self._writers[str(folder)]


def _open_tensorboard(where: str, name: str) -> TensorBoardTracker:
    """The tracker of `tensorboard:DIR`. Raises MissingExtra and StorageError."""
    if importlib.util.find_spec("tensorboard") is None:
        raise MissingExtra("--track tensorboard", "tensorboard", "tensorboard")
    folder = Path(where).expanduser()
    with storage_errors("write to", folder):
        folder.mkdir(parents=True, exist_ok=True)
    return TensorBoardTracker(folder, name)


_STEP = "train/global_step"
"""The axis; the integration of transformers logs the same."""


class WandbTracker:
    """Points of a curve belong to one run of W&B; every other run is one of its own. Both are made
    when the first point is logged, so that a command that fails leaves none."""

    def __init__(self, project: str, name: str) -> None:
        entity, _, self._project = project.rpartition("/")
        self._entity = entity or None
        self._name = name
        self._curve: Any = None

    def log(self, metrics: RunMetrics) -> None:
        if metrics.step is None:
            run = self._init(metrics.name, dict(metrics.facts))
            run.log(dict(metrics.values))
            run.finish()
            return
        if self._curve is None:
            self._curve = self._init(self._name, {})
            self._curve.define_metric(_STEP)
            self._curve.define_metric("*", step_metric=_STEP)
        facts = {f"{metrics.benchmark}.{key}": value for key, value in metrics.facts.items()}
        self._curve.config.update(facts, allow_val_change=True)
        self._curve.log({**metrics.values, _STEP: metrics.step})

    def close(self) -> None:
        if self._curve is not None:
            self._curve.finish()

    def _init(self, name: str, config: dict[str, str]) -> Any:
        import wandb

        return wandb.init(
            project=self._project,
            entity=self._entity,
            name=name,
            config=config,
            job_type="evaluation",
            reinit="create_new",  # the training itself may have a run in this process
            settings=wandb.Settings(silent=True, console="off"),
        )


def _open_wandb(where: str, name: str) -> WandbTracker:
    """The tracker of `wandb:PROJECT`; WANDB_MODE, WANDB_API_KEY and the like are W&B's own. Raises
    MissingExtra."""
    if importlib.util.find_spec("wandb") is None:
        raise MissingExtra("--track wandb", "wandb", "wandb")
    return WandbTracker(where, name)


_MAX_TEXT = 500
"""Characters of a tag that every store of MLflow takes."""


class MlflowTracker:
    """A run of the experiment `snellen`, or of the one in MLFLOW_EXPERIMENT_NAME: points of a curve are steps of one
    run, every other run is one of its own."""

    def __init__(self, uri: str, name: str) -> None:
        self._uri = uri
        self._name = name
        self._client: Any = None
        self._experiment = ""
        self._curve = ""

    def log(self, metrics: RunMetrics) -> None:
        """Log metrics and tags to the curve's run, or to a run of its own that is then closed."""
        client = self._connect()
        if metrics.step is None:
            run = self._create(metrics.name)
        else:
            run = self._curve = self._curve or self._create(self._name)
        from mlflow.entities import Metric, RunTag

        time_ms, step = int(1000 * time.time()), metrics.step or 0
        prefix = "" if metrics.step is None else f"{metrics.benchmark}."
        client.log_batch(
            run,
            metrics=[Metric(name, value, time_ms, step) for name, value in metrics.values.items()],
            # Tags, unlike parameters, may change from step to step.
            tags=[RunTag(f"{prefix}{name}", text[:_MAX_TEXT]) for name, text in metrics.facts.items()],
        )
        if metrics.step is None:
            client.set_terminated(run)

    def close(self) -> None:
        if self._curve:
            self._client.set_terminated(self._curve)

    def _connect(self) -> Any:
        if self._client is None:
            from mlflow import MlflowClient

            self._client = MlflowClient(tracking_uri=self._uri)
            name = first_nonblank(["MLFLOW_EXPERIMENT_NAME"]) or "snellen"
            found = self._client.get_experiment_by_name(name)
            self._experiment = found.experiment_id if found else self._client.create_experiment(name)
        return self._client

    def _create(self, name: str) -> str:
        run = self._client.create_run(self._experiment, run_name=name)
        return str(run.info.run_id)


def _open_mlflow(where: str, name: str) -> MlflowTracker:
    """The tracker of `mlflow:URI`. Raises MissingExtra."""
    if importlib.util.find_spec("mlflow") is None:
        raise MissingExtra("--track mlflow", "mlflow", "mlflow-skinny")
    return MlflowTracker(where, name)


_OPENERS: Mapping[str, Callable[[str, str], Tracker]] = {
    "tensorboard": _open_tensorboard,
    "wandb": _open_wandb,
    "mlflow": _open_mlflow,
}


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
    return SafeTracker(spec, _OPENERS[kind](where.strip(), name), warn or partial(print, file=sys.stderr))


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
