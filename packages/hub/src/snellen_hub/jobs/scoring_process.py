"""Scoring in a process of its own, with limits of memory and time: a file of a stranger that needs
more ends that process, and not the worker.

The process gets a folder with the data and the predictions and leaves the numbers there as JSON. It
is forked from a server that has imported everything (`multiprocessing`'s forkserver), so that a
start takes milliseconds. The limits are against accidents and hostile sizes: the process runs as
the same user.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from snellen.api.scored import Scored
from snellen.api.scoring import score
from snellen.core.errors import SnellenError, UsageError
from snellen_hub.benchmark_data import Protocol
from snellen_hub.config import ScoringLimits
from snellen_hub.errors import HubUnavailable
from snellen_hub.jobs.contributions import RowScores, row_scores
from snellen_hub.samples.replies import encode_replies

_TASK, _RESULT, _PART = "task.json", "result.json", "result.part"
REPLIES_FILE = "replies"
"""What the process writes beside the numbers, if replies are kept."""
_LOOK = 0.2
"""Seconds between two looks whether the scoring has been abandoned."""
_MEGABYTE = 1_000_000


class ScoringDied(Exception):
    """The process ended without a result."""


class ScoringAbandoned(Exception):
    """The worker does not want the result any more."""


class ScoringTask(Struct, frozen=True):
    """What is scored. The files lie in the folder."""

    spec: str
    protocol: Protocol
    data: str
    predictions: str
    model: str
    names: tuple[str, ...] = ()
    """The items whose replies are kept, in their order; none of a hidden split."""
    ids: tuple[str, ...] | None = None
    """The questions that are scored; None: all. Others are not looked at."""
    parts: tuple[tuple[str, ...], ...] = ()
    """Questions of parts that are scored by themselves."""


class ScoringResult(Struct, frozen=True, omit_defaults=True):
    """The numbers, or why there are none."""

    problem: str = ""
    """A sentence about the submission."""
    mistake: str = ""
    """An error of Snellen's own."""
    outage: str = ""
    """A disk of this machine is full."""
    summary: dict[str, Any] = {}
    samples: RowScores = RowScores()
    parts: tuple[dict[str, Any], ...] = ()
    """The summaries of the task's parts."""


def score_in_process(
    folder: Path, task: ScoringTask, limits: ScoringLimits, is_abandoned: Callable[[], bool]
) -> ScoringResult:
    """Score the files of a folder in a process of its own.

    Raises UsageError for a submission that cannot be scored within the limits, ScoringDied if the
    process ended otherwise, ScoringAbandoned once `is_abandoned` says so, HubUnavailable if a disk
    is full.
    """
    (folder / _TASK).write_bytes(msgspec.json.encode(task))
    process = _context().Process(target=_score_folder, args=(str(folder), limits.memory_mb))
    process.start()
    try:
        _wait(process, limits.minutes, is_abandoned)
        if process.exitcode != 0:
            code = process.exitcode or 0
            how = f"by signal {-code}" if code < 0 else f"with code {code}"
            raise ScoringDied(f"scoring was ended {how}; perhaps the machine has too little memory")
    finally:
        process.close()
    result = msgspec.json.decode((folder / _RESULT).read_bytes(), type=ScoringResult)
    for sentence, kind in (
        (result.problem, UsageError),
        (result.outage, HubUnavailable),
        (result.mistake, ScoringDied),
    ):
        if sentence:
            raise kind(sentence)
    return result


def start_server() -> None:
    """Start the process from which scoring is forked, and wait until it has imported what it needs:
    the first job would otherwise."""
    process = _context().Process(target=_do_nothing)
    process.start()
    process.join()
    process.close()


def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _wait(process: BaseProcess, minutes: float, is_abandoned: Callable[[], bool]) -> None:
    """Wait for the end of the process, which is killed if it is late or abandoned."""
    end = time.monotonic() + 60 * minutes
    while not wait([process.sentinel], _LOOK):
        is_late = time.monotonic() > end
        if is_late or is_abandoned():
            process.kill()
            process.join()
            if is_late:
                raise UsageError(f"scoring took longer than the {minutes:g} minutes that it may")
            raise ScoringAbandoned
    process.join()


def _do_nothing() -> None:
    pass


def _score_folder(name: str, memory_mb: int) -> None:
    """What the process does."""
    # Ctrl-C reaches every process of a terminal, and the worker decides what becomes of the job.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_worker()
    _limit_memory(memory_mb)
    folder = Path(name)
    try:
        task = msgspec.json.decode((folder / _TASK).read_bytes(), type=ScoringTask)
        scored = _score(folder, task, task.ids)
        if task.names:
            (folder / REPLIES_FILE).write_bytes(encode_replies(scored.records, task.names))
        parts = [_score(folder, task, ids) for ids in task.parts]
        ordered = sorted(scored.records, key=lambda record: (record.position or 0, record.id))
        result = ScoringResult(
            summary=_public_summary(scored, folder, is_hidden=task.ids is not None),
            samples=row_scores(scored.benchmark, ordered),
            parts=tuple(_public_summary(each, folder, is_hidden=True) for each in parts),
        )
    except SnellenError as error:
        result = ScoringResult(problem=str(error).replace(f"{folder}/", ""))
    except MemoryError:
        result = ScoringResult(problem=f"scoring needs more than {memory_mb:,} MB of memory")
    except Exception as error:  # noqa: BLE001 - recorded with the job
        problem = f"{type(error).__name__}: {error}"
        is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        result = ScoringResult(outage=problem) if is_full else ScoringResult(mistake=problem)
    (folder / _PART).write_bytes(msgspec.json.encode(result))
    (folder / _PART).replace(folder / _RESULT)


def _score(folder: Path, task: ScoringTask, ids: Sequence[str] | None = None) -> Scored:
    data = str(folder / task.data)
    return score(
        task.spec or data,
        folder / task.predictions,
        data=data if task.spec else None,
        variant=task.protocol.variant(None),
        columns=task.protocol.columns,
        judges=(),  # verdicts in a submission are the submitter's own
        name=task.model,
        ids=ids,
    )


def _public_summary(scored: Scored, folder: Path, *, is_hidden: bool) -> dict[str, Any]:
    """The summary as JSON values; its notices name files without this machine's folder, and say
    nothing of hidden data: with a checksum of the file guesses of its private answers could be
    tried."""
    prefix = f"{folder}/"
    left_out = scored.data.note if is_hidden and scored.data is not None else ""
    notices = tuple(notice.replace(prefix, "") for notice in scored.summary.notices if notice != left_out)
    values: dict[str, Any] = msgspec.to_builtins(structs.replace(scored.summary, notices=notices))
    return values


def _limit_memory(memory_mb: int) -> None:
    """Limit the address space to what is in use and `memory_mb` beyond; no core files, which would
    hold answers."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + memory_mb * _MEGABYTE
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _end_with_worker() -> None:
    """End this process if the worker ends, also if it is killed. The server from which this process
    was forked cannot be asked: it lives as long as any of its children."""
    worker = multiprocessing.parent_process()
    assert worker is not None

    def watch() -> None:
        worker.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
