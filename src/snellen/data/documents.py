"""Read files up to a limit of bytes, and decode JSON; every error is one sentence."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import date, datetime, time
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from snellen.core.errors import DataError
from snellen.core.limits import MB, Limits, check_size, is_too_deep, nesting_error, raising_advice

_NAME_END = re.compile(rb'"(?=\s*:)')


def read_bounded(path: Path, limits: Limits, name: str) -> bytes:
    """The content of a file. Raises OSError, and DataError for a file over `document_mb`."""
    check_size(path.stat().st_size, limits.document_mb * MB, "document_mb", name)
    return path.read_bytes()


def read_lines(stream: BinaryIO, limits: Limits, name: str) -> Iterator[bytes]:
    """The lines of a stream with their line ends. Raises DataError for a line over `row_mb`."""
    max_bytes = limits.row_mb * MB
    number = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        if len(line) > max_bytes:
            raise DataError(f"{name}, line {number}: longer than {limits.row_mb} MB; {raising_advice('row_mb')}")
        yield line


def decode_json(data: bytes, where: str, limits: Limits) -> Any:
    """Decode a JSON value; NaN is accepted, and half a surrogate pair becomes U+FFFD.

    Raises DataError that begins with `where`, also for an object that has two values of one name.
    """
    try:
        value = _decode(data, where)
        # As many as there are names; more where texts hold the same, or names stand twice.
        if len(_NAME_END.findall(data)) > _count_names(value):
            hook = partial(_refuse_two_values, where)
            json.loads(data, object_pairs_hook=hook, parse_int=str, parse_float=str)
    except RecursionError:
        raise nesting_error(where, limits.depth) from None
    if is_too_deep(value, limits.depth):
        raise nesting_error(where, limits.depth)
    return value


def _count_names(value: Any) -> int:
    """How many names the objects of a JSON value have together."""
    if isinstance(value, dict):
        inner = [each for each in value.values() if isinstance(each, dict | list)]
        return len(value) + (sum(map(_count_names, inner)) if inner else 0)
    return sum(map(_count_names, value)) if isinstance(value, list) else 0


def _refuse_two_values(where: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    for name, value in pairs if len(found) < len(pairs) else ():
        if value != found[name]:
            raise DataError(f"{where}: {name!r} stands twice in one object, with different values; keep one")
    return found


def _decode(data: bytes, where: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        return replace_surrogates(json.loads(data))
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where}: not UTF-8 text (byte 0x{error.object[error.start]:02x} at {error.start}); "
            "save the file as UTF-8 (from GBK: iconv -f GBK -t UTF-8 FILE)"
        ) from None
    except ValueError as error:
        raise DataError(f"{where}: not valid JSON: {error}") from None


def replace_surrogates(value: Any) -> Any:
    """The value with lone surrogates replaced, which UTF-8 cannot encode."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [replace_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {replace_surrogates(key): replace_surrogates(item) for key, item in value.items()}
    return value


def cell_text(value: object) -> str:
    """A value as text: numbers as Python prints them, `true` and `false`, lists as JSON.

    None and NaN are empty.
    """
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=cell_text)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)
