r"""Rows of TSV and CSV files, split as bytes in one streaming pass.

Rows are not lines: a quoted cell may contain line breaks. As in pandas, a quote opens a quoted cell
only at the cell's beginning; elsewhere it is an ordinary character. A row ends with \n, \r\n or \r;
empty lines are skipped.
"""

from __future__ import annotations

import csv
import hashlib
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec import Struct

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT_LIMITS, MB, Limits, raising_advice
from snellen.data.columns import check_distinct, column_name, is_image_column, join_columns, rename_columns
from snellen.data.media.image_cells import NamedImage, NamedVideo, StoredMedium, parse_images
from snellen.data.tables.cells import finish_row, needs_finishing
from snellen.data.tables.index import IndexedRow, Scan

CHUNK_SIZE = 4 << 20

_CR = 0x0D
_BLOCK = 1 << 16
"""Bytes of which the rows are split together."""
_LONG_LINE = 1 << 11
"""Bytes. Lines that are longer on average hold pictures, whose place in the file is needed."""
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Cell(NamedTuple):
    """One cell as it is in the file, without its outer quotes.

    `trailing` is the text between the closing quote and the delimiter, normally empty.
    """

    raw: bytes
    offset: int
    quoted: bool
    trailing: bytes = b""

    def text(self) -> bytes:
        return self.raw.replace(b'""', b'"') + self.trailing if self.quoted else self.raw


Cells = list[Cell]
"""The cells of a row."""


class SplitRows(Struct, frozen=True, gc=False):
    """Complete rows and their texts."""

    texts: list[list[str]]
    raw: bytes
    offset: int
    delimiter: bytes

    def rows(self) -> Iterator[Cells]:
        """The rows again, with the places of their cells."""
        splitter, position = _RowSplitter(self.raw, self.delimiter, True, sys.maxsize), 0
        while position < len(self.raw):
            cells, position = splitter.row(position, self.offset)
            if cells:
                yield cells

    def cells(self, columns: Sequence[str]) -> list[dict[str, str]] | None:
        """The cells of each row by column, without empty ones; None if a row has another number of
        cells. What is done for all rows at once need not be done for each."""
        rows, width = [], len(columns)
        for texts in self.texts:
            if len(texts) != width:
                return None
            cells = dict(zip(columns, texts))  # noqa: B905 - as many, and saying so takes time
            rows.append({column: text for column, text in cells.items() if text} if "" in texts else cells)
        return rows


class BadRow(Exception):
    """A row that cannot be read; `number` counts rows from 0, including the header."""

    def __init__(self, number: int, offset: int) -> None:
        super().__init__(number, offset)
        self.number = number
        self.offset = offset


class UnclosedQuote(BadRow):
    """A quoted cell without an end, in the file or within the maximum length of a row."""


class LongRow(BadRow):
    """A row over the limit of bytes."""


class WideRow(BadRow):
    """A row over the limit of cells."""


class _Unfinished(Exception):
    """The window ends inside a row; `quoted`: inside a quoted cell."""

    def __init__(self, quoted: bool = False) -> None:
        super().__init__(quoted)
        self.quoted = quoted


class _TooWide(Exception):
    """The row has more cells than the limit."""


def split_parts(
    stream: BinaryIO,
    delimiter: bytes,
    on_chunk: Callable[[bytes], object] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Cells | SplitRows]:
    """Split a stream into rows of cells; behind the first row, short ones come together.
    Memory holds a chunk and one row.

    `on_chunk` is called with every chunk of the file, in order. Raises UnclosedQuote, LongRow,
    WideRow.
    """
    max_bytes = limits.row_mb * MB
    # `window` is the part of the file in memory; it begins at byte `base` of the file and, after
    # each turn, at the first row that is not complete yet.
    window, base, ended, number = b"", 0, False, 0
    while not ended:
        # At least doubling the window keeps the cost of a very long row linear.
        chunk = stream.read(max(CHUNK_SIZE, len(window)))
        ended = not chunk
        if on_chunk and chunk:
            on_chunk(chunk)
        window = window + chunk if window else chunk
        position = len(_BOM) if base == 0 and number == 0 and window.startswith(_BOM) else 0
        finder = _RowSplitter(window, delimiter, ended, limits.columns)
        try:
            while position < len(window):
                if number and max_bytes > _BLOCK and (together := finder.split_together(position, base)):
                    yield together
                    number, position = number + len(together.texts), position + len(together.raw)
                    continue
                cells, after = finder.row(position, base)
                if after - position > max_bytes:
                    raise LongRow(number, base + position)
                if cells:
                    yield cells
                    number += 1
                position = after
        except _TooWide:
            raise WideRow(number, base + position) from None
        except _Unfinished as error:
            if ended or len(window) - position > max_bytes:
                kind = UnclosedQuote if error.quoted else LongRow
                raise kind(number, base + position) from None
        window, base = window[position:], base + position


