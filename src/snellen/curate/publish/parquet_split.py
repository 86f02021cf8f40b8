"""One Parquet file per split, whose images `datasets.load_dataset` decodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from snellen.curate.publish.layout import Layout
from snellen.data.tables.arrow_columns import image_type

IMAGE_COLUMN = "image"
VIDEO_COLUMN = "video_path"
_ROW_GROUP = 64
"""Rows of a row group: an image is read with all images of its group."""


class SplitWriter:
    """Writes the rows of one split. The same rows give the same bytes with the same pyarrow."""

    def __init__(self, path: Path, layout: Layout) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        self.path = path
        self.rows = 0
        self._has_lists = layout.max_images > 1
        self._layout = layout
        self._schema = _schema(layout, pa)
        self._batch: list[dict[str, Any]] = []
        self._writer = ParquetWriter(path, self._schema)

    def __enter__(self) -> SplitWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._writer.close()

    def write(
        self, cells: Mapping[str, str], images: Sequence[tuple[str, bytes]], video: str
    ) -> None:
        """Write a row. `images` are names and bytes; `video` is a path relative to the file."""
        record: dict[str, Any] = {
            name: cells.get(name) or None for name in self._layout.text_columns
        }
        structs = [{"bytes": data, "path": name} for name, data in images]
        if self._layout.max_images:
            record[IMAGE_COLUMN] = structs if self._has_lists else next(iter(structs), None)
        if self._layout.has_videos:
            record[VIDEO_COLUMN] = video or None
        self._batch.append(record)
        self.rows += 1
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
    features: dict[str, Any] = {
        name: {"dtype": "string", "_type": "Value"} for name in layout.text_columns
    }
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
