"""Uploads that are small and want much: every kind of file with every kind of bomb, sent to a
server. Each is refused in a sentence, in bounded memory, and the server goes on.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from test_scoring import QUESTIONS, predictions, write_data

from snellen_hub import uploaded_replies
from snellen_hub.accounts.access import create_account, create_token
from snellen_hub.config import SessionLimits, SubmissionLimits
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.hub import create_hub, open_hub
from snellen_hub.uploaded_replies import read_replies
from snellen_hub.web.app import create_app

MEGABYTES, ROWS = 12, 20_000
"""Of `[submissions]`: small, so that small files pass them."""
MB = 1_000_000
READER_MB = 1_500 + 8 * MEGABYTES
"""Memory of the process that reads a file (`uploaded_replies.read_replies`)."""
SERVER_MB = 10 * MEGABYTES
"""What a server may take for an upload: the file, the form, and the message to that process."""
TOO_LONG = 10 * MB
"""Of a cell, which may have 8 MB."""


Records = Sequence[dict[str, str]]


def rows(count: int) -> Records:
    return [{"index": str(number), "prediction": "A"} for number in range(count)]


def delimited(separator: str, records: Records) -> bytes:
    lines = [separator.join(records[0]), *(separator.join(one.values()) for one in records)]
    return "\n".join(lines).encode()


def json_lines(records: Records) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


def workbook(records: Records) -> bytes:
    """A sheet of texts, each of which is written where it stands."""
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>'
    lines = [records[0].keys(), *(one.values() for one in records)]
    return sheet("".join(f"<row>{''.join(map(cell.format, line))}</row>" for line in lines).encode())


def sheet(content: bytes) -> bytes:
    parts = {
        "[Content_Types].xml": b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
        b'content-types"><Override PartName="/xl/workbook.xml" ContentType="application/vnd.'
        b'openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
        "xl/workbook.xml": b'<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/'
        b'2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/'
        b'relationships"><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": b'<Relationships xmlns="http://schemas.openxmlformats.org/'
        b'package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.'
        b'org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>'
        b"</Relationships>",
        "xl/worksheets/sheet1.xml": b'<worksheet xmlns="http://schemas.openxmlformats.org/'
        b'spreadsheetml/2006/main"><sheetData>' + content + b"</sheetData></worksheet>",
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


def parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def repeated(count: int, text: str) -> bytes:
    """Parquet with one value a column, which a dictionary holds once."""
    numbers = pa.array(np.zeros(count, dtype=np.int32))
    return parquet(
        pa.table(
            {
                "index": pa.DictionaryArray.from_arrays(numbers, pa.array(["1"])),
                "prediction": pa.DictionaryArray.from_arrays(numbers, pa.array([text])),
            }
        )
    )


def packed(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("predictions.csv", content)
    return file.getvalue()


WRITERS: dict[str, Callable[[Records], bytes]] = {
    "csv": lambda records: delimited(",", records),
    "tsv": lambda records: delimited("\t", records),
    "jsonl": json_lines,
    "json": lambda records: json.dumps(records).encode(),
    "xlsx": workbook,
    "parquet": lambda records: parquet(pa.Table.from_pylist(list(records))),
    "csv.gz": lambda records: gzip.compress(delimited(",", records), 1),
    "tsv.gz": lambda records: gzip.compress(delimited("\t", records), 1),
    "jsonl.gz": lambda records: gzip.compress(json_lines(records), 1),
    "json.gz": lambda records: gzip.compress(json.dumps(records).encode(), 1),
    "zip": lambda records: packed(delimited(",", records)),
}
NOT_A_TABLE = "is called 'p.zip'; expected one that ends in .tsv, .csv"
TOO_DEEP = "lists and objects stand more than 20 deep"
TOO_MUCH = "holds more than fits into memory"
UNPACKS = "unpacks to more than this hub takes"
NESTED = b"[" * 100_000 + b"]" * 100_000
NESTED_LINE = b'{"index":"0","prediction":' + NESTED + b"}\n"


class Bomb(NamedTuple):
    name: str
    kind: str
    content: Callable[[], bytes]
    says: str
    """A part of the sentence; empty where the file does no harm and is taken."""


def every_kind(name: str, records: Callable[[], Records], says: dict[str, str]) -> Iterator[Bomb]:
    """A bomb in each kind of file. `says` is by kind, `*` for the others."""
    for kind, write in WRITERS.items():
        said = NOT_A_TABLE if kind == "zip" else says.get(kind.removesuffix(".gz"), says["*"])
        yield Bomb(name, kind, lambda write=write: write(records()), said)


BOMBS = (
    *every_kind("many rows", lambda: rows(ROWS + 1), {"*": "has more than 20,000 rows"}),
    *every_kind(
        "a huge cell",
        lambda: [{"index": "0", "prediction": "A" * TOO_LONG}],
        {"*": "longer than 8 MB", "parquet": "a text is 9.54 MB long"},
    ),
    *every_kind(
        "many columns",
        lambda: [rows(1)[0] | {f"c{at}": "" for at in range(2_000)}],
        {"*": "has more than 500 cells", "parquet": "has 2,002 columns", "json": "", "jsonl": ""},
    ),
    Bomb("deep nesting", "json", lambda: NESTED, TOO_DEEP),
    Bomb("deep nesting", "jsonl", lambda: NESTED_LINE, TOO_DEEP),
    Bomb("deep nesting", "jsonl.gz", lambda: gzip.compress(NESTED_LINE), TOO_DEEP),
    Bomb("deep nesting", "xlsx", lambda: sheet(b"<a>" * 200_000), "cannot be read as an Excel"),
    Bomb("compression", "csv.gz", lambda: gzip.compress(b"0,A\n" * 15 * MB, 1), UNPACKS),
    Bomb("compression", "jsonl.gz", lambda: gzip.compress(b"\n" * 60 * MB, 1), UNPACKS),
    Bomb("compression", "xlsx", lambda: sheet(b" " * 60 * MB), "57.2 MB long, and at most 12 MB"),
    Bomb("compression", "zip", lambda: packed(b"A" * 60 * MB), NOT_A_TABLE),
    Bomb("compression", "parquet", lambda: repeated(ROWS, "A" * 100_000), TOO_MUCH),
    Bomb("a dictionary", "parquet", lambda: repeated(5 * MB, "A" * 10_000), TOO_MUCH),
)
QUICK = {
    ("many rows", "csv"),
    ("many rows", "zip"),
    ("a huge cell", "json"),
    ("many columns", "jsonl"),
    ("many columns", "csv.gz"),
    ("deep nesting", "json"),
    ("compression", "csv.gz"),
    ("a dictionary", "parquet"),
}
"""In `make test`; the others are in `make test-release`."""


def resident_mb(process: int | str, field: str) -> float:
    """`VmRSS`, or `VmHWM`: the highest that it was. 0 for a process that has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    (line,) = [line for line in status.splitlines() if line.startswith(field)] or ["- 0 kB"]
    return int(line.split()[1]) / 1000


