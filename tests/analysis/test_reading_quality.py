"""Precision and recall of readers: by hand, and the stored counts taken anew."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen import evaluate
from snellen.analysis.parsing.parsing_quality import (
    LABELS,
    ParsingQuality,
    ReplyWithOption,
    RuleParseCounts,
    extend_interval,
    measure_parser,
    quality_in_run,
    run_score_error,
    score_error,
    stored_qualities,
    stored_quality,
)
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Answer, Empty, Failure, Generated, Output, ParsedAnswer, Ranked, Unparsed
from snellen.core.record import Pass, Record
from snellen.core.request import Request
from snellen.core.summary import Interval
from snellen.extract.choice import parse_choice
from snellen.report.findings.parsers import quality_lines
from snellen.stats.intervals import wilson

SCRIPT = Path(__file__).parents[2] / "docs" / "measure_readers.py"
REPLIES = [
    ReplyWithOption("The answer is B.", {}, "B"),
    ReplyWithOption("C", {}, "C"),
    ReplyWithOption("A", {}, "D"),
    ReplyWithOption("Hard to tell, but the larger of them.", {}, "A"),
    ReplyWithOption("None of these.", {}, None),
    ReplyWithOption("B", {}, None),
]


def test_counts_and_what_they_do_to_a_score() -> None:
    found = measure_parser("snellen", "choice", "hand", parse_choice, REPLIES)
    assert (found.replies, found.meaning, found.read, found.right) == (6, 4, 4, 2)
    assert (found.precision.value, found.recall.value) == (0.5, 0.5)
    assert found.precision.interval == wilson(2, 4)
    errors = score_error(found)
    assert errors.down == pytest.approx(100 * 2 / 6)
    assert errors.up == pytest.approx(100 * 2 / 6)
    nothing = ParsingQuality("r", "choice", "hand", 0, 0, 0, 0)
    assert (nothing.precision.value, nothing.recall.interval) == (None, None)
    with pytest.raises(ValueError, match="at least one reply"):
        score_error(nothing)


def test_systems_are_counted_apart() -> None:
    replies = [
        ReplyWithOption(text, {}, "A", f"system {at}")
        for at, texts in enumerate(("AAAA", "AAAB", "AABB", "AAA", "A", "AAAA"))
        for text in texts
    ]
    found = measure_parser("snellen", "choice", "hand", parse_choice, replies)
    assert [(one.read, one.right) for one in found.systems] == [(4, 4), (4, 3), (4, 2), (3, 3), (1, 1), (4, 4)]
    assert (found.precision.value, found.precision.by_system) == (17 / 20, (0.5, 1.0))
    assert found.precision.interval is not None
    assert found.precision.interval.method == "clustered by system"
    assert found.precision.interval.low < wilson(17, 20).low
    assert found.min_precision == min(0.5, found.precision.interval.low)
    few = measure_parser("snellen", "choice", "hand", parse_choice, replies[:12])
    assert (few.precision.interval, few.recall.interval) == (None, None)
    assert few.recall.by_system == (0.5, 1.0)
    assert few.min_precision == min(0.5, wilson(9, 12).low)
    alone = measure_parser("snellen", "choice", "hand", parse_choice, replies[:4])
    assert (alone.systems, alone.precision.interval) == ((), wilson(4, 4))


def test_shows_the_origin_of_labels(capsys) -> None:
    assert {one.labelled_by for one in stored_qualities()} == set(LABELS)
    assert main(["analyse", "readers", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["notices"] == list(LABELS.values())
    blink = next(row for row in told["tables"][1]["rows"] if row["reader"] == "snellen")
    assert (blink["systems"], round(blink["recall from"], 1)) == (11, 81.6)
    whole = told["tables"][0]["rows"]
    assert [row["of precision, 95 %"] for row in whole if "TempCompass" in row["labelled by"]] == [None] * 4


def test_the_error_holds_on_made_up_scores() -> None:
    """Whatever the gold answers are, reading moves the score by no more than the bound."""
    errors = score_error(measure_parser("snellen", "choice", "hand", parse_choice, REPLIES))

    def said(answer: Answer) -> str | None:
        return getattr(answer, "value", None)

    for gold in "ABCDZ":
        read = sum(said(parse_choice(one.text, {})) == gold for one in REPLIES)
        meant = sum(one.label == gold for one in REPLIES)
        assert -errors.down <= 100 * (meant - read) / len(REPLIES) <= errors.up


def test_an_interval_is_widened_on_each_side() -> None:
    errors = score_error(ParsingQuality("r", "choice", "hand", 100, 100, 96, 96))
    assert errors == (0.0, 4.0)
    made = extend_interval(Interval(47.0, 53.0, "wilson"), errors)
    assert (made.low, made.high) == pytest.approx((47.0, 57.0))
    made = extend_interval(Interval(47.0, 98.0, "wilson"), errors)
    assert (made.low, made.high) == pytest.approx((47.0, 100.0))
    assert made.method == "wilson and reading"


def read_record(number: int, reply: Output, answer: Answer | None, score: float | None) -> Record:
    one = Pass((), reply, answer, ("A",))
    return Record(str(number), "choice", "q", "answered", score, gold=("A",), passes=(one,))


def test_the_error_in_a_run_is_that_of_its_own_replies() -> None:
    read, unread = ParsedAnswer("A", "bare label"), Unparsed()
    clear, mumbled = RuleParseCounts(), RuleParseCounts()
    for number in range(100):
        clear.add(read_record(number, Generated("A"), read, 1.0))
        mumbled.add(read_record(number, Generated("Hm."), read if number % 2 else unread, 0.0))
    best = stored_quality("snellen", "choice")[0]
    assert best.min_precision is not None
    misread = 100 * (1 - best.min_precision)
    few, many = run_score_error({}, clear), run_score_error({}, mumbled)
    assert few == pytest.approx((misread, misread))
    assert many is not None
    assert many.down == pytest.approx(misread / 2)
    assert many.up == pytest.approx(misread / 2 + 50 * best.unread_answer_rate)
    assert 0.85 < best.unread_answer_rate < 1.0
    assert run_score_error({"rule": "official"}, clear) is None


def test_no_reading_error_without_parsed_replies() -> None:
    replies = RuleParseCounts()
    replies.add(read_record(1, Ranked(()), ParsedAnswer("A", "ranking"), 1.0))
    replies.add(read_record(2, Generated(""), Empty(), 0.0))
    replies.add(read_record(3, Failure("request", "no answer"), None, None))
    assert (replies.samples, +replies.parsed, +replies.unparsed) == (2, {}, {})
    assert run_score_error({}, replies) is None


def test_the_page_of_a_run_has_the_interval_with_the_reading_error(tmp_path: Path) -> None:
    data = tmp_path / "mine.tsv"
    rows = "".join(f"{n}\tWhich?\tred\tblue\tA\n" for n in range(40))
    data.write_text("index\tquestion\tA\tB\tanswer\n" + rows)
    (run,) = evaluate([Mumbling()], [str(data)], out=tmp_path / "out").runs
    page = (run.path / "report.html").read_text()
    told = re.search(r"with the reading error (\d+\.\d)–(\d+\.\d)", page)
    assert told is not None
    # All were counted wrong because nobody could read them: nearly all may have been right.
    assert float(told[1]) == 0.0
    assert float(told[2]) > 90


@pytest.mark.external_golden
def test_stored_counts_are_those_of_the_script(golden: Callable[[str], Path]) -> None:
    home = golden(".")
    spec = importlib.util.spec_from_file_location("measure_readers", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert tuple(script.counted(home)) == stored_qualities()


def test_our_rule_reads_precisely() -> None:
    found = stored_quality("snellen", "choice")
    assert len(found) == 3
    # MMMU's labels are its own script's, drawn by lot where that reads nothing.
    assert all(one.precision.value is not None and one.precision.value > 0.989 for one in found)


def test_lines_for_a_card() -> None:
    lines = dict(quality_lines(("snellen",), ("choice",)))
    assert set(lines) == {"snellen, choice"}
    (first, *_) = (told for _, told in quality_lines(("word",), ("yes_no",)))
    assert first.startswith("precision 100.0 (by system 100.0–100.0), recall 99.8 (by system 99.4–100.0) on 7,359")


class Mumbling:
    """Says nothing a rule can read, so that a language model has to."""

    identity, capabilities = Identity("test", "mumbling"), Capabilities()

    def answer(self, request: Request) -> str:
        return "Hard to tell, but perhaps the larger of them."


class Reading:
    identity, capabilities = Identity("test", "reading"), Capabilities()

    def answer(self, request: Request) -> str:
        return "A"


def test_a_language_model_is_measured_by_people(tmp_path: Path, capsys) -> None:
    table = tmp_path / "q.csv"
    table.write_text("index,question,A,B,answer\n" + "".join(f"{n},Which?,x,y,A\n" for n in range(4)))
    done = evaluate([Mumbling()], [str(table)], out=tmp_path / "out", extractors=[Reading()], html=False)
    (run,) = done.runs
    labels = {("0", 0): "A", ("1", 0): "B", ("2", 0): "Z", ("9", 0): "A"}
    found = quality_in_run(run, labels)
    assert (found.reader, found.replies, found.meaning) == ("reading", 3, 2)
    assert (found.read, found.right) == (3, 1)
    with pytest.raises(UsageError, match="none of the labelled"):
        quality_in_run(run, {("9", 0): "A"})
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("id,pass,label\n0,0,A\n1,0,B\n")
    assert main(["analyse", "readers", str(run.path), "--labels", str(sheet), "--json"]) == 0
    (row,), (agreement,) = [one["rows"] for one in json.loads(capsys.readouterr().out)["tables"]]
    assert (row["precision"], row["recall"]) == (50.0, 50.0)
    assert (agreement["as people"], agreement["labelled"]) == (0.5, 2)
    assert main(["analyse", "readers", str(run.path)]) == 2
    assert "give one of these, or neither and no run" in capsys.readouterr().err
    assert main(["analyse", "readers"]) == 0
