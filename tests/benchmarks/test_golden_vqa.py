"""Recorded predictions of real models for string-matched questions and captions, scored by us,
beside their official scores."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from snellen import score
from snellen.core.benchmark import Variant

Golden = Callable[[str], Path]
RULES = ["snellen", "vlmevalkit", "official"]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    opened = (gzip.open if path.suffix == ".gz" else open)(path, "rt")
    with opened as file:
        yield from map(json.loads, file)


def written(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.external_golden("chartqa_chartast")
@pytest.mark.parametrize("rule", RULES)
def test_chartqa_of_chartast_is_7988(golden: Golden, rule: str) -> None:
    file = golden("chartqa_chartast") / "predictions.csv"
    scored = score("chartqa", file, variant=Variant(rule=rule))
    summary = scored.summary
    assert (summary.n, scored.warnings) == (2500, ())
    assert summary.headline.value == pytest.approx(79.88)
    splits = {name: cell.value for name, cell in summary.groups["split"].items()}
    assert splits == {"augment": pytest.approx(93.52), "human": pytest.approx(66.24)}
    assert summary.metrics["exact_match"].value == pytest.approx(64.60)
    with file.open() as opened:
        official = {row["index"]: row["relaxed_correct"] == "1" for row in csv.DictReader(opened)}
    assert {record.id: record.score == 1.0 for record in scored.records} == official


@pytest.mark.external_golden("funsd_qa_anls_laytextllm")
@pytest.mark.parametrize(("which", "expected"), [("zero", 0.693033), ("all", 0.796092)])
def test_anls_of_laytextllm(golden: Golden, which: str, expected: float) -> None:
    file = golden("funsd_qa_anls_laytextllm") / f"laytextllm_{which}.jsonl"
    scored = score("docvqa", file, variant=Variant(rule="vlmevalkit"))
    assert scored.summary.n == 467
    assert scored.summary.headline.value == pytest.approx(100 * expected, abs=1e-4)
    official = {str(row["id"]): row["standard_anls"] for row in lines(file)}
    for record in scored.records:
        assert record.score == pytest.approx(official[record.id], abs=1e-6)
    ours = score("docvqa", file).summary.headline.value
    assert ours == pytest.approx(100 * expected, abs=0.001)


@pytest.mark.external_golden("vizwiz_val_subset")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("system", "n", "expected"), [("base", 758, 33.77308707), ("fusion", 951, 53.27024185), ("skill", 413, 41.79176755)]
)
def test_vqa_accuracy_on_vizwiz(
    golden: Golden, tmp_path: Path, system: str, n: int, expected: float, rule: str
) -> None:
    rows = [row for row in lines(golden("vizwiz_val_subset") / "vizwiz_val_subset.jsonl") if system in row["preds"]]
    file = written(
        tmp_path / "vizwiz.jsonl",
        (
            {
                "id": row["image"],
                "question": row["question"],
                "answers": row["answers"],
                "prediction": row["preds"][system],
            }
            for row in rows
        ),
    )
    scored = score("vizwiz", file, variant=Variant(rule=rule))
    assert (scored.summary.n, scored.warnings) == (n, ())
    assert scored.summary.headline.value == pytest.approx(expected, abs=1e-6)
    official = {row["image"]: row["official_vqa_acc"][system] for row in rows}
    for record in scored.records:
        assert record.score == pytest.approx(official[record.id], abs=1e-3)


@pytest.mark.release
@pytest.mark.external_golden("captions_magic")
@pytest.mark.parametrize("which", ["flickr30k/magic", "mscoco/magic"])
def test_captions_of_magic(golden: Golden, tmp_path: Path, which: str) -> None:
    home = golden("captions_magic")
    official = json.loads((home / "official_scores.json").read_text())[which]
    rows = list(lines(home / f"{which.replace('/', '_')}.jsonl.gz"))
    file = written(
        tmp_path / "captions.jsonl",
        ({"id": row["image"], "answers": row["refs"], "prediction": row["prediction"]} for row in rows),
    )
    scored = score("coco-caption:meteor=on", file)
    metrics = scored.summary.metrics
    assert scored.summary.n == official["n"]
    # Words: the rules differ from the Java tokenizer in at most one of the set's captions.
    assert metrics["cider"].value == pytest.approx(100 * official["CIDEr"], abs=1e-6)
    assert metrics["rouge_l"].value == pytest.approx(100 * official["ROUGE_L"], abs=1e-6)
    assert metrics["meteor"].value == pytest.approx(100 * official["METEOR"], abs=1e-6)
    for order in range(1, 5):
        found = metrics[f"bleu_{order}"].value
        assert found == pytest.approx(100 * official[f"Bleu_{order}"], abs=1e-6)
    own = {row["image"]: row["ROUGE_L"] for row in rows}
    for record in scored.records:
        assert record.score == pytest.approx(own[record.id], abs=2e-6)


def test_every_gold_answer_of_ocrbench_is_right(golden: Golden, tmp_path: Path) -> None:
    rows = list(lines(golden("ocrbench_questions") / "ocrbench_v1.jsonl"))
    replies = (
        {**row, "id": number, "prediction": row["answers"][0] if isinstance(row["answers"], list) else row["answers"]}
        for number, row in enumerate(rows)
    )
    summary = score("ocrbench", written(tmp_path / "gold.jsonl", replies)).summary
    assert summary.headline.value == 100.0
    assert summary.metrics["final_score"].value == pytest.approx(1000.0)
    assert summary.groups["type"]["Doc-oriented VQA"].n == 200
    assert len(summary.groups["type"]) == 10
