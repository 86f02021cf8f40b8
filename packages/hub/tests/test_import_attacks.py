"""Hostile files of reported numbers and hostile runs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from snellen.cli import main
from snellen_hub.accounts.access import create_account
from snellen_hub.database.tables import Submission
from snellen_hub.hub import Hub, create_hub
from snellen_hub.web.app import create_app

SCRIPT = "<script>alert(1)</script>"
FORMULA = '=HYPERLINK("https://evil.example","click")'


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    opened = create_hub(tmp_path / "hub")
    (opened.folder / "hub.toml").write_text("[submissions]\nmegabytes = 2\n")
    with opened.database.writing() as session:
        create_account(session, "olga", "owner", "a long password")
    assert main(["hub", "benchmark", str(opened.folder), "signs"]) == 0
    yield opened
    opened.close()


def submissions(hub: Hub) -> int:
    with hub.database.reading() as session:
        return session.scalar(select(func.count(Submission.id))) or 0


def import_file(hub: Hub, path: Path, *arguments: str) -> int:
    source = ["--benchmark", "signs", "--facts", "source=A blog", *arguments]
    return main(["hub", "import", str(hub.folder), str(path), *source])


def sheet_bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/worksheets/sheet1.xml", b"<a>" * 20_000_000)
    return file.getvalue()


HEAD = b"model,score\n"
COLUMNS = ",".join(map(str, range(100_000))).encode()
FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a file beyond the limit": ("n.csv", lambda: HEAD + b"a,1\n" * 600_000),
    "unpacks to 50 MB": ("n.csv.gz", lambda: gzip.compress(HEAD + b"a" * 50_000_000)),
    "a sheet that unpacks to 60 MB": ("n.xlsx", sheet_bomb),
    "JSON nested 100,000 deep": ("n.json", lambda: b"[" * 100_000 + b"]" * 100_000),
    "100,000 columns": ("n.csv", lambda: b"model,score," + COLUMNS + b"\na,1\n"),
    "20,000 rows": ("n.csv", lambda: HEAD + b"".join(b"m%d,1\n" % n for n in range(20_000))),
    "a number of a million digits": ("n.csv", lambda: HEAD + b"a," + b"1" * 1_000_000 + b"\n"),
    "UTF-16": ("n.csv", lambda: "model,score\nа,1\n".encode("utf-16")),
    "Latin-1": ("n.csv", lambda: "model,score\nmodèle,1\n".encode("latin-1")),
    "NUL bytes": ("n.csv", lambda: HEAD + b"a\x00b,1\n"),
    "letters from right to left": ("n.csv", lambda: HEAD + "GPT\u202e5,1\n".encode()),
    "random bytes as Parquet": ("n.parquet", lambda: b"PAR1" + os.urandom(5_000) + b"PAR1"),
    "a torn gzip": ("n.csv.gz", lambda: gzip.compress(HEAD + b"a,1\n")[:-9]),
    "infinity in JSON": ("n.json", lambda: b'[{"model": "a", "score": 1e999}]'),
    "an object for a number": ("n.json", lambda: b'[{"model": "a", "score": {"$gt": 0}}]'),
}


@pytest.mark.attack(
    "reported numbers are imported from bombs, torn files, wrong encodings, huge tables, numbers "
    "of a million digits, names that cannot be displayed",
    "each is refused in one sentence with exit code 2, and nothing is written",
)
@pytest.mark.parametrize("name", FILES)
def test_hostile_files_are_refused_in_a_sentence(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    file, write = FILES[name]
    path = tmp_path / file
    path.write_bytes(write())
    capsys.readouterr()
    assert import_file(hub, path) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("snellen: ")
    assert printed.count("\n") == 1
    assert len(printed) < 1_000
    assert "Traceback" not in printed
    assert submissions(hub) == 0


@pytest.mark.attack(
    "the name of a reported model is a formula or a script",
    "it is stored as text: exports mark it as text, answers cannot be run as a page",
)
def test_formulas_and_scripts_in_names_are_texts(hub: Hub, tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["model", "score", "organisation"], [FORMULA, 61, "+1"], [SCRIPT, 60, "@SUM(A1)"], ["-2+3", 59, "\t=1"]]
        )
    said = [f"table={SCRIPT}", f"protocol={FORMULA}"]
    facts = [word for fact in said for word in ("--facts", fact)]
    assert import_file(hub, path, *facts) == 0
    with TestClient(create_app(hub)) as client:
        exported = client.get("/api/v1/benchmarks/signs/board", params={"form": "csv"})
        cells = [cell for row in csv.reader(io.StringIO(exported.text)) for cell in row]
        assert any(FORMULA in cell for cell in cells)
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
        answer = client.get("/api/v1/benchmarks/signs/board")
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.headers["x-content-type-options"] == "nosniff"
        for address in ("/", "/benchmarks/signs", *submission_pages(hub)):
            page = client.get(address, headers={"Accept": "text/html"})
            assert page.status_code == 200
            assert SCRIPT not in page.text
            if address == "/benchmarks/signs":
                assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text


def submission_pages(hub: Hub) -> list[str]:
    with hub.database.reading() as session:
        return [f"/submissions/{name}" for name in session.scalars(select(Submission.public_id))]


@pytest.mark.attack(
    "a run folder that is imported has a damaged description, lines that are no records, or a name "
    "that leads elsewhere",
    "it is refused in one sentence, and nothing is written",
)
def test_hostile_runs_are_refused_in_a_sentence(hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "signs.tsv"
    data.write_text("index\tquestion\tA\tB\tanswer\n0\tWhich?\tone\ttwo\tA\n")
    folder = str(hub.folder)
    assert main(["hub", "benchmark", folder, "signs", "--data", str(data), "--replace"]) == 0
    run = tmp_path / "run"
    asked = ["run", "-m", "random", "-b", str(data), "--out", str(run), "--no-html", "-q"]
    assert main(asked) == 0
    original = next(run.glob("*/run.json"))
    described = json.loads(original.read_text())
    for change in ({"model": "a\nb\x00"}, {"model": "x" * 500}, {"benchmark": 5}, {"config": []}):
        original.write_text(json.dumps({**described, **change}))
        capsys.readouterr()
        assert import_file(hub, original.parent) == 2, change
        assert capsys.readouterr().err.count("\n") == 1
    original.write_text("{" * 200_000)
    assert import_file(hub, original.parent) == 2
    original.write_text(json.dumps(described))
    original.with_name("samples.jsonl").write_text('{"id": "../../etc/passwd"}\n')
    assert import_file(hub, original.parent) == 2
    assert submissions(hub) == 0
