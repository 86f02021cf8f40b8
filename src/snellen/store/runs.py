"""Run folders: self-describing, append-only, readable without Snellen.

run.json         what was run: config, versions, digests, hardware, counts
samples.jsonl    one finished sample per line; the sample of a torn last line is asked again
failures.jsonl   samples that failed in the latest start; they are asked again on the next
left-out.jsonl   lines that were removed from samples.jsonl, if any
spent.jsonl      what was spent since run.json was last written; deleted when the run has ended
report.json      the numbers
report.html      the same for a person
media/           thumbnails
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from filelock import FileLock, Timeout
from msgspec import Struct, structs

from snellen import __version__
from snellen.core.atomic_write import save
from snellen.core.errors import DataError, RunLocked, StorageError, UsageError, missing_file, storage_errors
from snellen.core.infrequent_gc import infrequent_gc
from snellen.core.record import KEPT, PLACES_LOOKED_AT, Pass, Record, Repeat, credits_empty_reply, is_drawn
from snellen.core.run import Report, RoleUsage, RunConfig, RunInfo
from snellen.core.shard import find_shard_folders
from snellen.core.summary import Summary

RUN_FILE = "run.json"
SAMPLES_FILE = "samples.jsonl"
FAILURES_FILE = "failures.jsonl"
REPORT_FILE = "report.json"
LEFT_OUT_FILE = "left-out.jsonl"
SPENT_FILE = "spent.jsonl"
LOCK_FILE = ".lock"
ENVIRONMENT_FOLDER = "environment"

T = TypeVar("T")
S = TypeVar("S", bound=Struct)


class ResumeRecord(Struct, frozen=True, gc=False):
    """The fields of a record that resuming a run requires."""

    id: str
    media: tuple[str, ...] = ()
    data_media: tuple[str, ...] | None = None


_record_decoder = msgspec.json.Decoder(Record)
_resume_decoder = msgspec.json.Decoder(ResumeRecord)
_spent_decoder = msgspec.json.Decoder(dict[str, RoleUsage])
_encode = msgspec.json.Encoder().encode
_NOTHING: dict[str, Any] = {}
_PLACES_SEEN = "places seen"
_BLOCK = 1 << 15
"""Bytes of a samples file that are read at once. Records take several times as many bytes as their lines: those
of 256 KB leave a processor's cache before they are used, and reading them takes twice as long."""


def run_folder_name(model: str, benchmark: str, config: RunConfig) -> str:
    """<model>--<benchmark>--<8 hex of the config digest>, in at most 255 bytes."""
    digest = hashlib.sha256(msgspec.json.encode(config, order="sorted")).hexdigest()
    return f"{_in_file_name(model)}--{_in_file_name(benchmark)}--{digest[:8]}"


def _in_file_name(name: str) -> str:
    kept = (
        sign if sign in "._+-" or unicodedata.category(sign)[0] in "LMN" else "/"
        for sign in unicodedata.normalize("NFC", name)
    )
    joined = re.sub("/+", "_", "".join(kept)).strip("_.")
    return joined[-80:].encode()[-110:].decode(errors="ignore")


