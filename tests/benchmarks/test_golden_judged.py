"""Recorded replies, extractions and verdicts of real systems, beside their official scores."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from snellen import score
from snellen.api.scored import Scored
from snellen.core.benchmark import Variant
from snellen.core.record import Record

Golden = Callable[[str], Path]
OFFICIAL = Variant(rule="official")
KEPT = Path(__file__).parents[1] / "golden"


def systems(name: str, of: Iterable[str]) -> list[Any]:
    """Those whose file is not in the repository are marked."""
    outside = pytest.mark.external_golden(name)
    return [pytest.param(one, marks=() if (KEPT / name / f"{one}.jsonl.gz").is_file() else outside) for one in of]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return map(json.loads, text.splitlines())


def rights(scored: Scored) -> dict[str, bool]:
    return {record.id: record.score == 1.0 for record in scored.records}


MATHVISTA = {
    "chatgpt": 235,
    "claude": 264,
    "frequent_guess": 263,
    "gpt4_2shot_code": 260,
    "gpt4_2shot_solution": 292,
    "instruct_blip2_vicuna_13b": 253,
    "llama_adapter_v2": 239,
    "llavar": 252,
}
"""Right answers as published."""
MATHVISTA_DIFFERS = {
    "llavar": {"770", "917"}  # "1.0" and "1.5" taken for the integer 1 in this file alone
}


@pytest.mark.parametrize("system", systems("mathvista_testmini", MATHVISTA))
def test_mathvista_published_verdicts(golden: Golden, system: str) -> None:
    home = golden("mathvista_testmini")
    scored = score(
        "mathvista",
        home / f"{system}.jsonl.gz",
        data=home / "problems_testmini.jsonl.gz",
        columns={"prediction": "extraction"},
        variant=OFFICIAL,
    )
    found = rights(scored)
    stored = {row["pid"]: row["true_false"] is True for row in lines(home / f"{system}.jsonl.gz")}
    differs = MATHVISTA_DIFFERS.get(system, set())
    assert {name for name in stored if stored[name] != found[name]} == differs
    assert sum(stored.values()) == MATHVISTA[system]
    assert sum(found.values()) == MATHVISTA[system] - len(differs)
    # Two rows of chatgpt hold no extraction: empty, and wrong as the authors have it.
    assert scored.summary.n == 1000
    assert scored.summary.outcomes["empty"] == 2 * (system == "chatgpt")


@pytest.mark.parametrize("system", systems("mathvista_testmini", ["claude", "chatgpt"]))
def test_mathvista_published_breakdowns(golden: Golden, system: str) -> None:
    home = golden("mathvista_testmini")
    summary = score(
        "mathvista",
        home / f"{system}.jsonl.gz",
        data=home / "problems_testmini.jsonl.gz",
        columns={"prediction": "extraction"},
        variant=OFFICIAL,
    ).summary
    published = json.loads((home / f"scores_{system}.json").read_text())
    columns = ("question_type", "answer_type", "language", "source", "category", "task", "skills")
    for column in (*columns, "context", "grade"):
        for label, cell in published[column].items():
            metric = summary.groups[column][label]
            assert (metric.n, f"{metric.value:.2f}") == (cell["total"], cell["accuracy"]), label


@pytest.mark.parametrize("system", systems("mathvista_testmini", ["claude", "llama_adapter_v2"]))
def test_mathvista_extractions_as_a_judge(golden: Golden, system: str) -> None:
    """Rules read first, GPT-4's extraction where they cannot; by our own comparison."""
    home = golden("mathvista_testmini")
    summary = score(
        "mathvista", home / f"{system}.jsonl.gz", data=home / "problems_testmini.jsonl.gz", judges=["column:extraction"]
    ).summary
    assert summary.headline.name == "accuracy"
    assert summary.headline.value == pytest.approx(MATHVISTA[system] / 10, abs=1.0)
    assert summary.n == 1000


MATHVISION = {
    "GPT4-CoT_Text_Only_": (248, set()),
    "InternLM-XComposer2-VL-CoT": (437, set()),
    "LLaVA-v1.5-13B": (338, set()),
    "Qwen-VL-Max-CoT": (384, set()),
    "Qwen-VL-Max": (474, set()),
    "Random-Chance": (218, set()),
    "SPHINX-MoE": (431, set()),
    "ShareGPT4V-7B": (320, set()),
}


@pytest.mark.parametrize("column", ["response", "model_answer"])
@pytest.mark.parametrize("system", systems("mathvision_test", MATHVISION))
def test_mathvision_published_verdicts_row_by_row(golden: Golden, system: str, column: str) -> None:
    """From the replies, and from what the authors took out of them; one "(b)" of the latter is
    what a reply "(b)" would be, which their script reads."""
    home = golden("mathvision_test")
    right, differs = MATHVISION[system]
    scored = score(
        "mathvision",
        home / f"{system}.jsonl.gz",
        data=home / "problems_test.jsonl.gz",
        columns={"prediction": column},
        variant=OFFICIAL,
    )
    stored = {row["id"]: row["correct"] is True for row in lines(home / f"{system}.jsonl.gz")}
    found = rights(scored)
    assert sum(stored.values()) == right
    if (system, column) == ("InternLM-XComposer2-VL-CoT", "model_answer"):
        differs = {"2757"}
    assert {name for name in stored if stored[name] != found[name]} == differs


