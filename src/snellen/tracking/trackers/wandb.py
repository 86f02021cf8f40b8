"""Weights & Biases: a run of a project, with training steps as its axis."""

from __future__ import annotations

import importlib.util
from typing import Any

from snellen.core.errors import MissingExtra
from snellen.tracking.trackers.tracker import RunMetrics

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


def open_tracker(where: str, name: str) -> WandbTracker:
    """The tracker of `wandb:PROJECT`; WANDB_MODE, WANDB_API_KEY and the like are W&B's own. Raises
    MissingExtra."""
    if importlib.util.find_spec("wandb") is None:
        raise MissingExtra("--track wandb", "wandb", "wandb")
    return WandbTracker(where, name)
