"""Log-likelihoods from a server are those of the same model in process."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from asking_remote import ask, picture, question, ranking
from standin_server import StandIn
from true_logprobs import TrueLogprobs

from snellen.core.errors import ModelError
from snellen.core.output import CandidateScore, Failure, Ranked, Usage
from snellen.models.naming.registry import open_model

WORDS = ("red", "blue", "a red circle", "two")


@pytest.fixture(scope="module")
def tiny() -> Any:
    return open_model("snellen/tiny:device=cpu,dtype=float32,batch_size=4")


def ranked(output: object) -> tuple[CandidateScore, ...]:
    assert isinstance(output, Ranked)
    return output.candidates


@pytest.mark.parametrize("colour", ["red", "blue"])
def test_a_chat_with_a_picture(server: StandIn, tiny: Any, colour: str) -> None:
    request = ranking(picture(colour, size=(64, 64)), "Which colour is the shape?", candidates=WORDS)
    server.handler = TrueLogprobs(tiny)
    [output] = ask(f"{server.url}#tiny:rank=prompt_logprobs", request)
    [here] = tiny.answer_batch([request])
    for there, own in zip(ranked(output), ranked(here), strict=True):
        assert there.tokens == own.tokens
        assert there.logprob == pytest.approx(own.logprob, abs=1e-3)
    assert len(server.asked) == 1 + len(WORDS)
    assert isinstance(output, Ranked)
    assert isinstance(here, Ranked)
    assert output.usage is not None
    assert here.usage is not None
    # A server reads, and bills, the whole prompt for every candidate; in process it is read once.
    assert output.usage.prompt_tokens > 4 * here.usage.prompt_tokens
    assert output.usage.completion_tokens == 1 + len(WORDS)


def test_an_echoed_completion(server: StandIn, tiny: Any) -> None:
    scorer = TrueLogprobs(tiny)
    server.handler = scorer
    request = ranking("The shape is", candidates=(" red", " two"))
    [output] = ask(f"{server.url}#tiny:rank=echo", request)
    context = scorer._scored("The shape is", ())[0]
    for candidate, found in zip(request.candidates, ranked(output), strict=True):
        ids, values = scorer._scored("The shape is" + candidate, ())
        shared = next((i for i, pair in enumerate(zip(ids, context, strict=False)) if pair[0] != pair[1]), len(context))
        assert found.tokens == len(ids) - shared
        assert found.logprob == pytest.approx(sum(values[shared - 1 :]), abs=1e-3)


def test_the_usage_of_a_ranking_is_that_of_all_its_requests(server: StandIn, tiny: Any) -> None:
    scorer = TrueLogprobs(tiny)

    async def billed(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        usage = {"prompt_tokens": len(asked["prompt"]), "completion_tokens": 1}
        return web.json_response({**scorer._echo(asked), "usage": usage})

    server.handler = billed
    [output] = ask(f"{server.url}#tiny:rank=echo", ranking("It is", candidates=(" red", " two")))
    assert isinstance(output, Ranked)
    assert output.usage == Usage(len("It is") + 2 * len("It is red"), 3)


def test_ranking_must_be_switched_on(server: StandIn) -> None:
    request = ranking("?", candidates=("a", "b"))
    [output] = ask(f"{server.url}#tiny", request)
    assert isinstance(output, Failure)
    assert output.kind == "unsupported"
    assert not open_model(f"{server.url}#tiny").capabilities.log_likelihood
    assert open_model(f"{server.url}#tiny:rank=echo").capabilities.log_likelihood


def test_echo_sees_no_pictures(server: StandIn) -> None:
    request = ranking(picture(), "?", candidates=("a", "b"))
    [output] = ask(f"{server.url}#tiny:rank=echo", request)
    assert isinstance(output, Failure)
    assert output.kind == "unsupported"


@pytest.mark.parametrize("way", ["echo", "prompt_logprobs"])
def test_a_server_that_gives_none(server: StandIn, way: str) -> None:
    with pytest.raises(ModelError, match=f"does not know rank={way}"):
        ask(f"{server.url}#tiny:rank={way}", ranking("?", candidates=("a", "b")))


def test_text_completions(server: StandIn) -> None:
    first = {"A": -0.1, "B": -2.0}
    choice = {"text": " A.", "finish_reason": "stop", "logprobs": {"top_logprobs": [first]}}
    server.says({"choices": [choice]})
    [output] = ask(f"{server.url}#tiny:endpoint=completions", question("one", "two", logprobs=2))
    assert server.paths == ["/v1/completions"]
    assert server.asked[0]["prompt"] == "one\ntwo"
    assert server.asked[0]["logprobs"] == 2
    assert getattr(output, "text", "") == "A."
    assert getattr(output, "first_logprobs", {}) == first
