"""Rows of typed formats: JSON objects, Parquet rows and Hugging Face examples alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import structs

from snellen.core.errors import DataError, UnknownName
from snellen.data.columns import (
    OPTION_LISTS,
    canonical,
    column_name,
    is_image_column,
    is_video_column,
    parse_list,
    rename_cells,
)
from snellen.data.media.image_cells import (
    DatasetPlace,
    JsonPlace,
    Named,
    ParquetPlace,
    Stored,
    broken,
    named_item,
    short_name,
)
from snellen.data.media.sources import bare_base64, decode_base64
from snellen.data.tables.cells import finish, flat_cells
from snellen.data.tables.index import IndexedRow

Record = dict[str, Any]
Keys = tuple[str | int, ...]
"""The way from a record to one of its values."""

Place = Callable[[Keys, bytes], Stored]
"""Says where the picture with these bytes stands in the data file."""

_NAME_LENGTH = 1024


def typed_rows(
    records: Iterable[tuple[Record, Place]], chosen: Mapping[str, str], name: str
) -> Iterator[IndexedRow]:
    """Rows with cells and pictures. Raises DataError if there are none, UnknownName if no record
    has a column the user chose."""
    unmet = {canonical(ours): theirs for ours, theirs in chosen.items() if ours != "image"}
    known: dict[str, None] = {}
    empty = True
    for record, place in records:
        empty = False
        row = typed_row(record, place, chosen)
        known.update(dict.fromkeys(row.cells))
        # A list of options is spread over A, B, C, ... and is no column any more.
        spread = OPTION_LISTS if "A" in row.cells else ()
        for column in [one for one in unmet if one in row.cells or one in spread]:
            del unmet[column]
        yield row
    if empty:
        raise DataError(f"{name} holds no rows")
    if unmet:
        raise UnknownName("column", next(iter(unmet.values())), known)


def typed_row(record: Record, place: Place, chosen: Mapping[str, str]) -> IndexedRow:
    media: dict[str, list[Stored]] = {}
    texts: Record = {}
    for position, (key, value) in enumerate(record.items()):
        column = column_name(str(key), position)
        if chosen.get("image") in (key, column):
            column = "image"
        items: list[Stored] = []
        if is_image_column(column) or _holds_bytes(value):
            items = list(_pictures(value, (key,), place))
        if items and is_video_column(column):
            items, value = _videos(items, value)
        if items:
            media[column] = items
        if not items or all(isinstance(item, Named) for item in items):
            texts[key] = value
    cells = flat_cells(texts, chosen.get("gold"), chosen.get("prediction"))
    return finish(rename_cells(cells, chosen), media)


def _videos(items: list[Stored], value: Any) -> tuple[list[Stored], Any]:
    """Videos whose bytes the file holds; the name alone where it holds a path."""
    if isinstance(items[0], Named):
        return [], items[0].name
    kept = JsonPlace | ParquetPlace | DatasetPlace
    return [
        structs.replace(item, kind="video") if isinstance(item, kept) else item for item in items
    ], value


def _holds_bytes(value: Any) -> bool:
    """Bytes, the image struct of Hugging Face data sets ({bytes, path}), or a list of these."""
    if isinstance(value, list):
        return bool(value) and _holds_bytes(value[0])
    if isinstance(value, dict):
        return {"bytes", "path"} == set(value)
    return isinstance(value, bytes)


def _pictures(value: Any, keys: Keys, place: Place) -> Iterator[Stored]:
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from _pictures(item, (*keys, position), place)
    elif isinstance(value, dict):
        inner = "bytes" if value.get("bytes") else "path"
        if value.get(inner):
            yield from _pictures(value[inner], (*keys, inner), place)
    elif isinstance(value, bytes):
        yield place(keys, value)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield Named(str(value))
    elif isinstance(value, str) and value.strip():
        items = parse_list(value)
        if items is not None:
            yield from (named_item(str(item)) for item in items)
        else:
            yield _picture(value, keys, place)


def _picture(text: str, keys: Keys, place: Place) -> Stored:
    raw = text.encode()
    found = short_name(raw) if len(raw) <= _NAME_LENGTH else None
    if found:
        return found
    try:
        data = decode_base64(bare_base64(raw))
    except ValueError as error:
        return broken(f"the image is not base64: {error}", raw)
    return place(keys, data)
