"""On published replies: what is flagged is what counting the published choices flags."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from snellen.data_sets.decisions import latest_decisions, read_decisions
from snellen_curate.filter.filtering import FilterRules, filter_items
from snellen_curate.step_options import FilterOptions

QUESTIONS = 400


def flags(out: Path, rule: str) -> set[str]:
    found = latest_decisions(read_decisions(out)).values()
    return {each.item for each in found if each.action == "flag" and rule in each.rule.split(", ")}


def test_blink_by_nine_systems(golden: Callable[[str], Path], tmp_path: Path) -> None:
    """BLINK's authors publish the choice of each system: here the questions that none, and
    those that more than half, more than six, and all of nine systems choose right."""
    right: Counter[str] = Counter()
    rows: dict[str, str] = {}
    models = []
    for file in sorted(golden("blink_val").glob("*.jsonl.gz")):
        if "concatenate" in file.name:
            continue  # of a part of the questions
        with gzip.open(file, "rt") as lines:
            replies = [json.loads(line) for line in islice(lines, QUESTIONS)]
        rows = {each["idx"]: each["answer"][1] for each in replies}
        right.update(each["idx"] for each in replies if each["prediction"] == each["answer"])
        recorded = tmp_path / file.name.removesuffix(".gz")
        texts = [{"id": each["idx"], "prediction": each["prediction"]} for each in replies]
        recorded.write_text("".join(json.dumps(text) + "\n" for text in texts))
        models.append(f"replay/{recorded}")
    data = tmp_path / "blink_val.jsonl"
    questions = [
        {"id": name, "question": f"Question {name}", "answer": letter, "type": "choice"}
        | {label: f"picture {label}" for label in "ABCD"}
        for name, letter in rows.items()
    ]
    data.write_text("".join(json.dumps(question) + "\n" for question in questions))
    # The same replies once more as if they were made without pictures, for the other rules.
    rules = {"text-majority": 5, "text-more-than:6": 7, "text-all": 9}
    result = filter_items(
        data,
        tmp_path / "out",
        text_only=models,
        vision=models,
        rules=FilterRules(("vision-none", *rules)),
        options=FilterOptions(circular="off"),
    )
    assert (result.items, len(models)) == (QUESTIONS, 9)
    none = {name for name in rows if not right[name]}
    assert flags(tmp_path / "out", "vision-none") == none != set()
    for rule, least in rules.items():
        found = {name for name in rows if right[name] >= least}
        assert flags(tmp_path / "out", rule) == found != set()


@pytest.mark.external_golden("mmbench_dev_llava15_13b")
def test_mmbench_under_circular_eval(golden: Callable[[str], Path], tmp_path: Path) -> None:
    """LLaVA-1.5's uploaded choices for MMBench dev: what a single vision model does not answer in
    every rotation is 1 minus its published CircularEval accuracy, 67.7 %."""
    file = golden("mmbench_dev_llava15_13b/predictions.csv")
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    hits: dict[int, list[bool]] = defaultdict(list)
    for row in rows:
        hits[int(row["index"]) % 1_000_000].append(row["prediction"] == row["answer"])
    data, replies = tmp_path / "mmbench.csv", tmp_path / "llava.csv"
    for path, names in (
        (data, ["index", "question", "A", "B", "C", "D", "answer", "split"]),
        (replies, ["index", "prediction"]),
    ):
        with path.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, names, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    result = filter_items(data, tmp_path / "out", vision=[f"replay/{replies}"])
    wrong = {str(index) for index, each in hits.items() if not all(each)}
    assert flags(tmp_path / "out", "vision-none") == wrong
    assert result.items == len(hits) == 1176
    assert 100 * (1 - len(wrong) / 1176) == pytest.approx(67.68707, abs=1e-5)


@pytest.mark.external_golden("mme_lavin")
def test_mme_pair_by_pair(golden: Callable[[str], Path], tmp_path: Path) -> None:
    """LaVIN's replies to MME: what a single vision model leaves, of each category, is 1 minus the
    accuracy+ that the authors' script gives."""
    with golden("mme_lavin/predictions.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    official = json.loads(golden("mme_lavin/official_scores.json").read_text())["per_category"]
    data, replies = tmp_path / "mme.jsonl", tmp_path / "lavin.jsonl"
    keys = ("index", "question", "answer", "category")
    questions = [{key: row[key] for key in keys} | {"unit": f"{row['category']}/{row['image']}"} for row in rows]
    data.write_text("".join(json.dumps(each) + "\n" for each in questions))
    texts = [{"index": row["index"], "prediction": row["prediction"]} for row in rows]
    replies.write_text("".join(json.dumps(each) + "\n" for each in texts))
    result = filter_items(data, tmp_path / "out", vision=[f"replay/{replies}"])
    assert result.pairs == len(rows) // 2 == 1187
    shares = {
        group.value: 100 * (1 - group.flagged["vision-none"] / group.items)
        for group in result.groups
        if group.column == "category"
    }
    assert shares == {name: pytest.approx(each["acc_plus"]) for name, each in official.items()}