def children(process: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    found = []
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(number) for number in tasks.read_text().split()]
    return [*found, *(each for child in found for each in children(child))]


class Peak:
    """The memory of this process, which serves, and of the processes that read for it."""

    def __init__(self) -> None:
        self.readers = 0.0
        self._before = resident_mb("self", "VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    @property
    def server(self) -> float:
        """How much it grew at most."""
        return resident_mb("self", "VmHWM") - self._before

    def _watch(self) -> None:
        while not self._end.wait(0.05):
            of_each = [resident_mb(child, "VmHWM") for child in children(os.getpid())]
            self.readers = max([self.readers, *of_each])


class Uploads:
    """A hub, and an account that sends it files."""

    def __init__(self, client: TestClient, token: str) -> None:
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"}

    def send(self, name: str, content: bytes) -> tuple[int, str]:
        answer = self._client.post(
            "/api/v1/benchmarks/signs/submissions",
            headers=self._headers,
            data={"model": "m", "allow_missing": "true"},
            files={"predictions": (name, content)},
        )
        return answer.status_code, answer.text


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Uploads]:
    folder = tmp_path_factory.mktemp("bombs")
    create_hub(folder / "hub").close()
    (folder / "hub" / "hub.toml").write_text(f"[submissions]\nmegabytes = {MEGABYTES}\nrows = {ROWS}\nper_day = 1000\n")
    opened = open_hub(folder / "hub")
    with opened.database.writing() as session:
        account = create_account(session, "ann", "submitter", None)
        token = create_token(session, account, "t", frozenset({"submit"}), SessionLimits())
        data = write_data(folder / "signs.tsv")
        add_benchmark(session, opened.storage, NewBenchmark(name="signs", title="s", data=data))
    with TestClient(create_app(opened)) as client:
        made = Uploads(client, token)
        # What is imported with the first upload is not that of a bomb.
        assert made.send("p.jsonl", predictions(3))[0] == 201
        yield made
    opened.close()


