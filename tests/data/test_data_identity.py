"""Which data a number was made on: the published file, or another that is marked everywhere."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

import snellen.benchmarks.abilities.mmbench as mmbench
from snellen import evaluate, score
from snellen.analysis.comparison.comparability import named_notices
from snellen.analysis.comparison.reopened_data import benchmark_with_data
from snellen.api.report import report_of
from snellen.benchmarks.declaration.published import Published, PublishedFile
from snellen.benchmarks.declaration.registry import data_facts, open_benchmark
from snellen.cli.main import main
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, DataMismatch
from snellen.core.sample import origin_of
from snellen.data.download import RemoteFile
from snellen.store.runs import find_runs

NAME = "MMBench_DEV_EN.tsv"
ROWS = (
    "index\tquestion\tA\tB\tanswer\tcategory\tl2-category\tsplit\n"
    "1\tWhich?\tx\ty\tA\tc\td\tdev\n"
    "1000001\tWhich?\ty\tx\tB\tc\td\tdev\n"
)
CHOSEN = ("dev", "en", "1.0")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("LMUData", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


@pytest.fixture
def published(monkeypatch) -> None:
    """The published file is `ROWS`."""
    remote = RemoteFile(urls=(), md5=hashlib.md5(ROWS.encode()).hexdigest())
    monkeypatch.setitem(mmbench.BENCHMARK.data.files, CHOSEN, PublishedFile(NAME, remote))


def run(**options) -> dict:
    (folder,) = evaluate(["random"], ["mmbench"], out="out", html=False, **options).runs
    return json.loads((folder.path / "run.json").read_text())


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_another_file_of_the_published_name_in_this_folder_is_refused(place, packed) -> None:
    path = place / (f"{NAME}.gz" if packed else NAME)
    path.write_bytes(gzip.compress(ROWS.encode()) if packed else ROWS.encode())
    with pytest.raises(DataMismatch, match=f"is not that file .*--data {path.name}"):
        open_benchmark("mmbench").open()


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_the_published_file_in_this_folder_is_used_without_a_word(place, published, packed) -> None:
    path = place / (f"{NAME}.gz" if packed else NAME)
    path.write_bytes(gzip.compress(ROWS.encode()) if packed else ROWS.encode())
    data = run()["data"]
    assert data["origin"]["kind"] == "published"
    assert "note" not in data["origin"]
    assert run(variant=Variant(data=path.name))["data"]["origin"]["kind"] == "published"


def test_shared_notices_are_printed_once(place, capsys) -> None:
    (place / "mine.tsv").write_text(ROWS)
    for name in "abc":
        (place / f"{name}.csv").write_text("index,prediction\n1,A\n1000001,B\n")
    data = ["-b", "mmbench", "--data", "mine.tsv"]
    assert main(["leaderboard", "a.csv", "b.csv", "c.csv", *data]) == 0
    board = " ".join(capsys.readouterr().out.split())
    assert "! 3 runs, a.csv, b.csv, c.csv: data: mine.tsv is not the published file" in board
    assert main(["compare", "a.csv", "b.csv", *data]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 runs, a.csv, b.csv: data: mine.tsv is not" in said
    assert (board + said).count("is not the published file") == 2
    assert list(named_notices([("a", "x"), ("b", "y"), ("a", "y")])) == ["a: x", "2 runs, b, a: y"]
    many = named_notices((str(number), "x") for number in range(7))
    assert list(many) == ["7 runs, 0, 1, 2, 3 and 3 more: x"]


def test_own_file_is_marked_in_every_output(place, capsys) -> None:
    (place / "mine.tsv").write_text(ROWS)
    (place / "p.csv").write_text("index,prediction\n1,A\n1000001,B\n")
    said = "mine.tsv is not the published file MMBench"
    assert run(variant=Variant(data="mine.tsv"))["data"]["origin"]["kind"] == "custom"
    (folder,) = find_runs("out")
    commands = (
        ["report", "out"],
        ["report", "out", "--format", "markdown"],
        ["report", "out", "--format", "latex"],
        ["report", "out", "--format", "json"],
        ["leaderboard", str(folder.path)],
        ["leaderboard", str(folder.path), "--format", "json"],
        ["score", "mmbench", "--data", "mine.tsv", "--predictions", "p.csv"],
        ["score", "mmbench", "--data", "mine.tsv", "--predictions", "p.csv", "--json"],
        ["score", "mmbench", "--data", "mine.tsv", "--predictions", "p.csv", "--rule", "all"],
    )
    for command in commands:
        assert main(command) == 0
        assert said in " ".join(capsys.readouterr().out.split()), command
    assert main(["report", "out", "--format", "csv"]) == 0
    assert f",custom,{folder.info.data.digest}" in capsys.readouterr().out
    main(["report", "out", "--format", "html"])
    page = (folder.path / "report.html").read_text()
    assert page.count(said) >= 2  # over the number, and in the protocol


def test_origin_of_golds_in_the_predictions_file(place) -> None:
    (place / "p.csv").write_text("index,question,A,B,answer,prediction\n1,Which?,x,y,A,A\n")
    found = score("ai2d", "p.csv").data
    assert found is not None
    assert found.origin is not None
    assert found.origin.kind == "predictions"


def test_runs_on_different_data_are_never_compared_silently(place, capsys) -> None:
    for name, text in (("mine.tsv", ROWS), ("other.tsv", ROWS.replace("d\tdev", "e\tdev"))):
        (place / name).write_text(text)
        run(variant=Variant(data=name))
    folders = [str(one.path) for one in find_runs("out")]
    said = "the runs of mmbench were made on different data"
    for command in (
        ["report", *folders],
        ["report", *folders, "--format", "markdown"],
        ["leaderboard", *folders],
        ["compare", "--common", *folders],
        ["compare", "--common", "--format", "markdown", *folders],
        ["report", *folders, "--format", "html", "-o", "page.html"],
    ):
        assert main(command) == 0
        out = capsys.readouterr().out
        shown = (place / "page.html").read_text() if "html" in command else out
        assert said in " ".join(shown.split()), command
    assert main(["compare", *folders]) == 2
    assert "not the published file" in capsys.readouterr().err


def test_info_shows_published_and_local_files(place, published) -> None:
    assert data_facts("mmbench")["here"].startswith("no: ")
    (place / NAME).write_text(ROWS)
    assert data_facts("mmbench")["here"] == f"{NAME} (the published file)"
    (place / NAME).write_text(ROWS.replace("Which", "What"))
    facts = data_facts("mmbench")
    assert f"{NAME} is not the published file" in facts["here"]
    assert facts["data"].startswith(f"{NAME}, md5 ")
    assert "no public address" in data_facts("core-mm")["data"]


def test_a_file_without_a_known_checksum_is_marked_as_not_compared(place) -> None:
    (place / "x.tsv").write_text(ROWS)
    plain = Published({}, {(): PublishedFile("x.tsv", RemoteFile(urls=()))})
    origin = origin_of(plain.table(Variant()))
    assert origin is not None
    assert origin.kind == "unverified"
    assert "was not checked" in origin.note
    fetched = Published({}, {(): PublishedFile("y.tsv", RemoteFile(urls=("http://127.0.0.1:9/y.tsv",)))})
    home = place.parent / "cache" / "datasets"
    home.mkdir(parents=True)
    (home / "y.tsv").write_text(ROWS)
    origin = origin_of(fetched.table(Variant()))
    assert origin is not None
    assert origin.kind == "published"
    origin = origin_of(plain.table(Variant(data="x.tsv")))
    assert origin is not None
    assert origin.kind == "custom"


def test_a_finished_run_finds_its_own_data_and_no_others(place, published, tmp_path) -> None:
    (place / "mine.tsv").write_text(ROWS.replace("Which", "What"))
    run(variant=Variant(data="mine.tsv"))
    (found,) = find_runs("out")
    # The published file would be found by the benchmark's name: it is not the run's.
    (place / NAME).write_text(ROWS)
    assert [row.cells["question"] for row in benchmark_with_data(found).open()] == ["What?"] * 2
    moved = tmp_path / "moved.tsv"
    (place / "mine.tsv").rename(moved)
    with pytest.raises(DataError, match=r"mine\.tsv.*say where they are with --data FILE"):
        benchmark_with_data(found)
    assert len(benchmark_with_data(found, [NAME, str(moved)]).open()) == 2
    with pytest.raises(DataError, match="has other content"):
        benchmark_with_data(found, [NAME])
    assert report_of(found).summary.n == 1


def test_an_own_file_is_read_again_by_its_columns_from_another_folder(place, tmp_path, monkeypatch) -> None:
    (place / "own.csv").write_text("uid,text,truth\nx,What?,tin\n")
    columns = {"id": "uid", "question": "text", "gold": "truth"}
    evaluate(["random"], ["own.csv"], out="out", html=False, variant=Variant(columns=columns))
    (found,) = find_runs(place / "out")
    monkeypatch.chdir(tmp_path)
    assert [row.cells["question"] for row in benchmark_with_data(found).open()] == ["What?"]


def test_a_described_benchmark_is_opened_by_its_description(place) -> None:
    (place / "own.csv").write_text("uid,text,truth\nx,What?,tin\n")
    told = 'data = "own.csv"\ncolumns = { id = "uid", question = "text", gold = "truth" }\n'
    (place / "own.toml").write_text(told + 'metric = "anls"\n')
    evaluate(["random"], ["own.toml"], out="out", html=False)
    (found,) = find_runs("out")
    assert benchmark_with_data(found).headline == "anls"
    (place / "own.toml").write_text(told + 'metric = "exact"\n')
    with pytest.raises(DataError, match="the description of the benchmark was changed"):
        benchmark_with_data(found)


def test_why_and_the_judge_use_the_data_of_the_run(place, capsys) -> None:
    (place / "mine.tsv").write_text(ROWS.replace("Which", "What"))
    run(variant=Variant(data="mine.tsv"))
    (found,) = find_runs("out")
    (place / "p.csv").write_text("index,prediction\n1,A\n1000001,B\n")
    assert main(["why", str(found.path), "p.csv"]) == 0
    assert "mmbench" in capsys.readouterr().out
    (place / "mine.tsv").rename(place / "new.tsv")
    assert main(["why", str(found.path), "p.csv"]) == 2
    assert "say where they are with --data FILE" in capsys.readouterr().err
    assert main(["why", str(found.path), "p.csv", "--data", "new.tsv"]) == 0


def test_the_published_file_is_found_again_from_another_folder(place, published, tmp_path, monkeypatch) -> None:
    (place / NAME).write_text(ROWS)
    run()
    (found,) = find_runs(place / "out")
    monkeypatch.chdir(tmp_path)
    assert len(benchmark_with_data(found).open()) == 2
