"""Answers in words, as people read them."""

from __future__ import annotations

import pytest

from snellen.core.answer_text import answer_text


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ('{"paid": true, "tip": null, "sum": 3}', "paid: true; sum: 3"),
        ('{"items": [{"new": false}, {"new": "False"}]}', "items[].new: false; items[].new: False"),
        ("[1.5, true]", "[]: 1.5; []: true"),
    ],
)
def test_values_of_records_are_spelled_as_in_json(record: str, text: str) -> None:
    assert answer_text(record, "fields") == text
