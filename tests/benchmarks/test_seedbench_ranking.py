"""Answer ranking as a flow: order-free, both normalisations, failures typed."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import pytest

from snellen.benchmarks.protocol.ranking import SUM, ranked_flow
from snellen.core.output import CandidateScore, Failure, Generated, Output, Ranked
from snellen.core.record import Record, run_flow
from snellen.core.request import Rank, Request
from snellen.core.sample import Sample

TEXTS = ("red", "green", "dark blue", "yellow")
SCORES = {
    "red": CandidateScore(-3.0, 1),
    "green": CandidateScore(-4.0, 1),
    "dark blue": CandidateScore(-5.0, 2),
    "yellow": CandidateScore(-9.0, 3),
}
"""The mean favours "dark blue" (-2.5), the sum "red" (-3)."""


def sample(texts: tuple[str, ...] = TEXTS, gold: str | None = "dark blue") -> Sample:
    options = dict(zip("ABCD", texts, strict=False))
    label = next((label for label, text in options.items() if text == gold), None)
    return Sample("1", "choice", "What color?", (label,) if label else (), options)


def answer(request: Request) -> Output:
    assert isinstance(request, Rank)
    return Ranked(tuple(SCORES[text] for text in request.candidates))


def test_scores_by_mean_and_by_sum() -> None:
    record = run_flow(ranked_flow(sample()), answer)
    assert (record.answer, record.score, record.values) == ("C", 1.0, {SUM: 0.0})
    record = run_flow(ranked_flow(sample(gold="red")), answer)
    assert (record.answer, record.score, record.values) == ("C", 0.0, {SUM: 1.0})


def test_the_order_of_the_options_changes_nothing() -> None:
    requests: list[Request] = []

    def noting(request: Request) -> Output:
        requests.append(request)
        return answer(request)

    records = [run_flow(ranked_flow(sample(order)), noting) for order in permutations(TEXTS)]
    assert {record.options[record.answer or ""] for record in records} == {"dark blue"}
    assert {(record.score, record.values[SUM]) for record in records} == {(1.0, 0.0)}
    assert {(one.messages, one.candidates) for one in requests if isinstance(one, Rank)} == {
        (requests[0].messages, tuple(sorted(TEXTS)))
    }
    for record in records:
        shown = record.passes[0].output
        assert isinstance(shown, Ranked)
        assert shown.candidates == tuple(SCORES[text] for text in record.options.values())


def test_the_question_is_shown_without_options() -> None:
    flow = ranked_flow(sample())
    request = next(flow)
    assert request.messages[0].text() == "What color?"


def test_equal_texts_are_one_answer() -> None:
    record = run_flow(ranked_flow(sample(("red", "dark blue", "dark blue", "green"))), answer)
    assert (record.answer, record.score) == ("B", 1.0)
    twice = Sample("1", "choice", "?", ("B",), {"A": "dark blue", "B": "dark blue"})
    assert run_flow(ranked_flow(twice), answer).score == 1.0


def test_candidate_without_tokens_is_never_chosen() -> None:
    def silent(request: Request) -> Output:
        assert isinstance(request, Rank)
        return Ranked(tuple(CandidateScore(0.0, 0) if t == "red" else SCORES[t] for t in request.candidates))

    assert run_flow(ranked_flow(sample()), silent).answer == "C"


def test_ranking_without_gold_is_unscored() -> None:
    record = run_flow(ranked_flow(sample(gold=None)), answer)
    assert (record.answer, record.score, record.unscored) == ("C", None, "no_gold")


@pytest.mark.parametrize("kind", ["nan", "out_of_memory", "unsupported"])
def test_failure_is_not_a_wrong_answer(kind: Any) -> None:
    record: Record = run_flow(ranked_flow(sample()), lambda _: Failure(kind, "why"))
    assert (record.score, record.unscored, record.outcome) == (None, "failed", "failed")
    assert (record.failure, record.values) == (kind, {})


@pytest.mark.parametrize(("letter", "score"), [("C", 1.0), ("A", 0.0), ("dark blue", 1.0)])
def test_recorded_letters_are_read(letter: str, score: float) -> None:
    record = run_flow(ranked_flow(sample()), lambda _: Generated(letter))
    assert (record.score, record.values) == (score, {})


def test_scores_that_are_not_numbers_become_failures() -> None:
    from snellen.core.request import Ref
    from snellen.engine.loop.request_broker import check_output

    request = Rank(messages=(), ref=Ref("1"), candidates=("a", "b"))
    for bad in (math.nan, -math.inf):
        output = check_output(request, Ranked((CandidateScore(bad, 1), CandidateScore(-1.0, 1))))
        assert isinstance(output, Failure)
        assert output.kind == "nan"
    good = Ranked((CandidateScore(-2.0, 1), CandidateScore(-1.0, 1)))
    assert check_output(request, good) is good
    misplaced = check_output(request, Generated("B"))
    assert isinstance(misplaced, Failure)
    assert misplaced.kind == "unsupported"


def test_outputs_that_do_not_fit_become_failures() -> None:
    from snellen.core.output import Compared, Drawn
    from snellen.core.request import Compare, Draw, Ref
    from snellen.engine.loop.request_broker import check_output

    draw = Draw(messages=(), ref=Ref("1"))
    compare = Compare(picture="a", candidates=("b", "c"), ref=Ref("1"))
    cases: list[tuple[Request, Output, str]] = [
        (draw, Drawn(()), "drew nothing"),
        (draw, Drawn(("a",)), "did not return"),
        (compare, Compared((0.5,)), "1 scores came back for 2 candidates"),
        (compare, Compared((0.5, math.nan)), "finite"),
    ]
    for request, output, message in cases:
        found = check_output(request, output)
        assert isinstance(found, Failure)
        assert message in found.message
    whole = Drawn(("a",), data={"a": b"1"})
    assert check_output(draw, whole) is whole
