"""Annotations of samples, stored in the run's folder in `annotations.jsonl`.

A line is one change: who made it, when, and what was set. Lines are appended and never rewritten,
so that any number of browser tabs and servers may write at once and nothing is lost; of several
values of one field the last line wins. Labels are added and removed one by one, so that two people
who add different labels keep both.

An annotation is about a `sample` (its gold is wrong; it holds for all runs of the same data) or
about the `reply` of this run to it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
from filelock import FileLock, Timeout
from msgspec import Meta, Struct

from snellen.core.errors import StorageError, storage_errors

ANNOTATIONS_FILE = "annotations.jsonl"
LOCK_FILE = ".annotations.lock"
MAX_NOTE, MAX_LABEL, MAX_LABELS, MAX_ID = 10_000, 80, 20, 4_096
"""Characters of a note and of a label, labels of one change, characters of a sample's id."""
MAX_FILE_BYTES = 64_000_000
_LOCK_SECONDS = 10.0

Subject = Literal["sample", "reply"]
Label = Annotated[str, Meta(min_length=1, max_length=MAX_LABEL)]
Labels = Annotated[tuple[Label, ...], Meta(max_length=MAX_LABELS)]


class AnnotationChange(Struct, frozen=True, omit_defaults=True):
    """One line of `annotations.jsonl`. A field that is absent was not changed."""

    sample: Annotated[str, Meta(max_length=MAX_ID)]
    """Id of the sample."""
    about: Subject = "reply"
    flag: bool | None = None
    note: Annotated[str, Meta(max_length=MAX_NOTE)] | None = None
    """The note in full; empty removes it."""
    add: Labels = ()
    remove: Labels = ()
    by: str = ""
    """Who made the change; empty if unknown."""
    at: str = ""
    """When, in UTC, ISO 8601."""


class Annotation(Struct, frozen=True, omit_defaults=True):
    """What is noted about a sample, or about a run's reply to it, after all changes."""

    sample: str
    about: Subject
    flag: bool = False
    note: str = ""
    labels: tuple[str, ...] = ()
    """In the order in which they were added."""
    by: str = ""
    """Who made the last change."""
    at: str = ""
    """When that was."""

    @property
    def is_empty(self) -> bool:
        """Whether everything was removed again."""
        return not (self.flag or self.note or self.labels)


class AnnotationLog(NamedTuple):
    """The changes of a run folder, in order."""

    changes: tuple[AnnotationChange, ...]
    unreadable: tuple[int, ...]
    """Numbers, from 1, of lines that are no changes: torn by a killed server, or edited."""


_decode_change = msgspec.json.Decoder(AnnotationChange).decode
_encode = msgspec.json.Encoder().encode


def read_changes(folder: Path) -> AnnotationLog:
    """Read the changes of a run folder; without a file there are none. Raises StorageError."""
    path = folder / ANNOTATIONS_FILE
    with storage_errors("read", path):
        if path.is_symlink() or not path.exists():
            return AnnotationLog((), ())
        data = path.read_bytes()
    changes: list[AnnotationChange] = []
    unreadable: list[int] = []
    # A last line without an end may still be being written.
    *lines, _ = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            changes.append(_decode_change(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            if line.strip():
                unreadable.append(number)
    return AnnotationLog(tuple(changes), tuple(unreadable))


def append_change(folder: Path, change: AnnotationChange) -> AnnotationChange:
    """Append a change, timestamped now, and return it as it was written.

    The line is on the disk when this returns. A line that a killed process left unfinished is
    ended first. Raises StorageError if the folder cannot be written.
    """
    path = folder / ANNOTATIONS_FILE
    try:
        with FileLock(folder / LOCK_FILE, timeout=_LOCK_SECONDS):
            change = msgspec.structs.replace(change, at=_now())
            append_line(path, _encode(change))
    except Timeout:
        raise StorageError(
            f"cannot write {path}: another process has been writing it for {_LOCK_SECONDS:g} s"
        ) from None
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}; annotations are kept in the run's "
            "folder, so make it writable, or copy the run"
        ) from error
    return change


def append_line(path: Path, line: bytes) -> None:
    """Append a line (or several) in one write and sync it; an unfinished last line is ended first.
    Raises OSError."""
    # Run folders may come from other people: a link is not followed to another file.
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o644)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        if status.st_size + len(line) > MAX_FILE_BYTES:
            raise OSError(f"it has reached {MAX_FILE_BYTES // 1_000_000} MB")
        content = line + b"\n"
        if status.st_size:
            os.lseek(descriptor, -1, os.SEEK_END)
            if os.read(descriptor, 1) != b"\n":
                content = b"\n" + content
        written = os.write(descriptor, content)
        if written < len(content):
            os.ftruncate(descriptor, status.st_size)
            raise OSError("the disk is full")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def merge_changes(changes: Iterable[AnnotationChange]) -> list[Annotation]:
    """The annotations after all changes, in the order in which they began; empty ones are left
    out."""
    annotations: dict[tuple[str, Subject], Annotation] = {}
    for change in changes:
        key = change.sample, change.about
        before = annotations.get(key) or Annotation(change.sample, change.about)
        labels = dict.fromkeys((*before.labels, *change.add))
        annotations[key] = msgspec.structs.replace(
            before,
            flag=before.flag if change.flag is None else change.flag,
            note=before.note if change.note is None else change.note,
            labels=tuple(label for label in labels if label not in change.remove),
            by=change.by,
            at=change.at,
        )
    return [each for each in annotations.values() if not each.is_empty]


def merge_logs(logs: Sequence[Sequence[AnnotationChange]]) -> list[Annotation]:
    """The annotations of samples in several folders together, by the times of the changes."""
    every = (change for log in logs for change in log if change.about == "sample")
    return merge_changes(sorted(every, key=lambda change: change.at))


def used_labels(changes: Iterable[AnnotationChange]) -> list[str]:
    """Labels that are in use, the most frequent first."""
    counts: dict[str, int] = {}
    for annotation in merge_changes(changes):
        for label in annotation.labels:
            counts[label] = counts.get(label, 0) + 1
    return sorted(counts, key=lambda label: (-counts[label], label))
