"""Annotations of the runs that are shown: read as often as their files change, and written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from snellen.core.errors import UsageError
from snellen.store.annotations import (
    ANNOTATIONS_FILE,
    MAX_ID,
    MAX_NOTE,
    Annotation,
    AnnotationChange,
    AnnotationLog,
    Labels,
    Subject,
    append_change,
    merge_changes,
    merge_logs,
    read_changes,
    used_labels,
)

MAX_SUGGESTIONS = 200


class ChangeRequest(Struct, forbid_unknown_fields=True):
    """What a page asks to be noted."""

    run: Annotated[str, Meta(max_length=MAX_ID)]
    """Key of the run."""
    sample: Annotated[str, Meta(max_length=MAX_ID)]
    about: Subject = "reply"
    flag: bool | None = None
    note: Annotated[str, Meta(max_length=MAX_NOTE)] | None = None
    add: Labels = ()
    remove: Labels = ()


def decode_change(body: bytes) -> ChangeRequest:
    """Raises UsageError for anything but a change within the limits."""
    try:
        request = msgspec.json.decode(body, type=ChangeRequest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"this is not an annotation: {error}") from error
    if request.flag is None and request.note is None and not (request.add or request.remove):
        raise UsageError("this annotation changes nothing: it has no flag, note or label")
    return request


class AnnotationCache:
    """The annotations of run folders, each file read again when it has changed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._logs: dict[Path, tuple[tuple[int, int], AnnotationLog]] = {}

    def log(self, folder: Path) -> AnnotationLog:
        """The changes of one folder. Raises StorageError."""
        state = _file_state(folder)
        with self._lock:
            cached = self._logs.get(folder)
            if cached is None or cached[0] != state:
                empty = AnnotationLog((), ())
                cached = state, read_changes(folder) if any(state) else empty
                self._logs[folder] = cached
            return cached[1]


def annotations_json(
    cache: AnnotationCache, folder: Path, same_data: Sequence[Path], library: Iterable[Path]
) -> dict[str, Any]:
    """What the page knows of a run's annotations: those of its replies, those of samples from all
    runs of the `same_data`, and the labels in use in the `library`."""
    own = cache.log(folder)
    logs = [cache.log(path) for path in same_data]
    suggestions = used_labels(change for path in library for change in cache.log(path).changes)
    replies = [each for each in merge_changes(own.changes) if each.about == "reply"]
    samples = merge_logs([log.changes for log in logs])
    return {
        "reply": {each.sample: _describe(each) for each in replies},
        "sample": {each.sample: _describe(each) for each in samples},
        "labels": suggestions[:MAX_SUGGESTIONS],
        "notices": _notices(own, folder),
    }


def _describe(annotation: Annotation) -> dict[str, Any]:
    return {
        "flag": annotation.flag,
        "note": annotation.note,
        "labels": list(annotation.labels),
        "by": annotation.by,
        "at": annotation.at,
    }


def _notices(log: AnnotationLog, folder: Path) -> list[str]:
    if not log.unreadable:
        return []
    lines = ", ".join(map(str, log.unreadable[:5]))
    file = f"{folder.name}/{ANNOTATIONS_FILE}"
    return [f"{file}: left out what is not an annotation (lines {lines})"]


def has_annotations(folder: Path) -> bool:
    """Whether a run folder has a file of annotations."""
    return any(_file_state(folder))


def write_change(folder: Path, request: ChangeRequest, by: str) -> None:
    """Append a change that a page asked for. Raises StorageError."""
    change = AnnotationChange(
        sample=request.sample,
        about=request.about,
        flag=request.flag,
        note=None if request.note is None else request.note.strip(),
        add=_clean_labels(request.add),
        remove=request.remove,
        by=by,
    )
    append_change(folder, change)


def _clean_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels with single blanks, each once."""
    cleaned = (" ".join(label.split()) for label in labels)
    return tuple(dict.fromkeys(filter(None, cleaned)))


def _file_state(folder: Path) -> tuple[int, int]:
    try:
        status = (folder / ANNOTATIONS_FILE).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
