"""Every way in which a server can fail has its kind."""

from __future__ import annotations

import asyncio
import email.utils
import socket
import time
from typing import Any

import pytest
from aiohttp import web
from asking_remote import ask, picture, question
from standin_server import StandIn, chat_reply

from snellen.core.errors import MediaError, ModelError
from snellen.core.output import Generated
from snellen.core.request import Generate
from snellen.models.naming.registry import open_model
from snellen.models.remote.errors import error_details, retry_after


def fault(server: StandIn, options: str = "") -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(f"{server.url}#tiny{options}", question("?"))
    assert "\n" not in str(caught.value)
    return caught.value


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, error("Incorrect API key provided"), "authentication"),
        (403, error("No access to this model"), "authentication"),
        (400, error("API key not valid. Please pass a valid API key."), "authentication"),
        (400, error("API key expired. Please renew the API key."), "authentication"),
        (400, {"code": "invalid argument", "error": "Incorrect API key provided: ab***yz."}, "authentication"),
        (400, error("No connected db.", type="no_db_connection", code="400"), "authentication"),
        (402, error("Insufficient Balance"), "authentication"),
        (400, error("Your credit balance is too low to access the Anthropic API."), "authentication"),
        (429, error("您的账户已欠费，请充值后重试。", code="1113"), "authentication"),
        (429, error("Recharge.", code="1113"), "authentication"),
        (400, error("1113 pixels are too many for this endpoint"), "request"),
        (400, error("1301 pixels are too many for this endpoint"), "request"),
        (429, error("Your quota is used up", code="insufficient_quota"), "authentication"),
        (429, error("Rate limit reached"), "rate_limit"),
        (
            429,
            error(
                "You exceeded your current quota, please check your plan and billing details.",
                status="RESOURCE_EXHAUSTED",
            ),
            "rate_limit",
        ),
        (404, error("Not found"), "request"),
        (408, error("Timed out"), "timeout"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "request"),
        (400, error("x", code="context_length_exceeded"), "too_long"),
        (400, error("This model's maximum context length is 4096 tokens."), "too_long"),
        (400, error("prompt is too long: 210000 tokens > 200000 maximum"), "too_long"),
        (400, error("the request exceeds the available context size", type="x"), "too_long"),
        (400, error("The input token count (1) exceeds the maximum number of tokens"), "too_long"),
        (400, error("Range of input length should be [1, 6000]"), "too_long"),
        (400, error("The decoder prompt (length 9) is longer than the maximum model length of 8"), "too_long"),
        (400, error("Invalid value for 'temperature'"), "request"),
        (500, error("oops"), "server"),
        (500, error("image input is not supported - hint: you may need to provide the mmproj"), "unsupported"),
        (503, b"<html><head><title>503 Service\nUnavailable</title></head></html>", "server"),
        (529, error("Overloaded"), "server"),
    ],
)
def test_kinds_by_status(server: StandIn, status: int, body: object, kind: str) -> None:
    server.says(body, status)
    found = fault(server)
    assert found.kind == kind
    assert str(found).startswith(f"the server answers {status}")


@pytest.mark.parametrize(
    "body",
    [
        error("The response was filtered", code="content_filter"),
        error("Output data may contain inappropriate content.", code="data_inspection_failed"),
        error("Content Exists Risk"),
        error("Your request was rejected by our safety system", code="content_policy_violation"),
        error("The request was rejected because it was considered high risk"),
        error("Please avoid such prompts", code="1301"),
        error("系统检测到输入或生成内容可能包含不安全或敏感内容"),
    ],
)
def test_a_filter_is_a_refusal_of_the_model(server: StandIn, body: object) -> None:
    server.says(body, 400)
    [output] = ask(f"{server.url}#tiny", question("?"))
    assert isinstance(output, Generated)
    assert output.stop_reason == "refusal"


def test_reasoning_that_used_all_tokens_is_a_truncated_reply(server: StandIn) -> None:
    said = "Could not finish the message because max_tokens or model output limit was reached."
    server.says(error(said), 400)
    [output] = ask(f"{server.url}#tiny", question("?"))
    assert isinstance(output, Generated)
    assert (output.text, output.stop_reason) == ("", "length")


@pytest.mark.parametrize(
    ("body", "kind", "sentence"),
    [
        (b"<!DOCTYPE html><title>Sign in</title>", "server", "a web page, Sign in"),
        (b'{"choices": [{"mess', "server", "not JSON"),
        (b"", "server", "not JSON"),
        (b"[1]", "request", "no JSON object"),
        (b"{}", "server", "no choices"),
        (b'{"choices": []}', "server", "no choices"),
        (b'{"error": {"message": "Provider overloaded", "code": 502}}', "server", "overloaded"),
        (b'{"error": {"message": "Slow down", "code": 429}}', "rate_limit", "Slow down"),
        (b'{"base_resp": {"status_code": 1002, "status_msg": "rate"}}', "rate_limit", "rate"),
        (b'{"base_resp": {"status_code": 2049, "status_msg": "invalid api key"}}', "authentication", "invalid api key"),
        (b'{"base_resp": {"status_code": 2013, "status_msg": "invalid params"}}', "request", "invalid params"),
    ],
)
def test_invalid_replies_are_faults(server: StandIn, body: bytes, kind: str, sentence: str) -> None:
    server.says(body)
    found = fault(server)
    assert found.kind == kind
    assert sentence in str(found)


def test_a_server_that_has_moved(server: StandIn) -> None:
    server.says({}, 301, Location="https://example.org/v1")
    found = fault(server)
    assert found.kind == "request"
    assert "moved to https://example.org/v1" in str(found)