class RunFolder:
    """A run folder for reading. Raises UsageError if the folder is not a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.info = _read_json(path / RUN_FILE, RunInfo)
        self.was_complete = False
        """Whether the command that returns it found every sample done and asked nothing."""
        self.unasked_address = ""
        """The server that this command named, if another one had given the replies."""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def has_report(self) -> bool:
        """Whether the run ended by itself, complete or not, rather than being killed."""
        return (self.path / REPORT_FILE).is_file()

    def report(self) -> Report:
        return _read_json(self.path / REPORT_FILE, Report)

    def records(self) -> Iterator[Record]:
        """Finished samples, in the order they ended and without duplicates."""
        return distinct_records(read_records(self.path / SAMPLES_FILE))

    def failures(self) -> Iterator[Record]:
        """Samples that failed in the latest start."""
        return read_records(self.path / FAILURES_FILE)

    def read_as(self, kind: type[S]) -> list[S]:
        """Finished samples, then failures, decoded as `kind`: fast, because only the fields of
        `kind` are decoded."""
        decoder = msgspec.json.Decoder(kind)
        files = (self.path / SAMPLES_FILE, self.path / FAILURES_FILE)
        blocks = (_read_blocks(file, decoder) for file in files if file.exists())
        return list(chain.from_iterable(chain.from_iterable(blocks)))


def open_run(path: Path | str) -> RunFolder:
    """Open a run folder for reading. Raises UsageError if it is not one."""
    path = Path(path)
    if not _is_run(path):
        raise UsageError(f"{path} is not a run folder: it has no {RUN_FILE}; give a folder that `snellen run` made")
    return RunFolder(path)


def require_single(runs: Iterable[RunFolder], what: str) -> None:
    """Raises UsageError if a run asked each question several times; `what` names the analysis that
    takes one reply to each."""
    for run in runs:
        if run.info.config.repeats > 1:
            raise UsageError(
                f"{run.path} asked each question {run.info.config.repeats} times, and {what} looks "
                "at one reply to each; give it a run of the same command without --repeats, whose "
                "replies are in the store"
            )


def find_runs(path: Path | str) -> list[RunFolder]:
    """The run at `path`, or every run in the folder `path`, sorted by name. Raises UsageError if
    there is none."""
    path = Path(path)
    if _is_run(path):
        return [open_run(path)]
    folders = sorted(child.parent for child in path.glob(RUN_FILES))
    if not path.exists():
        raise UsageError(f"no run in {path}: {missing_file(path, 'file or folder')}")
    if not folders:
        if path.is_dir() and find_shard_folders(path):
            raise UsageError(f"no run in {path}, but shards of runs: join them with: snellen merge {path}")
        raise UsageError(
            f"no run in {path}: neither it nor a folder in it has a {RUN_FILE}; name the folder "
            f"that a run was written to, or make one with: snellen run ... --out {path}"
        )
    return [open_run(child) for child in folders]


def distinct_runs(paths: Iterable[Path | str]) -> list[RunFolder]:
    """The runs at all `paths` without duplicates, in the order they are first named.

    Of several paths, as a shell makes of `RESULTS/*`, those that exist and hold no run are passed
    over, if any other does. Raises UsageError.
    """
    named = [Path(path) for path in paths]
    runs: dict[Path, RunFolder] = {}
    without_run: list[Path] = []
    for path in named:
        if len(named) > 1 and path.exists() and not holds_run(path):
            without_run.append(path)
            continue
        for run in find_runs(path):
            runs.setdefault(run.path.resolve(), run)
    if without_run and not runs:
        find_runs(without_run[0])
    return list(runs.values())


def holds_run(path: Path) -> bool:
    """Whether a folder is a run or a folder of runs."""
    return _is_run(path) or any(path.glob(RUN_FILES))


def _is_run(path: Path) -> bool:
    # Asked of many folders: a context manager would double what it takes.
    try:
        return (path / RUN_FILE).is_file()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error


def recover_spent(folder: Path, recorded: Mapping[str, RoleUsage]) -> dict[str, RoleUsage]:
    """What the run has spent: by `run.json` (`recorded`), or by what a killed start wrote after
    that. A torn last line is left out."""
    latest: dict[str, RoleUsage] = {}
    with suppress(OSError):
        for line in (folder / SPENT_FILE).read_bytes().splitlines(keepends=True)[-2:]:
            with suppress(msgspec.DecodeError):
                latest = _spent_decoder.decode(line) if line.endswith(b"\n") else latest
    both = {role: (recorded.get(role, RoleUsage()), latest.get(role, RoleUsage())) for role in {**recorded, **latest}}
    return {
        role: max(pair, key=lambda role_usage: (role_usage.answered, role_usage.sent)) for role, pair in both.items()
    }


class RunWriter(AbstractContextManager["RunWriter"]):
    """The only writer of a run folder, which it locks. Use it as a context manager.

    Raises RunLocked if another process has the lock, or if the lock file was removed meanwhile, and
    StorageError if the folder cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: dict[str, int] = {}
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock_path = str(path / LOCK_FILE)
            self._lock = FileLock(self._lock_path)
            self._lock.acquire(timeout=0)
            self._lock_id = self._lock_on_disk()
        except Timeout:
            raise RunLocked(f"another process or call is writing {path}; wait for it, or use another --out") from None
        except OSError as error:
            raise StorageError(f"cannot write to {path}: {error.strerror or error}") from error

    def __exit__(self, *_: object) -> None:
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()
        self._lock.release()

    def recover(self) -> list[ResumeRecord]:
        """The finished samples of earlier starts, in order. Cuts off a torn last line, and deletes
        old failures."""
        samples = self.path / SAMPLES_FILE
        (self.path / FAILURES_FILE).unlink(missing_ok=True)
        if not samples.exists():
            return []
        with storage_errors("write", samples), samples.open("rb+") as file:
            file.truncate(end_of_last_line(file.fileno()))
        return list(chain.from_iterable(_read_blocks(samples, _resume_decoder)))

    def exclude_lines(self, lines: Collection[int]) -> None:
        """Move lines, by index, from `samples.jsonl` to `left-out.jsonl`."""
        self._check_lock()
        samples, other = self.path / SAMPLES_FILE, self.path / LEFT_OUT_FILE
        remaining = samples.with_name(samples.name + ".new")
        with storage_errors("write", samples):
            with samples.open("rb") as old, remaining.open("wb") as new, other.open("ab") as out:
                for position, line in enumerate(old):
                    (out if position in lines else new).write(line)
            remaining.replace(samples)

    def record_spending(self, spent: dict[str, RoleUsage]) -> None:
        """Append what the run has spent over all starts, so that a kill does not lose it."""
        self._append(SPENT_FILE, _encode(spent))

    def append(self, record: Record) -> None:
        """Append a finished sample: one line, one write."""
        self._append(SAMPLES_FILE, _encode(record))

    def append_failure(self, record: Record) -> None:
        self._append(FAILURES_FILE, _encode(record))

    def write_info(self, info: RunInfo) -> None:
        """Write `run.json`, which replaces what was appended about spending."""
        self._check_lock()
        write_json(self.path / RUN_FILE, info)
        if SPENT_FILE in self._files:
            os.close(self._files.pop(SPENT_FILE))
        (self.path / SPENT_FILE).unlink(missing_ok=True)

    def write_report(self, report: Report) -> None:
        self._check_lock()
        write_json(self.path / REPORT_FILE, report)

    def write_environment(self, lock: str, files: Mapping[str, bytes]) -> None:
        """Keep the files of a server's environment, in a folder named by the digest of its lock,
        unless they are there."""
        folder = self.path / ENVIRONMENT_FOLDER / lock[:16]
        if folder.exists():
            return
        self._check_lock()
        with storage_errors("write to", folder):
            folder.mkdir(parents=True)
        for name, content in files.items():
            save(folder / name, content)

    def records(self) -> list[Record]:
        """All samples so far, failures last, with the fields that a summary requires."""
        files = (self.path / SAMPLES_FILE, self.path / FAILURES_FILE)
        return compact_records(chain.from_iterable(map(read_records, files)))

    def _check_lock(self) -> None:
        """Raises RunLocked if the lock file was removed or replaced: another process may then have
        locked the new one, and write too."""
        if self._lock_on_disk() != self._lock_id:
            raise RunLocked(
                f"the lock of {self.path} was removed while this run was going on, so that another "
                "process may be writing it; wait for that one, then start the same command again"
            )

    def _lock_on_disk(self) -> tuple[int, int] | None:
        try:
            stat = os.stat(self._lock_path)  # noqa: PTH116 - before each line that is written
        except FileNotFoundError:
            return None
        return stat.st_dev, stat.st_ino

    def _append(self, name: str, content: bytes) -> None:
        self._check_lock()
        line = content + b"\n"
        try:
            descriptor = self._files.get(name)
            if descriptor is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                descriptor = self._files[name] = os.open(self.path / name, flags, 0o644)
            written = os.write(descriptor, line)
            if written < len(line):
                raise OSError(f"only {written} of {len(line)} bytes were written")
        except OSError as error:
            raise StorageError(
                f"cannot write to {self.path / name}: {error.strerror or error}; "
                "the answers are safe in the store, the same command continues from there"
            ) from error


