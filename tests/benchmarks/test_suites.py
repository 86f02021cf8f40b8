"""Suites: the averages of VLMEvalKit's paper, runs of our own, and imported results."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from paper_files import paper_table

from snellen import evaluate
from snellen.benchmarks.declaration.registry import (
    builtin_suites,
    expand_suites,
    find_suite,
    list_benchmarks,
    member_key,
)
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen.scoring.suites import suite_rows

NAMES = [known.name for known in list_benchmarks()]
LAYOUTS = Path(__file__).parent / "layouts"
COLUMNS = {
    "openvlm-core": ("vlmevalkit_table2_general.csv", {"MMBench v1.1": "MMBenchV1.1", "OCRBench": "OCRBench_of_1000"}),
    "openvlm-reasoning": ("vlmevalkit_table3_reasoning.csv", {}),
    "openvlm-video": (
        "vlmevalkit_table4_video.csv",
        {"Video-MME w/o subs": "Video-MME_wo_subs", "MMBench-Video": "MMBench-Video_of_3"},
    ),
}
"""The file of each suite's table, and its columns that are called otherwise there."""
TRUNCATED = {"Ovis2-34B": 76.5875}
"""Averages that the paper cuts off where it rounds the others."""


def printed(suite: str) -> list[dict[str, str]]:
    with paper_table(COLUMNS[suite][0]).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def as_results(suite: str, rows: list[dict[str, str]], file: Path) -> Path:
    renamed = COLUMNS[suite][1]
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(("model", "member", "value"))
        for row in rows:
            for member in find_suite(suite).members:
                writer.writerow((row["model"], member.name, row[renamed.get(member.name, member.name)]))
    return file


