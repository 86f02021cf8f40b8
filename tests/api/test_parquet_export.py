"""`snellen export --to parquet`: tables of many runs that other engines query."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow import compute, parquet

import snellen
from snellen.api.parquet_export import write_parquet
from snellen.cli import main
from snellen.core.errors import UsageError


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> snellen.Results:
    out = tmp_path_factory.mktemp("runs")
    return snellen.evaluate(["random", "random:seed=1"], ["eyechart"], out=out, limit=80, html=False)


def test_every_number_of_a_run_can_be_computed_from_its_rows(runs: snellen.Results, tmp_path: Path) -> None:
    written = write_parquet(runs.runs, tmp_path)
    samples = parquet.read_table(tmp_path / "samples")
    assert written == (2, 2, samples.num_rows)
    for row in parquet.read_table(tmp_path / "runs.parquet").to_pylist():
        of_run = samples.filter(compute.field("run") == row["run"])
        assert 100 * compute.mean(of_run["score"]).as_py() == pytest.approx(row["score"])
        assert of_run.num_rows == row["samples"] == row["n"]
        expected = [(name, n) for name, n in dict(row["outcomes"]).items() if n]
        counted = of_run.group_by("outcome").aggregate([("outcome", "count")]).to_pylist()
        assert {one["outcome"]: one["outcome_count"] for one in counted} == dict(expected)


def test_rows_are_the_records(runs: snellen.Results, tmp_path: Path) -> None:
    write_parquet(runs.runs, tmp_path)
    run = runs.runs[0]
    rows = {row["id"]: row for row in parquet.read_table(tmp_path / "samples" / f"{run.name}.parquet").to_pylist()}
    for sample in run.samples():
        row = rows[sample.id]
        assert (row["reply"], row["answer"], row["score"]) == (sample.reply, sample.answer, sample.score)
        assert dict(row["groups"]) == sample.groups
        assert row["position"] == sample.record.position


def test_groups_are_those_of_the_report(runs: snellen.Results, tmp_path: Path) -> None:
    write_parquet(runs.runs, tmp_path)
    table = parquet.read_table(tmp_path / "groups.parquet").to_pylist()
    assert table == list(runs.groups)


def test_only_runs_that_have_changed_are_written_again(tmp_path: Path) -> None:
    def export() -> tuple[int, int]:
        found = snellen.open_runs(tmp_path / "out")
        return write_parquet(found.runs, tmp_path / "tables")[1:]

    snellen.evaluate(["random", "random:seed=1"], "eyechart", out=tmp_path / "out", limit=10, html=False)
    assert export()[0] == 2
    assert export() == (0, 0)
    (changed, _) = snellen.open_runs(tmp_path / "out").runs
    lines = (changed.path / "samples.jsonl").read_text().splitlines(keepends=True)
    (changed.path / "samples.jsonl").write_text("".join(lines[:-1]))
    assert export() == (1, len(lines) - 1)


def test_a_run_that_was_killed_has_its_samples(tmp_path: Path) -> None:
    snellen.evaluate("random", "eyechart", out=tmp_path / "out", limit=10, html=False)
    (run,) = snellen.open_runs(tmp_path / "out").runs
    info = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps({**info, "status": "running"}))
    (run.path / "report.json").unlink()
    lines = (run.path / "samples.jsonl").read_text().splitlines(keepends=True)
    (run.path / "samples.jsonl").write_text("".join(lines[:4]) + lines[4][:20])
    assert main(["export", str(tmp_path / "out"), "--to", "parquet", "-o", str(tmp_path / "tables")]) == 0
    assert parquet.read_table(tmp_path / "tables" / "samples").num_rows == 4
    (row,) = parquet.read_table(tmp_path / "tables" / "runs.parquet").to_pylist()
    assert (row["status"], row["n"]) == ("running", 4)


def test_a_folder_collects_runs_that_are_written_one_after_the_other(runs: snellen.Results, tmp_path: Path) -> None:
    first, second = runs.runs
    for run in (first, second, first):
        write_parquet([run], tmp_path)
    rows = parquet.read_table(tmp_path / "runs.parquet").to_pylist()
    assert sorted(row["run"] for row in rows) == sorted([first.name, second.name])
    assert len(parquet.read_table(tmp_path / "groups.parquet")) == len(list(runs.groups))


def test_two_runs_of_one_name_are_refused(runs: snellen.Results, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two runs are called"):
        write_parquet([runs.runs[0], snellen.open_run(runs.runs[0].path)], tmp_path)


def test_the_folder_must_be_named(runs: snellen.Results, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(runs.runs[0].path), "--to", "parquet"]) == 2
    assert "name it with -o DIR" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["runs.parquet", "groups.parquet"])
def test_a_damaged_table_is_named_in_a_sentence(name: str, runs: snellen.Results, tmp_path: Path) -> None:
    write_parquet(list(runs), tmp_path)
    (tmp_path / name).write_text("no table")
    with pytest.raises(UsageError, match=f"{name} is no Parquet file .* remove it"):
        write_parquet(list(runs), tmp_path)
