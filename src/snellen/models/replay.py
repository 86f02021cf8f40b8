"""`replay`: recorded predictions as replies, so that a file is scored like a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity, ModelDefaults
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Compare, Generate, Request, Sampling
from snellen.core.sample import rotation_row
from snellen.models.naming.provider import ModelListing, Provider, read_options

RecordedReply = str | Generated | Failure
"""A recorded reply; a failure is one that the other system did not get."""


class Recording(NamedTuple):
    """Predictions of one system by question id, and the SHA-256 (hex) of the file's bytes."""

    predictions: Mapping[str, RecordedReply]
    digest: str


PredictionsReader = Callable[[str], Recording]
"""Reads a predictions file. Raises DataError."""


class Replay(ModelDefaults):
    """Answers from recorded predictions, by the id of the data row, else of the sample.

    Rotation r of question i, where the data have no row for it, is answered by the prediction of id
    i + r * 1,000,000, as in MMBench's files and in Snellen's own exports (`rotation_row`). A
    question without a prediction is a `missing` failure, never an empty reply.
    """

    concurrency = 64
    by_row = True

    def __init__(self, predictions: Mapping[str, RecordedReply], digest: str, name: str = "file") -> None:
        self._predictions = predictions
        self.identity = Identity("replay", name, {"revision": f"sha256:{digest}"})
        self.capabilities = Capabilities(inputs=frozenset({"text", "image", "video", "audio"}))

    def cannot_sample(self, sampling: Sampling) -> str | None:
        return "its replies are recorded; leave out temperature, top_p and seed"

    async def answer(self, request: Request) -> Output:
        if not isinstance(request, Generate):
            return Failure("unsupported", "recorded predictions hold no log-likelihoods")
        return self.reply(request)

    def reply(self, request: Request) -> Output:
        """The recorded reply, synchronously, for scoring outside an event loop.

        For `Rank` and `Draw` requests it is the option letter that was chosen when recording.
        """
        ref = request.ref
        if isinstance(request, Compare):
            return Failure("unsupported", "recorded predictions hold no pictures")
        question_id = ref.row if ref.row is not None else ref.sample
        if ref.row is None and ref.turn > 0:
            question_id = rotation_row(ref.sample, ref.turn)
            if question_id not in self._predictions:
                of = f"turn {ref.turn} of {ref.sample}"
                return Failure("missing", f"no recorded prediction for {of}")
        return self.reply_to(question_id)

    def reply_to(self, question_id: str) -> Output:
        """The recorded reply to a question, or row, of this id."""
        reply = self._predictions.get(question_id)
        if reply is None:
            return Failure("missing", f"no recorded prediction for id {question_id!r}")
        return Generated(reply) if isinstance(reply, str) else reply


def replay_provider(read: PredictionsReader) -> Provider:
    """The provider `replay`, which reads files of predictions by `read`."""

    def open_replay(name: str, options: Mapping[str, str]) -> Replay:
        read_options("replay", options, ())
        if not name:
            raise UsageError("replay needs a file of predictions: replay/<file>")
        recording = read(name)
        return Replay(recording.predictions, recording.digest, Path(name).name)

    return Provider(
        name="replay",
        open=open_replay,
        models=(ModelListing("replay/<file>", "Replies recorded in a file of predictions (id, text)."),),
    )