class _RowSplitter:
    """Splits rows off one window of the file.

    The offsets of the next delimiter and line ends are kept between calls, so each byte is searched
    a bounded number of times.
    """

    __slots__ = ("cr", "delimiter", "ended", "max_cells", "nl", "odd", "tab", "window")

    def __init__(self, window: bytes, delimiter: bytes, ended: bool, max_cells: int) -> None:
        """`max_cells`: limit of cells in a row."""
        self.max_cells = max_cells
        self.window = window
        self.delimiter = delimiter
        self.ended = ended
        self.tab = self.nl = self.cr = self.odd = -1

    def split_together(self, position: int, base: int) -> SplitRows | None:
        """The rows from `position` on as the csv module splits them, where it does so as is done here; after
        none the rows of these lines are not tried again."""
        if position < self.odd:
            return None
        end = self.window.rfind(b"\n", position, position + _BLOCK) + 1
        if end <= position or end - position > _LONG_LINE * self.window.count(b"\n", position, end):
            # As are those behind them, probably.
            self.odd = position + 16 * _BLOCK
            return None
        raw = self.window[position:end]
        texts, lines = list[list[str]](), 0
        try:
            text = raw.decode()
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter.decode(), strict=True)
            for row in reader:
                if len(row) > self.max_cells:
                    raise csv.Error
                texts.append(row)
                lines = reader.line_num
        except (csv.Error, UnicodeDecodeError):
            # The next row ends behind these lines, is very long, or has a text behind a quoted one.
            raw = b"".join(raw.splitlines(keepends=True)[:lines])
        texts = list(filter(None, texts))
        if texts:
            return SplitRows(texts, raw, base + position, self.delimiter)
        self.odd = max(position, end)
        return None

    def row(self, position: int, base: int) -> tuple[Cells, int]:
        """The cells of the row at `position`, and the offset of the next row.

        An empty line has no cells. Raises _Unfinished if the row does not end in the window,
        _TooWide.
        """
        window = self.window
        cells: list[Cell] = []
        while True:
            if window[position : position + 1] == b'"':
                cell, end = self._quoted_cell(position, base)
            else:
                end = self._end_of_text(position)
                cell = Cell(window[position:end], base + position, False)
            if end < len(window) and window[end] == self.delimiter[0]:
                cells.append(cell)
                if len(cells) >= self.max_cells:
                    raise _TooWide
                position = end + 1
                continue
            if cells or cell.raw or cell.quoted:
                cells.append(cell)
            return cells, self._next_row(end)

    def _quoted_cell(self, position: int, base: int) -> tuple[Cell, int]:
        """The cell whose opening quote is at `position`, and the offset of its end."""
        window = self.window
        closing = position + 1
        while True:
            closing = window.find(b'"', closing)
            # A quote at the end of the window may be the first half of a doubled one.
            if closing < 0 or (closing + 1 == len(window) and not self.ended):
                raise _Unfinished(quoted=True)
            if window[closing + 1 : closing + 2] != b'"':
                break
            closing += 2
        end = self._end_of_text(closing + 1)
        raw, trailing = window[position + 1 : closing], window[closing + 1 : end]
        return Cell(raw, base + position + 1, True, trailing), end

    def _end_of_text(self, position: int) -> int:
        """Offset of the delimiter, line end or file end that ends an unquoted text."""
        if self.tab < position:
            self.tab = self._find(self.delimiter, position)
        end = min(self.tab, self._end_of_line(position))
        if end == len(self.window) and not self.ended:
            raise _Unfinished
        return end

    def _end_of_line(self, position: int) -> int:
        """Offset of the next line end, or of the end of the window."""
        if self.nl < position:
            self.nl = self._find(b"\n", position)
        if self.cr < position:
            self.cr = self._find(b"\r", position)
        return min(self.nl, self.cr)

    def _find(self, byte: bytes, position: int) -> int:
        offset = self.window.find(byte, position)
        return len(self.window) if offset < 0 else offset

    def _next_row(self, end: int) -> int:
        if end == len(self.window):
            return end
        if self.window[end] == _CR:
            if end + 1 == len(self.window) and not self.ended:
                raise _Unfinished  # the line feed of \r\n may come with the next chunk
            if self.window[end + 1 : end + 2] == b"\n":
                return end + 2
        return end + 1


def scan_tsv(
    path: Path, delimiter: bytes, column_map: Mapping[str, str], name: str, limits: Limits = DEFAULT_LIMITS
) -> Scan:
    """Read a TSV or CSV file for the first time. Raises DataError, at once for a bad header."""
    hashed = hashlib.sha256()
    parts = _hashed_parts(path, delimiter, hashed, name, limits)
    with path.open("rb") as file:
        if file.read(2) in _UTF16:
            raise DataError(f"{name} is UTF-16 text; save it as UTF-8")
    header = next(parts, None)  # by itself, without other lines
    if header is None or isinstance(header, SplitRows):
        raise DataError(f"{name} is empty: expected a header line and at least one row")
    columns = _read_header(header, column_map, name, limits)
    return Scan(columns, _indexed_rows(columns, parts, column_map, path, name), hashed.hexdigest)


