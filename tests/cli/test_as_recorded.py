"""`score --as-recorded` repeats the number of the tool that wrote a file, and names its column."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen import score
from snellen.cli import main
from snellen.core.errors import DataError, UsageError
from snellen.core.output import Generated
from snellen.report.format import run_labels

HERE = Path(__file__).parent
OPTIONS = "A,B,C,D"
TREES = "oak,elm,fir,ash"


def table(path: Path, header: str, *rows: str) -> str:
    path.write_text("\n".join((header, *rows)) + "\n")
    return str(path)


def choices(path: Path, columns: str, *rows: str) -> str:
    """Questions whose gold answers are A, B, C, ... with a reply and further cells."""
    lines = (f"{n},Which tree?,{TREES},{'ABCD'[n]},{row}" for n, row in enumerate(rows))
    return table(path, f"index,question,{OPTIONS},answer,{columns}", *lines)


@pytest.fixture
def letters(tmp_path: Path) -> str:
    rows = ("The answer is B. No: A,A", "B,B", "D. Ash it is not (C),C", "Hard to say.,D")
    return choices(tmp_path / "recorded.csv", "prediction,extracted", *rows)


def test_answers_that_the_tool_read_come_before_the_reply(letters: str) -> None:
    assert score("mmstar", letters).score != 100.0, "the control: the rules read the replies"
    scored = score("mmstar", letters, as_recorded=True)
    assert scored.score == 100.0
    first = scored.records[0].passes[0]
    assert isinstance(first.output, Generated)
    assert isinstance(first.extraction, Generated)
    assert (first.output.text, first.extraction.text) == ("The answer is B. No: A", "A")
    assert any("VLMEvalKit: its column 'extracted'" in one for one in scored.summary.notices)


def test_recorded_verdicts_count_whatever_the_reply_is(tmp_path: Path) -> None:
    failed = "Failed to obtain answer via API."
    path = choices(tmp_path / "hit.csv", "prediction,hit,log", f"{failed},1,x", "B,0,x", ",1,x", "None,-1,x")
    scored = score("scienceqa", path, as_recorded=True)
    assert [one.score for one in scored.records] == [1.0, 0.0, 1.0, None]
    assert scored.score == pytest.approx(200 / 3)
    assert scored.records[3].unscored == "ungraded", "VLMEvalKit writes -1 where its judge failed"
    assert main(["score", "scienceqa", "--predictions", path, "--as-recorded"]) == 1


def test_the_run_says_tool_and_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = choices(tmp_path / "hit.csv", "prediction,hit", "A,1", "B,0")
    told = ["score", "scienceqa", "--predictions", path, "--as-recorded"]
    assert main([*told, "--out", str(tmp_path / "o")]) == 0
    printed = capsys.readouterr().out
    assert "as recorded by VLMEvalKit: its column 'hit' made the number" in printed.replace("\n", " ")
    label = run_labels([score("scienceqa", path, as_recorded=True).report])[0]
    assert label == "hit.csv (failures as-reply, as recorded, VLMEvalKit: hit)"
    info = json.loads(next((tmp_path / "o").glob("*/run.json")).read_text())
    assert info["config"]["parameters"]["as_recorded"] == "VLMEvalKit: hit"
    other = choices(tmp_path / "other.csv", "prediction,hit", "B,0", "B,1")
    assert main(["compare", str(next((tmp_path / "o").glob("hit*"))), other]) == 2
    assert "--as-recorded --out DIR" in capsys.readouterr().err


def test_a_headline_of_answers_takes_the_answers_not_the_verdicts(tmp_path: Path) -> None:
    header = "index,question,answer,category,prediction,extracted,score"
    pairs = ("Yes,Yes", "No,Yes", "No,No", "Yes,No", "Yes,Yes")
    rows = [
        f"{n},Is there a cat?,{gold},random,well,{said},{int(gold == said)}"
        for n, (gold, said) in enumerate(pair.split(",") for pair in pairs)
    ]
    scored = score("pope", table(tmp_path / "p.csv", header, *rows), as_recorded=True)
    assert scored.score == pytest.approx(100 * 2 * 2 / (2 * 2 + 1 + 1)), "F1 of 2 hits of 5"
    only = table(tmp_path / "only.csv", header.replace("extracted", "other"), *rows)
    with pytest.raises(DataError, match="'score' says what is right, of which f1_pooled is not"):
        score("pope", only, as_recorded=True)


@pytest.mark.parametrize(
    ("metric", "column"),
    [
        ({"exact_match": 1.0}, "lmms_eval.exact_match"),
        ({"average": {"question_id": 0, "score": 1.0}}, "lmms_eval.average.score"),
        ({"acc": {"id": 0, "parsed_pred": "A"}}, "lmms_eval.acc.parsed_pred"),
        ({"acc": {"pred_answer": "A", "score": True}}, "lmms_eval.acc.score"),
    ],
)
def test_logs_of_lmms_eval(tmp_path: Path, metric: dict[str, object], column: str) -> None:
    doc = dict(zip("ABCD", TREES.split(","), strict=True), question="Which tree?", answer="A")
    line = {"doc_id": 0, "doc": doc, "target": "A", "input": "Which tree?", "filtered_resps": "It is B", **metric}
    path = tmp_path / "samples_trees.jsonl"
    path.write_text(json.dumps(line) + "\n")
    scored = score("mmstar", path, as_recorded=True)
    assert scored.score == 100.0
    assert scored.benchmark.parameters["as_recorded"] == f"lmms-eval: {column}"
    assert score("mmstar", path).score == 0.0


def test_logs_of_inspect() -> None:
    scored = score(str(HERE.parent / "data" / "inspect_colours.eval"), as_recorded=True)
    assert scored.benchmark.parameters["as_recorded"].startswith("Inspect: inspect.")
    assert scored.n == len(scored.records)


def test_refuses_values_that_are_not_recorded(letters: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave out --judge and --extractor"):
        score("mmstar", letters, as_recorded=True, extractor="column:extracted")
    plain = choices(tmp_path / "plain.csv", "prediction", "A", "B")
    with pytest.raises(DataError, match="no column holds a verdict or an answer"):
        score("mmstar", plain, as_recorded=True)
    graded = choices(tmp_path / "graded.csv", "prediction,score", "A,7", "B,9")
    with pytest.raises(DataError, match="grades up to 9, not from 0 to 1"):
        score("mmstar", graded, as_recorded=True)
    assert main(["score", "mmstar", "--predictions", letters, "--rule", "all", "--as-recorded"]) == 2


def test_a_published_layout_counts_the_column_of_its_authors(tmp_path: Path) -> None:
    rows = ("(A),it may be B,Counting", "(B),it is A,Counting")
    path = choices(tmp_path / "b.csv", "prediction,full_prediction,category", *rows)
    scored = score("blink", path, as_recorded=True)
    assert scored.score == 100.0
    assert scored.benchmark.parameters["as_recorded"] == "the authors' script: prediction"


def test_a_row_without_a_verdict_is_wrong_where_the_authors_count_every_row(tmp_path: Path) -> None:
    header = "pid,question,question_type,answer_type,answer,response,true_false"
    rows = ("1,What is 1 + 1?,free_form,integer,2,It is 2,True", "2,And 2 + 2?,free_form,integer,4,Sorry,")
    scored = score("mathvista", table(tmp_path / "v.csv", header, *rows), as_recorded=True)
    assert (scored.score, scored.n) == (50.0, 2)


def test_several_files_are_each_read_as_their_tool_recorded_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = choices(tmp_path / "answers.csv", "prediction,extracted", "Hard to say.,A", "D,B")
    verdicts = choices(tmp_path / "verdicts.csv", "prediction,hit", "A,1", "B,0")
    files = ["--predictions", answers, "--predictions", verdicts]
    assert main(["score", "mmstar", *files, "--as-recorded", "--json"]) == 0
    cards = json.loads(capsys.readouterr().out)
    assert [card["headline"]["value"] for card in cards] == [100.0, 50.0]
    notices = [" ".join(card["notices"]) for card in cards]
    assert "'extracted'" in notices[0]
    assert "'hit'" in notices[1]
    assert main(["score", "mmstar", *files, "--json"]) == 0
    control = json.loads(capsys.readouterr().out)
    assert [card["headline"]["value"] for card in control] == [0.0, 100.0], "the rules read the replies"


def test_a_judge_of_a_benchmark_without_judges_leads_to_the_records(tmp_path: Path) -> None:
    path = choices(tmp_path / "hit.csv", "prediction,hit", "B,1")
    with pytest.raises(UsageError, match="--as-recorded"):
        score("scienceqa", path, judges=["column:hit"])
