"""TSV files as VLMEvalKit reads them.

The conventions are those of its `vlmeval/dataset/image_base.py` (commit e8e78f0): an image cell is
base64, the Python list of several, or, at no more than 64 characters, the index of the row that has
the image. The file is read by pandas with its defaults, which take some texts for missing values
and some columns for numbers; `PandasReading` says where that changes a text.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from types import TracebackType
from typing import BinaryIO

from snellen.core.media import decode_image

IMAGE_COLUMN = "image"
VIDEO_COLUMNS = ("video", "video_path")
_MAX_REFERENCE = 64
"""Longest image cell, in characters, that VLMEvalKit takes for the index of another row."""
_MISSING = frozenset((
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
))  # fmt: skip
"""Texts that `pandas.read_csv` takes for missing values by default."""
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


@dataclass(slots=True)
class PandasReading:
    """Finds the cells that VLMEvalKit would not get as they stand."""

    missing: dict[str, list[str]] = field(default_factory=dict)
    """By text such as `None`: the rows that have it, which lose it."""
    _numbers: dict[str, _NumberColumn] = field(default_factory=dict)

    def add(self, index: str, cells: Mapping[str, str]) -> None:
        """Note the question, hint, options and answer of a row."""
        for name, text in cells.items():
            if name not in ("question", "hint", "answer", *ascii_uppercase):
                continue
            if text in _MISSING:
                self.missing.setdefault(text, []).append(index)
            self._numbers.setdefault(name, _NumberColumn()).add(text)

    def sentences(self, file: str) -> list[str]:
        """What a user of VLMEvalKit must know about the file."""
        found = [
            f"{file}: pandas, which VLMEvalKit reads it with, takes the text {text!r} for an empty "
            f"cell ({_some(rows)}); write it otherwise, e.g. `none of these`"
            for text, rows in sorted(self.missing.items())
        ]
        for name, column in self._numbers.items():
            if changed := column.example():
                found.append(
                    f"{file}: every cell of the column {name} is a number, so that pandas, which "
                    f"VLMEvalKit reads it with, makes {changed[1]} of {changed[0]}"
                )
        return found


@dataclass(slots=True)
class _NumberColumn:
    """Whether pandas takes a column for numbers, and a cell whose text that changes."""

    are_numbers: bool = True
    are_integers: bool = True
    any_missing: bool = False
    texts: dict[str, None] = field(default_factory=dict)

    def add(self, text: str) -> None:
        if not text or text in _MISSING:
            self.any_missing = True
            return
        if self.are_numbers and _NUMBER.fullmatch(text.strip()):
            self.are_integers &= _INTEGER.fullmatch(text.strip()) is not None
            if len(self.texts) < 1000:
                self.texts[text] = None
        else:
            self.are_numbers = False
            self.texts.clear()

    def example(self) -> tuple[str, str] | None:
        """A text of the column and what pandas makes of it, if that differs."""
        if not self.are_numbers:
            return None
        as_integers = self.are_integers and not self.any_missing
        for text in self.texts:
            read = str(int(text)) if as_integers else repr(float(text))
            if read != text:
                return text, read
        return None


class TsvWriter:
    """Writes one file, row by row; an image that an earlier row has becomes its index."""

    def __init__(self, path: Path, columns: Sequence[str], *, images: bool, videos: bool) -> None:
        self.path = path
        self.reading = PandasReading()
        self.without_image = 0
        """Rows without an image in a file that has images: VLMEvalKit leaves them out."""
        self.rows = 0
        self._columns = list(columns)
        self._media = [*((IMAGE_COLUMN,) if images else ()), *(VIDEO_COLUMNS if videos else ())]
        self._owners: dict[str, str] = {}
        self._file: BinaryIO = path.open("wb")
        self._file.write(tsv_line([*self._columns, *self._media]))

    def __enter__(self) -> TsvWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(
        self, cells: Mapping[str, str], images: Sequence[tuple[str, bytes]], video: str
    ) -> None:
        """Write a row. `images` are digests and bytes; `video` is a path relative to the file."""
        media = {IMAGE_COLUMN: self._image_cell(cells["index"], images)}
        media.update(zip(VIDEO_COLUMNS, (Path(video).stem if video else "", video), strict=True))
        self.without_image += IMAGE_COLUMN in self._media and not images
        self.reading.add(cells["index"], {name: cells.get(name, "") for name in self._columns})
        self.rows += 1
        self._file.write(
            tsv_line(
                [
                    *(cells.get(name, "") for name in self._columns),
                    *(media[name] for name in self._media),
                ]
            )
        )

    def _image_cell(self, index: str, images: Sequence[tuple[str, bytes]]) -> str:
        if not images:
            return ""
        if len(images) > 1:
            return json.dumps([_base64_cell(data) for _, data in images])
        digest, data = images[0]
        owner = self._owners.setdefault(digest, index)
        if owner != index and len(owner) <= _MAX_REFERENCE and not owner.startswith("["):
            return owner
        return _base64_cell(data)


def _base64_cell(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    if len(text) > _MAX_REFERENCE:
        return text
    # Such a short cell would be read as an index.
    file = io.BytesIO()
    decode_image(data).save(file, "BMP")
    return base64.b64encode(file.getvalue()).decode()


def tsv_line(cells: Sequence[str]) -> bytes:
    """A line of a TSV file: cells with tabs, quotes or line breaks are quoted."""
    return ("\t".join(map(_quote_cell, cells)) + "\n").encode()


def _quote_cell(cell: str) -> str:
    if any(sign in cell for sign in '\t"\n\r'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _some(rows: Sequence[str]) -> str:
    return f"{', '.join(rows[:3])}{', ...' if len(rows) > 3 else ''}"
