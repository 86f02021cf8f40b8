"""The replies in a file that a stranger has uploaded: read in a limited process, and held against
the questions of a benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from pathlib import Path, PurePosixPath
from threading import BoundedSemaphore

import msgspec
from msgspec import Struct

from snellen.core.benchmark import Benchmark
from snellen.core.errors import DataError, UsageError
from snellen.core.limits import MB, Limits
from snellen.core.sample import Sample, rotation_row
from snellen.data.detect import TABLES
from snellen.data.predictions import Prediction, read_predictions
from snellen.data.tables.unpack import FREE_SPACE
from snellen.generated_code.limited import CallFailed, call_limited
from snellen.generated_code.limits import ProgramLimits
from snellen.generated_code.runner import WorkerLost
from snellen.settings import Settings
from snellen_hub.config import SubmissionLimits
from snellen_hub.errors import HubUnavailable

_EXAMPLES = 3
"""Ids that a sentence names."""
_SECONDS = 120
_BASE_MB = 1500
"""Address space of the libraries, and of a small file."""
_AT_ONCE = 4
"""Files that a server reads at the same time, each with that much memory."""
_turns = BoundedSemaphore(_AT_ONCE)
_REPLY_MB = 8
"""Length of a reply, and of a row in a file that is read by rows."""
_UNPACKED = r"\1 unpacks to more than this hub takes"
_ADVICE = {
    re.compile(r"; choose one with --columns .*", re.DOTALL): "; rename the column that is meant",
    re.compile(r"; the file holds \d+ values of .*", re.DOTALL): "; leave one of them out",
    re.compile(r"; to go on all the same, raise \w+"): "; this hub takes no more",
    re.compile(r"^(.*) cannot be unpacked: .* GB free; .*"): _UNPACKED,
    re.compile(r"^cannot write (.*): File too large; .*"): _UNPACKED,
}
"""Advice to use flags of a command or variables, which nobody can set here, and what is said
instead."""


class Reply(Struct, frozen=True):
    """One line of a stored submission."""

    index: str
    prediction: str


class QuestionRows(Struct, frozen=True, array_like=True):
    """The ids of the rows that answer a question."""

    rows: tuple[str, ...]
    """Its own, and under CircularEval those of its rotations."""
    unused: tuple[str, ...] = ()
    """Rows of its rotations that the data have, where it is asked once."""
    part: int = 0
    """As in `question_parts`."""

    @property
    def name(self) -> str:
        """The id of the question."""
        return self.rows[0]


_Upload = tuple[str, bytes, SubmissionLimits]
"""Name and content of a file, and what may be in it."""
_Read = tuple[list[Reply], str]
"""What a limited process has read: the replies, or the mistake of the file."""


def question_rows(benchmark: Benchmark, sample: Sample) -> QuestionRows:
    """The rows that answer a question, as the benchmark asks it."""
    from snellen.benchmarks.protocol.flows import planned_passes

    inner = tuple(turn.row for turn in sample.rotations)
    if "circular" not in benchmark.parameters:
        return QuestionRows((sample.id,), inner)
    passes = planned_passes(sample)
    return QuestionRows(tuple(each.row or rotation_row(sample.id, turn) for turn, each in enumerate(passes)))


def decode_questions(data: bytes) -> list[QuestionRows]:
    """Stored questions. Those of earlier versions are bare ids."""
    found = msgspec.json.decode(data, type=list[str | QuestionRows])
    return [QuestionRows((each,)) if isinstance(each, str) else each for each in found]


def read_replies(name: str, content: bytes, limits: SubmissionLimits) -> list[Reply]:
    """The replies in an uploaded file, which a limited process reads. Raises DataError for what is
    wrong with it, HubUnavailable if no such process can be had."""
    size = limits.megabytes * 1_000_000
    if len(content) > size:
        raise DataError(f"the file has {len(content):,} bytes; at most {size:,} are taken")
    allowed = ProgramLimits(
        cpu_seconds=_SECONDS,
        wall_seconds=2.0 * _SECONDS,
        memory_mb=_BASE_MB + 8 * limits.megabytes,
        file_mb=limits.megabytes,
        folder_mb=FREE_SPACE // 1_000_000 + 3 * limits.megabytes,
        report_mb=2 * limits.megabytes,
    )
    upload = msgspec.msgpack.encode((name, content, limits))
    if not _turns.acquire(timeout=_SECONDS):
        raise HubUnavailable("other files are being read; send this one again in a minute")
    try:
        data = call_limited(f"{__name__}:read_upload", upload, allowed)
    except CallFailed as error:
        raise DataError(f"the file cannot be read within the limits: {error}") from error
    except WorkerLost as error:
        raise HubUnavailable(f"files cannot be read at the moment: {error}") from error
    finally:
        _turns.release()
    replies, problem = msgspec.msgpack.decode(data, type=_Read)
    if problem:
        raise DataError(problem)
    return replies


def read_upload(data: bytes) -> bytes:
    """What `read_replies` calls in the limited process, whose working folder is empty."""
    read: _Read
    try:
        read = (_read_file(*msgspec.msgpack.decode(data, type=_Upload)), "")
    except UsageError as error:
        read = ([], str(error))
    return msgspec.msgpack.encode(read)


def _read_file(name: str, content: bytes, limits: SubmissionLimits) -> list[Reply]:
    suffixes = "".join(PurePosixPath(name.lower()).suffixes[-2:])
    plain = suffixes.removesuffix(".gz").rpartition(".")[2]
    if f".{plain}" not in TABLES:
        raise DataError(f"the file is called {name!r}; expected one that ends in {', '.join(TABLES)}, also with .gz")
    folder = Path.cwd()
    path = folder / f"submission.{plain}{'.gz' if suffixes.endswith('.gz') else ''}"
    path.write_bytes(content)
    settings = strict_settings(folder, limits)
    try:
        predictions = read_predictions(path, settings=settings, max_rows=limits.rows)
    except UsageError as error:
        # Unpacked copies of the file stand in the folder too.
        inner = rf"{re.escape(str(folder))}[^\s:;,'\"()]*"
        sentence = re.sub(inner, lambda _: name, str(error))
        raise DataError(without_advice(sentence)) from error
    return _distinct(predictions.rows)


def without_advice(sentence: str) -> str:
    """A sentence of the readers with what a submitter can do, in place of flags and variables."""
    for advice, other in _ADVICE.items():
        sentence = advice.sub(other, sentence)
    return sentence


def check_replies(
    replies: Sequence[Reply], questions: Sequence[QuestionRows], *, is_hidden: bool = False, allow_missing: bool = False
) -> None:
    """Raises DataError if ids are unknown, or if replies are missing and that is not allowed.

    Under CircularEval a question may end with its first wrong reply, but not where the answers are
    hidden: which questions went on would say which replies were right.
    """
    if not replies:
        raise DataError("the file holds no replies")
    known = {row for question in questions for row in (*question.rows, *question.unused)}
    unknown = [reply.index for reply in replies if reply.index not in known]
    if unknown:
        own = [question.rows[0] for question in questions[: _EXAMPLES + 1]]
        few = "are only" if len(own) <= _EXAMPLES else "are for example"
        raise DataError(
            f"{len(unknown):,} of {len(replies):,} ids are not of this benchmark, such as "
            f"{_some(unknown)}; its ids {few} {_some(own)}"
        )
    if allow_missing:
        return
    given = {reply.index for reply in replies}
    missing = [each.rows[0] for each in questions if given.isdisjoint(each.rows)]
    if missing:
        raise DataError(
            f"{len(missing):,} of {len(questions):,} questions have no reply, such as "
            f"{_some(missing)}; give one to each, or allow missing ones, which count as wrong"
        )
    _check_rotations(given, [each.rows for each in questions if len(each.rows) > 1], is_hidden=is_hidden)


def _check_rotations(given: Set[str], rotated: Sequence[Sequence[str]], *, is_hidden: bool) -> None:
    """Raises DataError for questions that are asked in rotations, and were not answered so."""
    once = [rows for rows in rotated if given.isdisjoint(rows[1:])]
    if rotated and len(once) == len(rotated):
        raise DataError(
            "this benchmark asks each question once for each option (CircularEval), and the file "
            f"has one reply to each; the rotations of {rotated[0][0]!r} have the ids "
            f"{_some(rotated[0][1:])}"
        )
    cut = [row for rows in rotated for row in rows if row not in given]
    if cut and is_hidden:
        raise DataError(
            f"{len(cut):,} rotations have no reply, such as {_some(cut)}; where answers are hidden "
            "all are needed: ask each question in all of them, or allow missing ones, which count "
            "as wrong"
        )


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_EXAMPLES]))


def _distinct(rows: Iterable[Prediction]) -> list[Reply]:
    seen: dict[str, str] = {}
    for row in rows:
        if row.missing or row.failure is not None:
            continue
        if len(row.reply) > _REPLY_MB * MB:
            raise DataError(f"row {row.number}: the reply is longer than {_REPLY_MB} MB")
        earlier = seen.setdefault(row.id, row.reply)
        if earlier != row.reply:
            raise DataError(f"row {row.number}: there is another reply to {row.id!r} before")
    return [Reply(name, reply) for name, reply in seen.items()]


def strict_settings(folder: Path, limits: SubmissionLimits) -> Settings:
    """Limits for files of strangers, and a cache that is deleted with the file."""
    tight = Limits(
        row_mb=_REPLY_MB,
        columns=500,
        cells=5_000_000,
        depth=20,
        document_mb=limits.megabytes,
        member_mb=limits.megabytes,
        unpacked_gb=1,
        picture_mb=1,
    )
    settings = Settings.from_environment({"SNELLEN_CACHE": str(folder / "cache")})
    return replace(settings, limits=tight, offline=True, media_folders=())
