"""Spans of time as models write them."""

from __future__ import annotations

import pytest

from snellen.core.output import Answer, Misplaced, ParsedAnswer, Truncated, Unparsed
from snellen.core.place import load_places
from snellen.core.sample import Sample
from snellen.extract.places.read import parse_places

DURATION = 90.0


def read(text: str, count: int | None = 1, extent: tuple[float, ...] = (DURATION,)) -> Answer:
    sample = Sample("1", "place", "When?", extent=extent)
    return parse_places(text, "stop", sample, shape="span", count=count)


ONE = (
    # TencentARC/TimeLens, timelens/utils.py; the prompt of its evaluation
    "The event happens in 12.5 - 20.3 seconds.",
    "12.5 - 20.3 seconds",
    "12.5s - 20.3s",
    "12.5-20.3",
    "12.5 – 20.3 s",
    "from 12.5 to 20.3",
    "From 12.5 seconds to 20.3 seconds.",
    "between 12.5 and 20.3 seconds",
    "The start time for this event is 12.5 seconds, and the end time is 20.3 seconds.",
    "Starting time: 12.5 seconds. Ending time: 20.3 seconds",
    "It starts at about 12.5 s and ends at around 20.3 s",
    "[12.5, 20.3]",
    "(12.5, 20.3)",
    "[[12.5, 20.3]]",
    "<12.5 seconds> to <20.3 seconds>",
    # QwenLM/Qwen2.5-VL and Qwen3-VL, cookbooks/video_understanding.ipynb
    '```json\n[{"start_time": 12.5, "end_time": 20.3, "description": "a cat"}]\n```',
    '{"start": "12.5", "end": "20.3"}',
    '{"timestamps": [12.5, 20.3]}',
    "00:12.5 - 00:20.3",
    "0:12.5 to 0:20.3",
    "from 00:00:12.5 to 00:00:20.3",
    '{"start": "00:12.5", "end": "00:20.3"}',
    "<answer>12.5 to 20.3</answer>",
    "<think>1 - 2 seconds?</think>12.5 - 20.3",
    "The video is 90 seconds long. The cat jumps from 12.5 to 20.3 seconds.",
    "**12.5s** – **20.3s**",
    "00:12.5 - 00:20.3 (12.5 - 20.3 s)",
    '{"end": 20.3, "start": 12.5}',
    "It ends at 20.3 seconds and starts at 12.5 seconds.",
    "It starts at 12.5 s and lasts 7.8 s.",
    "1. Start: 12.5\n2. End: 20.3",
    "事件发生在12.5秒到20.3秒。",
    "从00:12.5到00:20.3",
    "00:00:12,500 --> 00:00:20,300",
    "12500 ms to 20300 ms",
    "12.5 秒到 20.3 秒",
)


@pytest.mark.parametrize("text", ONE)
def test_span_is_read(text: str) -> None:
    answer = read(text)
    assert isinstance(answer, ParsedAnswer), answer
    places = load_places(answer.value)
    assert places.spans == (pytest.approx((12.5, 20.3)),)
    assert places.extent == (DURATION,)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("1:05 - 1:20", (65, 80)),
        ("1 min 5 s to 1 min 20 s", (65, 80)),
        ("1m5s - 1m20s", (65, 80)),
        ("1 minute and 5 seconds - 1 minute and 20 seconds", (65, 80)),
        ("1 - 1.5 minutes", (60, 90)),
        ("0 to 12", (0, 12)),
        ("1ſ - 2ſ", (1, 2)),
    ],
)
def test_clock_and_minutes(text: str, span: tuple[float, float]) -> None:
    answer = read(text)
    assert isinstance(answer, ParsedAnswer)
    assert load_places(answer.value).spans == (pytest.approx(span),)


def test_a_repeated_span_is_one_place() -> None:
    answer = read("1 - 2 s, 5 - 6 s, 3 - 4 s, 1 - 2 s", count=2)
    assert isinstance(answer, Misplaced)
    assert answer.problem == "other_count"
    answer = read("5 - 6 s, 1 - 2 s, that is 5 - 6 s", count=2)
    assert isinstance(answer, ParsedAnswer)
    assert load_places(answer.value).spans == ((1, 2), (5, 6))
    assert answer.span == (9, 33)


def test_several_spans_with_labels() -> None:
    for text in ("[[1, 2], [3, 4]]", "1 - 2 s, 3 - 4 s", "from 1 to 2 and from 3 to 4", "0:01-0:02; 0:03-0:04"):
        answer = read(text, count=None)
        assert isinstance(answer, ParsedAnswer)
        assert load_places(answer.value).spans == ((1, 2), (3, 4)), text
    captions = '[{"start": 1, "end": 2, "label": "a"}, {"start": 3, "end": 4, "label": "b"}]'
    answer = read(captions, count=None)
    assert isinstance(answer, ParsedAnswer)
    assert load_places(answer.value).labels == ("a", "b")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("frames 20 to 40", "other_space"),
        ("10% - 50%", "other_space"),
        ("20 - 12 seconds", "malformed_place"),
        ("nan - 12 seconds", "malformed_place"),
        ("[80, 120]", "outside"),
        ("[[1, 2], [3, 4]]", "other_count"),
        ("[]", "other_count"),
    ],
)
def test_other_outcomes(text: str, problem: str) -> None:
    answer = read(text)
    assert isinstance(answer, Misplaced), answer
    assert answer.problem == problem


@pytest.mark.parametrize("text", ["At the end.", "5 seconds", "12,5 - 20,3", "It has 3 cats, 2 dogs and 1 bird."])
def test_no_span(text: str) -> None:
    assert isinstance(read(text), Unparsed)


def test_number_that_may_be_cut_does_not_count() -> None:
    sample = Sample("1", "place", "When?", extent=(DURATION,))
    answer = parse_places("The event happens in 12.5 - 20", "length", sample, shape="span")
    assert isinstance(answer, Truncated)


def test_a_second_beyond_the_end_is_allowed() -> None:
    assert isinstance(read("80 - 91.5"), ParsedAnswer)


def test_without_a_duration_no_span_is_too_late() -> None:
    assert isinstance(read("80 - 5000", extent=()), ParsedAnswer)