def distinct_records(records: Iterable[Record]) -> Iterator[Record]:
    """Yield the records, of those with the same id only the first."""
    seen: set[str] = set()
    for record in records:
        if record.id not in seen:
            seen.add(record.id)
            yield record


def compact_records(records: Iterable[Record]) -> list[Record]:
    """Copies of records without requests, option texts and most passes, which share equal values,
    so that a long run is summarised in little memory."""
    shared: dict[object, Any] = {}
    # Records that stay would be visited by one collection of garbage after the other.
    with infrequent_gc():
        return [_compact_record(record, shared) for record in records]


def _compact_record(record: Record, shared: dict[object, Any]) -> Record:
    # Answers to open questions are rarely equal: looking them up would cost more than it saves.
    closed = record.kind in ("choice", "yes_no")
    options, groups, metadata, gold = record.options, record.groups, record.metadata, record.gold
    key = (*options, 1, *groups.items(), 2, *(gold if closed else ()))
    together = shared.get(key)
    if together is None:
        blank = shared.setdefault(("options", *options), dict.fromkeys(options, ""))
        together = shared[key] = (blank, groups, gold)
    options, groups, shared_gold = together
    repeats = record.repeats
    return msgspec.structs.replace(
        record,
        passes=_compact_passes(record, _is_looked_at(record, shared)),
        requests=(),
        position=None,
        score=shared.setdefault(record.score, record.score),
        options=options,
        groups=groups,
        # The notice needs the names and an example.
        metadata=_compact_metadata(metadata, shared) if metadata else _NOTHING,
        gold=shared_gold if closed else gold,
        answer=shared.setdefault(record.answer, record.answer) if closed else record.answer,
        values=record.values or _NOTHING,
        repeats=repeats and tuple([_compact_repeat(one, shared, closed) for one in repeats]),
    )


