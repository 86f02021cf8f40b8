"""Runs and replies that an earlier commit wrote: opened, reported, continued, and found again."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kept_runs import CASES, HOME, STORE, Judge, Scripted, run

from snellen.analysis.comparison.reopened_data import benchmark_of
from snellen.cli import main
from snellen.core.benchmark import final_summary
from snellen.core.record import Record
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder, open_run

HEADLINES = {
    "circular": ("circular", 100 / 3, 6),
    "yes_no": ("accuracy", 50.0, 6),
    "open": ("accuracy", 100 / 6, 6),
    "failures": ("accuracy", 50.0, 4),
    "judged": ("score", 62.5, 4),
    "several_pictures": ("accuracy", 50.0, 4),
}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, so that what is kept stays as it is."""
    home = tmp_path / "kept"
    shutil.copytree(HOME, home)
    monkeypatch.chdir(home)
    return home


def folder(home: Path, name: str) -> RunFolder:
    (path,) = (home / "runs" / name).iterdir()
    return open_run(path)


def stored(path: Path, file: str) -> Any:
    return json.loads((path / file).read_text(encoding="utf-8"))


def as_json(value: msgspec.Struct) -> Any:
    return json.loads(msgspec.json.encode(value))


def stands_in(old: Any, new: Any) -> bool:
    """Whether all that `old` says is said by `new`, which may say more."""
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and stands_in(value, new[key]) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        # Words may be a set, which has no order.
        words = all(isinstance(one, str) for one in old)
        return (words and sorted(old) == sorted(new)) or all(map(stands_in, old, new))
    return bool(old == new)


def without_frequent(summary: Any) -> Any:
    """A summary without the most frequent label, which earlier commits chose and scored on the
    same questions."""
    kept = {name: one for name, one in summary["metrics"].items() if name != "frequent"}
    return {**summary, "metrics": kept}


def lines(run: RunFolder) -> list[dict[str, Any]]:
    files = [run.path / name for name in ("samples.jsonl", "failures.jsonl")]
    text = "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", CASES)
def test_records_are_read_and_written_as_they_were(name: str) -> None:
    found = folder(HOME, name)
    records = [*found.records(), *found.failures()]
    for old, new in zip(lines(found), map(as_json, records), strict=True):
        assert stands_in(old, new), old["id"]
    assert all(isinstance(record, Record) for record in records)


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_the_same_to_the_last_digit(name: str, kept: Path) -> None:
    found = folder(kept, name)
    records = [*found.records(), *found.failures()]
    again = final_summary(benchmark_of(found), records, found.info.config.examples)
    old = without_frequent(stored(found.path, "report.json")["summary"])
    assert stands_in(old, as_json(again))
    metric, value, n = HEADLINES[name]
    headline = found.report().summary.headline
    assert (headline.name, headline.value, headline.n) == (metric, pytest.approx(value), n)


@pytest.mark.parametrize("name", CASES)
def test_the_stored_report_is_what_the_command_prints(
    name: str, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = folder(kept, name)
    main(["report", str(found.path), "--format", "json"])
    printed = json.loads(capsys.readouterr().out)
    old = stored(found.path, "report.json")
    assert stands_in([old], printed)
    assert stands_in(old, as_json(found.report()))


@pytest.mark.parametrize("name", CASES)
def test_every_reply_is_found_again(name: str, kept: Path) -> None:
    """The same run from the start: nothing is asked, and every record is the same."""
    model, judge = Scripted(name), Judge("judge")
    case = CASES[name]
    again = run(case, kept / "again", model, judge, kept / STORE)
    old = folder(HOME, name)
    assert again.path.name == old.path.name
    assert [request.ref.sample for request in model.sent] == list(case.broken)
    assert [one.ref.sample for one in judge.sent] == ["preflight"] * case.judged
    known = {line["id"]: line for line in lines(old)}
    for line in lines(again):
        assert line["requests"] == known[line["id"]]["requests"]
        if line["id"] not in case.broken:
            assert line == known[line["id"]]


def test_run_with_failures_resumes(kept: Path) -> None:
    model = Scripted("failures")
    case = CASES["failures"]
    with ResponseStore(kept / "empty.sqlite"):
        made = run(case, kept / "runs" / "failures", model, Judge("judge"), kept / "empty.sqlite")
    assert sorted(request.ref.sample for request in model.sent) == ["2", "3"]
    assert made.path == folder(kept, "failures").path
    assert (made.info.status, list(made.failures())) == ("complete", [])
    known = {line["id"]: line for line in lines(folder(HOME, "failures"))}
    for line in lines(made):
        assert line["requests"] == known[line["id"]]["requests"]
    assert made.report().summary.n == 6


@pytest.mark.parametrize("name", [name for name in CASES if name != "failures"])
def test_a_complete_run_is_reported_without_a_request(name: str, kept: Path) -> None:
    model, judge = Scripted(name), Judge("judge")
    made = run(CASES[name], kept / "runs" / name, model, judge, kept / "empty.sqlite")
    assert model.sent == []
    assert made.path == folder(kept, name).path
    assert stands_in(
        without_frequent(stored(folder(HOME, name).path, "report.json")["summary"]),
        stored(made.path, "report.json")["summary"],
    )


def test_nothing_kept_names_a_machine() -> None:
    for path in HOME.rglob("*"):
        if path.is_file() and path.suffix != ".sqlite":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r'"(/[a-z]|[A-Z]:\\\\)', text), path
    with closing(sqlite3.connect(HOME / STORE)) as base:
        folders = [folder for (folder,) in base.execute("SELECT folder FROM runs")]
    assert folders
    assert not [folder for folder in folders if Path(folder).is_absolute()]


@pytest.mark.parametrize("name", CASES)
def test_a_killed_run_is_reported_from_what_it_has(name: str, kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Judged ones too: what they record of their rubrics is no option of the benchmark."""
    found = folder(kept, name)
    (found.path / "report.json").unlink()
    assert main(["report", str(found.path), "--format", "json"]) == bool(CASES[name].broken)
    assert json.dumps(HEADLINES[name][1])[:8] in capsys.readouterr().out
