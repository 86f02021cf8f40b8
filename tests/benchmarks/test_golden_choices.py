"""Recorded replies of real models to MMMU, read by us, beside what the authors' script reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen import score
from snellen.core.benchmark import Variant
from snellen.core.output import DRAWN, ParsedAnswer
from snellen.extract.published.mmmu import parse_mmmu

Golden = Callable[[str], Path]
MODELS = {"llava1.5_13b": (329, 2), "qwen_vl": (309, 48)}
"""Right answers without those drawn by lot, and how many the authors' script draws."""
BY_DEFAULT = {"llava1.5_13b": 329, "qwen_vl": 307}
"""Right answers as Snellen reads them. Where the two readings of a row differ, the script took a
letter that the reply denies or merely lists, or the last of several that are named."""
SYSTEMS = ["llava1.5_13b", pytest.param("qwen_vl", marks=pytest.mark.external_golden("mmmu_val"))]


@pytest.mark.parametrize("model", SYSTEMS)
def test_mmmu_by_default(golden: Golden, model: str) -> None:
    right = BY_DEFAULT[model]
    scored = score("mmmu", golden("mmmu_val") / f"{model}.jsonl")
    assert scored.summary.n == 900
    assert scored.summary.headline.value == pytest.approx(100 * right / 900)


@pytest.mark.parametrize("model", SYSTEMS)
def test_mmmu_every_option_is_the_one_the_script_reads(golden: Golden, model: str) -> None:
    differing = []
    for line in (golden("mmmu_val") / f"{model}.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["question_type"] != "multiple-choice":
            continue
        answer = parse_mmmu(row["response"], row["index2ans"])
        read = answer.value if isinstance(answer, ParsedAnswer) else None
        expected = None if row["official_random_fallback"] else row["official_parsed"]
        if read != expected:
            differing.append((row["id"], read, expected))
    assert differing == []


@pytest.mark.parametrize("model", SYSTEMS)
def test_mmmu_open_questions_agree_with_the_script(golden: Golden, model: str) -> None:
    file = golden("mmmu_val") / f"{model}.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    official = {row["id"]: row["official_correct"] for row in rows if row["question_type"] != "multiple-choice"}
    ours = {record.id: record.score == 1.0 for record in score("mmmu", file).records if record.kind == "open"}
    assert ours == official
    assert len(ours) == 53


@pytest.mark.parametrize("model", SYSTEMS)
def test_mmmu_official_rule_draws_where_it_reads_nothing(golden: Golden, model: str) -> None:
    right, drawn = MODELS[model]
    file = golden("mmmu_val") / f"{model}.jsonl"
    first, second = (score("mmmu", file, variant=Variant(rule="official")) for _ in range(2))
    rules = [
        one.answer.rule for record in first.records for one in record.passes if isinstance(one.answer, ParsedAnswer)
    ]
    assert rules.count(DRAWN) == drawn
    assert first.summary.headline == second.summary.headline
    assert right <= (first.summary.headline.value or 0) * 9 <= right + drawn
