"""Give MMT-Bench's visual referring clean pictures and boxes (its rows have the boxes drawn in).

Each row's clean picture and boxes come from annotation files of its sources: by a link that the
user gives, or else by the picture itself (`matching`).
"""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from snellen.benchmarks.abilities.mmt_bench.referring.annotations import Corners, SourceBox, SourcePicture
from snellen.benchmarks.abilities.mmt_bench.referring.matching import DrawnBox, PictureIndex, drawn_boxes, read_picture
from snellen.benchmarks.abilities.mmt_bench.referring.subtasks import SUBTASKS
from snellen.benchmarks.abilities.mmt_bench.tasks import find_subtask
from snellen.core.atomic_write import atomic_file
from snellen.core.benchmark import DataTable
from snellen.core.errors import DataError, MediaError, storage_errors
from snellen.core.sample import Row
from snellen.data.columns import id_of, is_image_column
from snellen.prompts.derived_images import load_image
from snellen.prompts.referring import mark_colours

BOXES = "boxes"
_LINK_COLUMNS = ("index", "image", BOXES)
_TOLERANCE = 1.0
"""Pixels by which a box may pass the border, by rounding."""


class Link(NamedTuple):
    """Which picture and boxes of the sources belong to a row, by their ids."""

    image: str
    boxes: tuple[str, ...]
    """Empty for all boxes of the picture."""


class ReferringRows(Struct):
    """What became of the rows of a subtask."""

    rows: int = 0
    converted: int = 0
    linked: int = 0
    """Of the converted: by a link."""
    problems: dict[str, str] = {}
    """By row id: why it was left out."""


class ReferringCounts(Struct):
    """What `convert_referring` wrote."""

    path: str
    subtasks: dict[str, ReferringRows]
    unreadable: int = 0
    """Pictures that annotation files name and that are missing or cannot be decoded."""
    unknown_links: tuple[str, ...] = ()
    """Ids of links for which the data have no row of visual referring."""

    @property
    def clean_rows(self) -> int:
        return sum(each.converted for each in self.subtasks.values())

    @property
    def left_out(self) -> int:
        return sum(len(each.problems) for each in self.subtasks.values())


class _RowProblem(Exception):
    """Why a row cannot be converted."""


