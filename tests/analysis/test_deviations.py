"""How a run differs from the plain setting of its benchmark, named in the same words everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from snellen.analysis.comparison.deviations import DEVIATION_TITLES, deviation_cells, deviations, reply_options
from snellen.benchmarks.declaration.registry import apply_recipe, benchmark_sources, open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.model import Identity
from snellen.core.request import Sampling
from snellen.core.run import Counts, DataInfo, ReusedReplies, RunConfig, RunInfo
from snellen.core.sample import Origin

JUDGE = Identity("openai", "gpt-4o")


def run_of(benchmark: Benchmark, model: str = "random", **config: Any) -> RunInfo:
    """The description of a run of the benchmark as it was opened, without running it."""
    return RunInfo(
        name="folder",
        model=model,
        benchmark=benchmark.name,
        title=benchmark.title,
        config=RunConfig(
            identity=Identity("random", "random"),
            benchmark=benchmark.name,
            version=benchmark.version,
            parameters=dict(benchmark.parameters),
            data="0" * 64,
            max_new_tokens=config.pop("max_new_tokens", benchmark.max_new_tokens),
            **config,
        ),
        data=DataInfo("eyechart.tsv", "0" * 64, 812, Origin("published")),
        status="complete",
        created="2026-11-22T10:00:00+00:00",
        counts=Counts(samples=812, done=812),
    )


def labels(run: RunInfo) -> list[str]:
    return [deviation.label for deviation in deviations(run)]


@pytest.mark.parametrize("name", sorted(benchmark_sources()))
def test_every_benchmark_without_flags_is_plain(name: str) -> None:
    assert labels(run_of(open_benchmark(name))) == []


@pytest.mark.parametrize(
    ("spec", "variant", "expected"),
    [
        ("eyechart", Variant(control="blind"), ["blind"]),
        ("eyechart", Variant(control="wrong-image:3"), ["wrong-image:3"]),
        ("eyechart:cot=on", Variant(), ["cot=on"]),
        ("eyechart:shots=1", Variant(), ["1 shot"]),
        ("eyechart:shots=5,shots_seed=2", Variant(), ["5 shots, shots_seed=2"]),
        ("eyechart:prompt=llava", Variant(), ["prompt=llava"]),
        ("eyechart:split=photos", Variant(), ["split=photos"]),
        ("eyechart", Variant(circular="early"), ["circular"]),
        ("eyechart", Variant(circular="full"), ["circular=full"]),
        ("mmbench", Variant(circular="off"), ["not circular"]),
        ("mmbench", Variant(circular="early"), []),
        ("eyechart", Variant(rule="vlmevalkit"), ["rule=vlmevalkit"]),
        ("hallusionbench", Variant(rule="vlmevalkit"), ["rule=vlmevalkit"]),
        ("mme:reading=word", Variant(), ["reading=word"]),
        ("SEEDBench_IMG", Variant(), ["protocol=generate"]),
        ("video-mme:frames=16,edge=448", Variant(), ["frames=16, edge=448"]),
        ("eyechart", Variant(max_new_tokens=64), ["max_new_tokens=64"]),
        ("eyechart:cot=on", Variant(max_new_tokens=512), ["cot=on", "max_new_tokens=512"]),
    ],
)
def test_labels_of_benchmark_options(spec: str, variant: Variant, expected: list[str]) -> None:
    assert labels(run_of(open_benchmark(spec, variant))) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"limit": 60}, "limit 60"),
        ({"limit": 60, "seed": 2}, "limit 60, seed 2"),
        ({"until": "±3"}, "until ±3"),
        ({"repeats": 4}, "4 draws"),
        ({"sampling": {"model": Sampling(temperature=1.0, seed=3)}}, "temperature 1, seed 3"),
        ({"roles": {"extractor": JUDGE}}, "extractor gpt-4o"),
        ({"roles": {"judge": JUDGE, "judge-2": JUDGE}}, "judge gpt-4o + gpt-4o"),
        ({"roles": {"clip": JUDGE}}, "clip gpt-4o"),
    ],
)
def test_labels_of_run_settings(config: dict[str, Any], expected: str) -> None:
    assert labels(run_of(open_benchmark("eyechart"), **config)) == [expected]


def test_another_tools_own_scorer_is_no_setting() -> None:
    scorer = Identity("bridge", "vlmevalkit/MMStar", {})
    assert labels(run_of(open_benchmark("eyechart"), roles={"scorer": scorer})) == []


def test_labels_of_reused_replies_data_and_version() -> None:
    plain = run_of(open_benchmark("eyechart"))
    old = ReusedReplies(9, "2026-11-20T08:00:00+00:00", "2026-11-21T08:00:00+00:00")
    fresh = ReusedReplies(9, "2026-11-22T08:00:00+00:00", "2026-11-22T09:00:00+00:00")
    assert labels(structs.replace(plain, failures="count-wrong")) == ["failures count-wrong"]
    stopped = structs.replace(plain, status="interrupted", counts=Counts(samples=812, done=33))
    assert labels(stopped) == ["not finished: 33 of 812"]
    assert labels(structs.replace(plain, reused=old)) == ["9 stored replies of 2026-11-20 to 2026-11-21"]
    assert labels(structs.replace(plain, reused=fresh)) == []
    custom = DataInfo("mine.tsv", "ab" * 32, 3, Origin("custom"))
    assert labels(structs.replace(plain, data=custom)) == ["data abababab"]
    config = structs.replace(plain.config, version="1")
    assert labels(structs.replace(plain, config=config)) == ["version 1"]


def test_a_recipe_is_a_prompt() -> None:
    asked = apply_recipe("vllm/Qwen/Qwen2-VL-7B-Instruct", "mmstar", open_benchmark("mmstar"), Variant())
    assert labels(run_of(asked)) == ["recipe qwen2-vl"]


def test_own_file_named_as_a_benchmark_has_no_version_label(tmp_path: Path) -> None:
    path = tmp_path / "mme.tsv"
    path.write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tred\tblue\tA\n")
    run = run_of(open_benchmark(str(path)))
    own = structs.replace(run, data=DataInfo(str(path), "0" * 64, 1, Origin("own")))
    assert labels(own) == []


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("snellen/tiny:images=first,batch_size=4", {"images": "first"}),
        ("openai/gpt-4o:base_url=http://127.0.0.1:8/v1,image_size=448", {"image_size": "448"}),
        ("http://127.0.0.1:8000/v1#ckpt", {}),
        ("random", {}),
    ],
)
def test_options_of_a_model_that_change_replies(model: str, options: dict[str, str]) -> None:
    assert reply_options(model) == options
    label = deviation_cells(run_of(open_benchmark("eyechart"), model))["model_options"]
    assert label == ", ".join(f"{name}={value}" for name, value in options.items())


def test_keys_are_in_order_and_have_titles() -> None:
    run = run_of(open_benchmark("eyechart:cot=on", Variant(control="blind")), limit=5, until="±3", repeats=2)
    keys = [deviation.key for deviation in deviations(run)]
    assert keys == ["control", "thinking", "limit", "until", "repeats"]
    assert list(deviation_cells(run)) == list(DEVIATION_TITLES)