def _hashed_parts(
    path: Path, delimiter: bytes, hashed: hashlib._Hash, name: str, limits: Limits
) -> Iterator[Cells | SplitRows]:
    """The parts of a file, which is hashed in another thread meanwhile: hashlib releases the GIL. A
    bad row raises DataError."""
    pending: list[Future[None]] = []
    worker = ThreadPoolExecutor(1)

    def update_digest(chunk: bytes) -> None:
        if pending:
            pending.pop().result()
        pending.append(worker.submit(hashed.update, chunk))

    try:
        with path.open("rb", buffering=0) as stream:
            yield from split_parts(stream, delimiter, update_digest, limits)
        for future in pending:
            future.result()
    except BadRow as error:
        raise _bad_row_error(error, path, name, limits) from error
    finally:
        # Rows that nobody reads to the end are closed by the garbage collector: in any thread, also
        # in one that is about to start and holds a lock which the end of a thread needs.
        worker.shutdown(wait=False)


def _bad_row_error(error: BadRow, path: Path, name: str, limits: Limits) -> DataError:
    line = line_at(path, error.offset)
    where = f"row {error.number}, which begins at line {line}," if error.number else "the header"
    if isinstance(error, WideRow):
        return _too_wide_error(where, name, limits)
    if isinstance(error, LongRow):
        return DataError(f"{name}: {where} is longer than {limits.row_mb} MB; {raising_advice('row_mb')}")
    longer = path.stat().st_size - error.offset > limits.row_mb * MB
    return DataError(
        f'{name}: {where} opens a cell with a quote (") that is never closed'
        + (f" within {limits.row_mb} MB" if longer else "")
        + "; the file may be cut short, or a quote at the beginning of a cell should be doubled"
    )


def _too_wide_error(where: str, name: str, limits: Limits) -> DataError:
    return DataError(f"{name}: {where} has more than {limits.columns:,} cells; {raising_advice('columns')}")


def _read_header(cells: Cells, column_map: Mapping[str, str], name: str, limits: Limits) -> tuple[str, ...]:
    if len(cells) > limits.columns:
        raise _too_wide_error("the header", name, limits)
    names = [column_name(_decode_cell(cell, name, "the header"), position) for position, cell in enumerate(cells)]
    check_distinct(names, name)
    return rename_columns(names, column_map) if column_map else tuple(names)


def _indexed_rows(
    columns: Sequence[str], parts: Iterator[Cells | SplitRows], column_map: Mapping[str, str], path: Path, name: str
) -> Iterator[IndexedRow]:
    """Index rows from the cells; each must have as many cells as the header. Raises DataError."""
    is_image = [is_image_column(column) for column in columns]
    has_images = any(is_image)
    is_plain = not column_map and not needs_finishing(columns)
    count = 0
    for part in parts:
        rows: Iterable[Cells] = part.rows() if isinstance(part, SplitRows) else (part,)
        at_once = part.cells(columns) if isinstance(part, SplitRows) and not has_images else None
        if at_once is not None:
            rows, count = (), count + len(at_once)
            for cells in at_once:
                if column_map:
                    join_columns(cells, column_map)
                yield IndexedRow(cells, ()) if is_plain else finish_row(cells, {})
        for row in rows:
            count += 1
            if len(row) != len(columns):
                raise _ragged_row_error(count, row, len(columns), path, name)
            media: dict[str, list[StoredMedium]] = {}
            cells = _read_cells(columns, is_image, row, media, name, count)
            if column_map:
                join_columns(cells, column_map)
            yield finish_row(cells, media)
    if not count:
        raise DataError(f"{name} has a header but no rows")


def _read_cells(
    columns: Sequence[str],
    is_image: Sequence[bool],
    row: Cells,
    media: dict[str, list[StoredMedium]],
    name: str,
    number: int,
) -> dict[str, str]:
    """The texts of a row by column; its images are added to `media`."""
    cells: dict[str, str] = {}
    for column, holds_image, cell in zip(columns, is_image, row, strict=True):
        if not cell.raw and not cell.trailing:
            continue
        if holds_image:
            media[column] = parse_images(cell.raw, cell.offset)
            if not any(isinstance(item, NamedImage | NamedVideo) for item in media[column]):
                continue
        cells[column] = _decode_cell(cell, name, f"row {number}")
    return cells


def _decode_cell(cell: Cell, name: str, where: str) -> str:
    try:
        return cell.text().decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}, {where}: not UTF-8 text (byte 0x{error.object[error.start]:02x} in the cell "
            f"that begins at byte {cell.offset} of the file); save the file as UTF-8 "
            "(from GBK: iconv -f GBK -t UTF-8 FILE)"
        ) from error


def _ragged_row_error(number: int, row: Cells, expected: int, path: Path, name: str) -> DataError:
    line = line_at(path, row[0].offset)
    return DataError(
        f"{name}, row {number} (line {line}): {len(row)} cells, but the header has {expected} "
        "columns; a cell that holds a delimiter or a line break must stand in quotes"
    )


def line_at(path: Path, offset: int) -> int:
    """Number, from 1, of the line that contains a byte. Reads the file up to there."""
    lines = 1
    with path.open("rb") as file:
        while offset > 0 and (chunk := file.read(min(CHUNK_SIZE, offset))):
            lines += chunk.count(b"\n")
            offset -= len(chunk)
    return lines
