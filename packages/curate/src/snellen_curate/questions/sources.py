"""Images and videos that questions are made of, or that are looked at without any: a folder, webdataset
tars, or a manifest with captions, licences and sources."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from msgspec import Struct

from snellen.benchmarks.declaration.data_file import ITEMS_FILE
from snellen.core.errors import DataError, MediaError, UsageError
from snellen.core.media import FileSource, MediaKind, digest_bytes
from snellen.core.sample import MediaRef, Origin, Row
from snellen.data.columns import id_of
from snellen.data.detect import TABLES
from snellen.data.media.image_files import FileDigests
from snellen.data.media.sources import BrokenSource
from snellen.data.media.video_cells import VIDEO_SUFFIXES
from snellen.data.tables.open_table import open_table
from snellen.data_sets.step import SourceInfo
from snellen.settings import Settings
from snellen_curate.attribution import IMAGE_COLUMNS, URL_COLUMN
from snellen_curate.duplicates.listing import tar_samples
from snellen_curate.image_files import IMAGE_SUFFIXES, find_files

CAPTION_COLUMNS = ("caption", "captions", "description", "text")
_KEPT = (*IMAGE_COLUMNS, "source", "split", "album", "start", "end")
_SPELLINGS = {"licence": "license", "story": "album", "url": URL_COLUMN}


class SourceMedium(Struct, frozen=True, gc=False):
    """An image or a video, and what its manifest says of it."""

    id: str
    """Path in the folder, or the id of the manifest's row."""
    medium: MediaRef
    captions: tuple[str, ...] = ()
    cells: Mapping[str, str] = {}
    """`license`, `author`, `picture_url`, `source`, `split` and `album`, if they are known; of a
    clip its `start` and `end` in seconds of the video."""

    @property
    def kind(self) -> MediaKind:
        return self.medium.kind


@dataclass(frozen=True)
class ImageSource:
    """The images of a folder, of webdataset tars or of a manifest, read lazily and in order."""

    path: Path

    def __iter__(self) -> Iterator[SourceMedium]:
        if self.tars:
            return self._in_tars()
        if self.path.is_dir():
            return self._in_folder()
        rows = unique_ids(open_table(str(self.path)))
        return (_image_of(name, row, str(self.path)) for name, row in rows)

    def __len__(self) -> int:
        if self.tars:
            return sum(1 for tar in self.tars for _ in tar_samples(tar))
        return len(self._files) if self.path.is_dir() else len(open_table(str(self.path)))

    @cached_property
    def tars(self) -> list[Path]:
        """The tar files of a folder that has some, or the one that the path is."""
        if self.path.is_dir():
            return list(find_files(self.path, (".tar",)))
        return [self.path] if self.path.suffix == ".tar" else []

    def describe(self) -> SourceInfo:
        """Name and digest: of a manifest's file; of a folder, names and sizes of its files."""
        if not self.path.is_dir() and not self.tars:
            table = open_table(str(self.path))
            return SourceInfo(self.path.name, str(self.path), table.digest, len(table))
        listing = hashlib.sha256()
        for file in self.tars or self._files:
            listing.update(os.fsencode(file.relative_to(self.path)))
            listing.update(f"\0{file.stat().st_size}\n".encode())
        return SourceInfo(self.path.resolve().name, str(self.path), listing.hexdigest(), len(self))

    @cached_property
    def left_out(self) -> Counter[str]:
        """What lies in a folder and is not read, as words for a reader."""
        counts: Counter[str] = Counter()
        suffixes = (".tar",) if self.tars else IMAGE_SUFFIXES + VIDEO_SUFFIXES
        for _ in find_files(self.path, suffixes, counts):
            pass
        return counts

    @cached_property
    def _files(self) -> list[Path]:
        """Images and videos below the folder."""
        return list(find_files(self.path, IMAGE_SUFFIXES + VIDEO_SUFFIXES))

    def _in_tars(self) -> Iterator[SourceMedium]:
        """Images named by tar and member; the JSON beside an image says whose it is."""
        for tar in self.tars:
            for sample in tar_samples(tar):
                try:
                    medium = MediaRef(digest_bytes(sample.source.read()), sample.source)
                except MediaError as error:
                    medium = _broken(f"{tar} {sample.name}", str(error))
                caption = (sample.caption,) if sample.caption else ()
                yield SourceMedium(sample.name, medium, caption, kept_cells(sample.cells))

    def _in_folder(self) -> Iterator[SourceMedium]:
        with FileDigests(Settings.from_environment().cache) as digests:
            for file in self._files:
                name = file.relative_to(self.path)
                is_video = file.suffix.lower() in VIDEO_SUFFIXES and file.suffix.lower() != ".gif"
                album = name.parent.as_posix()
                cells = {} if album == "." else {"album": album}
                medium = _file_ref(file, "video" if is_video else "image", digests)
                yield SourceMedium(_as_text(name.as_posix()), medium, cells=cells)


