"""MLflow: a run of the experiment `snellen`, or of the one in MLFLOW_EXPERIMENT_NAME."""

from __future__ import annotations

import importlib.util
import time
from typing import Any

from snellen.core.errors import MissingExtra
from snellen.settings import first_nonblank
from snellen.tracking.trackers.tracker import RunMetrics

_MAX_TEXT = 500
"""Characters of a tag that every store of MLflow takes."""


class MlflowTracker:
    """Points of a curve are steps of one MLflow run; every other run is one of its own."""

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


def open_tracker(where: str, name: str) -> MlflowTracker:
    """The tracker of `mlflow:URI`. Raises MissingExtra."""
    if importlib.util.find_spec("mlflow") is None:
        raise MissingExtra("--track mlflow", "mlflow", "mlflow-skinny")
    return MlflowTracker(where, name)
