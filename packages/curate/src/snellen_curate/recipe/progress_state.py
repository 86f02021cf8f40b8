"""What the pipeline remembers of each step: what it was run with, and how it ended.

A step is done if it ended with the same options on the same data. Its data are compared by content:
a step before it that was run again and wrote the same items invalidates nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from snellen.core.atomic_write import save
from snellen.core.errors import DataError, StorageError, storage_errors
from snellen.data_sets.decisions import read_decisions
from snellen.data_sets.items import ITEMS_FILE

STATE_FOLDER = ".recipe"
StepStatus = Literal["running", "waiting", "incomplete", "complete"]
"""`waiting`: for people; `incomplete`: the same command goes on, e.g. after failed requests."""
_MAX_HASHED = 200_000_000
"""Bytes of the largest file whose content is compared; larger ones by size and time."""
_encode = msgspec.json.Encoder(order="deterministic").encode


class StepState(Struct, frozen=True):
    """Content of a state file."""

    action: str
    options: dict[str, Any]
    """Those that decide the result."""
    data: str
    """Digest of the data that the step reads."""
    files: dict[str, str]
    """Digests of the files that options name."""
    status: StepStatus
    seconds: float = 0.0
    """Over all starts."""
    message: str = ""
    wrote_folder: bool = False


def read_state(out: Path, folder: str) -> StepState | None:
    """The state of a step; None if it was never started. Raises DataError."""
    path = out / STATE_FOLDER / f"{folder}.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=StepState)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, OSError) as error:
        raise DataError(f"{path} cannot be read: {error}; delete it to run the step again") from (error)


def write_state(out: Path, folder: str, state: StepState) -> None:
    """Write the state of a step at once. Raises StorageError."""
    home = out / STATE_FOLDER
    with storage_errors("write", home):
        home.mkdir(parents=True, exist_ok=True)
    save(home / f"{folder}.json", msgspec.json.format(_encode(state), indent=2))


def differences(before: StepState, now: StepState) -> dict[str, str]:
    """What differs between two states of a step, but for how it ended: a clause by the option, the
    path of a file, or `data`."""
    found: dict[str, str] = {}
    if before.action != now.action:
        found["step"] = f"it was {before.action}, and is {now.action}"
    for key in sorted({*before.options, *now.options}):
        old, new = before.options.get(key), now.options.get(key)
        if old != new:
            found[key] = f"{key} was {_value(old)}, and is {_value(new)}"
    for name in sorted(now.files):
        if name in before.files and before.files[name] != now.files[name]:
            found[name] = f"the file {name} changed"
    if before.data != now.data:
        found["data"] = "its data changed"
    return found


def digest_data(path: Path) -> str:
    """SHA-256 of what a step reads at a path, in hex: of a data set folder, its items and decisions
    without their times; of any other folder, its files; of a file, its content."""
    if (path / ITEMS_FILE).is_file():
        # Decisions count in any order: it depends on how fast models reply.
        lines = sorted(msgspec.json.encode(replace(decision, at="")) for decision in read_decisions(path))
        return hashlib.sha256(_digest_file(path / ITEMS_FILE).encode() + b"".join(lines)).hexdigest()
    if path.is_dir():
        names = sorted(each for each in path.rglob("*") if each.is_file())
        parts = (f"{each.relative_to(path)} {_digest_file(each)}" for each in names)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return _digest_file(path) if path.is_file() else ""


def digest_files(options: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the files that options name, by the path as written."""
    return {text: _digest_file(Path(text).expanduser()) for text in _texts(options) if _is_file(text)}


def _texts(options: Mapping[str, Any]) -> Iterator[str]:
    for value in options.values():
        if isinstance(value, dict):
            yield from _texts(value)
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str):
                yield each
                # A model or an extractor that is a file: `replay/FILE`, `file:FILE`.
                for prefix in ("replay/", "file:"):
                    _, found, path = each.partition(prefix)
                    if found:
                        yield path


def _is_file(text: str) -> bool:
    try:
        return Path(text).expanduser().is_file()
    except (OSError, ValueError):
        return False


def _digest_file(path: Path) -> str:
    try:
        stat = path.stat()
        if stat.st_size > _MAX_HASHED:
            return f"{stat.st_size} {stat.st_mtime_ns}"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error


def _value(value: object) -> str:
    return "not given" if value is None else msgspec.json.encode(value).decode()
