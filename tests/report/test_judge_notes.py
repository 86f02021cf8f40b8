"""A score that a judge gave says beside it, and on its card, that the judge was not measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import score
from snellen.analysis.card_file import stored_card
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.cli import main
from snellen.report.documents.protocol_card import card_lines
from snellen.report.documents.run_document import run_document
from snellen.report.page.facts import fact_sections
from snellen.report.writers import write_text

LAYOUT = Path(__file__).parents[1] / "benchmarks" / "layouts" / "mm-vet.tsv"
SAID = "how often the judge column:grade is right was not measured in this run; to measure it"
COMMAND = "snellen score mm-vet --predictions FILE --judge MODEL --columns label_right=COLUMN"
REPLIES = "id,prediction,grade,ok\n0,x is -1 or -5,1.0,1\n1,red,0.0,0\n"


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    path = tmp_path / "replies.csv"
    path.write_text(REPLIES)
    return path


def printed(capsys: pytest.CaptureFixture[str], *flags: object) -> str:
    assert main(["score", "mm-vet", "--data", str(LAYOUT), *map(str, flags)]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_the_printed_score_says_that_its_judge_was_not_measured(
    replies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = printed(capsys, "--predictions", replies, "--judge", "column:grade")
    assert SAID in judged
    assert COMMAND in judged
    labels = ("--columns", "label_right=ok")
    measured = printed(capsys, "--predictions", replies, "--judge", "column:grade", *labels)
    assert "was not measured" not in measured
    assert "grade open agreement 100.0" in measured


def test_advised_command_measures_the_judge(replies: Path) -> None:
    scored = score("mm-vet", replies, data=LAYOUT, judges=["column:grade"], labels={"right": "ok"})
    assert scored.readings is not None
    assert [row.agreeing for row in scored.readings.by_parser] == [2, 2]
    assert "was not measured" not in repr(scored)


def test_exports_and_report_page_note_the_unmeasured_judge(replies: Path, tmp_path: Path) -> None:
    scored = score("mm-vet", replies, data=LAYOUT, judges=["column:grade"])
    assert SAID in write_text(run_document([scored.report]), "markdown").replace("\\", "")
    sections = fact_sections(scored.report, tmp_path)
    assert any(fact.value.startswith(SAID) for section in sections for fact in section.facts)


def test_cards_of_judged_benchmarks_name_the_measuring_command() -> None:
    judged = stored_card("mm-vet", open_benchmark("mm-vet").version)
    read = stored_card("eyechart", open_benchmark("eyechart").version)
    assert judged is not None
    assert read is not None
    assert COMMAND in dict(card_lines(judged))["judge's errors"]
    assert "judge's errors" not in dict(card_lines(read))


class GradesHalf:
    """A judge without an identity of its own."""

    def answer(self, request: object) -> str:
        return "0.5"


def test_a_judge_may_be_any_object_that_answers(replies: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    scored = score("mm-vet", replies, data=LAYOUT, judges=[GradesHalf()], store=store)
    assert scored.score == 50.0
    assert "GradesHalf" in repr(scored)


def test_a_note_on_the_data_is_printed_once(replies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged = printed(capsys, "--predictions", replies, "--judge", "column:grade")
    assert judged.count("is not the published file") == 1
