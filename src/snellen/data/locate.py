"""Where the data file of a benchmark is: given, cached, in LMUData, or to be fetched."""

from __future__ import annotations

from pathlib import Path

from snellen.core.errors import DataError
from snellen.data.download import Patience, Progress, Remote, by_hand, checksum_found, download
from snellen.settings import Settings


def datasets_folder(settings: Settings) -> Path:
    """Where downloads go, and where a file put by hand is found."""
    return settings.cache / "datasets"


def find(name: str, settings: Settings) -> list[Path]:
    """The files that may be meant by `name`, best first: as a path, in the cache, in LMUData.

    Each is also looked for with `.gz`.
    """
    places = [Path(name).expanduser(), datasets_folder(settings) / name]
    if settings.lmu_data:
        places.append(settings.lmu_data / name)
    both = [path for place in places for path in (place, place.with_name(place.name + ".gz"))]
    return [path for path in both if path.is_file()]


def locate(
    name: str,
    settings: Settings,
    *,
    remote: Remote | None = None,
    progress: Progress | None = None,
    patience: Patience | None = None,
) -> Path:
    """The data file called `name`, fetched if need be.

    A file found in LMUData counts only if its checksum is that of `remote`: an older release
    would give another number. Raises DataError, StorageError.
    """
    differing: list[str] = []
    for path in find(name, settings):
        # A packed copy has no checksum of its own that is known; a path is the user's choice.
        trusted = remote is None or path.suffix == ".gz" or path == Path(name).expanduser()
        wrong = None if trusted or not remote else checksum_found(path, remote, settings.cache)
        if wrong is None:
            return path
        differing.append(f"{path} is another release (checksum {wrong})")
    target = datasets_folder(settings) / name
    if remote is None or not remote.urls:
        looked = [str(target.parent), *([str(settings.lmu_data)] if settings.lmu_data else ())]
        raise DataError(
            f"the data file {name} is not here and no address is known; put it in "
            + " or ".join(looked)
            + (f"; {'; '.join(differing)}" if differing else "")
        )
    if settings.offline and not target.exists() and differing:
        raise DataError(f"{'; '.join(differing)}; offline: {by_hand(remote, target)}")
    return download(
        remote,
        target,
        cache=settings.cache,
        progress=progress,
        offline=settings.offline,
        patience=patience,
    )
