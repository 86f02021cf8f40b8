"""Rows of TSV and CSV files, found on bytes in one streaming pass.

Rows are not lines: a quoted cell may hold line breaks. As in pandas, a quote opens a quoted cell
only where the cell begins; anywhere else it is a character like others. A row ends with \\n,
\\r\\n or \\r; empty lines are skipped.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec import Struct

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT, MB, Limits, raise_it
from snellen.data.columns import column_name, is_image_column, join_columns, renamed
from snellen.data.media.image_cells import Named, Stored, pictures_in
from snellen.data.tables.cells import finish
from snellen.data.tables.index import IndexedRow, Scan

CHUNK = 4 << 20

_CR = 0x0D
_PLAIN_ROW = 1 << 16
"""Bytes. A row that is no longer and has no quote is kept as a line."""

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Cell(NamedTuple):
    """One cell as it stands in the file, without its outer quotes.

    `rest` is what follows the closing quote up to the delimiter, normally nothing.
    """

    raw: bytes
    offset: int
    quoted: bool
    rest: bytes = b""

    def text(self) -> bytes:
        return self.raw.replace(b'""', b'"') + self.rest if self.quoted else self.raw


class Line(Struct, frozen=True, gc=False):
    """A row without quotes; its cells are made when somebody looks at them."""

    raw: bytes
    offset: int
    delimiter: bytes

    def texts(self) -> list[str] | None:
        """The texts of all cells; None where they are not UTF-8."""
        try:
            return self.raw.decode().split(self.delimiter.decode())
        except UnicodeDecodeError:
            return None

    def __len__(self) -> int:
        return self.raw.count(self.delimiter) + 1

    def __iter__(self) -> Iterator[Cell]:
        offset = self.offset
        for raw in self.raw.split(self.delimiter):
            yield Cell(raw, offset, False)
            offset += len(raw) + 1

    def __getitem__(self, place: int) -> Cell:
        return list(self)[place]


Cells = Line | list[Cell]
"""The cells of a row."""


class BadRow(Exception):
    """A row that is not read; `number` counts rows from 0, the header included."""

    def __init__(self, number: int, offset: int) -> None:
        super().__init__(number, offset)
        self.number = number
        self.offset = offset


class UnclosedQuote(BadRow):
    """A quoted cell that does not end: nowhere in the file, or not within the longest row."""


class LongRow(BadRow):
    """A row of more bytes than are read."""


class WideRow(BadRow):
    """A row of more cells than are read."""


class _Unfinished(Exception):
    """The window ends inside a row; `quoted`: inside a quoted cell."""

    def __init__(self, quoted: bool = False) -> None:
        super().__init__(quoted)
        self.quoted = quoted


class _TooWide(Exception):
    """The row has more cells than are read."""


def split_rows(
    stream: BinaryIO,
    delimiter: bytes,
    seen: Callable[[bytes], object] | None = None,
    limits: Limits = DEFAULT,
) -> Iterator[Cells]:
    """The cells of the rows of a stream; memory holds a chunk and one row.

    `seen` is called with every chunk of the file, in order. Raises UnclosedQuote, LongRow, WideRow.
    """
    longest = limits.row_mb * MB
    window, base, ended, number = b"", 0, False, 0
    while not ended:
        chunk = stream.read(max(CHUNK, len(window)))
        ended = not chunk
        if seen and chunk:
            seen(chunk)
        window = window + chunk if window else chunk
        position = len(_BOM) if base == 0 and number == 0 and window.startswith(_BOM) else 0
        finder = _Finder(window, delimiter, ended, limits.columns)
        try:
            while position < len(window):
                cells, after = finder.row(position, base)
                if after - position > longest:
                    raise LongRow(number, base + position)
                if cells:
                    yield cells
                    number += 1
                position = after
        except _TooWide:
            raise WideRow(number, base + position) from None
        except _Unfinished as error:
            if ended or len(window) - position > longest:
                kind = UnclosedQuote if error.quoted else LongRow
                raise kind(number, base + position) from None
        window, base = window[position:], base + position


class _Finder:
    """Splits rows off one window. The next delimiter and line ends are remembered, so that each
    byte is searched a bounded number of times."""

    __slots__ = ("cr", "delimiter", "ended", "most", "nl", "tab", "window")

    def __init__(self, window: bytes, delimiter: bytes, ended: bool, most: int) -> None:
        """`most`: cells of a row that are read."""
        self.most = most
        self.window = window
        self.delimiter = delimiter
        self.ended = ended
        self.tab = self.nl = self.cr = -1

    def row(self, position: int, base: int) -> tuple[Cells, int]:
        """The cells of the row at `position`, and where the next one begins.

        An empty line has no cells. Raises _Unfinished if the row does not end here, _TooWide.
        """
        window = self.window
        line = self._end_of_line(position)
        if 0 < line - position <= _PLAIN_ROW and line < len(window):
            raw = window[position:line]
            if b'"' not in raw:
                return Line(raw, base + position, self.delimiter), self._after(line)
        cells: list[Cell] = []
        while True:
            if window[position : position + 1] == b'"':
                cell, end = self._quoted(position, base)
            else:
                end = self._end(position)
                cell = Cell(window[position:end], base + position, False)
            if end < len(window) and window[end] == self.delimiter[0]:
                cells.append(cell)
                if len(cells) >= self.most:
                    raise _TooWide
                position = end + 1
                continue
            if cells or cell.raw or cell.quoted:
                cells.append(cell)
            return cells, self._after(end)

    def _quoted(self, position: int, base: int) -> tuple[Cell, int]:
        window = self.window
        closing = position + 1
        while True:
            closing = window.find(b'"', closing)
            if closing < 0 or (closing + 1 == len(window) and not self.ended):
                raise _Unfinished(quoted=True)
            if window[closing + 1 : closing + 2] != b'"':
                break
            closing += 2
        end = self._end(closing + 1)
        raw, rest = window[position + 1 : closing], window[closing + 1 : end]
        return Cell(raw, base + position + 1, True, rest), end

    def _end(self, position: int) -> int:
        """Where the delimiter, line end or file end is that ends an unquoted text."""
        if self.tab < position:
            self.tab = self._find(self.delimiter, position)
        end = min(self.tab, self._end_of_line(position))
        if end == len(self.window) and not self.ended:
            raise _Unfinished
        return end

    def _end_of_line(self, position: int) -> int:
        """Where the next line end is, or the end of the window."""
        if self.nl < position:
            self.nl = self._find(b"\n", position)
        if self.cr < position:
            self.cr = self._find(b"\r", position)
        return min(self.nl, self.cr)

    def _find(self, byte: bytes, position: int) -> int:
        found = self.window.find(byte, position)
        return len(self.window) if found < 0 else found

    def _after(self, end: int) -> int:
        if end == len(self.window):
            return end
        if self.window[end] == _CR:
            if end + 1 == len(self.window) and not self.ended:
                raise _Unfinished
            if self.window[end + 1 : end + 2] == b"\n":
                return end + 2
        return end + 1


def scan_tsv(
    path: Path, delimiter: bytes, chosen: Mapping[str, str], name: str, limits: Limits = DEFAULT
) -> Scan:
    """Read a TSV or CSV file for the first time. Raises DataError, at once for a bad header."""
    hashed = hashlib.sha256()
    rows = _read_rows(_hashed_rows(path, delimiter, hashed, limits), path, name, limits)
    with path.open("rb") as file:
        if file.read(2) in _UTF16:
            raise DataError(f"{name} is UTF-16 text; save it as UTF-8")
    header = next(rows, None)
    if header is None:
        raise DataError(f"{name} is empty: expected a header line and at least one row")
    columns = _header(header, chosen, name, limits)
    return Scan(columns, _indexed(columns, rows, chosen, path, name), hashed.hexdigest)


def _hashed_rows(
    path: Path, delimiter: bytes, hashed: hashlib._Hash, limits: Limits
) -> Iterator[Cells]:
    """The rows of a file, whose hash is made beside: hashlib lets other threads run."""
    pending: list[Future[None]] = []
    with path.open("rb", buffering=0) as stream, ThreadPoolExecutor(1) as worker:

        def seen(chunk: bytes) -> None:
            if pending:
                pending.pop().result()
            pending.append(worker.submit(hashed.update, chunk))

        yield from split_rows(stream, delimiter, seen, limits)


def _read_rows(rows: Iterator[Cells], path: Path, name: str, limits: Limits) -> Iterator[Cells]:
    """The rows; a bad one raises DataError."""
    try:
        yield from rows
    except BadRow as error:
        raise _bad_row(error, path, name, limits) from error


def _bad_row(error: BadRow, path: Path, name: str, limits: Limits) -> DataError:
    line = line_at(path, error.offset)
    where = f"row {error.number}, which begins at line {line}," if error.number else "the header"
    if isinstance(error, WideRow):
        return _too_wide(where, name, limits)
    if isinstance(error, LongRow):
        return DataError(f"{name}: {where} is longer than {limits.row_mb} MB; {raise_it('row_mb')}")
    longer = path.stat().st_size - error.offset > limits.row_mb * MB
    return DataError(
        f'{name}: {where} opens a cell with a quote (") that is never closed'
        + (f" within {limits.row_mb} MB" if longer else "")
        + "; the file may be cut short, or a quote at the beginning of a cell should be doubled"
    )


def _too_wide(where: str, name: str, limits: Limits) -> DataError:
    return DataError(
        f"{name}: {where} has more than {limits.columns:,} cells; {raise_it('columns')}"
    )


def _header(cells: Cells, chosen: Mapping[str, str], name: str, limits: Limits) -> tuple[str, ...]:
    if len(cells) > limits.columns:
        raise _too_wide("the header", name, limits)
    names = [
        column_name(_decoded(cell, name, "the header"), position)
        for position, cell in enumerate(cells)
    ]
    doubled = sorted(column for column, count in Counter(names).items() if count > 1)
    if doubled:
        raise DataError(f"{name}: two columns are called {doubled[0]!r}; rename one of them")
    return renamed(names, chosen)


def _indexed(
    columns: Sequence[str],
    rows: Iterator[Cells],
    chosen: Mapping[str, str],
    path: Path,
    name: str,
) -> Iterator[IndexedRow]:
    pictured = [is_image_column(column) for column in columns]
    pictures = any(pictured)
    count = 0
    for row in rows:
        count += 1
        texts = row.texts() if isinstance(row, Line) and not pictures else None
        if (len(row) if texts is None else len(texts)) != len(columns):
            raise _ragged(count, row, len(columns), path, name)
        media: dict[str, list[Stored]] = {}
        if texts is not None:
            cells = {column: text for column, text in zip(columns, texts, strict=True) if text}
        else:
            cells = _read(columns, pictured, row, media, name, count)
        if chosen:
            join_columns(cells, chosen)
        yield finish(cells, media)
    if not count:
        raise DataError(f"{name} has a header but no rows")


def _read(
    columns: Sequence[str],
    pictured: Sequence[bool],
    row: Cells,
    media: dict[str, list[Stored]],
    name: str,
    number: int,
) -> dict[str, str]:
    """The texts of a row by column; its pictures are put into `media`."""
    cells: dict[str, str] = {}
    for column, picture, cell in zip(columns, pictured, row, strict=True):
        if not cell.raw and not cell.rest:
            continue
        if picture:
            media[column] = pictures_in(cell.raw, cell.offset)
            if not any(isinstance(item, Named) for item in media[column]):
                continue
        cells[column] = _decoded(cell, name, f"row {number}")
    return cells


def _decoded(cell: Cell, name: str, where: str) -> str:
    try:
        return cell.text().decode()
    except UnicodeDecodeError as error:
        raise _not_text(error, cell, name, where) from error


def _not_text(error: UnicodeDecodeError, cell: Cell, name: str, where: str) -> DataError:
    return DataError(
        f"{name}, {where}: not UTF-8 text (byte 0x{error.object[error.start]:02x} in the cell "
        f"that begins at byte {cell.offset} of the file); save the file as UTF-8"
    )


def _ragged(number: int, row: Cells, expected: int, path: Path, name: str) -> DataError:
    line = line_at(path, row[0].offset)
    return DataError(
        f"{name}, row {number} (line {line}): {len(row)} cells, but the header has {expected} "
        "columns; a cell that holds a delimiter or a line break must stand in quotes"
    )


def line_at(path: Path, offset: int) -> int:
    """Number, from 1, of the line that holds a byte. Reads the file up to there."""
    lines = 1
    with path.open("rb") as file:
        while offset > 0 and (chunk := file.read(min(CHUNK, offset))):
            lines += chunk.count(b"\n")
            offset -= len(chunk)
    return lines
