"""OCRBench v2: files of other makers, places in the space of the run, and what its own rule reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nltk.data
import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.documents.ocrbench_v2.replies import read_record, read_text_boxes
from snellen.benchmarks.documents.ocrbench_v2.texts import check_text_packages, text_similarity
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError
from snellen.core.output import Generated
from snellen.core.record import Record, run_flow
from snellen.core.sample import Sample

LAYOUT = Path(__file__).parent / "layouts" / "ocrbench-v2.tsv"


def samples(data: Path, rule: str = "snellen", **options: str) -> tuple[Any, list[Sample]]:
    benchmark = open_benchmark("ocrbench-v2", Variant(data=str(data), rule=rule, options=options))
    return benchmark, list(benchmark.samples(benchmark.open()))


def record_of(benchmark: Any, sample: Sample, reply: str) -> Record:
    return run_flow(benchmark.flow(sample), lambda request: Generated(reply))


def test_a_row_as_the_authors_and_the_hub_have_it(tmp_path: Path) -> None:
    row = {"id": 3, "dataset_name": "x", "type": "APP agent en", "question": "Is it on?", "answers": ["enabled", "on"]}
    absent = {"eval": "None", "bbox": None, "bbox_list": None, "content": None}
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, (row, {**row, **absent, "id": 4}))))
    benchmark, [first, second] = samples(file)
    assert (first.id, first.gold, dict(first.metadata)) == ("3", ("enabled", "on"), {})
    assert (second.gold, dict(second.metadata)) == (first.gold, {})
    assert record_of(benchmark, first, "It is enabled now").score == 1.0


def test_a_text_is_found_in_the_space_that_is_asked_for() -> None:
    """In another space than the question's own its form of the answer gives way to a closing line; the
    gold is the same place."""
    prompts = []
    for coordinates, reply in (("thousandths", "[100, 200, 400, 300]"), ("fractions", "[0.1, 0.2, 0.4, 0.3]")):
        benchmark, found = samples(LAYOUT, coordinates=coordinates)
        [sample] = [one for one in found if one.kind == "place"]
        assert record_of(benchmark, sample, reply).score == pytest.approx(1.0)
        [message] = next(benchmark.flow(sample)).messages
        prompts.append(next(part.text for part in message.parts if hasattr(part, "text")))
    assert prompts[0].endswith("in the following format: (x1, y1, x2, y2)")
    assert prompts[1].startswith("Where is the region of the text 'OPEN'?\n")
    assert "format: (x1" not in prompts[1]
    assert record_of(benchmark, sample, "[100, 200, 400, 300]").score == 0.0


def test_the_letter_of_a_choice_is_read_by_our_rule_alone() -> None:
    for rule, score in (("snellen", 1.0), ("official", 0.0)):
        benchmark, found = samples(LAYOUT, rule=rule)
        [sample] = [one for one in found if one.groups["task"] == "math QA en"]
        assert record_of(benchmark, sample, "The answer is B.").score == score


def test_languages_are_means_of_abilities_and_the_headline_is_theirs() -> None:
    benchmark, found = samples(LAYOUT)
    wrong = {"text recognition en", "full-page OCR cn"}
    records = [
        record_of(benchmark, one, "qqq" if one.groups["task"] in wrong else one.written_gold(one.gold[0]))
        for one in found
    ]
    score = {record.groups["task"]: record.score or 0.0 for record in records}
    english = 100 * (7 + (2 + score["text recognition en"]) / 3) / 8
    chinese = 100 * (4 + score["full-page OCR cn"]) / 5
    summary = benchmark.summarise(records)
    by_language = {name: metric.value for name, metric in summary.groups["language"].items()}
    assert by_language == pytest.approx({"English": english, "Chinese": chinese})
    assert summary.headline.value == pytest.approx((english + chinese) / 2)


def test_one_language_alone() -> None:
    benchmark, found = samples(LAYOUT, lang="cn")
    assert {one.groups["language"] for one in found} == {"Chinese"}
    right = [record_of(benchmark, one, one.gold[0]) for one in found]
    assert benchmark.summarise(right).headline.value == pytest.approx(100)


def test_rows_that_lack_something_are_named(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    row = {"index": 1, "question": "Find all.", "answer": "['x']", "category": "text spotting en"}
    file.write_text(json.dumps(row))
    with pytest.raises(DataError, match="row 1: the column bbox is empty, which 'text spotting en' needs"):
        samples(file)
    file.write_text(json.dumps({**row, "category": "text spotting"}))
    with pytest.raises(DataError, match="expected a task of OCRBench v2"):
        samples(file)


def test_wordnet_is_asked_for_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(DataError, match=r"python -m nltk\.downloader wordnet"):
        check_text_packages()


def test_a_synonym_is_worth_something() -> None:
    gold = "the large shop is here"
    assert text_similarity("the big store is here", gold) > text_similarity("the red house is here", gold)
    assert text_similarity("", gold) == text_similarity(gold, "") == 0.0


@pytest.mark.parametrize(
    ("reply", "record"),
    [
        ('{"a": 1, " b ": null}', {"a": "1", "b": "None"}),
        ("```json\n{'a': 'x'}\n```", {"a": "x"}),
        ("name: Ann\nage = 5", {"name": "Ann", "age": "5"}),
        ("[1, 2]", {}),
        ("(1, 2)", {}),
        ("None", {}),
        ("{1: 2}", {}),
        ("nothing", {}),
        ("[" * 100_000, {}),
    ],
)
def test_records_in_replies(reply: str, record: dict[str, str]) -> None:
    assert read_record(reply) == record


def test_boxes_with_texts_in_replies() -> None:
    texts = [one.text for one in read_text_boxes("[(1, 2, 30, 40, 'a'), (1, 2, 30, 40, 'a'), (9, 9, 2, 2, 'b'), 7]")]
    assert texts == ["a"]
    assert [one.text for one in read_text_boxes('so (1, 2, 30, 40, "b, c") and (1, 2, 3000, 40, d)')] == ["b, c"]
