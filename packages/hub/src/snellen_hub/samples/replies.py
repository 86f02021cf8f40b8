"""The replies of a submission to every question, in a file of which single pages can be read.

Layout: `SNR1`, the length of the index as 4 bytes (little-endian), the index (`_Index`, MessagePack
compressed by zlib), then chunks of 50 replies each, also MessagePack compressed by zlib. The index
holds where each chunk begins, and one byte a question that says how it ended; so a filter by right
or wrong reads no reply, and a page of 50 questions one chunk.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from snellen.core.errors import StorageError
from snellen.core.output import Failure, Generated, NoMatch, Outcome, ParsedAnswer, Ranked, Refused
from snellen.core.record import Pass, Record
from snellen.report.page.samples import record_result
from snellen_hub.bounded_cache import BoundedCache
from snellen_hub.storage import Storage

CHUNK = 50
MAX_REPLY = 20_000
"""Characters of the replies to a question that are kept for pages, all passes together. The rest is
in the submission itself."""
MAX_ANSWER = 500
"""Characters of an answer that are kept: of an open question it may be the complete reply."""
MAX_PASSES = 26
"""Passes of a question that are kept: CircularEval has as many as options."""
ReplyResult = Literal["none", "wrong", "partly", "right", "unscored"]
RESULTS: tuple[ReplyResult, ...] = get_args(ReplyResult)
_MAGIC = b"SNR1"
_HEAD = struct.Struct("<4sI")
_FIRST_READ = 64_000
"""Bytes that are read first: mostly the complete index."""
_KEPT_BYTES = 64_000_000
"""Bytes of indexes and chunks that a process keeps."""


class StoredPass(Struct, frozen=True, array_like=True, omit_defaults=True):
    """One reply, and what was parsed from it."""

    reply: str
    answer: str | None = None
    rule: str = ""
    """Name of the parsing rule; of a failure its kind."""
    span: tuple[int, int] | None = None
    """Where the answer stands in the reply, in characters."""
    correct: bool | None = None
    length: int = 0
    """Characters of the complete reply, if it is cut."""
    row: str = ""
    """Id of the row, if the pass is a rotation of the question."""


class StoredReply(Struct, frozen=True, array_like=True, omit_defaults=True):
    """How a submission answered one question."""

    outcome: Outcome
    score: float | None = None
    answer: str | None = None
    passes: tuple[StoredPass, ...] = ()


class _Index(Struct, array_like=True):
    offsets: list[int]
    """Where each chunk begins, counted from the end of the index, and where the last ends."""
    results: bytes
    """Indexes of `RESULTS`, a byte a question."""
    start: int = 0
    """Bytes before the first chunk; not stored."""


_decode_index = msgspec.msgpack.Decoder(_Index).decode
_decode_chunk = msgspec.msgpack.Decoder(list[StoredReply | None]).decode
_encode = msgspec.msgpack.Encoder().encode


def encode_replies(records: Iterable[Record], names: Sequence[str]) -> bytes:
    """The file of some records; `names` are the ids of all questions in their order."""
    by_name = {record.id: record for record in records}
    results = bytearray()
    offsets, chunks = [0], []
    for first in range(0, len(names), CHUNK):
        chunk = [by_name.get(name) for name in names[first : first + CHUNK]]
        ends = ("none" if record is None else record_result(record) for record in chunk)
        results += bytes(map(RESULTS.index, ends))
        stored = [None if record is None else reduce_record(record) for record in chunk]
        chunks.append(zlib.compress(_encode(stored)))
        offsets.append(offsets[-1] + len(chunks[-1]))
    index = zlib.compress(_encode(_Index(offsets, bytes(results))))
    return b"".join((_HEAD.pack(_MAGIC, len(index)), index, *chunks))


def reduce_record(record: Record) -> StoredReply:
    """What is stored of a record."""
    turns = record.passes[:MAX_PASSES]
    passes = tuple(_reduce_pass(turn, MAX_REPLY // len(turns)) for turn in turns)
    return StoredReply(record.outcome, record.score, _reduce_answer(record.answer), passes)


def shorten(reply: StoredReply, longest: int) -> StoredReply:
    """The reply with at most so many characters of each pass."""
    passes = tuple(
        turn
        if len(turn.reply) <= longest
        else msgspec.structs.replace(turn, reply=turn.reply[:longest], span=None, length=turn.length or len(turn.reply))
        for turn in reply.passes
    )
    return msgspec.structs.replace(reply, passes=passes)


class RepliesReader:
    """Reads files of replies, and keeps what was read last. Thread-safe: files never change."""

    def __init__(self, storage: Storage, kept_bytes: int = _KEPT_BYTES) -> None:
        self._storage = storage
        # Indexes under the number -1, and chunks as they stand, compressed.
        self._kept: BoundedCache[tuple[str, int], _Index | bytes] = BoundedCache(kept_bytes, _size)

    def results(self, key: str) -> NDArray[np.uint8]:
        """How each question ended, as indexes of `RESULTS`. Raises StorageError."""
        return np.frombuffer(self._index(key).results, np.uint8)

    def replies(self, key: str, positions: Sequence[int]) -> Mapping[int, StoredReply]:
        """The replies to some questions, by position. Raises StorageError."""
        index = self._index(key)
        by_chunk: dict[int, list[int]] = {}
        for position in positions:
            by_chunk.setdefault(position // CHUNK, []).append(position)
        read: dict[int, StoredReply] = {}
        for number, asked in by_chunk.items():
            if not 0 <= number < len(index.offsets) - 1:
                continue
            chunk = self._chunk(key, index, number)
            for position in asked:
                place = position % CHUNK
                reply = chunk[place] if place < len(chunk) else None
                if reply is not None:
                    read[position] = reply
        return read

    def _chunk(self, key: str, index: _Index, number: int) -> list[StoredReply | None]:
        kept = self._kept.get((key, number))
        if not isinstance(kept, bytes):
            begin, end = index.offsets[number], index.offsets[number + 1]
            kept = self._storage.get_range(key, index.start + begin, end - begin)
            self._kept.put((key, number), kept)
        try:
            return _decode_chunk(zlib.decompress(kept))
        except (zlib.error, msgspec.DecodeError) as error:
            raise _damage_error(key) from error

    def _index(self, key: str) -> _Index:
        kept = self._kept.get((key, -1))
        if isinstance(kept, _Index):
            return kept
        head = self._storage.get_range(key, 0, _FIRST_READ)
        try:
            magic, length = _HEAD.unpack_from(head)
            if magic != _MAGIC:
                raise _damage_error(key)
            start = _HEAD.size + length
            data = head[_HEAD.size : start]
            if len(data) < length:
                data = self._storage.get_range(key, _HEAD.size, length)
            index = _decode_index(zlib.decompress(data))
        except (struct.error, zlib.error, msgspec.DecodeError) as error:
            raise _damage_error(key) from error
        index.start = start
        self._kept.put((key, -1), index)
        return index


def _size(kept: _Index | bytes) -> int:
    if isinstance(kept, bytes):
        return len(kept)
    return len(kept.results) + 40 * len(kept.offsets)


def _damage_error(key: str) -> StorageError:
    return StorageError(f"the file of replies {key} in the storage is damaged")


def _reduce_answer(answer: str | None) -> str | None:
    if answer is None or len(answer) <= MAX_ANSWER:
        return answer
    return answer[:MAX_ANSWER] + "…"


def _reduce_pass(turn: Pass, longest: int) -> StoredPass:
    output, answer = turn.output, turn.answer
    text = rule = ""
    if isinstance(output, Generated):
        text = output.text
    elif isinstance(output, Failure):
        rule = output.kind
    elif isinstance(output, Ranked):
        rule = "ranked"
    value, span = None, None
    if isinstance(answer, ParsedAnswer):
        value, span = answer.value, answer.span
    if isinstance(answer, ParsedAnswer | NoMatch | Refused):
        rule = answer.rule
    is_cut = len(text) > longest
    if span is not None and not 0 <= span[0] < span[1] <= min(len(text), longest):
        span = None
    return StoredPass(
        text[:longest], _reduce_answer(value), rule, span, turn.correct, len(text) if is_cut else 0, turn.row or ""
    )
