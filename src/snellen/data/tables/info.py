"""What a table holds, and whether its pictures can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

from snellen.core.benchmark import Table
from snellen.core.errors import MediaError
from snellen.core.media import FileSource, decode_image
from snellen.core.sample import Kind, MediaRef, Row
from snellen.data.columns import row_gold, row_id
from snellen.data.media.frames import video_size
from snellen.data.media.image_cells import Broken, Named, NamedVideo, Stored
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.data.tables.open_table import IndexedTable
from snellen.settings import most_pixels

_YES_NO = frozenset({"yes", "no"})


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    name: str
    type: str
    """`integer`, `number` or `text`, whichever fits every filled cell."""
    filled: int
    """Rows in which the cell is not empty."""


@dataclass(frozen=True, slots=True)
class TableInfo:
    """What `snellen data info` tells. Rows are counted from 1."""

    path: str
    rows: int
    columns: tuple[ColumnInfo, ...]
    digest: str
    pictures: int
    distinct_pictures: int
    picture_bytes: int
    """Of all pictures that can be found, each as often as it is shown."""
    lost_pictures: int
    """Undecodable cells, unknown rows and missing files."""
    duplicate_ids: tuple[str, ...]
    missing_answers: int
    kinds: dict[Kind, int]


@dataclass(frozen=True, slots=True)
class BrokenPicture:
    row: int
    """From 1."""
    id: str
    problem: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Every picture, decoded once."""

    pictures: int
    broken: tuple[BrokenPicture, ...]
    sizes: dict[tuple[int, int], int] = field(default_factory=dict)
    """Distinct pictures and videos by width and height in pixels."""


def table_info(table: Table) -> TableInfo:
    """Counts over all rows, without decoding a picture."""
    filled: Counter[str] = Counter()
    types: dict[str, str] = {}
    ids: Counter[str] = Counter()
    kinds: Counter[Kind] = Counter()
    digests: set[str] = set()
    pictures = size = lost = unanswered = 0
    for row, stored in zip(table, _stored(table), strict=False):
        for name, cell in row.cells.items():
            filled[name] += 1
            types[name] = _type(cell, types.get(name, "integer"))
        ids[row_id(row)] += 1
        kinds[inferred_kind(row)] += 1
        unanswered += not row_gold(row)
        for ref, item in zip(row.media, stored or repeat(None), strict=False):
            found = _size(ref, item)
            pictures += 1
            digests.add(ref.digest)
            size += found or 0
            lost += found is None
    names = [*table.columns, *(name for name in filled if name not in table.columns)]
    return TableInfo(
        path=table.path,
        rows=len(table),
        columns=tuple(ColumnInfo(n, types.get(n, "text"), filled[n]) for n in names),
        digest=table.digest,
        pictures=pictures,
        distinct_pictures=len(digests),
        picture_bytes=size,
        lost_pictures=lost,
        duplicate_ids=tuple(name for name, count in ids.items() if count > 1),
        missing_answers=unanswered,
        kinds=dict(kinds),
    )


def inferred_kind(row: Row) -> Kind:
    """`choice` if the row has options A and B, `yes_no` if its answer is one of these words."""
    if "A" in row.cells and "B" in row.cells:
        return "choice"
    gold = row_gold(row)
    words = {answer.strip(" .").lower() for answer in gold}
    return "yes_no" if words and words <= _YES_NO else "open"


def verify(table: Table, progress: Callable[[int, int], None] | None = None) -> Verification:
    """Decode every picture, and of every video the first and the last frame; each that cannot be
    is named with its row.

    `progress` is called with the rows done and the rows there are.
    """
    problems: dict[str, str | None] = {}
    sizes: Counter[tuple[int, int]] = Counter()
    broken: list[BrokenPicture] = []
    pictures = 0
    for row in table:
        for ref in row.media:
            pictures += 1
            if ref.digest not in problems:
                problems[ref.digest] = _problem(ref, sizes)
            problem = problems[ref.digest]
            if problem is not None:
                broken.append(BrokenPicture(row.number + 1, row_id(row), problem))
        if progress:
            progress(row.number + 1, len(table))
    return Verification(pictures, tuple(broken), dict(sizes))


def _problem(ref: MediaRef, sizes: Counter[tuple[int, int]]) -> str | None:
    try:
        if ref.kind == "video":
            sizes[video_size(ref)] += 1
        else:
            sizes[decode_image(ref.source.read(), most_pixels()).size] += 1
    except MediaError as error:
        return str(error)
    return None


def _stored(table: Table) -> Iterator[tuple[Stored, ...] | None]:
    if isinstance(table, IndexedTable):
        return (stored for _, stored in table.stored())
    return repeat(None)


def _size(ref: MediaRef, item: Stored | None) -> int | None:
    """Bytes of a picture, None if it cannot be found."""
    if isinstance(ref.source, FrameFolder):
        return sum(_size(frame, None) or 0 for frame in ref.source.frames)
    if item is None or isinstance(item, Named | NamedVideo):
        if not isinstance(ref.source, FileSource | VideoFile):
            return None
        return Path(ref.source.path).stat().st_size
    return None if isinstance(item, Broken) else item.size


def _type(cell: str, so_far: str) -> str:
    if so_far == "integer":
        if cell.lstrip("+-").isdecimal():
            return "integer"
        so_far = "number"
    if so_far == "number":
        try:
            float(cell)
        except ValueError:
            return "text"
    return so_far
