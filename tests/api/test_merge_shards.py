"""Shards of a run, and the run that they are joined into: the one that a single machine writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from msgspec import structs

import snellen
from snellen.api.merge_shards import merge_shards
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.core.served_identity import ServedIdentity
from snellen.core.shard import RunShard
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunWriter, find_runs, open_run

EXAMPLES = Path(__file__).parents[2] / "examples"
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


class Refusing(Model):
    async def answer(self, request: snellen.Generate) -> snellen.Generated | snellen.Failure:
        return snellen.Failure("request", "down")


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
    assert "is one shard: name the folder of the whole run with --out" in capsys.readouterr().err
    assert main(["merge", str(tmp_path / "nothing")]) == 2


def test_merging_again_counts_replies_of_earlier_runs_once(tmp_path: Path) -> None:
    for limit in (20, LIMIT):
        for shard in ("1/2", "2/2"):
            snellen.evaluate([Model()], "eyechart", out=tmp_path, limit=limit, shard=shard, html=False)
    expected = {10, 20}
    for sources in (["shard-1-of-2"], ["shard-2-of-2"], ["shard-1-of-2", "shard-2-of-2"], ["shard-2-of-2"]):
        merged = merge_shards([tmp_path / name for name in sources], tmp_path / "merged")
        (info,) = (one.run.info for one in merged.runs if one.run.info.counts.samples == LIMIT)
        assert info.reused.replies == sum(info.reused.runs.values()) in expected
    assert info.reused.replies == info.spent["model"].reused == 20


def test_merging_again_counts_replies_of_a_server_once(tmp_path: Path) -> None:
    """The second shard goes on between two merges, first by the same server and then by another."""
    for index in (1, 2):
        run_shard(tmp_path, f"{index}/2")

    def serve(shard: int, *replies: tuple[str, int]) -> None:
        (run,) = find_runs(tmp_path / f"shard-{shard}-of-2")
        served = tuple(ServedIdentity(listed={"root": root}, models={"m": count}) for root, count in replies)
        with RunWriter(run.path) as writer:
            writer.write_info(structs.replace(run.info, served={"model": served}))

    def merged() -> list[int]:
        (one,) = merge_shards([tmp_path], tmp_path / "merged").runs
        return [each.models["m"] for each in one.run.info.served["model"]]

    serve(1, ("a", 29))
    serve(2, ("a", 11))
    assert merged() == merged() == [40]
    serve(2, ("a", 20))
    assert merged() == merged() == [49]
    serve(2, ("a", 20), ("b", 11))
    assert merged() == merged() == [49, 11]


def test_requests_that_early_stop_saved_are_those_of_all_shards(tmp_path: Path) -> None:
    for out, shard in (("shards", "1/2"), ("shards", "2/2"), ("whole", None)):
        snellen.evaluate(
            [Model()],
            "eyechart",
            out=tmp_path / out,
            limit=LIMIT,
            shard=shard,
            html=False,
            variant=snellen.Variant(circular="early"),
        )
    for index in (1, 2):
        merged = merge_shards([tmp_path / "shards" / f"shard-{index}-of-2"], tmp_path / "merged")
    (whole,) = find_runs(tmp_path / "whole")
    assert merged.runs[0].run.info.counts.saved == whole.info.counts.saved > 0


def test_numbers_of_an_earlier_merge_do_not_stay_when_the_benchmark_is_absent(tmp_path: Path) -> None:
    """The benchmark is a file that `merge` does not load; the command without `--shard` does."""
    file, rows = tmp_path / "mine.py", [f"{number}\tq{number}?\tx\ty\tB\tanimals\n" for number in range(6)]
    (tmp_path / "my_questions.tsv").write_text("index\tquestion\tA\tB\tanswer\tcategory\n" + "".join(rows))
    file.write_text((EXAMPLES / "my_benchmark.py").read_text().replace('"animals",', '"counting",', 1))
    model, merged = Model(), tmp_path / "merged"
    for index in (1, 2):
        snellen.evaluate([model], "counting", load=[file], out=tmp_path / "out", shard=f"{index}/2", html=False)
    (first,) = merge_shards([tmp_path / "out" / "shard-1-of-2"], merged).runs
    assert "no numbers" in first.problems[0]
    snellen.evaluate([Refusing()], "counting", load=[file], out=merged, html=False)
    assert first.run.has_report
    merge_shards([tmp_path / "out"], merged)
    assert not first.run.has_report
    snellen.evaluate([model], "counting", load=[file], out=merged, html=False)
    merge_shards([tmp_path / "out"], merged)
    assert first.run.has_report


def test_a_folder_of_shards_alone_names_the_command_that_joins_them(tmp_path: Path) -> None:
    run_shard(tmp_path, "1/2")
    with pytest.raises(UsageError, match="but shards of runs: join them with: snellen merge"):
        find_runs(tmp_path)
