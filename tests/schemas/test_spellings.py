"""Fields that providers spell otherwise than OpenAI, as their descriptions and clients have them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.schemas.shapes import all_shapes, decoded

from snellen.core.errors import UsageError
from snellen.models.remote.chat import Chat
from snellen.models.remote.connect import connect


def bodies(provider: str, *words: str) -> list[dict[str, Any]]:
    """The bodies of a provider whose shapes are named by all these words."""
    found = [decoded(shape) for shape in all_shapes(provider) if all(word in shape.name for word in words)]
    assert found
    return found


def test_text_completions_of_openai_are_limited_by_their_own_field() -> None:
    for body in bodies("openai", "logprobs", ", completions"):
        assert "max_completion_tokens" not in body
        assert body["max_tokens"]
        assert body["logprobs"] <= 5


def test_together_counts_the_log_probabilities_and_has_two_sides() -> None:
    [body, *_] = bodies("together", "text, five logprobs, plain")
    assert (body["logprobs"], "top_logprobs" in body) == (5, False)
    [body] = bodies("together", "drawing of a size by images, text")
    assert (body["width"], body["height"], "size" in body) == (1024, 1536, False)


def test_log_probabilities_of_together_are_read() -> None:
    logprobs = {"tokens": ["A"], "token_logprobs": [-0.1], "top_logprobs": [{"A": -0.1, "B": -2.5}]}
    reply = {"choices": [{"message": {"content": "A"}, "finish_reason": "stop", "logprobs": logprobs}]}
    assert Chat().parse_reply(reply).first_logprobs == {"A": -0.1, "B": -2.5}
    without = {**logprobs, "top_logprobs": None}
    reply["choices"][0]["logprobs"] = without
    assert Chat().parse_reply(reply).first_logprobs == {}


def test_mistral_has_a_seed_of_its_own_name() -> None:
    for body in bodies("mistral", "text, seed, plain"):
        assert (body["random_seed"], "seed" in body) == (7, False)


@pytest.mark.parametrize("provider", ["mistral", "zhipu", "together", "fireworks"])
def test_streams_that_end_with_their_usage_anyway(provider: str) -> None:
    assert all("stream_options" not in body for body in bodies(provider, ", stream"))
    assert all("stream_options" in body for body in bodies("openai", "text, greedy, stream"))


def test_a_number_of_tokens_for_reasoning() -> None:
    [body, *_] = bodies("openrouter", "text, greedy, effort 2048")
    assert body["reasoning"] == {"max_tokens": 2048}
    for provider in ("openai", "xai", "vllm"):
        with pytest.raises(UsageError, match="expected a word"):
            connect(provider, "some-model", {"reasoning_effort": "2048", "base_url": "http://127.0.0.1:9/v1"})
