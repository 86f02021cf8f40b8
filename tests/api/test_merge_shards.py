"""Shards of a run, and the run that they are joined into: the one that a single machine writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import snellen
from snellen.api.merge_shards import merge_shards
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.core.shard import RunShard
from snellen.store.responses import ResponseStore
from snellen.store.runs import find_runs, open_run

LIMIT = 60


class Model:
    """Answers "B" and remembers what it was asked; refuses while `is_down`."""

    identity = snellen.Identity("mine", "counting", {})
    capabilities = snellen.Capabilities()

    def __init__(self, is_down: bool = False) -> None:
        self.asked: list[str] = []
        self.is_down = is_down

    async def answer(self, request: snellen.Generate) -> snellen.Generated | snellen.Failure:
        if self.is_down and len(self.asked) > 5:
            return snellen.Failure("request", "down")
        self.asked.append(request.text())
        return snellen.Generated("B", usage=snellen.Usage(100, 1))


def run_shard(out: Path, shard: str, model: Model | None = None) -> Model:
    model = model or Model()
    snellen.evaluate([model], "eyechart", out=out, limit=LIMIT, shard=shard, html=False)
    return model


def run_whole(out: Path) -> Model:
    model = Model()
    snellen.evaluate([model], "eyechart", out=out, limit=LIMIT, html=False)
    return model


def summary(folder: Path) -> object:
    return json.loads((folder / "report.json").read_text())["summary"]


@pytest.mark.parametrize("count", [2, 3, 7])
def test_merged_shards_are_the_run_of_one_machine_byte_for_byte(tmp_path: Path, count: int) -> None:
    for index in range(1, count + 1):
        run_shard(tmp_path / "shards", f"{index}/{count}")
    run_whole(tmp_path / "whole")
    merged = merge_shards([tmp_path / "shards"], tmp_path / "merged")
    (whole,) = find_runs(tmp_path / "whole")
    (one,) = merged.runs
    assert one.run.path.name == whole.path.name
    assert (one.run.path / "samples.jsonl").read_bytes() == (whole.path / "samples.jsonl").read_bytes()
    assert summary(one.run.path) == summary(whole.path)
    assert one.run.info.status == "complete"
    assert one.run.info.spent["model"].usage == whole.info.spent["model"].usage
    assert one.run.info.shard is None
    with ResponseStore(tmp_path / "merged" / "store.sqlite") as store:
        assert len(store) == merged.replies


def test_no_sample_is_in_two_shards_and_units_stay_together(tmp_path: Path) -> None:
    """Control: a division by sample, which would tear the units apart, fails the last line."""
    units = [[f"{number}-a", f"{number}-b"] for number in range(11)]
    parts = [RunShard(index, 4).select(units) for index in range(1, 5)]
    assert sorted(id for part in parts for id in part) == sorted(id for unit in units for id in unit)
    assert {len(part) for part in parts} == {4, 6}
    assert all({id[:-1] + "a" for id in part} == {id[:-1] + "a" for id in part if id.endswith("b")} for part in parts)


def test_a_missing_shard_is_named_and_the_plain_command_asks_it_alone(tmp_path: Path) -> None:
    first, third = run_shard(tmp_path, "1/3"), run_shard(tmp_path, "3/3")
    (part,) = merge_shards([tmp_path], tmp_path).runs
    assert (part.run.info.status, part.run.info.stopped) == ("interrupted", "not merged yet: shard 2/3")
    assert part.run.info.counts.samples == LIMIT
    rest = run_whole(tmp_path)
    assert len(rest.asked) == LIMIT - len(first.asked) - len(third.asked)
    assert open_run(part.run.path).info.status == "complete"


def test_merging_again_counts_nothing_twice(tmp_path: Path) -> None:
    run_shard(tmp_path, "1/2")
    merge_shards([tmp_path], tmp_path)
    run_shard(tmp_path, "2/2")
    (second,) = merge_shards([tmp_path], tmp_path).runs
    before = (second.run.path / "samples.jsonl").read_bytes()
    (third,) = merge_shards([tmp_path], tmp_path).runs
    assert (third.run.path / "samples.jsonl").read_bytes() == before
    assert third.run.info.spent["model"].answered == LIMIT
    assert third.run.info.spent == second.run.info.spent
    assert sorted(third.run.info.merged) == ["1/2", "2/2"]


def test_failures_of_a_shard_are_failures_of_the_run_until_they_are_asked_again(tmp_path: Path) -> None:
    run_shard(tmp_path, "1/2", Model(is_down=True))
    run_shard(tmp_path, "2/2")
    (part,) = merge_shards([tmp_path], tmp_path).runs
    assert part.run.info.counts.failed == len(list(part.run.failures())) > 0
    run_shard(tmp_path, "1/2")
    (whole,) = merge_shards([tmp_path], tmp_path).runs
    assert (whole.run.info.status, whole.run.info.counts.failed, list(whole.run.failures())) == ("complete", 0, [])


def test_the_report_of_a_shard_says_that_it_is_one(tmp_path: Path) -> None:
    run_shard(tmp_path, "1/2")
    (run,) = find_runs(tmp_path / "shard-1-of-2")
    assert run.report().summary.notices[0].startswith("shard 1/2: 29 of the 60 samples of the run")


def test_shards_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    run_shard(tmp_path / "a", "1/2")
    run_shard(tmp_path / "b", "1/3")
    with pytest.raises(UsageError, match="parts of different divisions: 1/2 of 60 samples, 1/3 of 60 samples"):
        merge_shards([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    with pytest.raises(UsageError, match="shard 1/2 is there twice"):
        merge_shards([tmp_path / "a", tmp_path / "copy"], tmp_path / "out")
    run_whole(tmp_path / "c" / "shard-2-of-2")
    with pytest.raises(UsageError, match="is a whole run and no shard"):
        merge_shards([tmp_path / "c"], tmp_path / "out")


@pytest.mark.parametrize(
    ("shard", "expected"),
    [("0/8", "--array=1-8"), ("9/8", "the K-th of N shards"), ("3", "expected K/N"), ("a/b", "expected K/N")],
)
def test_a_wrong_shard_is_refused_in_a_sentence(
    shard: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["run", "-m", "random", "-b", "eyechart", "--shard", shard, "--out", str(tmp_path / "out")])
    assert (code, expected in capsys.readouterr().err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_shard_without_samples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="shard 3/3 is empty"):
        snellen.evaluate("random", "eyechart", out=tmp_path, limit=2, shard="3/3")


def test_the_command_prints_the_numbers_and_the_missing_shard(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_shard(tmp_path, "2/2")
    assert main(["merge", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "not merged yet: shard 1/2" in printed.err
    assert "31 of 60 done" in printed.out
    assert main(["merge", str(tmp_path / "shard-2-of-2")]) == 2
    assert "name it with --out" in capsys.readouterr().err
    assert main(["merge", str(tmp_path / "nothing")]) == 2