@pytest.mark.attack(
    "files of every kind with many rows or columns, a huge cell, deep nesting, or that unpack to "
    "far more than they are",
    "each is refused in a sentence, in bounded memory, and the server goes on",
)
@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param(bomb, id=f"{bomb.name} in {bomb.kind}", marks=() if bomb[:2] in QUICK else pytest.mark.release)
        for bomb in BOMBS
    ],
)
def test_a_bomb_is_refused_in_bounded_memory(uploads: Uploads, bomb: Bomb) -> None:
    content = bomb.content()
    assert len(content) < MEGABYTES * MB
    with Peak() as peak:
        status, answer = uploads.send(f"p.{bomb.kind}", content)
    if bomb.says:
        assert (status, bomb.says in answer) == (422, True), answer
        assert len(answer) < 500
        assert "Traceback" not in answer
    else:
        assert status == 201, answer
    assert peak.readers < READER_MB
    assert peak.server < SERVER_MB
    assert uploads.send("p.jsonl", predictions(3))[0] == 201


def test_packed_files_are_read_where_little_is_allowed(uploads: Uploads) -> None:
    """The room that unpacking wants free is beyond what the hub takes of a file."""
    for kind in ("jsonl", "jsonl.gz"):
        content = predictions(5) if kind == "jsonl" else gzip.compress(predictions(5))
        assert uploads.send(f"p.{kind}", content)[0] == 201, kind


def test_few_files_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may take the memory of a reader."""
    read, lock = uploaded_replies.call_limited, threading.Lock()
    now, most = 0, 0

    def counting(*arguments: Any) -> bytes:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        try:
            return read(*arguments)
        finally:
            with lock:
                now -= 1

    monkeypatch.setattr(uploaded_replies, "call_limited", counting)
    limits = SubmissionLimits(megabytes=MEGABYTES)
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda _: len(read_replies("p.jsonl", predictions(1), limits)), range(12)))
    assert found == [QUESTIONS] * 12
    assert most <= 4


@pytest.mark.release
def test_bombs_exceed_the_memory_limits() -> None:
    """The control: a process with three times the memory of a reader does not hold the dictionary,
    and without limits of rows and bytes small files would be read."""
    code = (
        "import resource, sys, pyarrow.parquet as pq, io\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({3 * READER_MB * MB},) * 2)\n"
        "pq.read_table(io.BytesIO(sys.stdin.buffer.read()))['prediction'].to_pylist()"
    )
    content = repeated(5 * MB, "A" * 10_000)
    assert len(content) < MB
    ended = subprocess.run([sys.executable, "-c", code], input=content, capture_output=True)
    assert ended.returncode != 0
    assert b"Memory" in ended.stderr or b"malloc" in ended.stderr, ended.stderr[-500:]