def _compact_metadata(metadata: dict[str, str], shared: dict[object, Any]) -> dict[str, str]:
    if KEPT in metadata:
        return {KEPT: metadata[KEPT]}
    example: dict[str, str] = shared.setdefault(("metadata", *metadata), metadata)
    return example


def _is_looked_at(record: Record, shared: dict[object, Any]) -> bool:
    """Whether a record is among the first with a reply for a place, in whose passes a notice looks for
    another coordinate space."""
    if record.kind != "place" or not record.passes:
        return False
    seen: int = shared.get(_PLACES_SEEN, 0)
    shared[_PLACES_SEEN] = seen + 1
    return seen < PLACES_LOOKED_AT


def _compact_passes(record: Record | Repeat, is_looked_at: bool = False) -> tuple[Pass, ...]:
    """The passes that notices of the run are made of: why a sample was not asked, that an empty
    reply was given credit, that an answer was drawn at random, and places in another space."""
    if record.unscored == "unsupported":
        return record.passes
    gives_credit = record.score and credits_empty_reply(record.score, record.passes)
    if gives_credit or is_looked_at or is_drawn(record.passes):
        return tuple(msgspec.structs.replace(sample_pass, prompt=(), options={}) for sample_pass in record.passes)
    return ()


def _compact_repeat(repeat: Repeat, shared: dict[object, Any], closed: bool) -> Repeat:
    """A repeat without what summaries do not need; equal repeats of closed questions are shared."""
    compact = msgspec.structs.replace(repeat, passes=_compact_passes(repeat), values=repeat.values or _NOTHING)
    # Repeats of closed questions take few different values: they are shared.
    if not closed or repeat.values or compact.passes:
        return compact
    key = ("repeat", repeat.outcome, repeat.score, repeat.unscored, repeat.answer, repeat.saved, repeat.failure)
    interned: Repeat = shared.setdefault(key, compact)
    return interned


