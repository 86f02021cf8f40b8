"""A model behind the user's own OpenAI client: the library's real client, a server on loopback."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from aiohttp import web
from asking_remote import picture, question
from standin_server import StandIn, chat_reply

import snellen
from snellen.core.errors import ModelError, UsageError
from snellen.core.model import Identity, RemoteModel
from snellen.core.output import Generated, Output
from snellen.core.request import Request, Sampling
from snellen.models.naming.registry import open_model

KEY = "sk-of-the-test-0123456789"
ROWS = "".join(f"{name}\tWhich {name}?\tred\tblue\tA\n" for name in "abcd")


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "questions.tsv"
    path.write_text("index\tquestion\tA\tB\tanswer\n" + ROWS)
    return str(path)


def plain(server: StandIn, **how: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key=KEY, base_url=server.url, **how)


def asynchronous(server: StandIn, **how: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key=KEY, base_url=server.url, **how)


def azure(server: StandIn) -> openai.AzureOpenAI:
    return openai.AzureOpenAI(api_key=KEY, azure_endpoint=server.url, api_version="2024-10-21")


def async_azure(server: StandIn) -> openai.AsyncAzureOpenAI:
    return openai.AsyncAzureOpenAI(api_key=KEY, azure_endpoint=server.url, api_version="2024-10-21")


def with_client_of_its_own(server: StandIn) -> openai.AsyncOpenAI:
    return asynchronous(server, http_client=openai.DefaultAsyncHttpxClient())


def wrapped(client: Any, **options: Any) -> RemoteModel:
    model = snellen.wrap_model(client, "tiny", **options)
    assert isinstance(model, RemoteModel)
    return model


def answer(model: RemoteModel, request: Request) -> Output:
    async def main() -> Output:
        try:
            return await model.answer(request)
        finally:
            await model.close()

    return asyncio.run(main())


FORMS = [plain, asynchronous, azure, async_azure, with_client_of_its_own]


@pytest.mark.parametrize("make", FORMS)
def test_client_sends_the_same_request_as_an_address(server: StandIn, make: Callable[[StandIn], Any]) -> None:
    request = question(picture(), "What colour?", max_new_tokens=9, temperature=0.5, seed=3)
    by_address = open_model(f"{server.url}#tiny")
    assert isinstance(by_address, RemoteModel)
    expected = answer(by_address, request)
    model = wrapped(make(server))
    # Twice, in two event loops, as two runs do it.
    outputs = [answer(model, request) for _ in range(2)]
    assert all(isinstance(each, Generated) for each in outputs)
    assert {each.text for each in outputs if isinstance(each, Generated)} == {"A"}
    assert isinstance(expected, Generated)
    assert outputs[0].usage == expected.usage
    own, *others = server.asked
    for asked in others:
        if "azure" in make.__name__:  # whose profile has the newer field
            asked["max_tokens"] = asked.pop("max_completion_tokens")
        assert asked == own


@pytest.mark.parametrize("make", FORMS)
def test_a_run_keeps_the_client_open(
    server: StandIn, make: Callable[[StandIn], Any], data: str, tmp_path: Path
) -> None:
    client = make(server)
    for name in ("one", "other"):
        (run,) = snellen.evaluate(snellen.wrap_model(client, "tiny"), data, out=tmp_path / name, html=False).runs
        assert run.info.status == "complete"
        assert run.report().summary.headline.value == 100.0
        assert run.info.spent["model"].usage.prompt_tokens == 4 * 12
    messages = [{"role": "user", "content": "still there?"}]

    async def ask_once_more() -> Any:
        async with client:
            return await client.chat.completions.create(model="tiny", messages=messages)

    if isinstance(client, openai.AsyncOpenAI):
        later = asyncio.run(ask_once_more())
    else:
        with client:
            later = client.chat.completions.create(model="tiny", messages=messages)
    assert later.choices[0].message.content == "A"


def test_headers_query_and_key_are_the_clients(server: StandIn) -> None:
    server.key = KEY
    client = plain(server, default_headers={"X-Team": "vision"}, default_query={"tier": "1"})
    answer(wrapped(client), question("Which?"))
    headers = {name.lower(): value for name, value in server.headers[-1].items()}
    assert headers["x-team"] == "vision"
    assert server.paths[-1].endswith("/chat/completions?tier=1")


def test_azure_is_asked_at_its_deployment(server: StandIn) -> None:
    answer(wrapped(azure(server)), question("Which?"))
    assert server.paths[-1] == ("/v1/openai/deployments/tiny/chat/completions?api-version=2024-10-21")
    assert server.headers[-1]["api-key"] == KEY


@pytest.mark.parametrize("make", [plain, asynchronous])
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, "rate_limit"),
        (500, {"error": {"message": "oops"}}, "server"),
        (401, {"error": {"message": f"bad key {KEY}"}}, "authentication"),
        (400, {"error": {"code": "context_length_exceeded", "message": "too long"}}, "too_long"),
        (200, b"<html><title>Welcome</title></html>", "server"),
    ],
)
def test_errors_are_typed_and_sent_once(
    server: StandIn, make: Callable[[StandIn], Any], status: int, body: object, kind: str
) -> None:
    server.says(body, status, Retry_After="7")
    with pytest.raises(ModelError) as caught:
        answer(wrapped(make(server)), question("Which?"))
    assert caught.value.kind == kind
    assert KEY not in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("make", [openai.OpenAI, openai.AsyncOpenAI])
def test_a_server_that_is_gone_is_a_connection_error(make: Any) -> None:
    model = wrapped(make(api_key=KEY, base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ModelError) as caught:
        answer(model, question("Which?"))
    assert caught.value.kind == "connection"
    with pytest.raises(UsageError, match="nothing was asked yet"):
        asyncio.run(model.check())  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", [plain, asynchronous])
def test_the_clients_own_time_limit_holds(server: StandIn, make: Any) -> None:
    async def late(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(1)
        return web.json_response(chat_reply("A"))

    server.handler = late
    started = time.monotonic()
    with pytest.raises(ModelError) as caught:
        answer(wrapped(make(server, timeout=0.2)), question("Which?"))
    assert caught.value.kind == "timeout"
    assert time.monotonic() - started < 0.9


def test_requests_overlap(server: StandIn) -> None:
    in_flight, most = 0, 0

    async def slow(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.1)
        in_flight -= 1
        return web.json_response(chat_reply("A"))

    server.handler = slow
    for make in (plain, asynchronous):
        most = 0
        model = wrapped(make(server))

        async def main(model: RemoteModel = model) -> None:
            await asyncio.gather(*(model.answer(question(str(n))) for n in range(8)))
            await model.close()

        asyncio.run(main())
        assert most > 4, make


@pytest.mark.parametrize(
    ("client", "identity"),
    [
        (openai.OpenAI(api_key=KEY), Identity("openai", "m")),
        (openai.AsyncOpenAI(api_key=KEY), Identity("openai", "m")),
        (openai.OpenAI(api_key=KEY, base_url="https://openrouter.ai/api/v1"), Identity("openrouter", "m")),
        (openai.OpenAI(api_key=KEY, base_url="https://api.together.ai/v1"), Identity("together", "m")),
        (openai.OpenAI(api_key=KEY, base_url="https://api.together.xyz/v1"), Identity("together", "m")),
        (
            openai.OpenAI(api_key=KEY, base_url="http://localhost:8000/v1/"),
            Identity("server", "m", {"base_url": "http://localhost:8000/v1"}),
        ),
        (
            openai.AzureOpenAI(api_key=KEY, azure_endpoint="https://a.example", api_version="1"),
            Identity("azure", "m", {"base_url": "https://a.example/openai"}),
        ),
    ],
)
def test_an_identity_is_the_address_and_the_model(client: Any, identity: Identity) -> None:
    assert snellen.wrap_model(client, "m").identity == identity


def test_a_public_model_has_the_replies_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    by_name = open_model("openai/gpt-4o", {"reasoning_effort": "low", "body.top_k": "1"})
    by_client = snellen.wrap_model(openai.OpenAI(), "gpt-4o", reasoning_effort="low", body={"top_k": 1})
    assert by_client.identity == by_name.identity


def test_options_and_sampling_are_those_of_the_provider(server: StandIn) -> None:
    model = wrapped(plain(server), concurrency=1, max_new_tokens=50, images="none")
    assert (model.concurrency, model.max_new_tokens) == (1, 50)
    assert model.capabilities.inputs == {"text"}
    assert model.cannot_sample(Sampling(temperature=1.0)) is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        (None, {}, "an OpenAI client needs the name of a model"),
        ("m", {"base_url": "http://x"}, "have no option 'base_url'; known options: concurrency"),
        ("m", {"stream": True}, "have no option 'stream'"),
        ("m", {"body": 3}, "option body of a client: expected a mapping; got 3"),
    ],
)
def test_refuses_options_that_a_client_does_not_take(name: str | None, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        snellen.wrap_model(openai.OpenAI(api_key=KEY), name, **options)


def test_a_client_without_a_model_is_refused_by_evaluate(data: str) -> None:
    with pytest.raises(UsageError, match="needs the name of a model"):
        snellen.evaluate(openai.OpenAI(api_key=KEY), data)
