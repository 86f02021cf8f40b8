"""Groups of questions about documents: languages, lengths, blocks, values and outcomes by hand."""

from __future__ import annotations

import json

import pytest
from document_runs import write_document_run
from test_place_groups import Run

from snellen.analysis.findings.document_groups import document_groups
from snellen.cli import main
from snellen.core.page import Block, Page
from snellen.core.record import Record
from snellen.scoring.pages.block_scores import scores_by_kind


def record(gold: str, answer: str | None, kind: str, score: float, **fields: object) -> Record:
    outcome = "answered" if answer is not None else "unparsed"
    return Record(str(id(gold)), kind, "?", outcome, score, answer=answer, gold=(gold,), **fields)  # type: ignore[arg-type]


def groups_of(*records: Record) -> dict[str, dict[str, tuple[float | None, int]]]:
    found = document_groups(Run(list(records)))  # type: ignore[arg-type]
    return {
        each.title: {
            label: (None if metric.value is None else round(metric.value, 3), metric.n) for label, metric in each.rows
        }
        for each in found
    }


def test_values_are_grouped_by_what_they_are() -> None:
    gold = json.dumps(
        {"day": "2024-03-05", "items": [{"name": "Tea", "price": 4.5}, {"name": "Rice", "price": 2}], "total": 6.5}
    )
    said = json.dumps({"day": "5 March 2024", "items": [{"name": "Tea", "price": 4.5}, {"name": "Mice", "price": 2}]})
    found = groups_of(record(gold, said, "fields", 0.7), record(json.dumps({"a": "b"}), None, "fields", 0.0))
    assert found["kind of value"] == {
        "date": (100.0, 1),
        "number": (0.0, 1),
        "number in a list": (100.0, 2),
        "text": (0.0, 1),
        "text in a list": (50.0, 2),
    }
    assert found["fields in the gold"] == {"1": (0.0, 1), "6 to 10": (70.0, 1)}
    assert found["outcome"] == {"answered": (50.0, 1), "unparsed": (50.0, 1)}


def test_blocks_of_a_page_are_grouped_by_kind() -> None:
    page = Page(
        (
            Block("Report", category="title"),
            Block("abcd efgh"),
            Block("<table><tr><td>x</td></tr></table>", "table"),
            Block("a = b", "formula"),
            Block("7", optional=True),
        )
    )
    found = groups_of(record(page.text(), "# Report\n\nabcd efgz", "page", 0.5, values={"teds": 0.25}))
    assert found["kind of block"] == {"heading": (100.0, 1), "text": (87.5, 1), "table": (25.0, 1), "formula": (0.0, 1)}
    assert scores_by_kind([], page) == {"heading": [0.0], "text": [0.0], "formula": [0.0]}


def test_languages_are_those_of_the_data_or_the_script_of_the_gold() -> None:
    found = groups_of(
        record("word " * 30, "x", "open", 0.5),
        record("今天天气很好" * 20, "x", "open", 0.25),
        record("слово " * 30, "x", "open", 0.0, groups={"language": "Russian"}),
        record("12 34 " * 30, "x", "open", 1.0),
        record("short", "x", "open", 1.0),
    )
    assert found["language"] == {
        "Latin letters": (50.0, 1),
        "Chinese characters": (25.0, 1),
        "Russian": (0.0, 1),
        "no letters": (100.0, 1),
    }
    assert sum(n for _, n in found["length of the gold"].values()) == 4


def test_runs_without_documents_have_no_groups() -> None:
    assert document_groups(Run([record("short", "x", "open", 1.0)])) == []  # type: ignore[arg-type]


def test_the_command_prints_them_and_refuses_other_runs(tmp_path, capsys) -> None:
    from synthetic import build_report, write_run

    run = write_document_run(tmp_path)
    assert main(["analyse", "documents", str(run.path), "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert len(tables) == 5
    report, records, pictures = build_report(count=12)
    other = write_run(tmp_path, report, records, pictures)
    assert main(["analyse", "documents", str(other.path)]) == 2
    assert "asks for a page, a record or a text of at least 80 characters" in capsys.readouterr().err


@pytest.mark.parametrize("answer", ["not json", "[]", "", None])
def test_answers_that_are_no_records_have_all_values_missing(answer) -> None:
    found = groups_of(record(json.dumps({"a": "b", "c": 1}), answer, "fields", 0.0))
    assert found["kind of value"] == {"number": (0.0, 1), "text": (0.0, 1)}
