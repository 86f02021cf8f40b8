"""The JSON value that a reply gives as its answer."""

import json

import pytest

from snellen.core.output import ParsedAnswer, Refused, Truncated, Unparsed
from snellen.extract.json_reply import parse_json_reply

VALUE = {"total": "9.00", "items": [{"name": 'a "b" }', "n": 1}]}
TEXT = json.dumps(VALUE)


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        (TEXT, "whole reply"),
        (json.dumps(VALUE, indent=2), "whole reply"),
        (str(VALUE), "whole reply"),
        (f"```json\n{TEXT}\n```", "JSON in a fence"),
        (f"First:\n```\n{{}}\n```\nThen:\n```json\n{TEXT}\n```", "JSON in a fence"),
        (f"Here it is: {TEXT} - all of it.", "JSON in the text"),
        (f'I saw {{"x": 1}} and so: {TEXT}', "JSON in the text"),
        (f'The 5" screen says: {TEXT}', "JSON in the text"),
        (f"The [important] thing: {TEXT}", "JSON in the text"),
        (f"<think>maybe {{'x': 1}}</think>{TEXT}", "whole reply"),
    ],
)
def test_value_of_a_reply(reply: str, rule: str) -> None:
    answer = parse_json_reply(reply)
    assert isinstance(answer, ParsedAnswer)
    assert json.loads(answer.value) == VALUE
    assert answer.rule == rule


@pytest.mark.parametrize("cut", range(2, len(TEXT) - 1))
def test_no_part_of_a_cut_value_counts(cut: int) -> None:
    assert isinstance(parse_json_reply(TEXT[:cut], "length"), Truncated)
    assert isinstance(parse_json_reply(f"So: {TEXT[:cut]}"), Unparsed)


@pytest.mark.parametrize("reply", ["9.00", '"9.00"', "I cannot see it. {", "{'a': {1, 2}}", '{"a": NaN}', "[" * 5000])
def test_other_replies_have_no_value(reply: str) -> None:
    assert not isinstance(parse_json_reply(reply), ParsedAnswer)


def test_a_refusal_is_none() -> None:
    assert isinstance(parse_json_reply("I'm sorry, but I can't help with that."), Refused)
    assert isinstance(parse_json_reply(f"I'm sorry, I can't read the date: {TEXT}"), ParsedAnswer)
