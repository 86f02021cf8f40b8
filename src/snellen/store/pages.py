"""Reads rows directly from the pages of a SQLite file, without the B-tree that links them.

If a page of the tree is damaged, SQLite cannot reach the pages below it, and if the root is lost it
finds no row at all. Those pages are still in the file, and each can be parsed on its own. Format:
https://www.sqlite.org/fileformat2.html, Sec. 1.6 (pages) and 2.1 (records).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

Value = int | float | str | bytes | None

_HEADER = 100
"""Bytes of the file header, at the start of the first page."""
_INNER, _LEAF = 0x02, 0x0A
"""Types of pages that hold rows of a WITHOUT ROWID table (index B-tree pages)."""
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of an integer by its serial type."""


def rows_on_pages(path: Path) -> Iterator[tuple[Value, ...]]:
    """Yield every row of every WITHOUT ROWID table, and every index entry, in file order.

    The pages do not name their table: the caller must recognise its rows. Deleted rows on unused
    pages are included, and on damaged pages bytes that merely parse as a row.
    """
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
    """The pages of a file, by their number from 1."""

    def __init__(self, file: BinaryIO, size: int, usable: int, count: int) -> None:
        self._file = file
        self._size = size
        self._usable = usable
        """Bytes of a page that SQLite uses."""
        self._count = count

    def rows(self, number: int) -> Iterator[tuple[Value, ...]]:
        """Rows whose cells begin on a page; cells that cannot be parsed are skipped."""
        page = self._page(number)
        start = _HEADER if number == 1 else 0
        kind = page[start]
        if kind not in (_INNER, _LEAF):
            return
        first = start + (12 if kind == _INNER else 8)
        cells = int.from_bytes(page[start + 3 : start + 5])
        for pointer in range(first, min(first + 2 * cells, self._usable - 1), 2):
            offset = int.from_bytes(page[pointer : pointer + 2])
            try:
                # On inner pages four bytes precede the row: the number of the child page.
                payload = self._payload(page, offset + 4 if kind == _INNER else offset)
                yield _record(payload)
            except (IndexError, ValueError, struct.error):
                continue

    def _page(self, number: int) -> bytes:
        if not 1 <= number <= self._count:
            raise ValueError("there is no such page")
        self._file.seek(self._size * (number - 1))
        return self._file.read(self._size)

    def _payload(self, page: bytes, offset: int) -> bytes:
        """The bytes of a row. Those that do not fit on its page are on a chain of overflow pages
        (Sec. 1.6, "Cell Payload Overflow Pages")."""
        length, offset = _varint(page, offset)
        if length > self._size * self._count:
            raise ValueError("a row is not longer than its file")
        max_local = (self._usable - 12) * 64 // 255 - 23
        min_local = (self._usable - 12) * 32 // 255 - 23
        local = length
        if length > max_local:
            local = min_local + (length - min_local) % (self._usable - 4)
            local = local if local <= max_local else min_local
        parts = [page[offset : offset + local]]
        remaining, end = length - local, offset + local
        next_page = page[end : end + 4]
        while remaining > 0:
            overflow = self._page(int.from_bytes(next_page))
            parts.append(overflow[4 : 4 + min(remaining, self._usable - 4)])
            remaining -= len(parts[-1])
            next_page = overflow[:4]
        return b"".join(parts)


def _record(payload: bytes) -> tuple[Value, ...]:
    """Decode a row: a header with the serial type of each value, then the values."""
    end, offset = _varint(payload, 0)
    types = []
    while offset < end:
        kind, offset = _varint(payload, offset)
        types.append(kind)
    if offset != end:
        raise ValueError("the header of a row ends within a type")
    values: list[Value] = []
    for kind in types:
        value, offset = _value(payload, kind, offset)
        values.append(value)
    return tuple(values)


def _value(payload: bytes, kind: int, offset: int) -> tuple[Value, int]:
    """The value of serial type `kind` at an offset, and the offset of the next value."""
    if kind == 0:
        return None, offset
    if kind in (8, 9):
        return kind - 8, offset
    if kind == 7:
        return struct.unpack_from(">d", payload, offset)[0], offset + 8
    if kind in (10, 11):
        raise ValueError("no value has this type")
    length = _INTEGERS[kind] if kind in _INTEGERS else (kind - 12) // 2
    data = payload[offset : offset + length]
    if len(data) < length:
        raise ValueError("the row ends within a value")
    if kind in _INTEGERS:
        return int.from_bytes(data, signed=True), offset + length
    return (data.decode() if kind % 2 else data), offset + length


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """A variable-length integer (1 to 9 bytes of 7 bits, the ninth of 8), and where it ends."""
    value = 0
    for index in range(offset, offset + 8):
        byte = data[index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, index + 1
    return value << 8 | data[offset + 8], offset + 9
