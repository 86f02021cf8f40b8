"""Files that are broken or made to do harm, each made when it is asked for.

`TABLES` end a command with one sentence, `PICTURES` are failures of kind media. What is small here
is large against the limits in `TIGHT`.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import openpyxl
import pyarrow
import pyarrow.parquet
from PIL import Image

HEAD = "index\tquestion\tA\tB\tanswer\tcategory\n"
TIGHT = {
    "SNELLEN_MAX_ROW_MB": "1",
    "SNELLEN_MAX_COLUMNS": "500",
    "SNELLEN_MAX_CELLS": "1000",
    "SNELLEN_MAX_ROWS": "100000",
    "SNELLEN_MAX_DOCUMENT_MB": "2",
    "SNELLEN_MAX_MEMBER_MB": "1",
    "SNELLEN_MAX_MEGAPIXELS": "1",
    "SNELLEN_MAX_PICTURE_MB": "1",
}
MB = 1 << 20


TYPES = b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
TWICE = b'{"index": 1, "question": "Is it?", "answer": "yes", "answer": "no"}\n'


class Hostile(NamedTuple):
    name: str
    """Of the file, whose suffix says how it is read."""
    content: Callable[[], bytes]
    says: str
    """A pattern of the sentence."""


def _workbook(rows: int = 2, columns: int = 2) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["index", "prediction", *(f"c{at}" for at in range(2, columns))])
    for at in range(1, rows):
        sheet.append([at, "yes", *["x"] * (columns - 2)])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _many_rows() -> bytes:
    """Equal rows, which take next to nothing."""
    out = io.BytesIO()
    same = pyarrow.array(["Is it?"] * 100_001)
    pyarrow.parquet.write_table(pyarrow.table({"question": same, "answer": same}), out)
    return out.getvalue()


def _repacked(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """A ZIP archive whose members are changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", 8) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return out.getvalue()


def _sheet_with(old: bytes, new: bytes) -> Callable[[], bytes]:
    def change(name: str, data: bytes) -> bytes:
        return data.replace(old, new) if "sheet1" in name else data

    return lambda: _repacked(_workbook(), change)


_LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha">'
    + b"".join(b'<!ENTITY %c "%s">' % (97 + at, b"&%c;" % (96 + at) * 10) for at in range(1, 12))
    + b"]><worksheet><sheetData><row><c t='inlineStr'><is><t>&l;</t></is></c></row></sheetData>"
    b"</worksheet>"
)


def _laughing() -> bytes:
    return _repacked(_workbook(), lambda name, data: _LAUGHS if "sheet1" in name else data)


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return out.getvalue()


def _lying(data: bytes, size: int) -> bytes:
    """An archive of one member whose headers say that it holds `size` bytes."""
    local, central = data.index(b"PK\x03\x04"), data.index(b"PK\x01\x02")
    said = struct.pack("<I", size)
    data = data[: local + 22] + said + data[local + 26 :]
    return data[: central + 24] + said + data[central + 28 :]


def _sample(**more: object) -> bytes:
    told = {"id": 1, "input": "Is it?", "target": "yes", **more}
    return json.dumps(told).encode()


SAMPLE = _sample(output={"completion": "yes"})

