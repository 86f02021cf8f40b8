"""The published readers of places take every reply, and what they read can be stored."""

from __future__ import annotations

import json

import pytest

from snellen.core.output import Answer, ParsedAnswer
from snellen.core.place import Box, Places, load_places
from snellen.core.sample import Sample
from snellen.extract.published import boxes, points, spans

READERS = [
    reader
    for module in (boxes, points, spans)
    for name, reader in vars(module).items()
    if name.startswith("parse_") and "yes_no" not in name and name != "parse_literal"
]
_LONG = "9" * 400
REPLIES = (
    "",
    " ",
    _LONG,
    f"({_LONG}, {_LONG})",
    f"[{_LONG}, 1, 2, 3]",
    f"({_LONG}, 1.0, 2.0, 3.0)",
    f"{_LONG} - {_LONG}1",
    f"x={_LONG}, y=1",
    '{"bbox_2d": [NaN, Infinity, -Infinity, 1]}',
    '{"bbox_2d": ["a", null, [], {}]}',
    '[{"bbox_2d": [[1, 2], [3, 4], 5, 6], "label": {}}]',
    '[{"point_2d": ["a", "b"]}]',
    '[{"point_2d": [null, 5]}]',
    '```json\n[{"point_2d": [NaN, 5]}]\n```',
    '```json\n[5, "point_2d", null]\n```',
    '```json\n{"point_2d": 5}\n```',
    '[{"point": 5}]',
    "[(1, 2",
    "[[[[[[",
    "{" * 500,
    '{"a": ' * 200,
    "(1.5.2, 3)",
    "99:99:99 - 00:00",
    '<points x1="1.2.3" y1="4"/>',
)


def read(reader: object, reply: str) -> Answer:
    gold = Places(boxes=(Box(1, 2, 30, 40),), labels=("dog",), extent=(64.0, 48.0)).text()
    sample = Sample("1", "place", "where?", gold=(gold,), extent=(64.0, 48.0))
    answer: Answer = reader(reply, "stop", sample, ())  # type: ignore[operator]
    return answer


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_every_reply_is_an_answer_or_none(reader: object) -> None:
    for reply in REPLIES:
        answer = read(reader, reply)
        if isinstance(answer, ParsedAnswer):
            assert json.loads(answer.value)["extent"] == [64.0, 48.0], reply
            load_places(answer.value)


def test_all_readers_are_here() -> None:
    assert len(READERS) >= 14
