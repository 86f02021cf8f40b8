"""Rows of typed formats: JSON objects, Parquet rows and Hugging Face examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from snellen.core.errors import DataError, UnknownName
from snellen.core.media import digest_bytes
from snellen.data.columns import (
    EMBEDDED_SOUND,
    IGNORED_MARK,
    canonical_column,
    check_distinct,
    column_name,
    is_image_column,
    is_sound_column,
    is_video_column,
    our_names,
    parse_list,
    rename_cells,
)
from snellen.data.media.image_cells import (
    NamedImage,
    NamedVideo,
    StoredMedium,
    broken_cell,
    parse_list_item,
    parse_name,
    parse_seconds,
)
from snellen.data.media.sources import CellLocation, JsonLocation, SliceLocation, decode_base64, strip_data_url
from snellen.data.tables.cells import finish_row, flat_cells
from snellen.data.tables.index import IndexedRow

Record = dict[str, Any]
Keys = tuple[str | int, ...]
"""The path from a record to one of its values."""

ImageLocator = Callable[[Keys, bytes], StoredMedium]
"""Returns the location in the data file of the image with these bytes."""

_MAX_NAME_LENGTH = 1024
_CLIP_KEYS = {"path", "start", "end"}


def typed_rows(
    records: Iterable[tuple[Record, ImageLocator]], column_map: Mapping[str, str], name: str
) -> Iterator[IndexedRow]:
    """Rows with cells and images. Raises DataError if there are none, UnknownName if no record has
    a column of the user's map."""
    missing = {canonical_column(key): name_in_file for key, name_in_file in column_map.items()}
    our_name = our_names(column_map)
    columns: dict[str, None] = {}
    empty, checked = True, set[tuple[str, ...]]()
    for record, locate in records:
        empty = False
        if (keys := tuple(record)) not in checked:
            check_distinct(keys, name)
            checked.add(keys)
        row = typed_row(record, locate, column_map, our_name)
        columns.update(dict.fromkeys(row.cells))
        if missing:
            missing = {
                column: name_in_file
                for column, name_in_file in missing.items()
                if not _has_column(record, name_in_file)
            }
        yield row
    if empty:
        raise DataError(f"{name} holds no rows")
    if missing:
        raise UnknownName("column", next(iter(missing.values())), columns)


def plain_rows(records: Iterable[Record], column_map: Mapping[str, str], name: str) -> Iterator[IndexedRow]:
    """Rows of records whose images nobody will read. Raises as `typed_rows`."""
    return typed_rows(((record, _no_location) for record in records), column_map, name)


def _no_location(keys: Keys, image: bytes) -> StoredMedium:
    return JsonLocation(0, 0, keys, digest_bytes(image), len(image))


def _has_column(record: Record, name: str) -> bool:
    """Whether a record has a column, with a value or null; all of several joined by `+`, and the
    outer one of `outer.inner`."""
    names = {column_name(str(key), position) for position, key in enumerate(record)}
    parts = [column_name(part, 0) for part in name.split("+")]
    return all(part in names or part.partition(".")[0] in names for part in parts)


def typed_row(
    record: Record, locate: ImageLocator, column_map: Mapping[str, str], our_name: Callable[[str], str]
) -> IndexedRow:
    """A row from one record: text cells, and the images and videos that it holds or names."""
    media: dict[str, list[StoredMedium]] = {}
    texts: Record = {}
    for position, (key, value) in enumerate(record.items()):
        column = our_name(column_name(str(key), position))
        items: list[StoredMedium] = []
        if column.endswith(IGNORED_MARK):
            continue
        if is_video_column(column) and isinstance(value, dict) and "path" in value and value.keys() <= _CLIP_KEYS:
            texts = _clip_seconds(value) | texts
            value = value["path"]
        if is_sound_column(column) and _holds_bytes(value):
            value = EMBEDDED_SOUND
        if is_image_column(column) or _holds_bytes(value):
            items = list(_parse_images(value, (key,), locate))
        if items and is_video_column(column):
            items, value = _as_videos(items, value)
        if items:
            media[column] = items
        if not items or all(isinstance(item, NamedImage | NamedVideo) for item in items):
            texts[key] = value
    for role, name_in_file in column_map.items():
        if "." in name_in_file and is_image_column(role):
            keys = tuple(name_in_file.split("."))
            media[role] = list(_parse_images(_inner_value(record, keys), keys, locate))
    cells = flat_cells(texts, column_map.get("gold"), column_map.get("prediction"))
    return finish_row(rename_cells(cells, column_map), media)


def _inner_value(value: Any, keys: Sequence[str]) -> Any:
    """The value that keys lead to in nested objects, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _as_videos(items: list[StoredMedium], value: Any) -> tuple[list[StoredMedium], Any]:
    """Mark embedded bytes as video; a path stays a text cell."""
    if isinstance(items[0], NamedImage):
        return [], items[0].name
    if isinstance(items[0], NamedVideo):
        return [], items[0].names[0]
    return [
        structs.replace(item, kind="video")
        if isinstance(item, CellLocation) and not isinstance(item, SliceLocation)
        else item
        for item in items
    ], value


def _holds_bytes(value: Any) -> bool:
    """Whether a value is bytes, the image struct of Hugging Face data sets ({bytes, path}), or a
    list of these."""
    if isinstance(value, list):
        return bool(value) and _holds_bytes(value[0])
    if isinstance(value, dict):
        return {"bytes", "path"} == set(value)
    return isinstance(value, bytes)


def _parse_images(value: Any, keys: Keys, locate: ImageLocator) -> Iterator[StoredMedium]:
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from _parse_images(item, (*keys, position), locate)
    elif isinstance(value, dict):
        inner = "bytes" if value.get("bytes") else "path"
        for item in _parse_images(value.get(inner), (*keys, inner), locate):
            yield structs.replace(item, **_clip_seconds(value)) if isinstance(item, NamedVideo) else item
    elif isinstance(value, bytes):
        yield locate(keys, value)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield NamedImage(str(value))
    elif isinstance(value, str) and value.strip():
        items = parse_list(value)
        if items is not None:
            yield from (parse_list_item(str(item)) for item in items)
        else:
            yield _parse_image(value, keys, locate)


def _clip_seconds(value: Record) -> dict[str, float]:
    """The part of a video that the object says which names it: those of its `start` and `end` that are seconds."""
    said = {key: parse_seconds(value.get(key)) for key in ("start", "end")}
    return {key: seconds for key, seconds in said.items() if seconds is not None}


def _parse_image(text: str, keys: Keys, locate: ImageLocator) -> StoredMedium:
    raw = text.encode()
    reference = parse_name(raw) if len(raw) <= _MAX_NAME_LENGTH else None
    if reference:
        return reference
    try:
        data = decode_base64(strip_data_url(raw))
    except ValueError as error:
        return broken_cell(f"the image is not base64: {error}", raw)
    return locate(keys, data)