TABLES: tuple[Hostile, ...] = (
    Hostile(
        "deep.jsonl",
        lambda: b'{"index":1,"question":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n",
        "line 1: its lists and objects stand more than 100 deep",
    ),
    Hostile(
        "rather_deep.jsonl",
        lambda: b'{"index":1,"question":' + b"[" * 300 + b"]" * 300 + b"}\n",
        "more than 100 deep in each other; .*SNELLEN_MAX_DEPTH",
    ),
    Hostile("deep.json", lambda: b"[" * 200_000 + b"]" * 200_000, "more than 100 deep"),
    Hostile(
        "deep_cell.json",
        lambda: b'[{"index":1,"a":' + b'{"b":' * 5000 + b"1" + b"}" * 5000 + b"}]",
        "more than 100 deep",
    ),
    Hostile("deep.toml", lambda: b"a=" + b"[" * 100_000, "nested too deeply"),
    Hostile("cut.xlsx", _sheet_with(b"</sheetData>", b"</sheet"), "cannot be read as an Excel"),
    Hostile("laughs.xlsx", _laughing, "cannot be read as an Excel|needs a header row"),
    Hostile("wide.xlsx", lambda: _workbook(2, 600), "more than 500 cells"),
    Hostile("large.xlsx", lambda: _workbook(40, 50), "more than 1,000 cells"),
    Hostile(
        "bomb.xlsx",
        lambda: _repacked(_workbook(), lambda name, data: b" " * 2 * MB if "sheet1" in name else data),
        r"sheet1.xml, is 2 MB long, and at most 1 MB are read; .*SNELLEN_MAX_MEMBER_MB",
    ),
    Hostile(
        "long.tsv",
        lambda: f"{HEAD}1\t{'x' * 3 * MB}\ta\tb\tA\tc\n".encode(),
        "row 1, which begins at line 2, is longer than 1 MB; .*SNELLEN_MAX_ROW_MB",
    ),
    Hostile(
        "quote.tsv",
        lambda: f'{HEAD}1\t"{"x" * 3 * MB}\ta\tb\tA\tc\n'.encode(),
        r"row 1, which begins at line 2, opens a cell with a quote \(\"\) that is never closed "
        "within 1 MB",
    ),
    Hostile(
        "wide.tsv",
        lambda: ("\t".join(f"c{at}" for at in range(501)) + "\n1\n").encode(),
        "the header has more than 500 cells; .*SNELLEN_MAX_COLUMNS",
    ),
    Hostile(
        "ragged.tsv",
        lambda: (HEAD + "\t" * 100_000 + "\n").encode(),
        "row 1, which begins at line 2, has more than 500 cells",
    ),
    Hostile("long.jsonl", lambda: b'{"index":1,"question":"' + b"x" * 3 * MB + b'"}\n', "line 1: longer than 1 MB"),
    Hostile(
        "large.json",
        lambda: b'[{"index":1,"question":"' + b"x" * 3 * MB + b'"}]',
        "is 3 MB long, and at most 2 MB are read; .*SNELLEN_MAX_DOCUMENT_MB",
    ),
    Hostile("zip.xlsx", lambda: archive({"x": b"y"}), "cannot be read as an Excel"),
    Hostile("no-book.xlsx", lambda: archive({"[Content_Types].xml": TYPES}), "no valid workbook"),
    Hostile("rows.parquet", _many_rows, "has 100,001 rows; .*SNELLEN_MAX_ROWS"),
    Hostile("twice.jsonl", lambda: TWICE, "line 1: 'answer' stands twice in one object"),
    Hostile("twice.json", lambda: b"[" + TWICE + b"]", "'answer' stands twice in one object"),
    Hostile("twice-apart.jsonl", lambda: TWICE.replace(b'":', b'" \t:'), "line 1: 'answer' stands twice in one object"),
    Hostile("nothing.parquet", lambda: b"PAR1" + bytes(50) + b"PAR1", "cannot be read as Parquet"),
    Hostile("none.gz.tsv.gz", lambda: b"\x1f\x8b" + bytes(40), "cannot be unpacked"),
    Hostile("cut.tsv.gz", lambda: gzip.compress(HEAD.encode() * 999)[:-20], "the file may be cut short"),
)
"""Data files, and predictions where the name is that of a workbook."""

