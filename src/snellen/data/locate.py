"""Where the data file of a benchmark is: given, cached, in LMUData, or to be fetched."""

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
from snellen.data.tables.unpack import unpacked_file
from snellen.settings import Settings


def datasets_folder(settings: Settings) -> Path:
    """Where downloads go, and where a file put by hand is found."""
    return settings.cache / "datasets"


def find_files(name: str, settings: Settings) -> list[Path]:
    """The files that may be meant by `name`, best first: as a path, in the cache, in LMUData.

    Each is also looked for with `.gz`.
    """
    candidates = [Path(name).expanduser(), datasets_folder(settings) / name]
    if settings.lmu_data:
        candidates.append(settings.lmu_data / name)
    with_gz = [
        path
        for candidate in candidates
        for path in (candidate, candidate.with_name(candidate.name + ".gz"))
    ]
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
    """The data file called `name`, fetched if need be.

    A file that is found counts only if its content has the checksum of `remote`: an older release,
    or a file of one's own by that name, would give another number. One in LMUData is passed over;
    one in the current folder may be meant, and is refused with the way to say so. `hint` tells how
    one comes by a file without an address. Raises DataError, StorageError.
    """
    verified, differing = find_verified(name, settings, remote)
    if verified is not None:
        return verified
    target = datasets_folder(settings) / name
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
    return download(
        remote,
        target,
        cache=settings.cache,
        progress=progress,
        offline=settings.offline,
        retries=retries,
    )


class VerifiedFile(NamedTuple):
    """The file that may be used, or those that have its name and may not."""

    path: Path | None
    differing: tuple[str, ...] = ()


def find_verified(name: str, settings: Settings, remote: RemoteFile | None) -> VerifiedFile:
    """The file called `name` on this machine whose content is that of `remote`. Raises OtherData
    for another one in the current folder."""
    differing: list[str] = []
    for path in find_files(name, settings):
        wrong = (
            None
            if remote is None
            else wrong_content_checksum(path, remote, settings.cache, settings.limits)
        )
        if wrong is None:
            return VerifiedFile(path)
        if remote is not None and path.parent == Path(name).expanduser().parent:
            raise DataMismatch(_other_release_message(path, remote, wrong))
        differing.append(f"{path} is another release (checksum {wrong})")
    return VerifiedFile(None, tuple(differing))


def wrong_content_checksum(
    path: Path, remote: RemoteFile, cache: Path, limits: Limits = DEFAULT_LIMITS
) -> str | None:
    """The checksum of a file's content, unpacked, where it is not that of `remote`; None where it
    is, or where none is known. Remembered by size and time of change. Raises DataError."""
    if remote.checksum() is None:
        return None
    try:
        return wrong_checksum(unpacked_file(path, cache, limits), remote, cache)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _other_release_message(path: Path, remote: RemoteFile, checksum: str) -> str:
    algorithm, wanted = remote.checksum() or ("checksum", "none")
    return (
        f"{path} in the current folder has the name of the published file and is not that file "
        f"({algorithm} {checksum}, the published file has {wanted}); to use it all the same, name "
        f"it: --data {path}; to use the published file, move this one or work in another folder"
    )
