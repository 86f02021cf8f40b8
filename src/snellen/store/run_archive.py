"""Archives of runs: one `.tar.gz` file with run folders, byte for byte, and a store of the replies that they
need. Whatever opens runs opens an archive, which is unpacked into the user's cache."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from snellen.core.atomic_write import atomic_file, atomic_folder
from snellen.core.errors import DataError, UsageError, storage_errors
from snellen.settings import Settings
from snellen.store.responses import STORE_FILE
from snellen.store.run_catalog_file import file_state
from snellen.store.run_replies import copy_replies, group_by_store
from snellen.store.runs import LOCK_FILE, RUN_FILE, RUN_FILES

ENDINGS = (".tar.gz", ".tgz")
CACHE_FOLDER = "archives"
"""Folder of the cache for unpacked archives."""


def is_archive(path: Path | str) -> bool:
    """Whether a file is named like an archive of runs."""
    return str(path).lower().endswith(ENDINGS) and Path(path).is_file()


def write_archive(folders: Sequence[Path], file: Path) -> None:
    """Write runs and their replies to one file, which appears when it is complete and was read back. Raises
    UsageError for two runs of one name, StorageError."""
    names = {folder.name: folder for folder in folders}
    if len(names) < len(folders):
        twice = next(folder for folder in folders if names[folder.name] != folder)
        other = names[twice.name]
        raise UsageError(f"two runs are called {twice.name}: {twice} and {other}; archive each by naming its folder")
    with storage_errors("write", file):
        file.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.absolute().parent, prefix=".archive-") as scratch:
            store = Path(scratch, STORE_FILE)
            for source, members in group_by_store(folders).items():
                copy_replies(source, store, {folder: folder for folder in members})
            with atomic_file(file, sync=True) as part:
                _write_tar(part, names, store)
                _check_tar(part, names)


def _write_tar(target: Path, folders: dict[str, Path], store: Path) -> None:
    # Without the time and name of the file in its head, the same runs make the same bytes.
    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(folders):
            for path in sorted(folders[name].rglob("*")):
                if path.is_file() and path.name != LOCK_FILE:
                    archive.add(path, f"{name}/{path.relative_to(folders[name]).as_posix()}", recursive=False)
        if store.is_file():
            archive.add(store, STORE_FILE)


def _check_tar(file: Path, folders: dict[str, Path]) -> None:
    """Compare each file of the runs with its copy. Raises DataError if one was changed meanwhile."""
    with tarfile.open(file, "r:gz") as archive:
        for member in archive:
            name, _, inside = member.name.partition("/")
            copy = archive.extractfile(member)
            if not inside or copy is None:
                continue
            with (folders[name] / inside).open("rb") as original:
                if _digest(copy) != _digest(original):
                    raise DataError(f"{folders[name] / inside} was changed while it was archived; archive it again")


def _digest(file: object) -> bytes:
    return hashlib.file_digest(file, "sha256").digest()  # type: ignore[arg-type]


def unpack_archive(file: Path) -> Path:
    """The folder of an archive's runs in the user's cache, unpacked when it is first opened. Raises DataError if it
    is no archive of runs, StorageError."""
    name = hashlib.sha256(f"{file.resolve()} {file_state(str(file))}".encode()).hexdigest()[:24]
    home = Settings.from_environment().cache / CACHE_FOLDER / name
    with storage_errors("unpack", file):
        if not home.is_dir():
            with atomic_folder(home) as unfinished:
                _extract(file, unfinished)
    return home


def _extract(file: Path, folder: Path) -> None:
    try:
        with tarfile.open(file, "r:gz") as archive:
            # Nothing outside the folder, no links out of it, no devices, no rights of others.
            archive.extractall(folder, filter="data")
    except (tarfile.TarError, EOFError, gzip.BadGzipFile) as error:
        raise DataError(f"{file} is no archive of runs, or is damaged: {error}") from error
    if not any(folder.glob(RUN_FILES)):
        raise DataError(f"{file} holds no run: expected folders with a {RUN_FILE}, as `snellen runs -o` writes them")
