"""Rows are not lines: the splitter against the csv module, and what it refuses."""

from __future__ import annotations

import csv
import hashlib
import io
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT_LIMITS, Limits
from snellen.data.tables import tsv
from snellen.data.tables.open_table import open_table

TEXT = st.text(st.sampled_from(["a", "é", '"', "\t", "\n", "\r", ",", " "]), max_size=9)
TABLE = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(TEXT, min_size=width, max_size=width), min_size=1, max_size=5)
)


def split_rows(*args: Any) -> Iterator[tsv.Cells]:
    for part in tsv.split_parts(*args):
        if isinstance(part, tsv.SplitRows):
            yield from part.rows()
        else:
            yield part


def split(data: bytes, delimiter: bytes = b"\t") -> list[list[str]]:
    rows = split_rows(io.BytesIO(data), delimiter)
    return [[cell.text().decode() for cell in row] for row in rows]


def reference(text: str, delimiter: str = "\t") -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]


@pytest.fixture(params=[1, 7, 4 << 20])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(tsv, "CHUNK_SIZE", request.param)
    return int(request.param)


@pytest.mark.parametrize("size", [1, 5, 4 << 20])
@hypothesis_settings(max_examples=50, deadline=None)
@given(table=TABLE, delimiter=st.sampled_from([b"\t", b","]))
def test_reads_what_a_csv_writer_wrote(size: int, table: list[list[str]], delimiter: bytes) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter.decode(), quoting=csv.QUOTE_ALL)
    writer.writerows(table)
    old, tsv.CHUNK_SIZE = tsv.CHUNK_SIZE, size
    try:
        assert split(out.getvalue().encode(), delimiter) == table
    finally:
        tsv.CHUNK_SIZE = old


@hypothesis_settings(max_examples=300, deadline=None)
@given(text=st.text(st.sampled_from(["a", '"', "\t", "\n", "\r", "é"]), max_size=24))
def test_any_text_is_read_as_the_csv_module_reads_it(text: str) -> None:
    expected = reference(text)
    try:
        found = split(text.encode())
    except tsv.UnclosedQuote:
        assert text.count('"') % 2 or '"' in text
        closed = reference(text + '"')
        assert len(closed[-1][-1]) >= len(expected[-1][-1])
        return
    assert found == expected


LINES = st.lists(
    st.one_of(
        st.sampled_from(["1\t2", "\t2", "1\t", "\t", "", "x y\t\u00e9\u2028z", "1\t2\t3", "1", "a\t\x85b", "\xff"]),
        st.sampled_from(
            ['"a\tb"\t2', '"a\n\nb"\t"c ""d"""', '"x"y\tz', '1\t5"', '"\r"\t', '""\t""', '1\t"\0"', '""', '1\t"']
        ),
        st.text(st.sampled_from(["a", '"', "\t", "\n", "\r"]), max_size=6),
    ),
    max_size=9,
)


@hypothesis_settings(max_examples=600, deadline=None)
@given(lines=LINES, end=st.sampled_from(["\n", "\r\n", "\r"]), encoding=st.sampled_from(["utf-8", "latin-1"]))
def test_lines_read_at_once_are_as_if_read_one_by_one(lines: list[str], end: str, encoding: str) -> None:
    def rows() -> object:
        try:
            return list(tsv.scan_tsv(path, b"\t", {}, "it").rows)
        except DataError as error:
            return str(error)

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder, "rows.tsv")
        path.write_bytes(end.join(["id\tquestion", *lines]).encode(encoding, "replace"))
        at_once = rows()
        patch.setattr(tsv.SplitRows, "cells", lambda lines, columns: None)
        assert rows() == at_once


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"a\tb\n1\t2\n", [["a", "b"], ["1", "2"]]),
        (b"a\tb\r\n1\t2", [["a", "b"], ["1", "2"]]),
        (b"a\tb\r1\t2\r", [["a", "b"], ["1", "2"]]),
        (b"\xef\xbb\xbfa\n1\n", [["a"], ["1"]]),
        (b'a\n"x\ny"\n', [["a"], ["x\ny"]]),
        (b'a\n"say ""hi"""\n', [["a"], ['say "hi"']]),
        (b'a\n5" pipe\n6\n', [["a"], ['5" pipe'], ["6"]]),
        (b'a\n"x"y\tz\n', [["a"], ["xy", "z"]]),
        (b"a\tb\n\n\n1\t\n", [["a", "b"], ["1", ""]]),
        (b'a\n""\n', [["a"], [""]]),
        (b"", []),
    ],
)
def test_splits_tsv_into_rows(chunk: int, data: bytes, rows: list[list[str]]) -> None:
    assert split(data) == rows