@pytest.mark.parametrize("suite", COLUMNS)
def test_averages_of_the_paper(suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = printed(suite)
    results = as_results(suite, rows, tmp_path / "results.csv")
    assert main(["leaderboard", "--suite", suite, str(results), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    ours = {row["model"]: row["average"] for row in found["rows"]}
    assert len(ours) == len(rows)
    # Inputs of one decimal; those out of 3 have two, so a mean of five is known to 0.05 + 0.033.
    reach = 0.09 if suite == "openvlm-video" else 0.0501
    for row in rows:
        if row["model"] in TRUNCATED:
            assert ours[row["model"]] == pytest.approx(TRUNCATED[row["model"]])
        else:
            assert ours[row["model"]] == pytest.approx(float(row["avg_score"]), abs=reach)
    assert [row["rank"] for row in found["rows"]] == sorted(row["rank"] for row in found["rows"])
    assert found["notices"] == []


def test_only_complete_rows_are_averaged() -> None:
    table = {"a": {"x": 80.0, "y": 60.0}, "b": {"x": 90.0}, "c": {"x": 90.0, "y": 80.0}}
    rows = suite_rows(("x", "y"), table)
    assert [(row.model, row.average, row.rank) for row in rows] == [("c", 85.0, 1), ("a", 70.0, 2), ("b", None, None)]
    assert rows[2].missing == ("y",)
    assert [row.average for row in suite_rows(("x",), table, average=False)] == [None, None, None]


@pytest.mark.parametrize("suite", builtin_suites())
def test_members_are_benchmarks_that_exist(suite: str) -> None:
    for spec in find_suite(suite).specs():
        name, _ = member_key(spec)
        assert name in NAMES
    assert len(expand_suites([suite])) == len(find_suite(suite).specs())


SUITE = """\
title = "Mine"

[[members]]
name = "stars"
benchmarks = ["{stars}"]

[[members]]
name = "pairs"
benchmarks = ["{pairs}"]
metric = "accuracy"

[[members]]
name = "elsewhere"
top = 1000
"""


def test_own_suite_runs_and_is_averaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stars, pairs = LAYOUTS / "mmstar.tsv", LAYOUTS / "mmvp.tsv"
    file = tmp_path / "mine.toml"
    file.write_text(SUITE.format(stars=stars, pairs=pairs))
    runs = evaluate(["random"], [str(file)], out=tmp_path / "out", html=False).runs
    assert {one.info.benchmark for one in runs} == {"mmstar", "mmvp"}
    results = tmp_path / "elsewhere.csv"
    results.write_text("model,member,value\nrandom,elsewhere,500\nother,elsewhere,1000\n")
    words = ["leaderboard", str(tmp_path / "out"), str(results), "--suite", str(file)]
    assert main([*words, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    scores = {one.info.benchmark: one.report().summary.headline.value for one in runs}
    first, second = found["rows"]
    assert first["average"] == pytest.approx((scores["mmstar"] + scores["mmvp"] + 50) / 3)
    assert (second["model"], second["average"], second["missing"]) == ("other", None, ["stars", "pairs"])
    assert found["notices"] == ["other has no average: stars, pairs missing"]
    for style in ("table", "csv", "markdown"):
        assert main([*words, "--format", style]) == 0
        assert "other" in capsys.readouterr().out


def test_members_that_differ_in_signs_alone_keep_their_own_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite, results = tmp_path / "mine.toml", tmp_path / "results.csv"
    suite.write_text('title = "Mine"\n[[members]]\nname = "Charts"\n[[members]]\nname = "Charts+"\n')
    results.write_text("model,member,value\nm,charts,10\nm,CHARTS+,30\n")
    words = ["leaderboard", "--suite", str(suite), str(results), "--format", "json"]
    assert main(words) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["values"] == {"Charts": 10.0, "Charts+": 30.0}


def test_an_average_of_runs_has_an_interval_and_never_two_of_one_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = []
    for name in ("one", "two"):
        lines = [f"{at},What is {at}?,x,y,{'AB'[at % 2]}" for at in range(80)]
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["id,question,A,B,answer", *lines]) + "\n")
        data.append(path)
    members = [f'{{ name = "{one.stem}", benchmarks = ["{one}"] }}' for one in data]
    file = tmp_path / "mine.toml"
    file.write_text(f'title = "Mine"\nmembers = [{", ".join(members)}]\n')
    out = tmp_path / "out"
    runs = evaluate(["random"], [str(file)], out=out, html=False).runs
    words = ["leaderboard", "--suite", str(file), "--format", "json"]
    assert main([*words, str(out)]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    parts = [one.report().summary.headline for one in runs]
    low, high = row["interval"]
    assert low < row["average"] < high
    below = [one.value - one.interval.low for one in parts]  # type: ignore[operator, union-attr]
    assert row["average"] - low == pytest.approx((below[0] ** 2 + below[1] ** 2) ** 0.5 / 2)
    assert main(["leaderboard", "--suite", str(file), str(out)]) == 0
    assert "95 % interval" in capsys.readouterr().out
    # Two that guess.
    evaluate(["random:seed=5"], [str(file)], out=out, html=False)
    assert main([*words, str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["alike"] == {"random": "a", "random:seed=5": "a"}
    assert any("adjusted by Holm for 1 pair" in one for one in found["notices"])
    assert main(["leaderboard", "--suite", str(file), str(out)]) == 0
    assert "alike" in capsys.readouterr().out
    # Another run of the same model: silently, the last one named would win.
    other = Variant(failures="count-wrong")
    evaluate(["random"], [str(data[0])], out=tmp_path / "again", variant=other, html=False)
    for order in ((out, tmp_path / "again"), (tmp_path / "again", out)):
        assert main([*words, *map(str, order)]) == 2
        told = capsys.readouterr().err
        assert "two runs of random count for one" in told
        assert "which differ in failures" in told
    # A run that stopped early, and one whose failures count otherwise.
    evaluate(["random:seed=1"], [str(data[0])], out=tmp_path / "early", until="±20", html=False)
    assert main([*words, str(out), str(tmp_path / "early")]) == 0
    notices = json.loads(capsys.readouterr().out)["notices"]
    assert any("stopped early (--until ±20) and does not count" in one for one in notices)
    evaluate(["random:seed=2"], [str(data[0])], out=tmp_path / "other", variant=other, html=False)
    assert main([*words, str(out), str(tmp_path / "other")]) == 2
    assert "do not belong in one column of one" in capsys.readouterr().err


def test_mistakes_in_suites_give_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean openvlm-core"):
        find_suite("openvlm-cor")
    file = tmp_path / "bad.toml"
    file.write_text('title = "x"\nmembers = [{ nam = "a" }]\n')
    with pytest.raises(DataError, match="name"):
        find_suite(str(file))
    file.write_text('title = "x"\nmembers = [{ name = "a" }, { name = "A" }]\n')
    with pytest.raises(DataError, match="stands there twice"):
        find_suite(str(file))
    file.write_text("title = \n")
    with pytest.raises(DataError, match="is no TOML"):
        find_suite(str(file))


def test_a_description_keeps_its_options_and_a_suite_has_none(tmp_path: Path) -> None:
    description, suite = tmp_path / "d.toml", tmp_path / "s.toml"
    description.write_text('data = "d.tsv"\nkind = "choice"\n')
    suite.write_text('title = "S"\n[[members]]\nname = "x"\nbenchmarks = ["eyechart"]\n')
    assert expand_suites([f"{description}:shots=0"]) == [f"{description}:shots=0"]
    assert expand_suites([str(suite)]) == ["eyechart"]
    with pytest.raises(UsageError, match="a suite has no options of its own"):
        expand_suites([f"{suite}:shots=0"])


def test_average_ranks_are_among_models_that_have_all_members() -> None:
    table = {
        "one": {"a": 50.0, "b": 40.0, "c": 10.0},
        "two": {"a": 50.0, "b": 30.0, "c": 20.0},
        "part": {"a": 90.0, "b": 90.0, "c": None},
    }
    rows = suite_rows(("a", "b", "c"), table)
    assert [(row.model, row.average_rank, row.missing) for row in rows] == [
        ("one", 4 / 3, ()),
        ("two", 4 / 3, ()),
        ("part", None, ("c",)),
    ]


def test_reports_settings_of_a_suite_that_differ_from_the_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "q.tsv"
    rows = "".join(f"{n}\tWhich is {n}?\tred{n}\tblue{n}\tA\n" for n in range(30))
    data.write_text(f"index\tquestion\tA\tB\tanswer\n{rows}")
    suite = tmp_path / "s.toml"
    suite.write_text(f'title = "S"\n[[members]]\nname = "q"\nbenchmarks = ["{data}"]\n')
    for model, variant in (("random", Variant(options={"cot": "on"})), ("random:seed=1", Variant(control="blind"))):
        evaluate([model], [str(data)], out=tmp_path / "runs", variant=variant, html=False)
    assert main(["leaderboard", str(tmp_path / "runs"), "--suite", str(suite), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["model"] for row in found["rows"]] == ["random"]
    assert "random, q: cot=on" in found["notices"]
    assert any("under a control (blind) and does not count" in each for each in found["notices"])


def test_scores_of_members_need_the_name_of_their_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text("model,member,value\nm,MMStar,30\n")
    assert main(["leaderboard", str(scores)]) == 2
    assert "say which: --suite SUITE" in capsys.readouterr().err
