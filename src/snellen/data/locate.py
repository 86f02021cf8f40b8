"""Locate a benchmark's data file: a path, the cache, LMUData, or a download."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import DataError, DataMismatch
from snellen.core.limits import DEFAULT_LIMITS, Limits
from snellen.data.download import (
    DownloadProgress,
    DownloadRetries,
    RemoteFile,
    download,
    manual_instructions,
    wrong_checksum,
)
from snellen.data.modelscope import with_modelscope
from snellen.data.tables.unpack import unpacked_file
from snellen.settings import Settings


def find_files(name: str, settings: Settings) -> list[Path]:
    """Existing files that `name` may mean, best first: as a path, in the cache, in LMUData.

    Each is also tried with `.gz`.
    """
    candidates = [Path(name).expanduser(), settings.datasets / name]
    if settings.lmu_data:
        candidates.append(settings.lmu_data / name)
    with_gz = [path for candidate in candidates for path in (candidate, candidate.with_name(candidate.name + ".gz"))]
    return [path for path in with_gz if path.is_file()]


def locate_data_file(
    name: str,
    settings: Settings,
    *,
    remote: RemoteFile | None = None,
    progress: DownloadProgress | None = None,
    retries: DownloadRetries | None = None,
    hint: str = "",
) -> Path:
    """The path of the data file called `name`, downloaded if necessary.

    An existing file is used only if it has the checksum of `remote`: an older release, or a user's
    file of the same name, would give another score. Such a file is skipped in LMUData and refused
    in the current folder, with a message that tells how to use it on purpose. `hint` says how to
    get a file that has no address. Raises DataError, StorageError.
    """
    remote = with_modelscope(remote, settings) if remote is not None else None
    verified, differing = find_verified(name, settings, remote)
    if verified is not None:
        return verified
    target = settings.datasets / name
    if remote is None or not remote.urls:
        folders = [str(target.parent), *([str(settings.lmu_data)] if settings.lmu_data else ())]
        advice = f" ({hint})" if hint else ""
        raise DataError(
            f"the data file {name} is not here and no address is known{advice}; put it in "
            + " or ".join(folders)
            + (f"; {'; '.join(differing)}" if differing else "")
        )
    if settings.offline and not target.exists() and differing:
        raise DataError(f"{'; '.join(differing)}; offline: {manual_instructions(remote, target)}")
    return download(remote, target, cache=settings.cache, progress=progress, offline=settings.offline, retries=retries)


class VerifiedFile(NamedTuple):
    """The file that may be used, or descriptions of files with its name and another content."""

    path: Path | None
    differing: tuple[str, ...] = ()


def find_verified(name: str, settings: Settings, remote: RemoteFile | None) -> VerifiedFile:
    """The local file called `name` that has the content of `remote`.

    Raises OtherData for a file of another content in the current folder.
    """
    differing: list[str] = []
    for path in find_files(name, settings):
        wrong = None if remote is None else wrong_content_checksum(path, remote, settings.cache, settings.limits)
        if wrong is None:
            return VerifiedFile(path)
        if remote is not None and path.parent == Path(name).expanduser().parent:
            raise DataMismatch(_other_release_message(path, remote, wrong))
        differing.append(f"{path} is another release (checksum {wrong})")
    return VerifiedFile(None, tuple(differing))


def wrong_content_checksum(path: Path, remote: RemoteFile, cache: Path, limits: Limits = DEFAULT_LIMITS) -> str | None:
    """The checksum of a file's unpacked content if it differs from `remote`'s; None if equal or
    unset.

    Digests are cached by size and modification time. Raises DataError.
    """
    if remote.checksum() is None:
        return None
    try:
        return wrong_checksum(unpacked_file(path, cache, limits), remote, cache)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _other_release_message(path: Path, remote: RemoteFile, checksum: str) -> str:
    algorithm, expected = remote.checksum() or ("checksum", "none")
    return (
        f"{path} in the current folder has the name of the published file and is not that file "
        f"({algorithm} {checksum}, the published file has {expected}); to use it all the same, "
        f"name it: --data {path}; to use the published file, move this one or work in another "
        "folder"
    )
