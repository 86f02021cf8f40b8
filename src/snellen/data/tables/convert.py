"""Write a table in another format, with the images' original bytes."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from snellen.core.atomic_write import atomic_file
from snellen.core.benchmark import DataTable
from snellen.core.errors import DataError, MediaError, storage_errors
from snellen.core.sample import Row
from snellen.data.columns import is_image_column

SUFFIXES = (".tsv", ".csv", ".jsonl", ".parquet")
IMAGE_COLUMN = "image"
_BATCH = 64

RowProgress = Callable[[int, int], None]
"""Called with the rows written and the total."""


def convert_table(table: DataTable, target: Path, progress: RowProgress | None = None) -> int:
    """Write `table` to `target`, in the format of its suffix; returns the number of rows.

    Images go into the column `image`: base64 (a JSON list if a row has several), in Parquet structs
    of bytes and path as in Hugging Face data sets. The file is published atomically. Raises
    DataError (an image cannot be read, unknown suffix) and StorageError.
    """
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(f"cannot write {target}: expected one of {', '.join(SUFFIXES)}")
    rows = _report_progress(table, progress)
    with storage_errors("write", target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as part:
            _write(table, rows, part, suffix)
    return len(table)


def _write(table: DataTable, rows: Iterator[Row], path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        _write_parquet(table, rows, path)
        return
    with path.open("wb") as file:
        if suffix == ".jsonl":
            _write_jsonl(table, rows, file)
        else:
            _write_delimited(table, rows, file, "\t" if suffix == ".tsv" else ",")


def _report_progress(table: DataTable, progress: RowProgress | None) -> Iterator[Row]:
    for row in table:
        yield row
        if progress:
            progress(row.index + 1, len(table))


def _text_columns(table: DataTable) -> list[str]:
    """All columns except those whose images are written as bytes; `image_path` keeps its names."""
    return [name for name in table.columns if not is_image_column(name) or name.startswith("image_path")]


def _image_bytes(table: DataTable, row: Row) -> list[bytes]:
    try:
        return [ref.source.read() for ref in row.media]
    except MediaError as error:
        raise DataError(f"{table.path}, row {row.index + 1}: the image cannot be copied: {error}") from error


def _encode_base64(images: list[bytes]) -> list[str]:
    return [base64.b64encode(image).decode() for image in images]


def _write_jsonl(table: DataTable, rows: Iterator[Row], file: BinaryIO) -> None:
    columns = _text_columns(table)
    for row in rows:
        record: dict[str, Any] = {name: row.cells[name] for name in columns if name in row.cells}
        texts = _encode_base64(_image_bytes(table, row))
        if texts:
            record[IMAGE_COLUMN] = texts if len(texts) > 1 else texts[0]
        file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def _write_delimited(table: DataTable, rows: Iterator[Row], file: BinaryIO, delimiter: str) -> None:
    columns = _text_columns(table)
    file.write(delimited_line([*columns, IMAGE_COLUMN], delimiter))
    for row in rows:
        texts = _encode_base64(_image_bytes(table, row))
        image = json.dumps(texts) if len(texts) > 1 else "".join(texts)
        file.write(delimited_line([*(row.cells.get(name, "") for name in columns), image], delimiter))


def delimited_line(cells: Sequence[str], delimiter: str) -> bytes:
    """A line of a delimited file: cells with the delimiter, quotes or line breaks are quoted."""
    return (delimiter.join(_quote_cell(cell, delimiter) for cell in cells) + "\n").encode()


def _quote_cell(cell: str, delimiter: str) -> str:
    if any(sign in cell for sign in (delimiter, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _write_parquet(table: DataTable, rows: Iterator[Row], path: Path) -> None:
    """Write rows as Parquet; the image column is a list if any row has several images."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    columns = _text_columns(table)
    has_lists = any(len(row.media) > 1 for row in table)
    image_type = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema(
        [*((name, pa.string()) for name in columns), (IMAGE_COLUMN, pa.list_(image_type) if has_lists else image_type)]
    )
    with ParquetWriter(path, schema) as writer:
        batch: list[dict[str, Any]] = []
        for row in rows:
            structs = [{"bytes": data, "path": None} for data in _image_bytes(table, row)]
            record: dict[str, Any] = {name: row.cells.get(name) for name in columns}
            record[IMAGE_COLUMN] = structs if has_lists else next(iter(structs), None)
            batch.append(record)
            if len(batch) == _BATCH:
                writer.write_table(pa.Table.from_pylist(batch, schema))
                batch.clear()
        if batch:
            writer.write_table(pa.Table.from_pylist(batch, schema))
