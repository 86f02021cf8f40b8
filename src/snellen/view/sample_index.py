"""Index of the samples of a run that may still grow: where each is stored, and what to filter by.

Samples stay in their files. In memory are a few bytes per sample and column, the ids, and the text
that is searched.
"""

from __future__ import annotations

import base64
import os
import sys
import time
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, get_args

import msgspec
from msgspec import Struct

from snellen.core.answer_text import READABLE, answer_texts
from snellen.core.arrays import np
from snellen.core.errors import DataError, StorageError
from snellen.core.output import OUTCOMES, Outcome
from snellen.core.record import Record
from snellen.core.sample import Kind
from snellen.report.page.confusion import AnswerTally
from snellen.report.page.samples import Result, record_result
from snellen.store.runs import FAILURES_FILE, SAMPLES_FILE

RESULTS: tuple[Result, ...] = get_args(Result)
KINDS: tuple[Kind, ...] = get_args(Kind)
NO_SCORE = -1.0


class _IndexedUsage(Struct, gc=False):
    completion_tokens: int = 0


class _IndexedOutput(Struct, gc=False):
    text: str = ""
    message: str = ""
    usage: _IndexedUsage | None = None
    seconds: float | None = None


class _IndexedPart(Struct, gc=False):
    text: str = ""


class _IndexedMessage(Struct, gc=False):
    parts: list[_IndexedPart]


class _PassView(Struct, gc=False):
    prompt: list[_IndexedMessage]
    output: _IndexedOutput


class _RepeatView(Struct, gc=False):
    passes: list[_PassView] = []


class _IndexedSample(Struct, gc=False):
    """The fields of a record that are indexed; the others are not decoded."""

    id: str
    kind: Kind
    question: str
    outcome: Outcome
    score: float | None = None
    answer: str | None = None
    gold: tuple[str, ...] = ()
    options: dict[str, str] = {}
    groups: dict[str, str] = {}
    passes: list[_PassView] = []
    repeats: list[_RepeatView] = []
    position: int | None = None

    def outputs(self) -> Iterator[_IndexedOutput]:
        """The outputs of all passes of all draws."""
        turns = chain(self.passes, *(draw.passes for draw in self.repeats))
        return (turn.output for turn in turns)

    def text(self) -> str:
        """The text to search, in lower case: id, first prompt, question, options, gold, answer and
        replies. Texts that the prompt contains are not repeated."""
        prompt_parts = [part.text for turn in self.passes[:1] for message in turn.prompt for part in message.parts]
        prompt = "\n".join(filter(None, prompt_parts))
        answers = (*self.gold, self.answer or "")
        answers = answer_texts(answers, self.kind) if self.kind in READABLE else answers
        more = (self.question, *self.options.values(), *answers)
        replies = (output.text or output.message for output in self.outputs())
        parts = (self.id, prompt, *(text for text in more if text not in prompt), *replies)
        return "\n".join(parts).lower()


_decode_row = msgspec.json.Decoder(_IndexedSample).decode
_decode_record = msgspec.json.Decoder(Record).decode


