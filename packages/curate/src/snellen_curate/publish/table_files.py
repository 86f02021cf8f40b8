"""The files of a publication: its columns, what of an item stands in them, Parquet files whose
images `datasets.load_dataset` decodes, and TSV files as VLMEvalKit reads them.

The conventions of TSV are those of VLMEvalKit's `vlmeval/dataset/image_base.py` (commit e8e78f0):
an image cell is base64, the Python list of several, or, at no more than 64 characters, the index of
the row that has the image. The file is read by pandas with its defaults, which take some texts for
missing values and some columns for numbers; `PandasReading` says where that changes a text.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from typing import Any, BinaryIO

from snellen.core.media import decode_image
from snellen.data.tables.arrow_columns import image_type
from snellen.data.tables.convert import delimited_line
from snellen.data.toml_files import read_packaged
from snellen.data_sets.items import TYPE_COLUMN, UNIT_COLUMN, Item, item_kind
from snellen_curate.attribution import IMAGE_COLUMNS, LICENCE_COLUMNS
from snellen_curate.publish.licences import SOURCE_COLUMN

LICENCE_COLUMN = "license"
SPLIT_COLUMN = "split"
ABILITY_COLUMNS = ("category", "l2-category")
_CLIP_COLUMNS = ("start", "end")
"""Columns of video questions that say which part of the video is shown."""


@dataclass(slots=True)
class Layout:
    """Columns of all files of a publication, found in one pass over the items; every split has the
    same."""

    kept_columns: Sequence[str] = ()
    left_out: set[str] = field(default_factory=set)
    """Columns of the items that are not published."""
    max_images: int = 0
    """Images of the item that has most: 0, 1, or more."""
    has_videos: bool = False
    _seen: set[str] = field(default_factory=set)

    def add(self, item: Item) -> None:
        """Note the columns that an item needs."""
        cells = public_cells(item, "")
        kinds = [ref.kind for ref in item.sample.media]
        self._seen |= {name for name, text in cells.items() if text}
        self.max_images = max(self.max_images, kinds.count("image"))
        self.has_videos |= "video" in kinds
        self.left_out |= item.cells.keys() - {*cells, *self.kept_columns, *IMAGE_COLUMNS, *LICENCE_COLUMNS}

    @property
    def text_columns(self) -> list[str]:
        """The columns of texts, in the order of VLMEvalKit's files."""
        tail = [*ABILITY_COLUMNS, UNIT_COLUMN, *_CLIP_COLUMNS, SOURCE_COLUMN]
        names = ["index", "question", *(name for name in ("hint", *ascii_uppercase) if name in self._seen)]
        names += ["answer", TYPE_COLUMN, *(name for name in tail if name in self._seen)]
        names += [LICENCE_COLUMN, SPLIT_COLUMN]
        return [*names, *(name for name in self.kept_columns if name not in names)]


def public_cells(
    item: Item, licence: str, split: str = "", kept: Sequence[str] = (), *, held_out: bool = False
) -> dict[str, str]:
    """The text cells of an item as they are published; of a held-out one without its answer and
    without the columns that the user added."""
    sample = item.sample
    cells = {
        "index": sample.id,
        "question": sample.question,
        "hint": sample.hint,
        **sample.options,
        "answer": "" if held_out else answer_cell(sample.gold),
        TYPE_COLUMN: item_kind(item),
        **{name: sample.groups.get(name, "") for name in ABILITY_COLUMNS},
        UNIT_COLUMN: sample.unit,
        **{name: item.cells.get(name, "") for name in (*_CLIP_COLUMNS, SOURCE_COLUMN)},
        LICENCE_COLUMN: licence,
        SPLIT_COLUMN: split,
    }
    further = {name: "" if held_out else item.label(name) for name in kept if name not in cells}
    return {**cells, **further}


def answer_cell(gold: Sequence[str]) -> str:
    """The answer as a cell: several accepted answers as a JSON list."""
    return gold[0] if len(gold) == 1 else json.dumps(list(gold), ensure_ascii=False) if gold else ""


def ability_of(item: Item, column: str) -> str:
    """The ability by which the split is balanced: of `column`, else of the first usual one."""
    if column:
        return item.label(column)
    return next((text for name in ABILITY_COLUMNS if (text := item.label(name))), "")


IMAGE_COLUMN = "image"
VIDEO_COLUMN = "video_path"
_ROW_GROUP = 64
"""Rows of a row group: an image is read with all images of its group."""


class SplitWriter:
    """Writes the rows of one split. The same rows give the same bytes with the same pyarrow."""

    def __init__(self, path: Path, layout: Layout) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        self._layout, self._columns = layout, layout.text_columns
        self._schema = _schema(layout, pa)
        self._batch: list[dict[str, Any]] = []
        self._writer = ParquetWriter(path, self._schema)

    def close(self) -> None:
        try:
            self._flush()
        finally:
            self._writer.close()

    def write(self, cells: Mapping[str, str], images: Sequence[tuple[str, bytes]], video: str) -> None:
        """Write a row. `images` are names and bytes; `video` is a path relative to the file."""
        record: dict[str, Any] = {name: cells.get(name) or None for name in self._columns}
        structs = [{"bytes": data, "path": name} for name, data in images]
        if self._layout.max_images:
            record[IMAGE_COLUMN] = structs if self._layout.max_images > 1 else next(iter(structs), None)
        if self._layout.has_videos:
            record[VIDEO_COLUMN] = video or None
        self._batch.append(record)
        if len(self._batch) == _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._batch:
            self._writer.write_table(pa.Table.from_pylist(self._batch, self._schema))
            self._batch.clear()