ARCHIVES: tuple[Hostile, ...] = (
    Hostile(
        "bomb.eval",
        lambda: archive({"samples/1_epoch_1.json": b" " * 3 * MB}),
        "samples/1_epoch_1.json, is 3 MB long, and at most 1 MB are read",
    ),
    Hostile(
        "lying.eval", lambda: _lying(archive({"samples/1_epoch_1.json": b" " * 3 * MB}), 1000), "is a damaged archive"
    ),
    Hostile("deep.eval", lambda: archive({"samples/1_epoch_1.json": b"[" * 200_000}), "more than 100 deep"),
    Hostile("cut.eval", lambda: archive({"samples/1.json": SAMPLE})[:-9], "expected a log of Insp"),
    Hostile(
        "flipped.eval", lambda: _flipped(archive({"samples/1.json": SAMPLE * 9}, zipfile.ZIP_STORED)), "damaged archive"
    ),
    Hostile(
        "encrypted.eval", lambda: _encrypted(archive({"samples/1.json": SAMPLE})), "damaged archive: .* is encrypted"
    ),
    Hostile("shapes.eval", lambda: archive({"samples/1.json": b'{"input": 3}'}), "has no id"),
)
"""Archives of Inspect, read as predictions."""


def _flipped(data: bytes) -> bytes:
    return data[:60] + bytes([data[60] ^ 1]) + data[61:]


def _encrypted(data: bytes) -> bytes:
    local, central = data.index(b"PK\x03\x04"), data.index(b"PK\x01\x02")
    data = data[: local + 6] + b"\1" + data[local + 7 :]
    return data[: central + 8] + b"\1" + data[central + 9 :]


def _png(width: int, height: int, more: bytes = b"") -> bytes:
    """A PNG whose header says so and whose pixels are one row of zeros."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(3 * min(width, 4096) + 1))
    parts = chunk(b"IHDR", header) + more + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def drawn(kind: str, size: tuple[int, int] = (90, 70), mode: str = "RGB") -> bytes:
    """A sound picture."""
    out = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(out, kind)
    return out.getvalue()


def _text_chunk() -> bytes:
    packed = b"Comment\0\0" + zlib.compress(bytes(80 * MB))
    return struct.pack(">I", len(packed)) + b"zTXt" + packed + struct.pack(">I", zlib.crc32(b"zTXt" + packed))


PICTURES: tuple[Hostile, ...] = (
    Hostile("bomb.png", lambda: _png(40_000, 40_000), "40,000 x 40,000 pixels, more than 1 mill"),
    Hostile("wide.png", lambda: _png(2**31 - 1, 1), "pixels, more than 1 million"),
    Hostile("text.png", lambda: _png(9, 9, _text_chunk()), "cannot be decoded|cannot be opened"),
    Hostile("cut.png", lambda: drawn("PNG")[:-400], "the image cannot be opened"),
    Hostile("cut.jpg", lambda: drawn("JPEG")[:-400], "the image cannot be opened"),
    Hostile("cut.webp", lambda: drawn("WEBP")[:-90], "the image cannot be opened"),
    Hostile("cut.gif", lambda: drawn("GIF", mode="P")[:-900], "the image cannot be opened"),
    Hostile("cut.bmp", lambda: drawn("BMP")[:-900], "the image cannot be opened"),
    Hostile("cut.tif", lambda: drawn("TIFF")[:-900], "the image cannot be opened"),
    Hostile("ghost.eps", lambda: drawn("EPS"), "no PNG, JPEG, WebP or other known format"),
    Hostile("page.pdf", lambda: drawn("PDF"), "no PNG, JPEG, WebP or other known format"),
    Hostile("empty.jpg", lambda: b"", "no PNG, JPEG, WebP or other known format"),
    Hostile("page.jpg", lambda: b"<html>not found</html>", "no PNG, JPEG, WebP or other known"),
    Hostile("long.jpg", lambda: drawn("JPEG") + bytes(2 * MB), "is longer than 1 MB; .*PICTURE_MB"),
)


def write(one: Hostile, folder: Path) -> Path:
    path = folder / one.name
    path.write_bytes(one.content())
    return path


def write_odd_files(folder: Path) -> list[str]:
    """Names of what is no picture file: a pipe, a link to nothing, a link to itself, a folder."""
    os.mkfifo(folder / "pipe.png")
    (folder / "nothing.png").symlink_to(folder / "gone")
    (folder / "itself.png").symlink_to(folder / "itself.png")
    (folder / "folder.png").mkdir()
    (folder / "zeros.png").symlink_to("/dev/zero")
    return ["pipe.png", "nothing.png", "itself.png", "folder.png", "zeros.png"]