def test_mathvision_tsv_with_pictures(golden: Golden) -> None:
    home = golden("mathvision_img_tsv")
    scored = score(
        "mathvision",
        golden("mathvision_test") / "LLaVA-v1.5-13B.jsonl.gz",
        data=home / "MathVision_SUBSET.tsv.gz",
        columns={"prediction": "model_answer"},
        variant=OFFICIAL,
    )
    assert (sum(rights(scored).values()), scored.summary.n) == (23, 160)


@pytest.mark.release
def test_logicvista_every_published_verdict(golden: Golden) -> None:
    """GPT-4's letters replayed as a judge's: every verdict of every model. The one question
    without an answer is not scored by us; no model was right there."""
    home = golden("logicvista")
    official = json.loads((home / "official_scores.json").read_text())
    stored: dict[str, dict[str, bool]] = {}
    for row in lines(home / "model_answers.jsonl.gz"):
        stored.setdefault(row["model"], {})[row["id"]] = row["match"] == 1
    assert set(stored) == set(official)
    for model, verdicts in stored.items():
        scored = score(
            "logicvista",
            home / "model_answers.jsonl.gz",
            data=home / "questions.jsonl.gz",
            columns={"prediction": "raw"},
            where={"model": model},
            judges=["column:extracted"],
            variant=OFFICIAL,
        )
        found = rights(scored)
        assert {name for name in verdicts if verdicts[name] != found[name]} == set(), model
        assert sum(found.values()) == official[model]["correct"]


@pytest.mark.external_golden("mmvet_llava15")
@pytest.mark.parametrize(("size", "printed"), [("13b", 36.1), ("7b", 31.2)])
def test_mm_vet_frozen_grades(golden: Golden, size: str, printed: float) -> None:
    home = golden("mmvet_llava15")
    file = home / f"llava-v1.5-{size}.jsonl"
    summary = score("mm-vet", file, judges=["column:grade_1run"]).summary
    official = json.loads((home / "official_scores.json").read_text())[size]
    assert summary.headline.value is not None
    assert round(summary.headline.value, 1) == printed
    assert (summary.n, summary.outcomes["answered"]) == (218, 218)
    for ability, value in official["recomputed_cap_1run"].items():
        if ability != "total":
            metric = summary.groups["capability"][ability]
            assert metric.value is not None
            assert round(metric.value, 1) == value, ability
    for combination, cell in official["recomputed_cap_integration_1run"].items():
        metric = summary.groups["integration"]["+".join(sorted(combination.split("_")))]
        assert metric.value is not None
        assert (metric.n, round(metric.value, 1)) == (cell["n"], cell["score"]), combination


@pytest.mark.external_golden("mmvet_llava15")
def test_mm_vet_three_runs_of_the_judge(golden: Golden, tmp_path: Path) -> None:
    home = golden("mmvet_llava15")
    file = tmp_path / "graded.jsonl"
    with file.open("w") as out:
        for row in lines(home / "llava-v1.5-13b.jsonl"):
            runs = {f"run_{n}": text for n, text in enumerate(row["grader_raw_3runs"], 1)}
            out.write(json.dumps({**row, **runs}) + "\n")
    summary = score("mm-vet", file, judges=[f"column:run_{n}" for n in (1, 2, 3)]).summary
    each = [summary.metrics[role].value for role in ("judge", "judge-2", "judge-3")]
    assert each == [pytest.approx(v, abs=1e-4) for v in (36.1009, 36.5138, 36.3303)]
    assert summary.metrics["agreement"].n == 218
    kappa = summary.metrics["kappa"].value
    assert kappa is not None
    assert 0.5 < kappa <= 1


@pytest.mark.external_golden("llavabench_wild_reviews")
@pytest.mark.parametrize(("size", "mean"), [("13b", 72.53), ("7b", 65.43)])
def test_llava_bench_frozen_reviews(golden: Golden, tmp_path: Path, size: str, mean: float) -> None:
    """The authors' script rounds the two means to three places before it divides them: so does
    `printed`, which gives every published digit. Ours differs from it by less than 0.06."""
    home = golden("llavabench_wild_reviews")
    official = json.loads((home / "official_scores.json").read_text())
    file = tmp_path / "reviewed.jsonl"
    with file.open("w") as out:
        for row in lines(home / f"llava-v1.5-{size}.jsonl"):
            reviews = {f"review_{n}": one["content"] for n, one in enumerate(row["reviews"], 1)}
            out.write(json.dumps({**row, **reviews}) + "\n")
    ratios = []
    for n in (1, 2, 3):
        scored = score("llava-bench", file, data=file, judges=[f"column:review_{n}"])
        wanted = official[f"{size}-eval{n}"]
        ratios.append(printed(scored.records))
        assert scored.summary.n == 60
        assert ratios[-1] == wanted["all"]["ratio"]
        assert scored.summary.headline.value == pytest.approx(ratios[-1], abs=0.06)
        for part in ("complex", "conv", "detail"):
            cell = wanted[f"llava_bench_{part}"]
            records = [one for one in scored.records if one.groups["category"] == part]
            assert (len(records), printed(records)) == (cell["n"], cell["ratio"])
            metric = scored.summary.groups["category"][part]
            assert metric.n == cell["n"]
            assert metric.value == pytest.approx(cell["ratio"], abs=0.06)
    assert round(sum(ratios) / 3, 2) == mean == official[f"{size}-mean-all"]


def printed(records: Sequence[Record]) -> float:
    model, reference = (
        round(sum(10 * one.values[name] for one in records) / len(records), 3)
        for name in ("model_score", "reference_score")
    )
    return round(100 * model / reference, 1)
