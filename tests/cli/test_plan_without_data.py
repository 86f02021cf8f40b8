"""`plan` before the data are here: by how many questions are published."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import plan
from snellen.benchmarks.declaration.published_sizes import published_size, published_sizes
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.cli.main import main
from snellen.core.benchmark import Variant


@pytest.fixture(autouse=True)
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LMUData", raising=False)


def test_every_size_is_that_of_a_benchmark_as_it_is_named() -> None:
    for name, size in published_sizes().items():
        assert published_size(open_benchmark(name)) == size
        assert size.questions > 0
        assert size.source


def test_requests_tokens_and_dollars_without_key_and_data(monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    planned = plan("gpt-4o-2024-11-20", "mmstar", budget="5usd")
    (line,) = planned.lines
    assert line.estimate is not None
    assert (line.estimate.samples, line.estimate.requests) == (1500, 1500)
    assert line.estimate.prompt_tokens == 1500 * 1100
    price = line.price
    assert price is not None
    tokens = 1500 * 1100, 1500 * 64
    expected = (tokens[0] * price.input + tokens[1] * price.output) / 1e6
    assert line.dollars == pytest.approx(expected)
    assert "as published" in " ".join(line.estimate.said)
    assert any("budget" in note for note in planned.notes)


def test_the_set_up_of_the_makers_is_named(capsys) -> None:
    planned = plan("Qwen2-VL-7B-Instruct", "mmstar")
    assert [line.setup for line in planned.lines] == ["qwen2-vl"]
    assert main(["plan", "-m", "Qwen2-VL-7B-Instruct", "-b", "mmstar"]) in (0, 1)
    assert "asked by the set-up qwen2-vl of its makers" in capsys.readouterr().out
    (plain,) = plan("Qwen2-VL-7B-Instruct", "mmstar", setup="plain").lines
    assert plain.setup == ""


def test_rotations_repeats_and_limits() -> None:
    (circular,) = plan("random", "mmbench", limit=100).lines
    assert circular.estimate is not None
    assert circular.estimate.most_requests == 400
    assert circular.estimate.requests == pytest.approx(100 * (1 + 0.6 + 0.6**2 + 0.6**3))
    (once,) = plan("random", "mmbench", variant=Variant(circular="off")).lines
    assert once.estimate is not None
    assert once.estimate.most_requests == 1164
    (several,) = plan("random", "mme", limit=10, repeats=3).lines
    assert several.estimate is not None
    assert several.estimate.requests == 30


@pytest.mark.parametrize("spec", ["mmbench:version=1.1", "ai2d"])
def test_a_size_that_is_not_known_stays_a_dash(spec: str) -> None:
    (line,) = plan("random", spec).lines
    assert line.estimate is None


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ("mmmb", "en"),
        ("MMBench", "en"),
        ("mmmb:lang=tr", None),
        ("MMMB_cn", None),
        ("mmstar", None),
        ("MTL_MMBench_DEV", None),
    ],
)
def test_reports_one_language_of_several(spec: str, asked: str | None) -> None:
    said = [note for note in plan("random", spec).notes if "one language" in note]
    assert len(said) == (asked is not None)
    for note in said:
        others = open_benchmark(spec).options["lang"][1:]
        assert note.startswith(f"{spec} is asked in one language, lang={asked}; ")
        assert note.endswith(" ".join(f"-b {spec}:lang={other}" for other in others))


def test_a_run_says_its_one_language_before_it_fetches(capsys, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main(["run", "-m", "random", "-b", "mmmb"]) == 2
    assert capsys.readouterr().err.startswith("mmmb is asked in one language, lang=en; ")


def test_no_language_note_for_own_data(capsys) -> None:
    Path("mine.tsv").write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tx\ty\tA\n")
    for argv in (["mmmb:file=mine.tsv"], ["mmmb", "--data", "mine.tsv"]):
        assert main(["run", "-m", "random", "-q", "--no-html", "-b", *argv]) == 0
        assert "one language" not in capsys.readouterr().err


def test_plan_lines_of_one_benchmark_name_their_language(capsys) -> None:
    assert main(["plan", "-m", "random", "-b", "MTL_MMBench_DEV", "-b", "mmstar"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:9]
    named = [row.split()[1] for row in rows]
    languages = ("en", "cn", "ar", "pt", "ru", "tr")
    assert named == [*(f"mtl-mmbench:lang={each}" for each in languages), "mmstar"]