def _schema(layout: Layout, pa: Any) -> Any:
    """The Arrow schema, with the features that the library `datasets` reads from its metadata."""
    fields = [(name, pa.string()) for name in layout.text_columns]
    features: dict[str, Any] = {name: {"dtype": "string", "_type": "Value"} for name in layout.text_columns}
    if layout.max_images > 1:
        fields.append((IMAGE_COLUMN, pa.list_(image_type())))
        features[IMAGE_COLUMN] = {"feature": {"_type": "Image"}, "_type": "Sequence"}
    elif layout.max_images:
        fields.append((IMAGE_COLUMN, image_type()))
        features[IMAGE_COLUMN] = {"_type": "Image"}
    if layout.has_videos:
        fields.append((VIDEO_COLUMN, pa.string()))
        features[VIDEO_COLUMN] = {"dtype": "string", "_type": "Value"}
    info = json.dumps({"info": {"features": features}})
    return pa.schema(fields, metadata={"huggingface": info})


VIDEO_COLUMNS = ("video", "video_path")
_MAX_REFERENCE = 64
"""Longest image cell, in characters, that VLMEvalKit takes for the index of another row."""
_MISSING = frozenset(read_packaged(__package__, "pandas.toml")["missing"])
"""Texts that `pandas.read_csv` takes for missing values by default."""
_MAX_TEXTS = 1000
"""Different numbers of a column that are looked at."""
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


@dataclass(slots=True)
class PandasReading:
    """Finds the cells that VLMEvalKit would not get as they stand."""

    missing: dict[str, list[str]] = field(default_factory=dict)
    """By text such as `None`: the rows that have it, which lose it."""
    _numbers: dict[str, dict[str, None] | None] = field(default_factory=dict)
    """Different texts of each column that pandas takes for numbers, "" for a missing value; None of
    any other column."""

    def add(self, index: str, cells: Mapping[str, str]) -> None:
        """Note the question, hint, options and answer of a row."""
        for name, text in cells.items():
            if name not in ("question", "hint", "answer", *ascii_uppercase):
                continue
            if text in _MISSING:
                self.missing.setdefault(text, []).append(index)
            texts = self._numbers.setdefault(name, {})
            is_missing = not text or text in _MISSING
            if not is_missing and not _NUMBER.fullmatch(text.strip()):
                self._numbers[name] = None
            elif texts is not None and (is_missing or len(texts) < _MAX_TEXTS):
                texts["" if is_missing else text] = None

    def sentences(self, file: str) -> list[str]:
        """What a user of VLMEvalKit must know about the file."""
        found = [
            f"{file}: pandas, which VLMEvalKit reads it with, takes the text {text!r} for an empty "
            f"cell ({', '.join(rows[:3])}{', ...' if len(rows) > 3 else ''}); write it otherwise, e.g. `none of these`"
            for text, rows in sorted(self.missing.items())
        ]
        for name, texts in self._numbers.items():
            if changed := _changed_number(texts or {}):
                found.append(
                    f"{file}: every cell of the column {name} is a number, so that pandas, which "
                    f"VLMEvalKit reads it with, makes {changed[1]} of {changed[0]}"
                )
        return found


def _changed_number(texts: Iterable[str]) -> tuple[str, str] | None:
    """A number and what pandas makes of it, if that differs. It has integers where no value is
    missing."""
    are_integers = all(_INTEGER.fullmatch(text.strip()) for text in texts)
    read = [(text, str(int(text)) if are_integers else repr(float(text))) for text in texts if text]
    return next((pair for pair in read if pair[0] != pair[1]), None)


class TsvWriter:
    """Writes one file, row by row; an image that an earlier row has becomes its index."""

    def __init__(self, path: Path, columns: Sequence[str], *, images: bool, videos: bool) -> None:
        self.reading = PandasReading()
        self.without_image = 0
        """Rows without an image in a file that has images: VLMEvalKit leaves them out."""
        self._columns = list(columns)
        self._media = [*((IMAGE_COLUMN,) if images else ()), *(VIDEO_COLUMNS if videos else ())]
        self._owners: dict[str, str] = {}
        self._file: BinaryIO = path.open("wb")
        self._file.write(tsv_line([*self._columns, *self._media]))

    def close(self) -> None:
        self._file.close()

    def write(self, cells: Mapping[str, str], images: Sequence[tuple[str, bytes]], video: str) -> None:
        """Write a row. `images` are digests and bytes; `video` is a path relative to the file."""
        media = {IMAGE_COLUMN: self._image_cell(cells["index"], images)}
        media.update(zip(VIDEO_COLUMNS, (Path(video).stem if video else "", video), strict=True))
        self.without_image += IMAGE_COLUMN in self._media and not images
        self.reading.add(cells["index"], {name: cells.get(name, "") for name in self._columns})
        self._file.write(
            tsv_line([*(cells.get(name, "") for name in self._columns), *(media[name] for name in self._media)])
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
    return delimited_line(cells, "\t")
