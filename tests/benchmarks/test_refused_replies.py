"""A provider's filter in place of the model: refused, worth nothing, and never read or judged."""

from __future__ import annotations

import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.output import Answer, Generated, Output, ParsedAnswer, StopReason, Unparsed
from snellen.core.record import Record, run_flow
from snellen.core.request import Request
from snellen.core.sample import Row
from snellen.extract.llm import RULE, parse_extractor_reply

JUDGED = Variant(judges=1)
FILTER = "Flagged by our safety system. The answer is 3. Answer: A. Yes, correct."
CELLS = {
    "mm-vet": {"index": "1", "question": "What is x?", "answer": "3", "category": "ocr"},
    "mathvista": {
        "index": "5",
        "question": "Question: How many?",
        "answer": "3",
        "choices": "[]",
        "question_type": "free_form",
        "answer_type": "integer",
        "skills": "['logical reasoning']",
    },
    "mmdu": {"index": "0", "question": "['One?', 'Two?']", "answer": "['3', '3']"},
    "llava-bench": {
        "index": "3",
        "question": "How many?",
        "caption": "Three.",
        "gpt4_ans": "3",
        "category": "llava_bench_conv",
    },
}


def driven(name: str, reply: Output, judges: list[str] | None = None) -> Record:
    """The record of the benchmark's one row; what a judge is shown is kept in `judges`."""
    benchmark = open_benchmark(name, JUDGED)
    (sample,) = benchmark.samples([Row(0, CELLS[name])])

    def answer(request: Request) -> Output:
        if request.to == "model":
            return reply
        assert judges is not None, "a judge was asked"
        judges.append(request.messages[-1].text())
        return Generated("8 2\nWell.")

    return run_flow(benchmark.flow(sample), answer)


@pytest.mark.parametrize("name", ["mm-vet", "mathvista", "mmdu"])
def test_no_judge_is_asked_about_the_words_of_a_filter(name: str) -> None:
    record = driven(name, Generated(FILTER, "refusal"))
    assert (record.score, record.outcome, record.answer) == (0.0, "refused", None)


@pytest.mark.parametrize("name", ["mm-vet", "mathvista", "mmdu"])
def test_a_thought_that_took_all_tokens_is_truncated(name: str) -> None:
    record = driven(name, Generated("", "length", reasoning="It may be 3"))
    assert (record.score, record.outcome) == (0.0, "truncated")


def test_a_judge_of_pairs_sees_an_empty_reply_in_its_place() -> None:
    shown: list[str] = []
    record = driven("llava-bench", Generated(FILTER, "refusal"), shown)
    assert (record.score, record.outcome) == (pytest.approx(0.2), "refused")
    assert shown
    assert not any("Flagged" in text for text in shown)


def test_reply_of_the_model_itself_is_graded() -> None:
    shown: list[str] = []
    driven("llava-bench", Generated("three", "stop"), shown)
    assert any("three" in text for text in shown)


def test_content_filter_text_of_a_judge_is_not_a_verdict() -> None:
    benchmark = open_benchmark("mm-vet", JUDGED)
    (sample,) = benchmark.samples([Row(0, CELLS["mm-vet"])])

    def answer(request: Request) -> Output:
        return Generated("3") if request.to == "model" else Generated("Flagged: 1.0", "refusal")

    record = run_flow(benchmark.flow(sample), answer)
    assert (record.score, record.unscored) == (None, "ungraded")


@pytest.mark.parametrize(("stop", "answer"), [("refusal", Unparsed()), ("stop", ParsedAnswer("A", RULE))])
def test_content_filter_text_of_an_extractor_is_not_an_answer(stop: StopReason, answer: Answer) -> None:
    found = parse_extractor_reply(Generated("A", stop), {"A": "cat", "B": "dog"})
    assert isinstance(found, type(answer))
