"""Replies no rule can read go to a model; it is never allowed to guess or to die unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate
from snellen.benchmarks.protocol.flows import AskConfig, SinglePassFlow, circular_flow
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure, Generated, NoMatch, Output, Refused, Truncated
from snellen.core.record import run_flow
from snellen.core.request import Generate, Generation, Request, Text
from snellen.core.sample import Sample
from snellen.extract.llm import extraction_prompt, parse_extractor_reply

OPTIONS = {"A": "teddy bear", "B": "rabbit", "C": "cat"}
HOW = AskConfig(Generation(max_new_tokens=16), extractor=True)
SAMPLE = Sample("1", "choice", "What is the main object?", ("C",), OPTIONS)


def talk(reply: str, verdict: Output):
    """A model that always says `reply`, and an extractor that always says `verdict`."""
    asked: list[str] = []

    def answer(request: Request) -> Output:
        assert isinstance(request, Generate)
        asked.append(request.to)
        return verdict if request.to == "extractor" else Generated(reply)

    return asked, answer


@pytest.mark.parametrize(
    ("verdict", "outcome", "score"),
    [
        ("C", "answered", 1.0),
        ("A", "answered", 0.0),
        ("The output is C.", "answered", 1.0),
        ("Z", "no_match", 0.0),
        ("I would say that it is hard to tell.", "unparsed", 0.0),
        ("Q", "unparsed", 0.0),
    ],
)
def test_verdicts(verdict: str, outcome: str, score: float) -> None:
    asked, answer = talk("some feline animal, I suppose", Generated(verdict))
    record = run_flow(SinglePassFlow(HOW)(SAMPLE), answer)
    assert (record.outcome, record.score) == (outcome, score)
    assert asked == ["model", "extractor"]
    assert record.passes[0].extraction == Generated(verdict)


@pytest.mark.parametrize("reply", ["C", "(C) cat", "", " \n"])
def test_replies_matched_by_rules_are_not_sent_to_the_extractor(reply: str) -> None:
    asked, answer = talk(reply, Generated("A"))
    run_flow(SinglePassFlow(HOW)(SAMPLE), answer)
    assert asked == ["model"]


def test_the_words_of_a_filter_are_not_sent() -> None:
    asked: list[str] = []

    def answer(request: Request) -> Output:
        asked.append(request.to)
        return Generated("Flagged: the feline", "refusal")

    assert run_flow(SinglePassFlow(HOW)(SAMPLE), answer).outcome == "refused"
    assert asked == ["model"]


REFUSAL = Generated("I'm sorry, I can't be sure; still it looks like a feline.")
CUT = Generated("Let me think. It shows a feline because", "length")
NO_OPTION = Generated("None of the options is right, it is a feline.")


@pytest.mark.parametrize(
    ("reply", "verdict", "by_rules", "outcome", "score"),
    [
        (REFUSAL, "C", Refused, "answered", 1.0),
        (REFUSAL, "Z", Refused, "refused", 0.0),
        (REFUSAL, "well ...", Refused, "refused", 0.0),
        (CUT, "C", Truncated, "answered", 1.0),
        (CUT, "Z", Truncated, "truncated", 0.0),
        (NO_OPTION, "C", NoMatch, "answered", 1.0),
        (NO_OPTION, "Z", NoMatch, "no_match", 0.0),
        (NO_OPTION, "well ...", NoMatch, "no_match", 0.0),
    ],
)
def test_every_unmatched_reply_is_sent_whatever_the_rules_take_it_for(
    reply: Generated, verdict: str, by_rules: type, outcome: str, score: float
) -> None:
    def answer(request: Request) -> Output:
        return Generated(verdict) if request.to == "extractor" else reply

    record = run_flow(SinglePassFlow(HOW)(SAMPLE), answer)
    assert (record.outcome, record.score) == (outcome, score)
    assert isinstance(record.passes[0].by_rules, by_rules)
    assert record.values["by_rules"] == 0.0


def test_a_failed_extractor_leaves_the_sample_owed() -> None:
    _, answer = talk("some feline animal", Failure("request", "no key"))
    record = run_flow(circular_flow(HOW, "early")(SAMPLE), answer)
    assert (record.outcome, record.unscored, record.score) == ("failed", "failed", None)


def test_numbers_with_and_without_the_extractor() -> None:
    _, answer = talk("some feline animal", Generated("C"))
    record = run_flow(SinglePassFlow(HOW)(SAMPLE), answer)
    assert record.values == {"match_rate": 0.0, "vanilla_by_rules": 0.0, "by_rules": 0.0}
    _, answer = talk("C", Generated("C"))
    record = run_flow(SinglePassFlow(HOW)(SAMPLE), answer)
    assert record.values == {"match_rate": 1.0, "vanilla_by_rules": 1.0, "by_rules": 1.0}


def test_unread_yes_no_replies_are_matched_too() -> None:
    sample = Sample("1", "yes_no", "Is there a cat?", ("Yes",))
    _, answer = talk("certainly, a feline sits there", Generated("A"))
    record = run_flow(SinglePassFlow(HOW)(sample), answer)
    assert (record.answer, record.score) == ("Yes", 1.0)
    _, answer = talk("certainly, a feline sits there", Generated("Yes"))
    record = run_flow(SinglePassFlow(HOW)(sample), answer)
    assert (record.answer, record.score) == ("Yes", 1.0)


def test_the_prompt_names_the_options_and_survives_braces() -> None:
    prompt = extraction_prompt("Which {options}?", {"A": "{answer}", "B": "b"}, "{question}")
    assert "uppercase character in A, B (if they are valid options), and Z" in prompt
    assert "Question: Which {options}?\nOptions: A. {answer} B. b\nAnswer: {question}" in prompt
    assert extraction_prompt("这是什么？", {"A": "猫"}, "猫咪").startswith("你是一个")


def test_label_z_that_is_not_an_option_is_no_match() -> None:
    assert parse_extractor_reply(Failure("request", "x"), OPTIONS) is None


class Vague:
    identity = Identity("test", "vague")
    capabilities = Capabilities()

    async def answer(self, request: Request) -> str:
        return "some feline animal"


class Judge(Vague):
    identity = Identity("test", "judge")

    def __init__(self, verdict: Output) -> None:
        self.verdict = verdict
        self.sent: list[Request] = []

    async def answer(self, request: Request) -> Output:  # type: ignore[override]
        self.sent.append(request)
        return self.verdict


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "q.tsv"
    rows = [f"{i}\tWhat is it?\tteddy bear\trabbit\tcat\tC" for i in range(6)]
    path.write_text("\n".join(["index\tquestion\tA\tB\tC\tanswer", *rows]) + "\n")
    return str(path)


def test_a_run_stores_verdicts_and_prints_both_numbers(data: str, tmp_path: Path) -> None:
    judge = Judge(Generated("C"))
    (run,) = evaluate([Vague()], [data], extractors=[judge], out=tmp_path / "o", html=False).runs
    metrics = run.report().summary.metrics
    assert (metrics["accuracy"].value, metrics["by_rules"].value) == (100.0, 0.0)
    assert metrics["extractor_gain"].value == 100.0
    assert run.info.config.roles["extractor"].name == "judge"
    questions = {record.requests[1] for record in run.records()}
    assert len(questions) == 1, "equal questions about equal replies are one request"
    assert isinstance(judge.sent[1].messages[0].parts[0], Text)
    variant = Variant(circular="full")
    evaluate([Vague()], [data], extractors=[judge], variant=variant, out=tmp_path / "o", html=False)
    assert len(judge.sent) == 1 + 1 + 1 + 2, "a probe each start, and two new rotations"


def test_a_dead_extractor_is_found_before_the_run(data: str, tmp_path: Path) -> None:
    judge = Judge(Failure("request", "401: wrong key"))
    with pytest.raises(UsageError, match="the extractor judge does not answer: 401: wrong key"):
        evaluate([Vague()], [data], extractors=[judge], out=tmp_path / "o", html=False)
    assert not list((tmp_path / "o").glob("*/samples.jsonl"))