class _SampleFile:
    """A growing file of samples, and how many bytes of it have been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_read = 0
        self._inode = 0

    def is_restarted(self) -> bool:
        """Whether the file no longer begins with what was read: it shrank or was replaced."""
        if not self.bytes_read:
            return False
        try:
            now = self.path.stat()
        except FileNotFoundError:
            return True
        return now.st_size < self.bytes_read or now.st_ino != self._inode

    def new_lines(self) -> Iterator[tuple[int, bytes]]:
        """Complete lines that were not read yet, with their offsets in bytes."""
        try:
            with self.path.open("rb") as file:
                self._inode = os.fstat(file.fileno()).st_ino
                offset = self.bytes_read
                file.seek(offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    yield offset, line
                    offset += len(line)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror or error}") from error


class _GroupColumn(NamedTuple):
    """A grouping: for each sample the number of its label, 0 without one; numbers by label."""

    codes: array[int]
    labels: dict[str, int]


class SampleIndex:
    """The samples of a run folder by index, finished ones and failures in the order in which they
    were read. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._files = [_SampleFile(folder / name) for name in (SAMPLES_FILE, FAILURES_FILE)]
        self._lock = Lock()
        self.generation = 0
        """Counts restarts of the run, after which an index means another sample."""
        self._reset()

    def _reset(self) -> None:
        self.generation += 1
        self.ids: list[str] = []
        self.tallies: Counter[tuple[Result, Outcome]] = Counter()
        self.answers = AnswerTally()
        self._file_indices, self._offsets = array("B"), array("Q")
        self._codes = {name: array("B") for name in ("result", "outcome", "kind")}
        self._score, self._answer = array("f"), array("I")
        self._position, self._tokens, self._seconds = array("i"), array("I"), array("f")
        self._groups: dict[str, _GroupColumn] = {}
        self._texts: list[str] = []
        for file in self._files:
            file.bytes_read = 0

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of the questions."""
        return frozenset(KINDS[code] for code in set(self._codes["kind"]))

    def refresh(self, seconds: float = float("inf")) -> bool:
        """Read new samples for about this many seconds; returns whether all were read.

        Raises DataError for a line that is not a sample, StorageError if a file cannot be read.
        """
        deadline = time.monotonic() + seconds
        with self._lock:
            if any(file.is_restarted() for file in self._files):
                self._reset()
            for file_index, file in enumerate(self._files):
                for offset, line in file.new_lines():
                    self._add(file_index, offset, line)
                    file.bytes_read = offset + len(line)
                    if len(self) % 256 == 0 and time.monotonic() > deadline:
                        return False
        return True

    def _add(self, file_index: int, offset: int, line: bytes) -> None:
        """Index one line of a file: its offset and the values that samples are filtered and sorted
        by. Raises DataError."""
        try:
            row = _decode_row(line)
        except msgspec.DecodeError as error:
            raise DataError(f"{self._files[file_index].path}: no sample record at byte {offset} ({error})") from error
        result = record_result(row)
        self.tallies[result, row.outcome] += 1
        self.answers.add(row)
        self.ids.append(row.id)
        self._file_indices.append(file_index)
        self._offsets.append(offset)
        self._codes["result"].append(RESULTS.index(result))
        self._codes["outcome"].append(OUTCOMES.index(row.outcome))
        self._codes["kind"].append(KINDS.index(row.kind))
        self._score.append(NO_SCORE if row.score is None else row.score)
        self._answer.append(0 if row.answer is None else zlib.crc32(row.answer.encode()) or 1)
        self._position.append(-1 if row.position is None else row.position)
        outputs = list(row.outputs())
        self._tokens.append(sum(each.usage.completion_tokens for each in outputs if each.usage))
        self._seconds.append(sum(each.seconds or 0.0 for each in outputs))
        self._label(row.groups)
        self._texts.append(row.text())

    def _label(self, groups: dict[str, str]) -> None:
        done = len(self._texts)
        for column in groups.keys() - self._groups.keys():
            self._groups[column] = _GroupColumn(array("I", bytes(4 * done)), {})
        for column, (codes, labels) in self._groups.items():
            label = groups.get(column)
            codes.append(0 if label is None else labels.setdefault(label, len(labels) + 1))

    def columns(self, first: int = 0) -> dict[str, Any]:
        """The columns of the samples from index `first`, as plain JSON. Arrays are base64 of
        little-endian numbers, of the widths that `columns.js` expects."""
        with self._lock:
            return {
                "generation": self.generation,
                "from": first,
                "rows": len(self),
                "ids": self.ids[first:],
                **{name: _encode_array(codes[first:]) for name, codes in self._codes.items()},
                "score": _encode_array(self._score[first:]),
                "answer": _encode_array(self._answer[first:]),
                "position": _encode_array(self._position[first:]),
                "tokens": _encode_array(self._tokens[first:]),
                "seconds": _encode_array(self._seconds[first:]),
                "groups": {
                    column: {"labels": list(labels), "codes": _encode_array(codes[first:])}
                    for column, (codes, labels) in self._groups.items()
                },
            }

    def records(self, indices: Sequence[int]) -> list[Record]:
        """Samples by index, read from their files. Raises IndexError for an unknown index."""
        with self._lock:
            locations = [(self._file_indices[file_index], self._offsets[file_index]) for file_index in indices]
        opened = [file.path.open("rb") if file.bytes_read else None for file in self._files]
        try:
            return [_decode_record(_read_line(opened[file_index], offset)) for file_index, offset in locations]
        finally:
            for file in opened:
                if file is not None:
                    file.close()

    def search(self, text: str, first: int = 0) -> tuple[int, bytes]:
        """Search the samples from index `first` for `text`, in any case. Returns how many were
        searched, and one bit for each, the lowest bit of a byte first."""
        needle = text.strip().lower()
        matches = [needle in text for text in self._texts[first:]]
        return len(matches), np.packbits(np.array(matches, dtype=bool), bitorder="little").tobytes()

    def texts(self, first: int, last: int) -> list[str]:
        """The searched texts of the samples from `first` up to, but not including, `last`."""
        return self._texts[first:last]


def _read_line(file: Any, offset: int) -> bytes:
    file.seek(offset)
    line: bytes = file.readline()
    return line


def _encode_array(numbers: array[Any]) -> str:
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode()
