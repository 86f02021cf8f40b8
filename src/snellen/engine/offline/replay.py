"""`replay/<file>`: the replies of a predictions file, run like a model."""

from __future__ import annotations

from snellen.data.predictions import read_predictions
from snellen.models.replay import Recording, replay_provider


def read_recording(path: str) -> Recording:
    """Read a predictions file as replies by row id. Raises DataError."""
    predictions = read_predictions(path)
    return Recording(predictions.replies(), predictions.digest)


PROVIDER = replay_provider(read_recording)