def open_images(path: str | Path) -> ImageSource:
    """Open a folder of images and videos, webdataset tars, a data set folder, or a manifest: a
    data file (JSONL, CSV, TSV, Parquet) with a column for the image or video, and if it likes
    `caption`, `license`, `author`, `picture_url`, `source`, `split`, `album`. Raises UsageError."""
    place = Path(path).expanduser()
    if (place / ITEMS_FILE).is_file():
        place = place / ITEMS_FILE
    images = ImageSource(place)
    if place.is_dir():
        if not len(images):
            raise UsageError(f"{path} holds no pictures and no videos; give another folder")
    elif not place.is_file():
        raise UsageError(f"there is no folder or manifest {path}")
    elif images.tars:
        return images
    elif place.suffix.lower() not in TABLES:
        raise UsageError(
            f"{path} is no manifest: expected one of {', '.join(TABLES)}; or give the folder that the pictures lie in"
        )
    elif not any(row.media for row in islice(open_table(str(place)), 100)):
        raise DataError(
            f"{path} names no picture in its first rows; give them in a column `image`, or videos in `video`"
        )
    return images


def unique_ids(rows: Iterable[Row]) -> Iterator[tuple[str, Row]]:
    """Each row with its id, or its number from 1; an id that was seen before gets the row's number
    behind it, as decisions are about ids."""
    seen: set[str] = set()
    for row in rows:
        name = id_of(row.cells) or str(row.index + 1)
        if name in seen:
            name = f"{name} (row {row.index + 1})"
        seen.add(name)
        yield name, row


def kept_cells(cells: Mapping[str, str]) -> dict[str, str]:
    """What goes on to the items: licence, author, source, split, album, the bounds of a clip."""
    by_name = {_SPELLINGS.get(name.lower(), name.lower()): cell for name, cell in cells.items()}
    return {name: by_name[name] for name in _KEPT if by_name.get(name)}


def _image_of(name: str, row: Row, path: str) -> SourceMedium:
    """The image of a manifest's row; only the first, if a row names several."""
    caption = next((row.cells[name] for name in CAPTION_COLUMNS if row.cells.get(name)), "")
    where = f"{path}, row {row.index + 1}"
    medium = row.media[0] if row.media else _broken(where, f"{where}: names no picture")
    return SourceMedium(name, medium, (caption,) if caption else (), kept_cells(row.cells))


def _broken(name: str | Path, problem: str, kind: MediaKind = "image") -> MediaRef:
    """A medium that cannot be read, and why."""
    return MediaRef(digest_bytes(os.fsencode(name)), BrokenSource(problem), kind)


def _as_text(name: str) -> str:
    """The name of a file, in which bytes that are no UTF-8 are replaced."""
    return os.fsencode(name).decode("utf-8", "replace")


def _file_ref(file: Path, kind: MediaKind, digests: FileDigests) -> MediaRef:
    name = _as_text(str(file))
    if name != str(file):
        return _broken(file, f"the name of {name} is no UTF-8; rename the file", kind)
    try:
        return MediaRef(digests.digest(file), FileSource(str(file)), kind)
    except OSError as error:
        return _broken(file, f"cannot read {file}: {error.strerror or error}", kind)


class ImageFolder:
    """The images and videos below a folder, named by their paths in it, or those of tars."""

    columns = ("index", "image")

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.origin = Origin("own", file=str(path.absolute()))
        self._images = ImageSource(path)

    @cached_property
    def digest(self) -> str:
        """Of the names and sizes of the files."""
        return self._images.describe().digest

    @property
    def left_out(self) -> dict[str, int]:
        """What lies in the folder and is not read, with its count."""
        return dict(self._images.left_out)

    def __len__(self) -> int:
        return len(self._images)

    def __iter__(self) -> Iterator[Row]:
        for number, image in enumerate(self._images):
            yield Row(number, {"index": image.id, **image.cells}, (image.medium,))
