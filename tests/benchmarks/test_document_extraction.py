"""Short answers about documents: copied out of the reply by a language model, then compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate, score
from snellen.benchmarks.declaration.documents import NO_EXTRACTOR_NOTICE, extract_short_answer
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Answer, Failure, Generated, ParsedAnswer, Refused, Unparsed
from snellen.core.record import run_flow
from snellen.core.request import Generate, Ref, Request
from snellen.core.sample import Sample
from snellen.extract.llm import RULE

SAMPLE = Sample("1", "open", "Which {reply}?", ("tin",))


@pytest.mark.parametrize(
    ("verdict", "answer"),
    [
        ("Extracted answer: tin\nAnswer format: String", ParsedAnswer("tin", RULE)),
        ("**Extracted answer:** 12.5%\n**Answer format:** Float", ParsedAnswer("12.5%", RULE)),
        ('```\nExtracted answer: ["a", "b"]\nAnswer format: List\n```', ParsedAnswer('["a", "b"]', RULE)),
        ('Extracted answer: ["a",\n "b"]\nAnswer format: List', ParsedAnswer('["a",\n "b"]', RULE)),
        ("tin", ParsedAnswer("tin", RULE)),
        ("Extracted answer: Not answerable\nAnswer format: String", ParsedAnswer("Not answerable", RULE)),
        ("Extracted answer: not answerable.", ParsedAnswer("Not answerable", RULE)),
        ("Extracted answer: Fail to answer\nAnswer format: String", Refused(RULE)),
        ("Extracted answer:\nAnswer format: String", Unparsed()),
        ("", Unparsed()),
    ],
)
def test_parses_short_answer_of_the_extractor(verdict: str, answer: Answer) -> None:
    steps = extract_short_answer(SAMPLE, "It is made of {question}.", Ref("1"))
    found = run_flow(steps, lambda request: Generated(verdict))
    assert found.answer == answer


def test_the_task_holds_question_and_reply_as_they_are() -> None:
    request = next(extract_short_answer(SAMPLE, "It is made of {question}.", Ref("1")))
    assert isinstance(request, Generate)
    text = request.messages[-1].text()
    assert text.endswith("Question: Which {reply}?\nReply: It is made of {question}.")


def test_failed_extractor_gives_no_answer() -> None:
    steps = extract_short_answer(SAMPLE, "tin", Ref("1"))
    assert run_flow(steps, lambda request: Failure("request", "no key")).answer is None


DUDE = "index\tquestion\tanswer\tprediction\tpred\n"
ROWS = (
    '1\tWhat is it made of?\t["tin"]\tIt is made of tin, I think\ttin\n'
    "2\tHow many?\t12\tThere are 12 of them on page 3.\t12\n"
    "3\tWho signed?\t\tNobody did, as far as the pages tell.\tNot answerable\n"
    "4\tWhat year?\t1997\t1997\tFail to answer\n"
)


@pytest.fixture
def dude(tmp_path: Path) -> Path:
    path = tmp_path / "dude.tsv"
    path.write_text(DUDE + ROWS)
    return path


def test_anls_of_dude_with_and_without_an_extractor(dude: Path) -> None:
    plain = score("dude", dude).summary
    assert plain.headline.value == 25.0
    assert NO_EXTRACTOR_NOTICE in plain.notices
    read = score("dude", dude, extractor="column:pred")
    assert read.summary.headline.value == 75.0
    assert read.summary.metrics["by_rules"].value == 25.0
    assert NO_EXTRACTOR_NOTICE not in read.summary.notices
    assert [one.outcome for one in read.records] == ["answered"] * 3 + ["refused"]
    assert "rubric_document-answer" in read.benchmark.parameters


def test_slidevqa_computes_all_its_metrics_on_the_short_answer(tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    path.write_text(
        "index\tquestion\tanswer\tprediction\tpred\n"
        "1\tWhat share?\t25%\tAdding both slides gives 25%.\tExtracted answer: 25%\n"
        "2\tWho?\tthe red team\tIt was won by the red team in 1999\tred team\n"
    )
    plain, read = (score("slidevqa", path, extractor=one) for one in (None, "column:pred"))
    names = ("f1", "exact_match", "anls")
    assert [plain.summary.metrics[name].value for name in names[1:]] == [0.0, 0.0]
    assert [read.summary.metrics[name].value for name in names] == pytest.approx([100, 100, 83.33], abs=0.01)


def test_mmlongbench_counts_who_answered_by_the_short_answer(tmp_path: Path) -> None:
    path = tmp_path / "m.tsv"
    path.write_text(
        "index\tdoc_id\tquestion\tanswer\tanswer_format\tevidence_pages\tprediction\tpred\n"
        "1\ta.pdf\tHow many?\t3\tInt\t[1]\tOnly 3 of them failed.\t3\n"
        "2\ta.pdf\tWho?\tNot answerable\tStr\t[]\tThe pages do not say who.\tNot answerable\n"
        "3\tb.pdf\tWhich?\t['x', 'y']\tList\t[1, 2]\tBoth x and y are.\t['y', 'x']\n"
        "4\tb.pdf\tWho?\tAda\tStr\t[2]\tI cannot open the file.\tFail to answer\n"
    )
    plain, read = (score("mmlongbench-doc", path, extractor=one) for one in (None, "column:pred"))
    assert plain.summary.metrics["accuracy"].value == 0.0
    assert read.summary.metrics["accuracy"].value == 75.0
    # Precision 2 of the 3 that do not abstain, recall 2 of the 3 that have an answer.
    assert read.summary.metrics["f1"].value == pytest.approx(200 / 3)


class Wordy:
    identity = Identity("test", "wordy")
    capabilities = Capabilities()

    def answer(self, request: Request) -> str:
        return "It is made of tin, I think"


class Copier(Wordy):
    identity = Identity("test", "copier")

    def answer(self, request: Request) -> str:
        return "Extracted answer: tin\nAnswer format: String"


def test_a_run_asks_its_extractor_about_every_reply(dude: Path, tmp_path: Path) -> None:
    dude.write_text("index\tquestion\tanswer\n1\tWhat is it made of?\ttin\n")
    (run,) = evaluate([Wordy()], [f"dude:file={dude}"], extractors=[Copier()], out=tmp_path / "o", html=False).runs
    assert run.report().summary.headline.value == 100.0
    (record,) = run.records()
    assert record.passes[0].by_rules == ParsedAnswer("It is made of tin, I think", "whole reply", (0, 26))
