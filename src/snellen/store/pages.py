"""Rows of a table read out of the pages of a SQLite file one by one, without the tree above them.

A page that cannot be read takes with it whatever the tree holds below it: SQLite finds no row
of a table whose root is lost. The pages below are still in the file, and each says by itself what
it holds. Their format: https://www.sqlite.org/fileformat2.html, Sec. 1.6 (pages) and 2.1 (records).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

Value = int | float | str | bytes | None

_HEADER = 100
"""Bytes of the file's own header, at the beginning of the first page."""
_INNER, _LEAF = 0x02, 0x0A
"""Kinds of pages that hold rows of a table without row ids."""
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of an integer by its serial type."""


def rows_on_pages(path: Path) -> Iterator[tuple[Value, ...]]:
    """Every row of every table without row ids, and every entry of every index, in the order of
    the file: what a caller looks for it must know by itself. What was left behind on pages that
    are no longer used is among them, and on damaged pages what only looks like a row."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
        size = int.from_bytes(header[16:18]) if len(header) == _HEADER else 0
        size = 1 << 16 if size == 1 else size
        if size < 512 or size & (size - 1):
            return
        count = path.stat().st_size // size
        pages = _Pages(file, size, size - header[20], count)
        for number in range(1, count + 1):
            yield from pages.rows(number)


class _Pages:
    def __init__(self, file: BinaryIO, size: int, usable: int, count: int) -> None:
        self._file = file
        self._size = size
        self._usable = usable
        """Bytes of a page that SQLite uses."""
        self._count = count

    def rows(self, number: int) -> Iterator[tuple[Value, ...]]:
        page = self._page(number)
        start = _HEADER if number == 1 else 0
        kind = page[start]
        if kind not in (_INNER, _LEAF):
            return
        first = start + (12 if kind == _INNER else 8)
        cells = int.from_bytes(page[start + 3 : start + 5])
        for place in range(first, min(first + 2 * cells, self._usable - 1), 2):
            at = int.from_bytes(page[place : place + 2])
            try:
                # On inner pages the number of the page below stands before the row.
                payload = self._payload(page, at + 4 if kind == _INNER else at)
                yield _record(payload)
            except (IndexError, ValueError, struct.error):
                continue

    def _page(self, number: int) -> bytes:
        if not 1 <= number <= self._count:
            raise ValueError("there is no such page")
        self._file.seek(self._size * (number - 1))
        return self._file.read(self._size)

    def _payload(self, page: bytes, at: int) -> bytes:
        """A row's bytes, of which those that find no room on the page are on a chain of others
        (Sec. 1.6, "Cell Payload Overflow Pages")."""
        length, at = _varint(page, at)
        if length > self._size * self._count:
            raise ValueError("a row is not longer than its file")
        most = (self._usable - 12) * 64 // 255 - 23
        least = (self._usable - 12) * 32 // 255 - 23
        here = length
        if length > most:
            here = least + (length - least) % (self._usable - 4)
            here = here if here <= most else least
        found = [page[at : at + here]]
        left, follows = length - here, at + here
        following = page[follows : follows + 4]
        while left > 0:
            other = self._page(int.from_bytes(following))
            found.append(other[4 : 4 + min(left, self._usable - 4)])
            left -= len(found[-1])
            following = other[:4]
        return b"".join(found)


def _record(payload: bytes) -> tuple[Value, ...]:
    """The values of a row: their serial types stand in its header."""
    end, at = _varint(payload, 0)
    types = []
    while at < end:
        kind, at = _varint(payload, at)
        types.append(kind)
    if at != end:
        raise ValueError("the header of a row ends within a type")
    values: list[Value] = []
    for kind in types:
        value, at = _value(payload, kind, at)
        values.append(value)
    return tuple(values)


def _value(payload: bytes, kind: int, at: int) -> tuple[Value, int]:
    """The value at a place, and where the next one begins."""
    if kind == 0:
        return None, at
    if kind in (8, 9):
        return kind - 8, at
    if kind == 7:
        return struct.unpack_from(">d", payload, at)[0], at + 8
    if kind in (10, 11):
        raise ValueError("no value has this type")
    length = _INTEGERS[kind] if kind in _INTEGERS else (kind - 12) // 2
    data = payload[at : at + length]
    if len(data) < length:
        raise ValueError("the row ends within a value")
    if kind in _INTEGERS:
        return int.from_bytes(data, signed=True), at + length
    return (data.decode() if kind % 2 else data), at + length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, seven bits in each but the ninth, and where it ends."""
    value = 0
    for place in range(at, at + 8):
        byte = data[place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + 1
    return value << 8 | data[at + 8], at + 9
