"""Published numbers beside a run's own, and in what the run was asked otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from test_deviations import run_of

from snellen.analysis.comparison.setup_gaps import setup_gaps
from snellen.analysis.published.numbers import (
    compare_with_published,
    explain_published,
    number_sources,
    published_numbers,
)
from snellen.benchmarks.declaration.registry import apply_recipe, member_key, open_benchmark
from snellen.cli import main
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Identity
from snellen.core.request import Sampling
from snellen.core.run import DataInfo, Report
from snellen.core.sample import Origin
from snellen.core.summary import Interval, Metric, Summary

QWEN = "hf/Qwen/Qwen2.5-VL-7B-Instruct"
PUBLISHED = DataInfo("MMStar.tsv", "0" * 64, 1500, Origin("published"))
OWN = DataInfo("mine.tsv", "1" * 64, 10, Origin("custom"))


def report_of(
    benchmark: Benchmark,
    value: float | None,
    interval: Interval | None = None,
    model: str = QWEN,
    data: DataInfo = PUBLISHED,
    **config: Any,
) -> Report:
    provider, _, name = model.partition("/")
    run = run_of(benchmark, model, **config)
    identified = structs.replace(run.config, identity=Identity(provider, name))
    run = structs.replace(run, data=data, config=identified)
    headline = Metric("accuracy", value, 1500, interval)
    summary = Summary(headline, {"accuracy": headline}, {}, {}, 1500, 1500)
    return Report(run, summary)


def by_maker(model: str = QWEN, spec: str = "mmstar") -> Benchmark:
    return apply_recipe(model, spec, open_benchmark(spec), Variant())


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [(59.9, 57.3, 62.4, "outside"), (63.0, 60.5, 65.4, "inside"), (63.9, 63.9, 63.9, "inside")],
)
def test_compares_published_number_with_the_interval(value: float, low: float, high: float, verdict: str) -> None:
    (comparison,) = compare_with_published(report_of(by_maker(), value, Interval(low, high, "Wilson")))
    assert comparison.verdict == verdict
    assert comparison.sentence().startswith(
        f"published 63.9, yours {value} ({low}-{high}): {verdict} (Qwen2.5-VL's README"
    )


@pytest.mark.parametrize(
    ("model", "spec", "values"),
    [
        (QWEN, "mmstar", [63.9]),
        ("vllm/Qwen/Qwen2.5-VL-7B-Instruct", "mmstar", [63.9]),
        ("hf/Qwen/Qwen2-VL-72B-Instruct", "mvbench", [73.6, 70.2]),
        ("hf/llava-hf/llava-1.5-7b-hf", "mmbench", [62.5]),
        ("hf/llava-hf/llava-1.5-7b-hf", "mmbench:lang=cn", []),
        ("hf/llava-hf/llava-1.5-7b-hf", "mmbench:version=1.1", []),
        ("openai/gpt-4o-2024-08-06", "mlvu", [54.9]),
        ("snellen/tiny", "mmstar", []),
    ],
)
def test_numbers_are_those_of_the_model_and_of_what_is_asked(model: str, spec: str, values: list[float]) -> None:
    run = report_of(open_benchmark(spec), 50.0, model=model).run
    assert [number.value for number in published_numbers(run)] == values


def test_own_data_and_controls_are_not_compared() -> None:
    plain = open_benchmark("mmstar")
    assert not compare_with_published(report_of(plain, 60.0, data=OWN))
    blind = open_benchmark("mmstar", Variant(control="blind"))
    assert not compare_with_published(report_of(blind, 60.0))
    assert not compare_with_published(report_of(plain, None))


def test_every_source_is_read_and_names_benchmarks_there_are() -> None:
    assert len(number_sources()) >= 9
    for source in number_sources():
        assert source.url.startswith("https://")
        assert source.read
        for model, numbers in source.numbers.items():
            assert model == model.lower()
            for spec in numbers:
                assert member_key(spec.partition("|")[0])


def test_settings_that_differ_from_the_makers_are_named() -> None:
    plain = report_of(open_benchmark("mmstar"), 59.9).run
    gaps = {gap.setting: (gap.makers, gap.own) for gap in setup_gaps(plain)}
    assert gaps == {
        "prompt": ("vlmevalkit", "snellen"),
        "max_new_tokens": ("2048", str(plain.config.max_new_tokens)),
        "min_pixels": ("1003520", "as it comes"),
        "max_pixels": ("12845056", "as it comes"),
    }
    facts = {"min_pixels": "1003520", "max_pixels": "12845056"}
    asked = structs.replace(
        report_of(by_maker(), 59.9).run.config, identity=Identity("hf", "Qwen/Qwen2.5-VL-7B-Instruct", facts)
    )
    assert setup_gaps(structs.replace(plain, config=asked)) == ()


def test_sampling_is_compared() -> None:
    model = "hf/Qwen/Qwen3-VL-8B-Instruct"
    sampled = Sampling(temperature=0.7, top_p=0.8, presence_penalty=1.5)
    run = report_of(by_maker(model), 60.0, model=model, sampling={"model": sampled}).run
    assert [(gap.setting, gap.makers, gap.own) for gap in setup_gaps(run)] == [("top_k", "20", "0")]


def test_why_explains_a_run_against_what_is_published(tmp_path: Path, capsys) -> None:
    report = report_of(open_benchmark("mmstar"), 59.9, Interval(57.3, 62.4, "Wilson"))
    explanation = explain_published(report)
    (number,) = explanation.numbers
    assert number.verdict == "outside"
    assert number.difference == pytest.approx(-4.0)
    assert {setting.setting for setting in number.settings} >= {"prompt", "max_pixels"}
    assert {setting.basis for setting in number.settings} == {"the makers' set-up"}
    assert "Qwen2.5-VL" in explanation.setup


def test_why_needs_a_number_to_compare_with() -> None:
    report = report_of(open_benchmark("mmstar"), 59.9, model="snellen/tiny")
    with pytest.raises(UsageError, match="give a second run"):
        explain_published(report)


def test_a_run_without_a_published_number_is_refused_in_a_sentence(tmp_path: Path, capsys) -> None:
    out = str(tmp_path / "o")
    assert main(["run", "-m", "random", "-b", "eyechart", "--limit", "4", "--no-html", "-q", "--out", out]) == 0
    capsys.readouterr()
    (folder,) = [path for path in Path(out).iterdir() if path.is_dir()]
    assert main(["why", str(folder)]) == 2
    assert "no published number is known" in capsys.readouterr().err


def test_recipes_are_listed_with_their_sources(capsys) -> None:
    assert main(["list", "recipes"]) == 0
    out = capsys.readouterr().out
    assert "qwen3-vl-instruct" in out
    assert main(["list", "recipes", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(listed) >= 60
    assert all(family["source"].startswith("https://") for family in listed)
    assert main(["info", "qwen3-vl-instruct"]) == 0
    out = capsys.readouterr().out
    assert "temperature 0.7, top_p 0.8, top_k 20, presence_penalty 1.5" in out
    assert "the makers' own repository" in out
