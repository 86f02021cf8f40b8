"""Flows by hand: no engine, no model, only `send()`."""

from __future__ import annotations

import pytest

from snellen.benchmarks.protocol.flows import AskConfig, SinglePassFlow, circular_flow, planned_passes
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import run_flow
from snellen.core.request import Generate, Generation, Request, Text
from snellen.core.sample import Rotation, Sample

SETTINGS = AskConfig(Generation(max_new_tokens=16))
COLOURS = {"A": "red", "B": "green", "C": "blue", "D": "white"}
SAMPLE = Sample("7", "choice", "What color is it?", ("B",), COLOURS)


def answering(*replies: str) -> list[Output]:
    return [Generated(reply) for reply in replies]


def ask(flow, outputs: list[Output]):
    queue = iter(outputs)
    return run_flow(flow, lambda request: next(queue))


def knows(text: str):
    """A model that knows the right option's text and names its label."""

    def answer(request: Request) -> Output:
        part = request.messages[0].parts[-1]
        assert isinstance(part, Text)
        line = next(line for line in part.text.splitlines() if line.endswith(f". {text}"))
        return Generated(line[0])

    return answer


def test_asked_once_scores_the_letter() -> None:
    record = ask(SinglePassFlow(SETTINGS)(SAMPLE), answering("B"))
    assert (record.score, record.outcome, record.answer) == (1.0, "answered", "B")


@pytest.mark.parametrize(
    ("reply", "outcome"), [("", "empty"), ("hmm", "unparsed"), ("I cannot help with that request.", "refused")]
)
def test_replies_without_answer_are_wrong_and_typed(reply: str, outcome: str) -> None:
    record = ask(SinglePassFlow(SETTINGS)(SAMPLE), answering(reply))
    assert (record.score, record.outcome, record.unscored) == (0.0, outcome, None)


def test_a_cut_reply_is_truncated() -> None:
    record = ask(SinglePassFlow(SETTINGS)(SAMPLE), [Generated("Let us see,", stop_reason="length")])
    assert (record.score, record.outcome) == (0.0, "truncated")


@pytest.mark.parametrize(("kind", "outcome"), [("request", "failed"), ("missing", "missing")])
def test_a_failure_is_never_scored(kind, outcome: str) -> None:
    record = ask(SinglePassFlow(SETTINGS)(SAMPLE), [Failure(kind, "no answer")])
    assert (record.score, record.unscored, record.outcome) == (None, outcome, outcome)


def test_no_gold_is_counted_apart() -> None:
    hidden = Sample("7", "choice", "What color is it?", (), COLOURS)
    record = ask(SinglePassFlow(SETTINGS)(hidden), answering("B"))
    assert (record.score, record.unscored, record.outcome) == (None, "no_gold", "answered")


def test_circular_asks_every_rotation_and_passes() -> None:
    record = run_flow(circular_flow(SETTINGS, "early")(SAMPLE), knows("green"))
    assert (record.score, len(record.passes), record.saved) == (1.0, 4, 0)
    assert [one.gold for one in record.passes] == [("B",), ("C",), ("D",), ("A",)]


def test_circular_stops_at_the_first_failed_pass() -> None:
    record = ask(circular_flow(SETTINGS, "early")(SAMPLE), answering("B", "B"))
    assert (record.score, len(record.passes), record.saved) == (0.0, 2, 2)
    assert record.values == {"vanilla": 1.0}


def test_full_circular_asks_all_and_scores_the_same() -> None:
    record = ask(circular_flow(SETTINGS, "full")(SAMPLE), answering("B", "B", "B", "B"))
    assert (record.score, len(record.passes), record.saved) == (0.0, 4, 0)


def test_a_failed_pass_leaves_the_question_unscored() -> None:
    outputs = [Generated("B"), Failure("request", "server gone")]
    record = ask(circular_flow(SETTINGS, "early")(SAMPLE), outputs)
    assert (record.score, record.unscored) == (None, "failed")
    assert record.values == {"vanilla": 1.0}


def test_without_gold_all_passes_are_asked() -> None:
    hidden = Sample("7", "choice", "What color is it?", (), COLOURS)
    record = ask(circular_flow(SETTINGS, "early")(hidden), answering("A", "A", "A", "A"))
    assert (len(record.passes), record.unscored) == (4, "no_gold")


def test_rotations_of_the_file_are_used_and_named() -> None:
    own = Rotation("1000007", {"A": "green", "B": "red"}, "A")
    sample = Sample("7", "choice", "Which?", ("B",), {"A": "red", "B": "green"}, rotations=(own,))
    asked: list[Request] = []

    def answer(request: Request) -> Output:
        asked.append(request)
        return knows("green")(request)

    record = run_flow(circular_flow(SETTINGS, "early")(sample), answer)
    assert record.score == 1.0
    assert [request.ref.row for request in asked] == [None, "1000007"]


@pytest.mark.parametrize(
    "options",
    [
        {"A": "A", "B": "B", "C": "C"},
        {"A": "red", "B": "blue", "C": "both A and B"},
        {"A": "red", "B": "blue", "C": "None of the above"},
    ],
)
def test_sample_that_cannot_be_rotated_is_asked_once(options: dict[str, str]) -> None:
    sample = Sample("1", "choice", "Which?", ("A",), options)
    assert len(planned_passes(sample)) == 1
    record = ask(circular_flow(SETTINGS, "early")(sample), answering("A"))
    assert record.asked_once
    assert record.score == 1.0


def test_open_and_yes_no_under_circular_are_asked_once() -> None:
    sample = Sample("1", "yes_no", "Is there a cat?", ("Yes",))
    record = ask(circular_flow(SETTINGS, "early")(sample), answering("yes, there is"))
    assert (record.score, len(record.passes)) == (1.0, 1)


def test_the_request_offers_the_valid_replies() -> None:
    request = next(SinglePassFlow(SETTINGS)(SAMPLE))
    assert isinstance(request, Generate)
    assert request.choices == ("A", "B", "C", "D")


def test_the_outcome_is_that_of_the_pass_that_decided() -> None:
    replies = answering("B", "I cannot help with that request.", "D", "A")
    record = ask(circular_flow(SETTINGS, "full")(SAMPLE), replies)
    assert (record.outcome, record.score) == ("refused", 0.0)
