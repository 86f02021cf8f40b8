"""Open questions whose answers earn a part: the shared room that string metrics build on."""

from __future__ import annotations

import pytest

from snellen.benchmarks.protocol.flows import AskConfig, OpenScoring, SinglePassFlow
from snellen.core.output import Empty, Failure, Generated, Output, ParsedAnswer, Truncated
from snellen.core.record import Record, run_flow
from snellen.core.request import Generation
from snellen.core.sample import Sample
from snellen.extract.open_text import parse_final, parse_raw, parse_whole
from snellen.scoring.accuracy import summarise
from snellen.stats.intervals import score_interval, wilson

SAMPLE = Sample("7", "open", "Which word?", ("snellen",), unit="chart 1")


def shared_letters(answer: str, sample: Sample) -> float:
    gold = set(sample.gold[0])
    return len(gold & set(answer)) / len(gold | set(answer))


def length(answer: str, sample: Sample) -> float:
    return min(1.0, len(answer) / 10)


MANNER = AskConfig(Generation(max_new_tokens=16), open=OpenScoring(parse_final, shared_letters, {"length": length}))


def asked(output: Output, sample: Sample = SAMPLE) -> Record:
    return run_flow(SinglePassFlow(MANNER)(sample), lambda request: output)


def test_an_answer_may_earn_a_part() -> None:
    record = asked(Generated("snel"))
    assert (record.score, record.outcome, record.unit) == (1.0, "answered", "chart 1")
    record = asked(Generated("sn"))
    assert (record.score, record.passes[0].credit, record.passes[0].correct) == (0.5, 0.5, False)
    assert record.values == {"length": 0.2}


@pytest.mark.parametrize(("reply", "outcome"), [("", "empty"), ("  \n", "empty")])
def test_no_answer_earns_nothing_of_any_metric(reply: str, outcome: str) -> None:
    record = asked(Generated(reply))
    assert (record.score, record.outcome, record.values) == (0.0, outcome, {"length": 0.0})


def test_ungraded_records_have_no_values() -> None:
    failed = asked(Failure("request", "no answer"))
    hidden = asked(Generated("snel"), Sample("7", "open", "Which word?"))
    assert (failed.score, failed.values, failed.unscored) == (None, {}, "failed")
    assert (hidden.score, hidden.values, hidden.unscored) == (None, {}, "no_gold")


def test_headline_is_the_mean_of_the_parts_with_secondary_values() -> None:
    records = [asked(Generated("sn")), asked(Generated("snel")), asked(Generated(""))]
    summary = summarise(records, headline="letters", secondary=("length",))
    assert summary.headline.value == pytest.approx(50.0)
    assert summary.metrics["length"].value == pytest.approx(20.0)
    assert summary.beside == ("length",)


def test_samples_of_one_unit_widen_the_interval() -> None:
    scores = [1.0, 1.0, 0.5, 0.5, 0.0, 0.0] * 5
    together = score_interval(scores, [f"{i // 2}" for i in range(30)])
    apart = score_interval(scores, [""] * 30)
    assert together is not None
    assert apart is not None
    assert together.high - together.low > 1.3 * (apart.high - apart.low)


def test_intervals_stay_on_the_scale_and_never_claim_certainty() -> None:
    near = score_interval([1.0, 1.0, 1.0, 0.2], [""] * 4)
    same = score_interval([0.5] * 8, [""] * 8)
    assert near is not None
    assert 0.8 < near.high < 1.0
    assert same is not None
    assert same.high - same.low > 0.3
    right = [1.0, 0.0, 1.0]
    assert score_interval(right, [""] * 3) == score_interval(right) == wilson(2, 3)
    assert score_interval([0.0, 0.5], ["a", "a"]) is None


@pytest.mark.parametrize(
    ("reply", "stop", "final", "whole"),
    [
        ("Red.", "stop", ParsedAnswer("Red.", "whole reply", (0, 4)), "Red."),
        ("<think>blue?</think>\nred", "stop", ParsedAnswer("red", "whole reply", (21, 24)), "red"),
        ("It shows \\boxed{42}.", "stop", ParsedAnswer("42", "boxed", (16, 18)), "It shows \\boxed{42}."),
        ("red</s>", "stop", ParsedAnswer("red", "whole reply", (0, 3)), "red"),
        ("<think>blue or", "length", Truncated(), None),
        (" ", "stop", Empty(), None),
    ],
)
def test_readings_of_open_replies(reply, stop, final, whole) -> None:
    assert parse_final(reply, stop) == final
    read = parse_whole(reply, stop)
    assert (read.value if isinstance(read, ParsedAnswer) else None) == whole


def test_the_raw_reply_keeps_the_white_space_around_it() -> None:
    assert parse_raw(" the answer is 5.\n", "length") == ParsedAnswer(" the answer is 5.\n", "raw reply")
