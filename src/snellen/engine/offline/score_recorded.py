"""Scores recorded replies by the benchmark's own flow, without asking the model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from snellen.benchmarks.protocol.flows import SinglePassFlow
from snellen.core.benchmark import Benchmark
from snellen.core.infrequent_gc import infrequent_gc
from snellen.core.model import Model
from snellen.core.output import Generated
from snellen.core.record import Record, run_flow
from snellen.core.sample import Sample
from snellen.models.replay import RecordedReply, Replay
from snellen.store.responses import ResponseStore

_BLOCK_SIZE = 64


class ScoredReplies(NamedTuple):
    records: list[Record]
    warnings: tuple[str, ...]


class Judges(NamedTuple):
    """Extractors and judges of recorded replies, by role, and the store of their verdicts."""

    models: Mapping[str, Model]
    store: ResponseStore


def score_replies(
    benchmark: Benchmark,
    replies: Mapping[str, RecordedReply],
    digest: str = "",
    judges: Judges | None = None,
    ids: Collection[str] | None = None,
) -> ScoredReplies:
    """Score `replies` (row id to reply), and return the records of the benchmark's samples.

    A sample without a reply is `missing`; a warning counts replies that belong to no sample.
    With `ids`, these samples alone are scored. Requests to other roles go to `judges`, whose
    verdicts are stored and reused. Raises UsageError if the judges cannot answer all of them.
    """
    replay = Replay(replies, digest)
    row_ids: set[str] = set()

    def blocks_of_samples() -> Iterator[list[Sample]]:
        for block in _split_blocks(benchmark.samples(benchmark.open())):
            row_ids.update([sample.id for sample in block])
            # Rotations after an early stop are not asked, but their rows are known.
            row_ids.update([rotation.row for sample in block for rotation in sample.rotations])
            yield block if ids is None else [sample for sample in block if sample.id in ids]

    blocks = blocks_of_samples()
    if judges is None or not judges.models:
        flow, reply, reply_to = benchmark.flow, replay.reply, replay.reply_to
        with infrequent_gc():
            if isinstance(flow, SinglePassFlow) and not flow.config.extractor:
                # One request of which all is known: it need not be made.
                score, found = flow.score_reply, replies.get
                records = [
                    score(sample, output if type(output := found(sample.id)) is Generated else reply_to(sample.id))
                    for block in blocks
                    for sample in block
                ]
            else:
                records = [run_flow(flow(sample), reply) for block in blocks for sample in block]
    else:
        from snellen.engine.offline.judge_recorded import judge_samples

        records = judge_samples(benchmark, chain.from_iterable(blocks), replay, judges.models, judges.store)
    extra = [] if replies.keys() <= row_ids else [key for key in replies if key not in row_ids]
    return ScoredReplies(records, _extra_warnings(extra))


def _extra_warnings(extra: Sequence[str]) -> tuple[str, ...]:
    if not extra:
        return ()
    noun = "prediction" if len(extra) == 1 else "predictions"
    return (f"{len(extra)} {noun} of no known question, not counted (the first has the id {extra[0]!r})",)


def _split_blocks(samples: Iterator[Sample]) -> Iterator[list[Sample]]:
    """Split the samples into blocks: alternating between reading data and parsing replies for each
    sample evicts the processor's caches, which costs an eighth of the time."""
    while block := list(islice(samples, _BLOCK_SIZE)):
        yield block
