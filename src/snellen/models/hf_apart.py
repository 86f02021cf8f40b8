"""Prompts computed each from its first token, by transformers' own `generate`, in batches that
fit."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from snellen.core.output import Failure, Generated
from snellen.models.halving import MODEL_ERRORS, failure_of, halving
from snellen.models.hf_generate import Asked, generate
from snellen.models.hf_loaded import Loaded
from snellen.models.hf_sizing import Sizing, Work


class Answered(NamedTuple):
    """What became of one batch."""

    start: int
    """Place of its first prompt."""
    replies: Sequence[Generated | Failure]
    seconds: float


def apart(loaded: Loaded, asked: Sequence[Asked], size: Sizing) -> Iterator[Answered]:
    """Replies to prompts that share their settings, all with as many pictures, batch by batch."""
    settings = asked[0].request.settings

    def work(batch: Sequence[Asked]) -> list[Generated]:
        # How long prompts are is not known before they are read: each counts as one token.
        task = Work(len(batch), 1)
        try:
            with size.measured(task):
                replies = generate(loaded, batch, settings)
                task.has_said(sum(one.usage.completion_tokens for one in replies if one.usage))
        except MODEL_ERRORS as error:
            if failure_of(error).kind == "out_of_memory":
                size.short(len(batch))
            raise
        return replies

    alone = loaded.profile is not None and loaded.profile.alone
    start = 0
    while start < len(asked):
        room = 1 if alone else size.room(1)
        started = time.perf_counter()
        replies = halving(asked[start : start + room], work)
        yield Answered(start, replies, time.perf_counter() - started)
        start += len(replies)
