"""A step of curation and the data set folder that it writes.

step.json        what made it: step, settings, source with digest, versions, status, counts
items.jsonl      the items, in the columns that Snellen reads; there once the step has ended
media/           their images and videos, named by the SHA-256 of their bytes
decisions.jsonl  every decision, those about the source's items first
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
from filelock import FileLock, Timeout
from msgspec import Struct
from msgspec.structs import replace

from snellen import __version__
from snellen.benchmarks.declaration.data_file import STEP_FILE as STEP_FILE
from snellen.core.atomic_write import atomic_file, save
from snellen.core.errors import DataError, MediaError, RunLocked, StorageError, UsageError, storage_errors
from snellen.core.media import FileSource
from snellen.core.sample import MediaRef
from snellen.data_sets.decisions import DECISIONS_FILE, Decision, latest_decisions, read_decisions, utc_now
from snellen.data_sets.items import ITEMS_FILE, Item, ItemTable, folder_outside, item_record
from snellen.models.remote.media import media_type
from snellen.store.runs import end_of_last_line, write_json

LOCK_FILE = ".lock"


def lock_folder(folder: Path, in_use: str) -> FileLock:
    """Make a folder if need be, and lock it until `release`.

    Raises RunLocked with the sentence `in_use` if another process holds the lock, and StorageError
    if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK_FILE)
        lock.acquire(timeout=0)
    except Timeout:
        raise RunLocked(in_use) from None
    except OSError as error:
        raise StorageError(f"cannot write to {folder}: {error.strerror or error}") from error
    return lock


def set_aside(folder: Path) -> Path:
    """Rename a folder to the first free name of `FOLDER.before-1`, ...; returns it. Raises
    StorageError."""
    number = 1
    while (target := folder.with_name(f"{folder.name}.before-{number}")).exists():
        number += 1
    try:
        return folder.rename(target)
    except OSError as error:
        raise StorageError(f"cannot rename {folder}: {error.strerror or error}") from error


MEDIA_FOLDER = "media"
_SYNC_EVERY = 64
"""Decisions between two flushes to the disk: a crash of the machine loses at most so many, the end
of the process none."""

Status = Literal["running", "waiting", "complete"]
"""`waiting`: the step goes on once people have decided, or once failed requests are asked again."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class SourceInfo(Struct, frozen=True, omit_defaults=True):
    """The data that a step read."""

    name: str
    path: str
    digest: str
    """SHA-256 of its content, in hex."""
    rows: int


class StepInfo(Struct, frozen=True, omit_defaults=True):
    """Content of `step.json`."""

    step: str
    settings: dict[str, Any]
    """What decides the result: the same settings on the same source resume the step."""
    sources: tuple[SourceInfo, ...]
    snellen: str
    created: str
    status: Status = "running"
    ended: str = ""
    inherited: int = 0
    """Decisions that were copied from the source, at the start of `decisions.jsonl`."""
    counts: dict[str, Any] = {}
    """The step's results in numbers."""
    outside: tuple[str, ...] = ()
    """Folders outside of the first data's own from which media were copied, by this step or one
    before: paths and links in somebody else's file may lead anywhere."""


class Step:
    """The only writer of a data set folder; made by `open_step`."""

    def __init__(self, folder: Path, info: StepInfo, decisions: dict[str, Decision], roots: Sequence[Path]) -> None:
        self.folder = folder
        self.info = info
        self._roots = roots
        self.decisions = decisions
        """The decisions of this step so far, the last about each item. Those whose requests failed
        are left out: their items are looked at again."""
        self.was_complete = info.status == "complete"
        """Whether an earlier start had already ended the step."""
        self._log = _open_log(folder / DECISIONS_FILE)
        self._unsynced = 0

    def decide(self, decision: Decision) -> None:
        """Append a decision, timestamped now. It survives the end of this process.

        Raises StorageError if it cannot be written."""
        decision = replace(decision, at=decision.at or utc_now())
        line = _encode(decision) + b"\n"
        try:
            if os.write(self._log, line) < len(line):
                raise OSError("the disk is full")
            self._unsynced += 1
            if self._unsynced >= _SYNC_EVERY:
                os.fsync(self._log)
                self._unsynced = 0
        except OSError as error:
            raise StorageError(
                f"cannot write {self.folder / DECISIONS_FILE}: {error.strerror or error}; the same "
                "command goes on from there"
            ) from error
        self.decisions[decision.item] = decision

    def write_items(self, items: Iterable[Item]) -> int:
        """Write `items.jsonl` and the media of its items; returns the number of items.

        The file appears once it is complete. A medium that cannot be read keeps its place as a path
        where no file is. Raises StorageError.
        """
        media = MediaWriter(self.folder, self._roots)
        count = 0
        try:
            with atomic_file(self.folder / ITEMS_FILE, sync=True) as part, part.open("wb") as file:
                for item in items:
                    record = item_record(item)
                    record.update(media.cells(item.sample.media))
                    file.write(_encode(record) + b"\n")
                    count += 1
        except OSError as error:
            raise StorageError(
                f"cannot write to {self.folder}: {error.strerror or error}; the same command goes on from there"
            ) from error
        if not count:
            raise DataError(f"{self.folder}: no item is left; nothing could be asked of them")
        outside = {*self.info.outside, *media.outside}
        self.info = replace(self.info, outside=tuple(sorted(outside)))
        return count

    def finish(self, counts: Mapping[str, Any], status: Status = "complete") -> None:
        """Write how the step ended into `step.json`."""
        os.fsync(self._log)
        self.info = replace(self.info, status=status, ended=utc_now(), counts=dict(counts))
        _save_info(self.folder, self.info)

    def close(self) -> None:
        os.close(self._log)


