"""`snellen plan --detect`: what it takes to compare two models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from snellen import evaluate
from snellen.analysis.comparison.planned_study import Aims, Need, StudyPlan
from snellen.api.planning import plan
from snellen.cli.main import main
from snellen.core.benchmark import Variant
from snellen.stats.paired import detectable_difference, required_samples
from snellen.stats.power import design_effect_of_sizes, required_samples_no_worse

TWO = ["plan", "-m", "random", "-m", "random:seed=1", "-b"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    lines = [f"{at},What is {at}?,x,y,{'AB'[at % 2]}" for at in range(60)]
    Path("q.csv").write_text("\n".join(["id,question,A,B,answer", *lines]) + "\n")


def study(benchmark: str = "q.csv", **how: Any) -> StudyPlan:
    aims = Aims(**{name: how.pop(name) for name in Aims.__struct_fields__ if name in how})
    (found,) = plan(["random", "random:seed=1"], [benchmark], aims=aims, **how).studies
    return found


def one_need(found: StudyPlan) -> Need:
    (need,) = found.needs
    return need


def test_the_samples_are_those_of_the_formula() -> None:
    found = study(detect=10.0, discordance=0.3)
    need = one_need(found)
    assert need.samples == required_samples(0.1, 0.3)
    assert (need.repeats, need.is_sufficient, need.requests) == (1, False, 2 * need.samples)
    assert (found.samples, found.clusters, found.design) == (60, 60, 1.0)
    assert found.detectable == pytest.approx(100 * (detectable_difference(0.3, 60) or 0))
    assert one_need(study(detect=10.0, discordance=0.3, power=0.9)).samples > need.samples
    assert one_need(study(detect=10.0, discordance=0.3, level=0.99)).samples > need.samples
    assert one_need(study(detect=40.0, discordance=0.5)).is_sufficient is True


def test_plans_sample_sizes_for_equivalence_and_difference() -> None:
    found = study(detect=10.0, no_worse=1.0, discordance=0.3)
    assert [(need.aim, need.samples) for need in found.needs] == [
        ("difference", required_samples(0.1, 0.3)),
        ("no worse", required_samples_no_worse(0.01, 0.3)),
        ("alike", required_samples_no_worse(0.01, 0.3, both=True)),
    ]


def test_reports_assumed_discordance() -> None:
    found = study(detect=10.0)
    assert found.discordance == pytest.approx(0.48)
    assert "the two differ on 48 % of samples (assumed" in found.notices[0]


def test_dollars_and_requests_are_those_of_both_models() -> None:
    prices = ["random:input=1000,output=2000", "random:seed=1:input=500,output=1000"]
    found = plan(["random", "random:seed=1"], ["q.csv"], prices=prices, aims=Aims(detect=40.0, discordance=0.5))
    need = one_need(found.studies[0])
    assert found.dollars is not None
    assert need.dollars == pytest.approx(found.dollars * need.samples / 60, rel=0.01)
    assert need.requests == 2 * need.samples


def test_clusters_of_the_data_count() -> None:
    from PIL import Image

    lines = ["id,image_path,question,A,B,answer"]
    for at in range(20):
        Image.new("RGB", (8, 8), (at * 9, 0, 0)).save(f"{at}.png")
        lines += [f"{at}-{k},{at}.png,What {k}?,x,y,A" for k in range(3)]
    Path("seen.csv").write_text("\n".join(lines) + "\n")
    found = study("seen.csv", detect=10.0, discordance=0.3, correlation=0.5)
    assert (found.samples, found.clusters) == (60, 20)
    assert found.design == design_effect_of_sizes([3] * 20, 0.5) == 2.0
    assert one_need(found).samples == required_samples(0.1, 0.3, design=2.0)
    assert "60 samples lie in 20 clusters; with a correlation of 0.5" in found.notices[-1]


def test_names_headline_that_is_not_a_mean() -> None:
    rows = [
        f"{at},cat {at // 2}.png,Is there a thing {at} in the image?,{('no', 'yes')[at % 2]},random" for at in range(12)
    ]
    Path("pope.csv").write_text("\n".join(["id,image_path,question,answer,category", *rows]) + "\n")
    from PIL import Image

    for at in range(6):
        Image.new("RGB", (8, 8), (at * 9, 0, 0)).save(f"cat {at}.png")
    found = study("pope", detect=10.0, variant=Variant(data="pope.csv"))
    assert any("the headline of pope is no mean over samples" in one for one in found.notices)


def test_discordance_is_estimated_from_runs() -> None:
    runs = evaluate(["random", "random:seed=1"], ["q.csv"], html=False).runs
    scores = [{one.id: one.score or 0.0 for one in run.records()} for run in runs]
    square = sum((scores[0][at] - scores[1][at]) ** 2 for at in scores[0]) / 60
    found = study(detect=10.0, like=[run.path for run in runs])
    assert found.discordance == pytest.approx(square)
    assert found.notices == (
        f"the two differ on {100 * square:.1f} % of samples (from 60 of random and random:seed=1)",
    )


def test_repeats_lower_what_comes_from_drawing() -> None:
    how: dict[str, Any] = {"detect": 10.0, "discordance": 0.4, "draw_share": 0.5}
    found = study(**how)
    assert {need.repeats: need.samples for need in found.needs} == {
        1: required_samples(0.1, 0.4),
        2: required_samples(0.1, 0.3),
        4: required_samples(0.1, 0.25),
        8: required_samples(0.1, 0.225),
    }
    requests = [need.requests for need in found.needs if need.requests is not None]
    assert requests == sorted(requests)
    unknown = study(detect=10.0, discordance=0.4, repeats=3)
    assert "what 3 repeats are worth is not known" in unknown.notices[-1]


def test_repeats_reduce_samples_by_variance_of_draws() -> None:
    """`random` draws anew each time: nothing lies between the questions, everything between the
    draws."""
    runs = evaluate(["random", "random:seed=1"], ["q.csv"], html=False, repeats=4).runs
    found = study(detect=10.0, like=[run.path for run in runs])
    by_repeats = {need.repeats: need.samples for need in found.needs}
    assert by_repeats[8] < 0.4 * by_repeats[1]


def test_plan_command_prints_the_study(capsys: pytest.CaptureFixture[str]) -> None:
    aims = ["--detect", "10", "--no-worse", "5", "--assume", "discordance=30%"]
    assert main([*TWO, "q.csv", *aims]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for words in (
        "random:seed=1 against random on q, with a power of 80 % at a level of 5 %",
        "find a difference of 10 points",
        "neither better by 5 points",
        "enough here",
        "q has 60 samples: all of them find",
        "the two differ on 30 % of samples (assumed)",
    ):
        assert words in told
    assert main([*TWO, "q.csv", "--detect", "10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["studies"][0]["needs"][0]["points"] == 10.0
    assert main([*TWO, "q.csv", "--detect", "10", "--format", "csv"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.startswith("model,benchmark,requests,most_requests,stored,prompt_tokens")
    assert [line.split(",")[:4] for line in lines] == [
        ["random", "q", "60.0", "60"],
        ["random:seed=1", "q", "60.0", "60"],
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--detect", "0"], "--detect is 0; expected points between 0 and 100"),
        (["--no-worse", "100"], "--no-worse is 100; expected points between 0 and 100"),
        (["--detect", "2", "--until", "±3"], "give one of them"),
        (["--power", "90"], "--power belongs to a study of two models"),
        (["--detect", "2", "--power", "20"], "expected percentages from 50 to below 100"),
        (["--detect", "2", "--assume", "discordance=2"], "discordance is 2; expected a share"),
        (["--assume", "discordance=2"], "--assume discordance belongs to a study of two models"),
        (["--detect", "2", "--assume", "discordance=0"], "models that never differ need no study"),
        (["--detect", "2", "-m", "random:seed=2"], "q has 3 (random, random:seed=1"),
        (["--detect", "2", "--runs", "a", "--runs", "b"], "no run in a: there is no such file"),
        (["--runs", "a", "--runs", "b"], "--runs says how two models differ, for --detect or"),
    ],
)
def test_mistakes_give_one_sentence(capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    assert main([*TWO, "q.csv", *words]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1


def test_runs_of_another_benchmark_or_one_alone_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(run.path) for run in evaluate(["random", "random:seed=1"], ["q.csv"], html=False).runs]
    assert main([*TWO, "eyechart", "--detect", "2", "--runs", runs[0], "--runs", runs[1]]) == 2
    assert "--runs has runs on q, and the study is on eyechart" in capsys.readouterr().err
    assert main([*TWO, "q.csv", "--detect", "2", "--runs", runs[0], "--runs", runs[0]]) == 2
    assert "--runs takes two runs of one benchmark; got random on q" in capsys.readouterr().err
