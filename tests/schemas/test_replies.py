"""Examples of replies from descriptions of APIs and from clients' tests, read to their outcomes."""

from __future__ import annotations

import copy
import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.schemas.reading import outcome_of

from snellen.core.errors import ModelError
from snellen.models.remote.errors import error_from_status

FOLDER = Path(__file__).parent
FILES = sorted((FOLDER / "replies").glob("*.json"))
OUTCOMES = tomllib.loads((FOLDER / "outcomes.toml").read_text(encoding="utf-8"))
REASONS = json.loads((FOLDER / "finish_reasons.json").read_text(encoding="utf-8"))
_DIALECTS = {name: name for name in ("anthropic", "converse", "google", "google-blocked")}


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def examples() -> list[tuple[str, dict[str, Any]]]:
    return [(stored["dialect"], each) for stored in map(load, FILES) for each in stored["examples"]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_examples_come_to_their_outcomes(path: Path) -> None:
    stored = load(path)
    assert stored["repository"]
    assert stored["licence"] in ("MIT", "Apache-2.0")
    assert len(stored["commit"]) == 40
    for number, example in enumerate(stored["examples"]):
        expected = dict(example["expected"])
        if "text" in expected:
            expected["text"] = expected["text"].strip()
        found = outcome_of(stored["dialect"], example)
        assert {key: found.get(key) for key in expected} == expected, f"example {number} of {example['from']}"


def test_every_outcome_occurs() -> None:
    counted = Counter(example["expected"]["outcome"] for _, example in examples())
    assert counted.keys() == {"answered", "refused", "truncated", "empty", "failed"}
    assert sum("tokens" in example["expected"] for _, example in examples()) > 50


def reply(dialect: str, text: str | None, finish: str) -> dict[str, Any]:
    """A reply that ends for a reason, as its API describes it."""
    if dialect == "google-blocked":
        return {"promptFeedback": {"blockReason": finish}}
    if dialect == "google":
        parts = [] if text is None else [{"text": text}]
        return {"candidates": [{"content": {"parts": parts}, "finishReason": finish}]}
    if dialect == "converse":
        content = [] if text is None else [{"text": text}]
        return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": finish}
    if dialect == "anthropic":
        return {"content": [] if text is None else [{"type": "text", "text": text}], "stop_reason": finish}
    return {"choices": [{"index": 0, "message": {"content": text}, "finish_reason": finish}]}


@pytest.mark.parametrize("client", REASONS)
def test_each_reason_to_end_has_its_outcome(client: str) -> None:
    dialect = _DIALECTS.get(client, "chat")
    table = OUTCOMES[dialect]
    for finish in REASONS[client]["values"]:
        expected = [table["outcome"]] * 2 if dialect == "google-blocked" else table[finish]
        found = [
            outcome_of(dialect.removesuffix("-blocked"), {"reply": reply(dialect, text, finish)})["outcome"]
            for text in ("A", None)
        ]
        assert found == expected, finish


def test_reasons_are_those_of_the_places() -> None:
    assert REASONS.keys() == OUTCOMES["places"].keys()
    assert all(found["values"] for found in REASONS.values())


@pytest.mark.parametrize(("status", "kind"), OUTCOMES["statuses"].items())
def test_statuses_are_their_kinds_of_failure(status: str, kind: str) -> None:
    error = error_from_status(int(status), {}, b'{"error": {"message": "it was not to be"}}')
    assert isinstance(error, ModelError)
    assert error.kind == kind


@pytest.mark.parametrize("what", ["cut off", "without its end", "text of a wrong type", "without a usage"])
def test_changed_replies_change_their_outcome(what: str) -> None:
    """The control: an expectation that held for any reply would prove nothing."""
    changed = 0
    for dialect, example in examples():
        if example["expected"]["outcome"] != "answered" or ("stream" in example and what != "without its end"):
            continue
        other = copy.deepcopy(example)
        if not _change(dialect, other, what):
            continue
        expected, found = example["expected"], outcome_of(dialect, other)
        assert any(found.get(key) != value for key, value in expected.items() if key != "text"), (example["from"], what)
        changed += 1
    assert changed >= 8


def _change(dialect: str, example: dict[str, Any], what: str) -> bool:
    """Whether the change could be made in this example."""
    if what == "without its end":
        if "stream" not in example:
            return False
        ends = ("finish_reason", "message_delta", "finishReason")
        example["stream"] = [chunk for chunk in example["stream"] if not _ends(chunk, ends)]
        return True
    found = example["reply"]
    if what == "without a usage":
        return bool(example["expected"].get("tokens", [0])[0]) and found.pop("usage", None) is not None
    if dialect == "anthropic":
        holder, cut = found, {"stop_reason": "max_tokens"}
        text = next(block for block in found["content"] if block["type"] == "text")
    elif dialect == "google":
        holder, cut = found["candidates"][0], {"finishReason": "MAX_TOKENS"}
        text = found["candidates"][0]["content"]["parts"][-1]
    else:
        holder, cut = found["choices"][0], {"finish_reason": "length"}
        text = holder if "text" in holder else holder["message"]
    if what == "cut off":
        holder |= cut
    else:
        text["text" if "text" in text else "content"] = 5
    return True


def _ends(chunk: dict[str, Any], ends: tuple[str, ...]) -> bool:
    if chunk.get("type") == "message_delta":
        return True
    return any(choice.get(end) for choice in chunk.get("choices") or chunk.get("candidates") or () for end in ends)