@contextmanager
def open_step(
    out: Path | str, step: str, settings: Mapping[str, Any], *sources: ItemTable | SourceInfo
) -> Iterator[Step]:
    """Open a step's folder, new or of an earlier start of the same step, and lock it.

    `settings` are whatever decides the result, as JSON values; not how models are reached. The
    decisions of the first source that is a data set folder are inherited. Raises UsageError for a
    folder that holds anything else, RunLocked if another process writes it, StorageError.
    """
    folder = Path(out).expanduser()
    described = tuple(map(describe_source, sources))
    plain = msgspec.to_builtins(dict(settings))
    # Before anything is written there, be it a lock.
    names = [child.name for child in folder.iterdir()] if folder.is_dir() else []
    if STEP_FILE not in names and not all(map(_is_from_killed_start, names)):
        raise UsageError(f"{folder} is not empty, and no step of snellen curate wrote it; choose another --out")
    lock = lock_folder(folder, f"another process is writing {folder}; wait for it, or use another --out")
    opened = None
    try:
        info = _resumed_info(folder, step, plain, described)
        if info is None:
            inherited = _inherit(folder, sources)
            info = StepInfo(
                step, plain, described, __version__, utc_now(), inherited=inherited, outside=outside_before(sources)
            )
            _save_info(folder, info)
        roots = [each.root for each in sources if isinstance(each, ItemTable) and each.root]
        opened = Step(folder, info, _own_decisions(folder, info), roots)
        yield opened
    finally:
        if opened is not None:
            opened.close()
        lock.release()


def read_step(folder: Path) -> StepInfo:
    """The `step.json` of a data set folder. Raises DataError and StorageError."""
    file = folder / STEP_FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=StepInfo)
    except FileNotFoundError:
        raise DataError(
            f"{folder} is no data set folder: it has no {STEP_FILE}; give a folder that a step of snellen curate wrote"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}") from error
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror or error}") from error


def describe_source(source: ItemTable | SourceInfo) -> SourceInfo:
    """Name, path and digest of a source."""
    if isinstance(source, SourceInfo):
        return source
    return SourceInfo(source.name, source.path, source.digest, len(source))


class MediaWriter:
    """Copies media into a data set folder, each once, under the SHA-256 of its bytes."""

    def __init__(self, folder: Path, roots: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._names: dict[str, str] = {}
        self._roots = roots
        self.outside: set[str] = set()
        """Folders of the files that are in none of the folders `roots`."""

    def cells(self, media: Iterable[MediaRef]) -> dict[str, object]:
        """The cells `image` and `video_path` of an item with these media. Raises OSError."""
        images: list[str] = []
        cells: dict[str, object] = {}
        for ref in media:
            name = self.copy(ref)
            if ref.kind == "video":
                cells["video_path"] = name
            else:
                images.append(name)
        if images:
            cells["image"] = images[0] if len(images) == 1 else images
        return cells

    def copy(self, ref: MediaRef) -> str:
        """Copy a medium; returns its path relative to the folder. Raises OSError."""
        if ref.digest in self._names:
            return self._names[ref.digest]
        folder = folder_outside(ref, self._roots)
        if folder:
            self.outside.add(folder)
        stem = f"{MEDIA_FOLDER}/{ref.digest[:2]}/{ref.digest}"
        target = self._folder / stem
        existing = next(target.parent.glob(f"{target.name}.*"), None)
        if existing is not None and not existing.name.endswith(".part"):
            name = f"{stem}{existing.suffix}"
        else:
            name = self._link(ref, stem) or self._write(ref, stem)
        self._names[ref.digest] = name
        return name

    def _link(self, ref: MediaRef, stem: str) -> str:
        """Link a medium of another data set folder, so that the disk holds its bytes once; "" if it
        is of none, or on another disk."""
        if not isinstance(ref.source, FileSource):
            return ""
        path = Path(ref.source.path)
        # The name is the digest that was computed of the bytes: nobody has edited the file.
        if path.stem != ref.digest or path.parent.parent.name != MEDIA_FOLDER:
            return ""
        name = f"{stem}{path.suffix}"
        target = self._folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, target)
        except OSError:
            return ""
        return name

    def _write(self, ref: MediaRef, stem: str) -> str:
        try:
            data = ref.source.read()
        except MediaError:
            return f"{stem}.missing"
        name = f"{stem}{media_suffix(data, ref.kind)}"
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as part:
            part.write_bytes(data)
        return name


