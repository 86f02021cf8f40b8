"""TempCompass's recorded replies of real models, scored by us, beside the authors' scores."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen import score
from snellen.core.benchmark import Variant

Golden = Callable[[str], Path]
TASKS = {"multi-choice": 1580, "yes_no": 2453, "caption_matching": 1503}
MODELS = ("gemini", "reka-core-20240501", "video-llava")
RUNS = [*((model, task) for model in MODELS for task in TASKS), ("gemini", "captioning")]
VERDICTS = ["column:rating"]


def file_of(home: Path, model: str, task: str) -> Path:
    return home / f"{model}_{task}.jsonl.gz"


@pytest.mark.external_golden("tempcompass")
@pytest.mark.parametrize(("model", "task"), RUNS)
def test_official_rules_with_recorded_verdicts_give_the_printed_scores(
    golden: Golden, tmp_path: Path, model: str, task: str
) -> None:
    home = golden("tempcompass")
    official = json.loads((home / "official_scores.json").read_text())[f"{model}/{task}"]
    printed = ast.literal_eval(official["printed"][1])
    scored = score(
        "tempcompass",
        file_of(home, model, task),
        variant=Variant(rule="official", options={"task": task}),
        judges=VERDICTS,
        store=tmp_path / "store.sqlite",
    )
    summary = scored.summary
    assert (summary.n, summary.total) == (official["n"], official["n"])
    right = sum(record.score or 0.0 for record in scored.records)
    assert right == official["total_rating"]
    dims = {dim: round(metric.value, 1) for dim, metric in summary.groups["dim"].items()}
    assert {**dims, "avg": round(summary.headline.value, 1)} == printed


@pytest.mark.external_golden("tempcompass")
@pytest.mark.parametrize(
    ("model", "task", "by_rules", "official"),
    [
        ("gemini", "multi-choice", 63.86, 63.92),
        ("gemini", "yes_no", 70.16, 70.32),
        ("gemini", "caption_matching", 77.38, 77.45),
        ("reka-core-20240501", "multi-choice", 56.46, 61.08),
        ("reka-core-20240501", "yes_no", 65.14, 65.14),
        ("reka-core-20240501", "caption_matching", 63.81, 74.05),
        ("video-llava", "multi-choice", 45.57, 45.57),
        ("video-llava", "yes_no", 56.38, 56.38),
        ("video-llava", "caption_matching", 63.34, 63.34),
    ],
)
def test_our_rules_stay_near(
    golden: Golden, tmp_path: Path, model: str, task: str, by_rules: float, official: float
) -> None:
    """Ours beside the authors', whose recorded verdicts decide every reply where they are given:
    the differences without them are replies that a judge misread, or that name the right choice in
    a sentence."""
    path = file_of(golden("tempcompass"), model, task)
    variant = Variant(options={"task": task})
    alone = score("tempcompass", path, variant=variant, judges=()).summary
    judged = score("tempcompass", path, variant=variant, judges=VERDICTS, store=tmp_path / "s.sqlite").summary
    assert alone.headline.value == pytest.approx(by_rules, abs=0.006)
    assert judged.headline.value == pytest.approx(official, abs=0.006)