def test_offsets_point_into_the_file(chunk: int) -> None:
    data = b'id\timage\n1\t"QUJD"\n2\tREVG\n'
    cells = [row[1] for row in split_rows(io.BytesIO(data), b"\t")][1:]
    assert [data[cell.offset : cell.offset + 4] for cell in cells] == [b"QUJD", b"REVG"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ("index\tquestion\n", "has a header but no rows"),
        ("index\tquestion\n1\tx\n2\n", "row 2 (line 3): 1 cells, but the header has 2"),
        ('index\tq\n1\t"a\nb"\n2\tx\ty\n', "row 2 (line 4): 3 cells"),
        ('index\tq\n1\tx\n2\t"open\n3\tz\n', "row 2, which begins at line 3,"),
        (b"index\tq\n1\t\xff\n", "row 1: not UTF-8 text (byte 0xff in the cell that begins at"),
        ("index\tq\n".encode("utf-16"), "is UTF-16"),
        ("编号\t问题\n".encode("gbk"), "the header: not UTF-8 text (byte 0xb1 in the cell"),
        ("index\tq\n1\t问题\n".encode("gbk"), "(from GBK: iconv -f GBK -t UTF-8 FILE)"),
        ("Answer\tanswer\n1\t2\n", "two columns are called 'answer'"),
    ],
)
def test_bad_file_gives_one_sentence(write, settings, content, sentence) -> None:
    path = write("bad.tsv", content)
    with pytest.raises(DataError) as caught:
        open_table(path, settings=settings)
    assert sentence in str(caught.value)
    assert path in str(caught.value)
    assert not list((settings.cache / "index").glob("*.sqlite"))


@pytest.mark.attack("a quote that is never closed", "one sentence, before the whole file is read")
def test_a_quote_that_swallows_the_file_is_given_up_early(write, settings, monkeypatch) -> None:
    monkeypatch.setattr(tsv, "CHUNK_SIZE", 64)
    read = []
    content = b'a\n"open\n' + b"x\n" * 5_000_000
    rows = split_rows(io.BytesIO(content), b"\t", read.append, Limits(row_mb=1))
    with pytest.raises(tsv.UnclosedQuote):
        list(rows)
    assert sum(map(len, read)) < 5_000_000


def test_digest_is_that_of_the_file(write, settings) -> None:
    content = b"index\tquestion\n1\tx\n"
    path = write("q.tsv", content)
    assert open_table(path, settings=settings).digest == hashlib.sha256(content).hexdigest()


def test_rows_that_are_not_read_to_the_end_wait_for_no_thread(tmp_path) -> None:
    """The garbage collector may close them in a thread that holds this lock while it starts."""
    path = tmp_path / "rows.tsv"
    path.write_bytes(b"a\tb\n" + b"1\t2\n" * 400_000)
    rows = tsv._hashed_parts(path, b"\t", hashlib.sha256(), str(path), DEFAULT_LIMITS)
    next(rows)

    def close() -> None:
        with threading._shutdown_locks_lock:  # type: ignore[attr-defined]
            rows.close()

    closing = threading.Thread(target=close, daemon=True)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()


def test_the_digest_is_that_of_the_whole_file(tmp_path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_bytes(b"a\tb\n" + b"1\t2\n" * 400_000)
    hashed = hashlib.sha256()
    parts = tsv._hashed_parts(path, b"\t", hashed, str(path), DEFAULT_LIMITS)
    assert sum(len(part.texts) if isinstance(part, tsv.SplitRows) else 1 for part in parts) == 400_001
    assert hashed.hexdigest() == hashlib.sha256(path.read_bytes()).hexdigest()