_SUFFIXES = {
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/gif": ".gif",
    "image/bmp": ".bmp",
    "image/tiff": ".tiff",
    "image/webp": ".webp",
    "image/avif": ".avif",
    "video/webm": ".webm",
    "video/x-msvideo": ".avi",
}


def media_suffix(data: bytes, kind: str) -> str:
    """The suffix of a file with these bytes, by its first bytes; `.img` or `.mp4` if unknown."""
    return _SUFFIXES.get(media_type(data), ".mp4" if kind == "video" else ".img")


def _resumed_info(
    folder: Path, step: str, settings: dict[str, Any], sources: tuple[SourceInfo, ...]
) -> StepInfo | None:
    """The info of an earlier start; None in a new folder, and in one whose earlier start decided
    nothing and was another command, such as one with a model's name mistyped. Raises UsageError if
    the folder holds something else."""
    if not (folder / STEP_FILE).exists():
        return None
    info = read_step(folder)
    is_same = (info.step, info.settings, info.sources) == (step, settings, sources)
    if not is_same and info.status == "running" and not _has_decided(folder, info):
        (folder / DECISIONS_FILE).unlink(missing_ok=True)
        return None
    if info.step != step:
        raise UsageError(f"{folder} was written by the step {info.step}, not by {step}; choose another --out")
    before, now = ({source.path: source.digest for source in each} for each in (info.sources, sources))
    if list(before.values()) != list(now.values()):
        raise UsageError(
            f"{folder} was made of other data ({', '.join(before) or 'none'}, as they were on "
            f"{info.created[:10]}); choose another --out, or delete the folder"
        )
    changed = sorted(name for name in {*info.settings, *settings} if info.settings.get(name) != settings.get(name))
    if changed:
        name = changed[0]
        raise UsageError(
            f"{folder} was made with {name} {info.settings.get(name)!r}, now it is "
            f"{settings.get(name)!r}; choose another --out, or delete the folder"
        )
    return info


def _has_decided(folder: Path, info: StepInfo) -> bool:
    """Whether an earlier start made a decision of its own."""
    return next(islice(read_decisions(folder), info.inherited, None), None) is not None


def _is_from_killed_start(name: str) -> bool:
    """Whether a file may come from a start that was killed before it had written `step.json`."""
    return name in (LOCK_FILE, DECISIONS_FILE) or name.endswith(".part")


def outside_before(sources: Iterable[ItemTable | SourceInfo]) -> tuple[str, ...]:
    """The folders `StepInfo.outside` of the data set folders that a step reads."""
    folders = [each.folder for each in sources if isinstance(each, ItemTable) and each.folder]
    found = {name for folder in folders if (folder / STEP_FILE).is_file() for name in read_step(folder).outside}
    return tuple(sorted(found))


def _inherit(folder: Path, sources: Iterable[ItemTable | SourceInfo]) -> int:
    """Copy the decisions about the items of the first source that has any; returns their number."""
    for source in sources:
        if not isinstance(source, ItemTable) or source.folder is None:
            continue
        decisions = [_encode(decision) + b"\n" for decision in read_decisions(source.folder)]
        save(folder / DECISIONS_FILE, b"".join(decisions))
        return len(decisions)
    return 0


def _own_decisions(folder: Path, info: StepInfo) -> dict[str, Decision]:
    """This step's decisions of earlier starts, without those that are to be made again."""
    decisions = latest_decisions(islice(read_decisions(folder), info.inherited, None))
    return {name: each for name, each in decisions.items() if not each.is_retryable}


def _open_log(path: Path) -> int:
    """Open the log for appending; a last line that a killed process left unfinished is cut off.

    Raises StorageError."""
    with storage_errors("write", path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        os.ftruncate(descriptor, end_of_last_line(descriptor))
    return descriptor


def _save_info(folder: Path, info: StepInfo) -> None:
    write_json(folder / STEP_FILE, info)
