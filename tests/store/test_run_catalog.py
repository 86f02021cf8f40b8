"""What is kept of runs between commands: it is read once, and never stands for files that changed."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from benchmarks.perf.made_year import write_made_year

from snellen.api import report as report_module
from snellen.api.report import reports_of
from snellen.store import run_catalog_file
from snellen.store.run_scores import UNSCORED, RunScores, read_scores
from snellen.store.runs import RunFolder, find_runs


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache that is used for runs of any size."""
    monkeypatch.setattr(run_catalog_file, "WORTH_BYTES", 0)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_made_year(tmp_path_factory.mktemp("year"), 8, 2, seed=5).root


@pytest.fixture
def year(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "year"))


def equal(one: list[RunScores], other: list[RunScores]) -> bool:
    return all(
        a.ids == b.ids and np.array_equal(a.scores, b.scores, equal_nan=True) and np.array_equal(a.unscored, b.unscored)
        for a, b in zip(one, other, strict=True)
    )


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    reads: list[str] = []
    read_as = RunFolder.read_as
    monkeypatch.setattr(RunFolder, "read_as", lambda run, kind: reads.append(run.name) or read_as(run, kind))
    return reads


def test_scores_are_those_of_the_samples_and_are_read_once(year, cache, monkeypatch):
    runs = find_runs(year)
    first = read_scores(runs)
    for run, found in zip(runs, first, strict=True):
        records = {record.id: record for record in [*run.records(), *run.failures()]}
        assert list(found.ids) == sorted(records)
        assert [None if np.isnan(x) else x for x in found.scores] == [records[name].score for name in found.ids]
        assert [UNSCORED[code] for code in found.unscored] == [records[name].unscored for name in found.ids]
    reads = count_reads(monkeypatch)
    assert equal(read_scores(runs), first)
    assert reads == []


CHANGES: dict[str, Callable[[Path], object]] = {
    "a sample less": lambda run: cut_last_line(run / "samples.jsonl"),
    "replaced by a file of the same size": lambda run: replace_file(run / "samples.jsonl"),
    "moved": lambda run: run.rename(run.with_name("moved")),
}


def cut_last_line(file: Path) -> None:
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))


def replace_file(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(file.read_bytes().replace(b'"score":1.0', b'"score":0.5'))
    other.replace(file)


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_run_is_read_again(year, cache, monkeypatch, change):
    read_scores(find_runs(year))
    CHANGES[change](find_runs(year)[0].path)
    reads = count_reads(monkeypatch)
    found = read_scores(find_runs(year))
    assert len(reads) == 1
    monkeypatch.setattr(run_catalog_file, "WORTH_BYTES", float("inf"))
    assert equal(found, read_scores(find_runs(year)))


def damage(cache: Path, statement: str) -> None:
    with sqlite3.connect(cache / "runs.sqlite") as catalog:
        catalog.execute(statement)
    catalog.close()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "no database": lambda cache: (cache / "runs.sqlite").write_bytes(b"no database, and longer than its head" * 9),
    "other bytes": lambda cache: damage(cache, "UPDATE scores SET scores = x'00'"),
    "ids of others": lambda cache: damage(cache, "UPDATE ids SET ids = x'789c8b8e0500011900b9'"),
    "no cache": lambda cache: (shutil.rmtree(cache), cache.write_text("a file")),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_catalogue_changes_nothing(year, cache, what):
    runs = find_runs(year)
    first = read_scores(runs)
    DAMAGE[what](cache)
    assert equal(read_scores(runs), first)
    assert equal(read_scores(runs), first)


def test_many_readers_at_once_find_the_same(year, cache):
    runs = find_runs(year)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: read_scores(runs), range(8)))
    assert all(equal(one, found[0]) for one in found)


def test_small_runs_leave_the_catalogue_alone(year, tmp_path, monkeypatch):
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    read_scores(find_runs(year)[:1])
    assert not (tmp_path / "cache").exists()


def test_a_killed_run_is_summed_up_once_for_each_state(year, cache, monkeypatch):
    runs = find_runs(year)
    (runs[0].path / "report.json").unlink()
    summed: list[str] = []
    summarise = report_module._summarise
    monkeypatch.setattr(report_module, "_summarise", lambda run: summed.append(run.name) or summarise(run))
    first = reports_of(runs)
    assert summed.count(runs[0].name) == 1
    count = len(summed)
    assert reports_of(runs) == first
    assert len(summed) == count
    cut_last_line(runs[0].path / "samples.jsonl")
    again = reports_of(runs)
    assert summed[count:] == [runs[0].name]
    assert again[0].run.counts.done == first[0].run.counts.done - 1


def test_the_made_year_has_the_numbers_of_its_samples(year):
    for run in find_runs(year):
        if run.has_report and run.report().summary.headline.value is not None:
            scores = [record.score for record in run.records()]
            assert run.report().summary.headline.value == pytest.approx(100 * sum(scores) / len(scores))