@pytest.mark.parametrize("text", ['"half a pair \\ud83d"', '"B", "confidence": NaN'])
def test_json_that_is_not_strict(server: StandIn, text: str) -> None:
    body = '{"choices": [{"message": {"content": %s}, "finish_reason": "stop"}]}'
    server.says((body % text).encode())
    [output] = ask(f"{server.url}#tiny", question("?"))
    assert isinstance(output, Generated)
    assert output.text[:1] in "Bh"


def test_a_key_is_never_repeated(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret-123")
    server.says(error("Incorrect API key provided: sk-secret-123"), 401)
    found = fault(server, ":key_env=MY_KEY")
    assert "sk-secret-123" not in str(found)
    assert server.headers[-1]["Authorization"] == "Bearer sk-secret-123"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"x-ratelimit-reset-requests": "6m0s"}, 360.0),
        ({"x-ratelimit-reset-tokens": "20ms", "x-ratelimit-reset-requests": "1s"}, 1.0),
        (
            {
                "x-ratelimit-reset-tokens": "2s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-requests": "8h",
                "x-ratelimit-remaining-requests": "99",
            },
            2.0,
        ),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
@pytest.mark.attack("a Retry-After that is negative, huge or no number", "kept or ignored, never a crash")
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    "headers",
    [
        lambda then: {"Retry-After": email.utils.formatdate(then, usegmt=True)},
        lambda then: {"x-ratelimit-reset": str(then)},
        lambda then: {"x-ratelimit-reset": str(int(then * 1000))},
        lambda then: {"anthropic-ratelimit-requests-reset": "2999-01-01T00:00:00Z"},
    ],
)
def test_retry_after_a_moment_in_time(headers: Any) -> None:
    found = retry_after(headers(time.time() + 1000))
    assert found is not None
    assert found > 900


def test_retry_after_in_googles_words() -> None:
    complaint = error_details(b'{"error": {"details": [{"retryDelay": "34.5s"}]}}')
    assert retry_after({}, complaint.delay) == 34.5


def test_retry_after_comes_with_the_fault(server: StandIn) -> None:
    server.says(error("slow down"), 429, Retry_After="3")
    assert fault(server).retry_after == 3.0


def test_a_servers_own_fault_is_not_waited_for_as_long_as_its_limits_last(server: StandIn) -> None:
    server.says(error("oops"), 500, **{"x_ratelimit_reset_requests": "8h"})
    assert fault(server).retry_after is None
    server.says(error("oops"), 503, Retry_After="3", **{"x_ratelimit_reset_requests": "8h"})
    assert fault(server).retry_after == 3.0
    server.says(error("slow down"), 429, **{"x_ratelimit_reset_requests": "2s"})
    assert fault(server).retry_after == 2.0


def test_reports_refused_connection() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelError, match=r"cannot connect to 127\.0\.0\.1:\d+") as caught:
        ask(f"http://127.0.0.1:{port}/v1#x", question("?"))
    assert caught.value.kind == "connection"


def test_reports_unresolvable_host() -> None:
    with pytest.raises(ModelError, match=r"cannot connect to no-such-host\.invalid") as caught:
        ask("http://no-such-host.invalid/v1#x", question("?"))
    assert caught.value.kind == "connection"


def test_a_server_that_hangs_up(server: StandIn) -> None:
    async def hang_up(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    server.handler = hang_up
    assert fault(server).kind == "connection"


@pytest.mark.attack("a connection that ends in the middle", "a failure, asked again")
def test_a_server_that_hangs_up_in_the_middle(server: StandIn) -> None:
    async def half(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"choices": [')
        assert request.transport is not None
        request.transport.close()
        return response

    server.handler = half
    assert fault(server).kind == "connection"


@pytest.mark.attack("a stream that breaks off", "a failure, not half an answer")
def test_a_stream_that_breaks_off(server: StandIn) -> None:
    server.says(b'data: {"choices":[{"delta":{"content":"The"}}]}\n\n')
    found = fault(server, ":stream=yes")
    assert (found.kind, str(found)) == ("connection", "the stream broke off before the reply's end")


@pytest.mark.attack("one byte a second", "the time for one reply holds")
def test_slow_byte_stream_times_out(server: StandIn) -> None:
    async def drip(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.05)

    server.handler = drip
    found = fault(server, ":timeout=1")
    assert (found.kind, str(found)) == ("timeout", "no reply within 1 s")


def test_invalid_or_missing_image_is_an_error(server: StandIn) -> None:
    bad = question(b"BM nonsense", "?")
    with pytest.raises(MediaError, match="cannot be decoded"):
        ask(f"{server.url}#tiny", bad)
    absent = Generate(messages=question(picture(), "?").messages, ref=bad.ref)
    with pytest.raises(MediaError, match="did not come along"):
        ask(f"{server.url}#tiny", absent)


def test_cancelling_passes_through(server: StandIn) -> None:
    async def wait(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(30)
        return web.json_response(chat_reply("A"))

    server.handler = wait
    model: Any = open_model(f"{server.url}#tiny")

    async def cancelled() -> None:
        task = asyncio.ensure_future(model.answer(question("?")))
        while not server.asked:
            await asyncio.sleep(0.01)
        task.cancel()
        try:
            with pytest.raises(asyncio.CancelledError):
                await task
        finally:
            await model.close()

    asyncio.run(cancelled())


def test_a_model_works_in_one_event_loop_after_another(server: StandIn) -> None:
    model: Any = open_model(f"{server.url}#tiny")

    async def once() -> str:
        try:
            return str((await model.answer(question("?"))).text)
        finally:
            await model.close()

    assert [asyncio.run(once()) for _ in range(2)] == ["A", "A"]