def read_records(path: Path) -> Iterator[Record]:
    """Iterate over the records of a JSONL file; a torn last line is skipped."""
    return chain.from_iterable(_read_blocks(path, _record_decoder) if path.exists() else ())


def _read_blocks(path: Path, decoder: msgspec.json.Decoder[T]) -> Iterator[list[T]]:
    """The decoded lines of a JSONL file, about `_BLOCK` bytes at once: a call for each line would
    cost as much as its reading."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
    read = 0
    with file:
        while lines := file.readlines(_BLOCK):
            # The second half of a torn line is no record: its writer may complete it meanwhile.
            if is_torn := not lines[-1].endswith(b"\n"):
                lines.pop()
            try:
                yield [decoder.decode(line) for line in lines]
            except msgspec.DecodeError as error:
                number = read + _first_unreadable(lines, decoder)
                raise DataError(
                    f"line {number} of {path} is no sample record ({error}); remove that line "
                    "and start again: its answers are still in the store"
                ) from error
            if is_torn:
                return
            read += len(lines)


def complete_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, as bytes with their ends; a torn last line is skipped. Raises
    StorageError."""
    with storage_errors("read", path):
        file = path.open("rb")
    with file:
        yield from (line for line in file if line.endswith(b"\n"))


def _first_unreadable(lines: Iterable[bytes], decoder: msgspec.json.Decoder[T]) -> int:
    """The number of the first line, from 1, that cannot be decoded; 0 if all can."""
    for number, line in enumerate(lines, 1):
        try:
            decoder.decode(line)
        except msgspec.DecodeError:
            return number
    return 0


def write_json(path: Path, value: object) -> None:
    """Write a value as indented JSON, atomically. Raises StorageError."""
    save(path, msgspec.json.format(_encode(value), indent=2) + b"\n")


def _read_json(path: Path, kind: type[S]) -> S:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist: the run has not come that far") from None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
    except msgspec.DecodeError as error:
        raise DataError(f"{path} is not what Snellen writes there: {error}") from error


def end_of_last_line(descriptor: int, block: int = 1 << 16) -> int:
    """Offset after the last newline, where a torn last line begins. Reads backwards by blocks."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - block)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


RUN_FILES = f"[!.]*/{RUN_FILE}"
"""Where the runs of a folder are: those being copied or deleted have names with a dot in front."""


def write_recorded_run(out: Path, run: RunInfo, summary: Summary, records: Sequence[Record]) -> RunFolder:
    """Write a run folder in `out`; one that holds the same predictions is written anew.

    Prompts are left out: which ones the predictions were made with is not known. Samples without a
    prediction are failures. Raises RunLocked and StorageError.
    """
    folder = out / run_folder_name(run.model, run.benchmark, run.config)
    missing = sum(record.is_retryable for record in records)
    counts = structs.replace(run.counts, done=len(records) - missing, failed=missing)
    info = structs.replace(
        run,
        name=folder.name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        status="incomplete" if missing else "complete",
        counts=counts,
        versions={"snellen": __version__},
    )
    with RunWriter(folder) as writer:
        for name in (SAMPLES_FILE, FAILURES_FILE):
            with suppress(FileNotFoundError):
                (folder / name).unlink()
        for position, record in enumerate(records):
            kept = structs.replace(
                record, position=position, passes=tuple(map(_without_prompt, record.passes)), requests=()
            )
            (writer.append_failure if record.is_retryable else writer.append)(kept)
        writer.write_info(info)
        writer.write_report(Report(info, summary))
    return open_run(folder)


def _without_prompt(one: Pass) -> Pass:
    return structs.replace(one, prompt=())
