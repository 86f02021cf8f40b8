"""Rows of JSON Lines files and JSON documents."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from string import ascii_uppercase
from typing import Any, BinaryIO, NamedTuple

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT_LIMITS, Limits
from snellen.core.media import digest_bytes
from snellen.data.documents import decode_json, read_bounded, read_lines
from snellen.data.media.sources import JsonLocation
from snellen.data.tables.index import Scan
from snellen.data.tables.typed_rows import ImageLocator, Keys, Record, plain_rows, typed_rows

_QUESTIONS_KEY = "questions"
_BLOCKS_KEY = "layout_dets"
_SCIENCEQA_KEYS = {"results", "outputs"}
_BOM = b"\xef\xbb\xbf"


class JsonLine(NamedTuple):
    """One line of a JSON Lines file."""

    number: int
    """Line of the file, from 1."""
    offset: int
    data: bytes

    def image_location(self, keys: Keys, image: bytes) -> JsonLocation:
        return JsonLocation(self.offset, len(self.data), keys, digest_bytes(image), len(image))


def scan_jsonl(path: Path, column_map: Mapping[str, str], name: str, limits: Limits = DEFAULT_LIMITS) -> Scan:
    """Read a JSON Lines file for the first time. Raises DataError, UnknownName."""
    hashed = hashlib.sha256()

    def lines() -> Iterator[tuple[Record, ImageLocator]]:
        with path.open("rb") as stream:
            for line in _json_lines(read_lines(stream, limits, name), hashed):
                yield _decode_record(line, name, limits), line.image_location

    return Scan((), typed_rows(lines(), column_map, name), hashed.hexdigest)


def scan_document(path: Path, column_map: Mapping[str, str], name: str, limits: Limits = DEFAULT_LIMITS) -> Scan:
    """Read a JSON document into memory, for files without images."""
    data = read_bounded(path, limits, name)
    rows = plain_rows(document_records(data, name, limits), column_map, name)
    return Scan((), rows, lambda: digest_bytes(data))


def document_records(data: bytes, name: str, limits: Limits = DEFAULT_LIMITS) -> list[Record]:
    """The records of a JSON document. Raises DataError.

    A document is a list of objects, an object id -> object (or text), or an object one of whose
    values is the list; several lists of objects with the same keys are joined (LLaVA's `correct`
    and `incorrect`). Objects with a list `questions` (Video-MME's videos) become one record for
    each question; so does TempCompass's video -> aspect -> list. ScienceQA's files hold columns,
    each an object id -> cell; COCO's annotations become a record for each picture, OmniDocBench's for each page.
    """
    value = decode_json(data.removeprefix(_BOM), name, limits)
    if isinstance(value, dict):
        from snellen.data.tables.coco import coco_records, is_coco

        if is_coco(value):
            return coco_records(value, name)
        lists = [item for item in value.values() if _is_record_list(item)]
        if lists and all(item[0].keys() == lists[0][0].keys() for item in lists):
            return _flatten_questions([record for item in lists for record in item])
        if value and all(map(_is_text, value.values())):
            return [{"id": key, "prediction": text} for key, text in value.items()]
        if value and all(map(_is_aspects, value.values())):
            return _flatten_aspects(value)
        if value and all(isinstance(item, dict) for item in value.values()):
            return [_with_id(key, item) for key, item in value.items()]
        if columns := _columns_by_id(value):
            return _joined_columns(columns)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise DataError(
            f"{name}: expected a list of JSON objects, or an object that leads from ids to objects or texts"
        )
    if not value:
        raise DataError(f"{name} holds no rows")
    if all(isinstance(item.get(_BLOCKS_KEY), list) and isinstance(item.get("page_info"), dict) for item in value):
        return [_annotated_page(item) for item in value]
    return _flatten_questions(value)


def write_lines(records: Iterable[Record], part: BinaryIO) -> None:
    """Write records as JSON Lines."""
    for record in records:
        part.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def _json_lines(stream: Iterable[bytes], hashed: hashlib._Hash) -> Iterator[JsonLine]:
    """The lines of a stream that are not blank, with their offsets."""
    offset = 0
    for number, data in enumerate(stream, 1):
        hashed.update(data)
        if data.strip():
            bom = len(_BOM) if not offset and data.startswith(_BOM) else 0
            yield JsonLine(number, offset + bom, data[bom:])
        offset += len(data)


def _decode_record(line: JsonLine, name: str, limits: Limits) -> Record:
    value = decode_json(line.data, f"{name}, line {line.number}", limits)
    if not isinstance(value, dict):
        raise DataError(f"{name}, line {line.number}: expected a JSON object, got {type(value).__name__}")
    return value


def _is_record_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _is_aspects(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(map(_is_record_list, value.values()))


def _flatten_aspects(value: Mapping[str, Mapping[str, list[Record]]]) -> list[Record]:
    """A record for each question about an aspect of a video; video, aspect and index form the
    id."""
    return [
        {"video": video, "dim": aspect, "i": index, **record}
        for video, aspects in value.items()
        for aspect, records in aspects.items()
        for index, record in enumerate(records)
    ]


def _flatten_questions(records: list[Record]) -> list[Record]:
    """A record for each question of a list `questions`, with the fields of its video."""
    if not all(_is_record_list(record.get(_QUESTIONS_KEY)) for record in records):
        return records
    return [
        {**{key: value for key, value in record.items() if key != _QUESTIONS_KEY}, **question}
        for record in records
        for question in record[_QUESTIONS_KEY]
    ]


def _joined_columns(columns: Mapping[str, Mapping[str, Any]]) -> list[Record]:
    """A record for each id. ScienceQA's `results`, the numbers of the options that its script read
    from the `outputs` or drew (-1: none), become letters, as its published accuracy counts them."""
    names = {"outputs": "full_prediction"} if columns.keys() == _SCIENCEQA_KEYS else {}
    records: list[Record] = []
    for key in next(iter(columns.values())):
        record: Record = {"id": key}
        record |= {names.get(column, column): cells[key] for column, cells in columns.items()}
        if names:
            record["prediction"] = _letter(record.pop("results"))
        records.append(record)
    return records


def _letter(index: Any) -> str:
    is_option = isinstance(index, int) and 0 <= index < len(ascii_uppercase)
    return ascii_uppercase[index] if is_option else ""


def _columns_by_id(value: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The columns of a document that holds two or more objects id -> cell with the same ids, among
    other values such as the accuracy; empty for other documents."""
    objects = {
        column: cells
        for column, cells in value.items()
        if isinstance(cells, dict) and cells and all(map(_is_text, cells.values()))
    }
    for ids in [cells.keys() for cells in objects.values()]:
        columns = {column: cells for column, cells in objects.items() if cells.keys() == ids}
        if len(columns) > 1:
            return columns
    return {}


def _with_id(key: str, item: Record) -> Record:
    return item if "id" in item or "index" in item else {"id": key, **item}


def _annotated_page(page: Record) -> Record:
    """A page of OmniDocBench.json: its picture, which stands in the folder `images`, and itself as the gold answer."""
    picture = str(page["page_info"].get("image_path", ""))
    path = picture if "/" in picture else f"images/{picture}"
    return {"id": PurePosixPath(picture).stem, "image_path": path, "answer": json.dumps(page, ensure_ascii=False)}
