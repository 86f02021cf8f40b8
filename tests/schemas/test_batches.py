"""Bodies of batch endpoints are those that the providers' clients judged, and their verdict is clean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.schemas.batches import KEYS, STORED, digest_of, sent


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def test_bodies_are_those_that_were_judged(stored: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, "sk-a-key-of-tests-0123456789")
    assert stored["digest"] == digest_of(sent()), "python -m tests.schemas.batches --write judges them anew"


def test_no_body_has_a_field_that_a_client_does_not_know(stored: dict[str, Any]) -> None:
    assert not stored["problems"]
    assert not stored["unknown"]
    # Each body with an unknown field was refused: the oracle is not blind.
    assert stored["refused"] == stored["bodies"] == 9


def test_each_client_reads_the_server_of_the_tests(stored: dict[str, Any]) -> None:
    read = stored["read"]
    named = [{"snellen": "name"}]
    assert read["openai"] == ["completed", 2, ["A", "B"], named]
    assert read["mistral"] == ["SUCCESS", 2, ["A", "B"], named]
    assert read["anthropic"] == ["ended", 2, ["A", "B"], [2]]
    done = "JOB_STATE_SUCCEEDED"
    assert read["google"] == [done, ["A", "B"], [{"key": "k0"}, {"key": "k1"}], done, ["A", "B"], ["name", "other"]]
