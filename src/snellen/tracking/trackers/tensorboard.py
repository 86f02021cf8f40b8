"""TensorBoard: event files that it draws as scalars."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.core.errors import MissingExtra, storage_errors
from snellen.tracking.trackers.tracker import RunMetrics

if TYPE_CHECKING:
    from tensorboard.summary import Writer


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


def open_tracker(where: str, name: str) -> TensorBoardTracker:
    """The tracker of `tensorboard:DIR`. Raises MissingExtra and StorageError."""
    if importlib.util.find_spec("tensorboard") is None:
        raise MissingExtra("--track tensorboard", "tensorboard", "tensorboard")
    folder = Path(where).expanduser()
    with storage_errors("write to", folder):
        folder.mkdir(parents=True, exist_ok=True)
    return TensorBoardTracker(folder, name)