def read_links(path: Path) -> dict[str, Link]:
    """Links by row id, of a CSV with the columns index, image (id or file name in the annotation
    file) and boxes (ids, separated by blanks; empty for all). Raises DataError."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or ()
            missing = [name for name in _LINK_COLUMNS[:2] if name not in columns]
            if missing:
                raise DataError(f"{path} has no column {missing[0]}; expected {', '.join(_LINK_COLUMNS)}")
            links: dict[str, Link] = {}
            for row in reader:
                if row["index"] in links:
                    raise DataError(f"{path}: the row {row['index']} is linked twice")
                links[row["index"]] = Link(row["image"], tuple((row.get(BOXES) or "").split()))
            return links
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def convert_referring(
    table: DataTable, sources: Sequence[SourcePicture], out: Path, links: Mapping[str, Link] | None = None
) -> ReferringCounts:
    """Write the rows of the fourteen subtasks that have a clean picture, as a TSV with the columns
    of `table`, the clean picture in place of the first one, and `boxes`.

    Raises DataError if the table has none of these rows, and StorageError.
    """
    links = dict(links or {})
    counts = ReferringCounts(str(out), {each.name: ReferringRows() for each in SUBTASKS})
    converter = _Converter(sources, links)
    columns = [name for name in table.columns if not is_image_column(name) and name != BOXES]
    with storage_errors("write", out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(out) as part, part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow([*columns, "image", BOXES])
            for row, cells in converter.convert_rows(table, counts):
                writer.writerow([*(row.cells.get(name, "") for name in columns), *cells])
    counts.unreadable = len(converter.index.unreadable) if converter.has_index else 0
    counts.unknown_links = tuple(sorted(converter.unused_links))
    if not any(each.rows for each in counts.subtasks.values()):
        out.unlink()
        raise DataError(
            f"{table.path} has no row of visual referring; expected MMT-Bench's file, with one of "
            f"its subtasks in the column category, e.g. {SUBTASKS[1].name}"
        )
    return counts


class _Converter:
    """Finds the clean picture and the boxes of each row."""

    def __init__(self, sources: Sequence[SourcePicture], links: Mapping[str, Link]) -> None:
        self._sources, self._links = sources, links
        self.unused_links = set(links)
        self._by_name: dict[str, list[SourcePicture]] = {}
        for picture in sources:
            for name in {picture.name, picture.path.name}:
                self._by_name.setdefault(name, []).append(picture)
        self._index: PictureIndex | None = None

    @property
    def has_index(self) -> bool:
        """Whether any row was looked for by its picture."""
        return self._index is not None

    @property
    def index(self) -> PictureIndex:
        if self._index is None:
            self._index = PictureIndex(self._sources)
        return self._index

    def convert_rows(self, table: DataTable, counts: ReferringCounts) -> Iterator[tuple[Row, tuple[str, str]]]:
        """The rows that could be converted, with the cells of picture and boxes."""
        for row in table:
            task = find_subtask(row.cells.get("category", ""))
            if task is None or task.name not in counts.subtasks:
                continue
            subtask = counts.subtasks[task.name]
            subtask.rows += 1
            name = id_of(row.cells) or str(row.index)
            link = self._links.get(name)
            self.unused_links.discard(name)
            try:
                cells = self._cells(row, link)
            except (_RowProblem, MediaError) as problem:
                subtask.problems[name] = str(problem)
                continue
            subtask.converted += 1
            subtask.linked += link is not None
            yield row, cells

    def _cells(self, row: Row, link: Link | None) -> tuple[str, str]:
        if not row.media:
            raise _RowProblem("the row has no picture")
        picture, boxes = self._find_by_link(link) if link is not None else self._find_by_picture(row)
        clean = read_picture(picture.path)
        corners = [_inside(box, clean.size, picture.name) for box in boxes]
        images = [picture.path.read_bytes(), *(ref.source.read() for ref in row.media[1:])]
        encoded = [base64.b64encode(image).decode() for image in images]
        image_cell = encoded[0] if len(encoded) == 1 else json.dumps(encoded)
        return image_cell, json.dumps(corners)

    def _find_by_link(self, link: Link) -> tuple[SourcePicture, Sequence[SourceBox]]:
        found = self._by_name.get(link.image, [])
        if not found:
            raise _RowProblem(f"its link names the picture {link.image}, which no source has")
        if len(found) > 1:
            raise _RowProblem(f"its link names the picture {link.image}, which {len(found)} sources have")
        (picture,) = found
        by_id = {box.id: box for box in picture.boxes}
        unknown = [name for name in link.boxes if name not in by_id]
        if unknown:
            raise _RowProblem(
                f"its link names the box {unknown[0]} of the picture {link.image}, which has {_list_names(by_id)}"
            )
        return picture, [by_id[name] for name in link.boxes] or picture.boxes

    def _find_by_picture(self, row: Row) -> tuple[SourcePicture, Sequence[SourceBox]]:
        published = load_image(row.media[0])
        picture = self.index.nearest(published)
        if picture is None:
            raise _RowProblem("no picture of the sources is like its own")
        drawn = drawn_boxes(published, read_picture(picture.path), picture.boxes)
        if not drawn:
            raise _RowProblem(
                f"it is like the picture {picture.name}, but none of the boxes of that explains what is drawn in it"
            )
        return picture, _in_order(drawn, mark_colours(row.cells.get("question", "")))


def _in_order(drawn: Sequence[DrawnBox], colours: Sequence[str]) -> list[SourceBox]:
    """The boxes in the order in which the question speaks of their colours, otherwise as given."""
    order = {colour: place for place, colour in reversed(list(enumerate(colours)))}
    return [each.box for each in sorted(drawn, key=lambda each: order.get(each.colour, len(order)))]


def _inside(box: SourceBox, size: tuple[int, int], name: str) -> list[float]:
    """A box cut at the border, from which it may be off by a pixel."""
    left, top, right, bottom = box.corners
    width, height = size
    if left >= right or top >= bottom:
        raise _RowProblem(f"the box {box.id} of the picture {name} has no area")
    limits: Corners = (-_TOLERANCE, -_TOLERANCE, width + _TOLERANCE, height + _TOLERANCE)
    if left < limits[0] or top < limits[1] or right > limits[2] or bottom > limits[3]:
        raise _RowProblem(
            f"the box {box.id} of the picture {name} is {_text(box.corners)}, and the picture {width} x {height}"
        )
    corners = (max(0.0, left), max(0.0, top), min(float(width), right), min(float(height), bottom))
    return [round(value, 2) for value in corners]


def _text(corners: Iterable[float]) -> str:
    return f"[{', '.join(f'{value:g}' for value in corners)}]"


def _list_names(names: Iterable[str]) -> str:
    known = list(names)
    return f"{', '.join(known[:4])}{', ...' if len(known) > 4 else ''}"
