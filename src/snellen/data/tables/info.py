"""Summaries of a table, and a check that its images can be decoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

from snellen.core.benchmark import DataTable
from snellen.core.errors import MediaError
from snellen.core.media import FileSource, decode_image
from snellen.core.sample import Kind, MediaRef, Row
from snellen.data.columns import row_gold, row_id
from snellen.data.media.frames import video_size
from snellen.data.media.image_cells import BrokenCell, NamedImage, NamedVideo, StoredMedium
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.data.tables.open_table import IndexedTable
from snellen.settings import max_image_pixels


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    name: str
    type: str
    """`integer`, `number` or `text`: the narrowest that fits every filled cell."""
    filled: int
    """Rows in which the cell is not empty."""


@dataclass(frozen=True, slots=True)
class TableInfo:
    """What a table holds. Rows are counted from 1."""

    path: str
    rows: int
    columns: tuple[ColumnInfo, ...]
    digest: str
    pictures: int
    distinct_pictures: int
    picture_bytes: int
    """Of all images that exist, each as often as it occurs."""
    lost_pictures: int
    """Undecodable cells, unknown rows and missing files."""
    duplicate_ids: tuple[str, ...]
    missing_answers: int
    kinds: dict[Kind, int]


@dataclass(frozen=True, slots=True)
class BrokenImage:
    row: int
    """From 1."""
    id: str
    problem: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of decoding every image once."""

    pictures: int
    broken: tuple[BrokenImage, ...]
    sizes: dict[tuple[int, int], int] = field(default_factory=dict)
    """Distinct images and videos by width and height in pixels."""


def table_info(
    table: DataTable, kind_of: Callable[[Row], Kind], adjust_row: Callable[[Row], Row] = lambda row: row
) -> TableInfo:
    """Counts over all rows, without decoding images; `kind_of` says how a row would be asked, after
    `adjust_row` has brought it into the common layout."""
    filled: Counter[str] = Counter()
    types: dict[str, str] = {}
    ids: Counter[str] = Counter()
    kinds: Counter[Kind] = Counter()
    digests: set[str] = set()
    images = size = lost = unanswered = 0
    stored_media = (item for _, item in table.stored_media()) if isinstance(table, IndexedTable) else repeat(None)
    for row, stored in zip(table, stored_media, strict=False):
        for name, cell in row.cells.items():
            filled[name] += 1
            types[name] = _cell_type(cell, types.get(name, "integer"))
        ids[row_id(row)] += 1
        asked = adjust_row(row)
        kinds[kind_of(asked)] += 1
        unanswered += not row_gold(asked)
        for ref, item in zip(row.media, stored or repeat(None), strict=False):
            image_bytes = _image_size(ref, item)
            images += 1
            digests.add(ref.digest)
            size += image_bytes or 0
            lost += image_bytes is None
    names = [*table.columns, *(name for name in filled if name not in table.columns)]
    return TableInfo(
        path=table.path,
        rows=len(table),
        columns=tuple(ColumnInfo(n, types.get(n, "text"), filled[n]) for n in names),
        digest=table.digest,
        pictures=images,
        distinct_pictures=len(digests),
        picture_bytes=size,
        lost_pictures=lost,
        duplicate_ids=tuple(name for name, count in ids.items() if count > 1),
        missing_answers=unanswered,
        kinds=dict(kinds),
    )


def verify_images(table: DataTable, progress: Callable[[int, int], None] | None = None) -> Verification:
    """Decode every image, and the first and last frame of every video; report each failure with
    its row.

    `progress` is called with the rows done and the total.
    """
    problems: dict[str, str | None] = {}
    sizes: Counter[tuple[int, int]] = Counter()
    broken: list[BrokenImage] = []
    images = 0
    for row in table:
        for ref in row.media:
            images += 1
            if ref.digest not in problems:
                problems[ref.digest] = _image_problem(ref, sizes)
            problem = problems[ref.digest]
            if problem is not None:
                broken.append(BrokenImage(row.index + 1, row_id(row), problem))
        if progress:
            progress(row.index + 1, len(table))
    return Verification(images, tuple(broken), dict(sizes))


def _image_problem(ref: MediaRef, sizes: Counter[tuple[int, int]]) -> str | None:
    try:
        if ref.kind == "video":
            sizes[video_size(ref)] += 1
        else:
            sizes[decode_image(ref.source.read(), max_image_pixels()).size] += 1
    except MediaError as error:
        return str(error)
    return None


def _image_size(ref: MediaRef, item: StoredMedium | None) -> int | None:
    """Bytes of an image or video, None if it cannot be found."""
    if isinstance(ref.source, FrameFolder):
        return sum(_image_size(frame, None) or 0 for frame in ref.source.frames)
    if item is None or isinstance(item, NamedImage | NamedVideo):
        if not isinstance(ref.source, FileSource | VideoFile):
            return None
        return Path(ref.source.path).stat().st_size
    return None if isinstance(item, BrokenCell) else item.size


def _cell_type(cell: str, type_before: str) -> str:
    if type_before == "integer":
        if cell.lstrip("+-").isdecimal():
            return "integer"
        type_before = "number"
    if type_before == "number":
        try:
            float(cell)
        except ValueError:
            return "text"
    return type_before
