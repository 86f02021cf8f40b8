"""A few changed examples for every reader, the same in each run of the tests; `make fuzz` goes on
for longer."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from tests.fuzz.mutation import contents
from tests.fuzz.target import Broken, Target, check
from tests.fuzz.targets import TARGETS

EXAMPLES = 12
UNREAD = ("error-labels", "provider-ranks")
"""Their only examples are refused: an empty sheet, and the same reply to every candidate."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_gives_a_value_or_one_sentence(name: str) -> None:
    target = TARGETS[name]

    @settings(
        max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(contents(target))
    def holds(data: bytes) -> None:
        check(target, data)

    for seed in target.seeds:
        check(target, seed)
    holds()


@pytest.mark.parametrize("name", TARGETS)
def test_a_sound_example_is_read(name: str) -> None:
    target = TARGETS[name]
    assert target.name in UNREAD or check(target, target.seeds[0])


def test_check_finds_unstable_and_slow_readers() -> None:
    lot = random.Random(0)
    for read, message in ((lambda data: lot.random(), "read twice"), (lambda data: sum(range(10**6)), "took")):
        with pytest.raises(Broken, match=message):
            check(Target("x", read, (b"",), seconds=0.0 if message == "took" else 5.0), b"")
    with pytest.raises(ZeroDivisionError):
        check(Target("x", lambda data: 1 // len(data), (b"",)), b"")
