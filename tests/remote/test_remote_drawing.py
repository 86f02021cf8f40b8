"""Pictures that servers draw."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from asking_remote import ask, drawing, picture, question
from msgspec import structs
from seed_files import seed_h
from standin_server import StandIn, chat_reply

from snellen import evaluate
from snellen.core.benchmark import Variant
from snellen.core.errors import MediaError, ModelError, UsageError
from snellen.core.media import digest_bytes
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Compared, Drawn, Failure, Generated, Output, Usage
from snellen.core.request import Compare, Drawing, Request
from snellen.engine.loop.request_broker import check_output
from snellen.models.naming.registry import open_model

DATA = picture("green")
ENCODED = base64.b64encode(DATA).decode()


def drawn(server: StandIn, options: str, *parts: bytes | str) -> Drawn:
    [output] = ask(f"{server.url}#tiny:{options}", drawing(*parts))
    assert isinstance(output, Drawn)
    assert output.images == (digest_bytes(DATA),)
    assert output.data == {digest_bytes(DATA): DATA}
    return output


def test_base64(server: StandIn) -> None:
    server.says({"data": [{"b64_json": ENCODED}], "usage": {"input_tokens": 5}})
    output = drawn(server, "endpoint=images", "A green", "square")
    assert server.paths == ["/v1/images/generations"]
    assert server.asked == [{"model": "tiny", "n": 1, "prompt": "A green\nsquare"}]
    assert output.usage is not None
    assert output.usage.prompt_tokens == 5


def test_sends_the_size_and_reports_unsupported_settings(server: StandIn) -> None:
    server.says({"data": [{"b64_json": ENCODED}]})
    asked = drawing("x")
    sized = structs.replace(asked, settings=Drawing(width=512, height=256))
    [output] = ask(f"{server.url}#tiny:endpoint=images", sized)
    assert isinstance(output, Drawn)
    assert server.asked[-1]["size"] == "512x256"
    stepped = structs.replace(asked, settings=Drawing(steps=4, guidance=2.0, seed=1))
    [refused] = ask(f"{server.url}#tiny:endpoint=images", stepped)
    assert isinstance(refused, Failure)
    assert refused.message == (
        "images/generations draws without a choice of steps and guidance and seed; leave it out, "
        "or name the server's own field (body.NAME=...)"
    )
    [refused] = ask(f"{server.url}#tiny:draws=yes", sized)
    assert isinstance(refused, Failure)
    assert refused.message == "a chat model draws without a choice of size; leave it out"
    assert len(server.asked) == 1


def test_an_address(server: StandIn) -> None:
    async def handler(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        return web.json_response({"data": [{"url": server.url + "/picture.png"}]})

    server.handler = handler
    server.files["picture.png"] = DATA
    drawn(server, "endpoint=images", "A green square")


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Here:", "images": [{"image_url": {"url": f"data:image/png;base64,{ENCODED}"}}]},
        {
            "content": [
                {"type": "text", "text": "Here:"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}},
            ]
        },
    ],
    ids=["images", "parts"],
)
def test_a_chat_reply_with_a_picture(server: StandIn, message: dict[str, Any]) -> None:
    server.says(chat_reply(**message))
    output = drawn(server, "draws=yes", picture("red"), "The same in green.")
    assert output.text == "Here:"
    assert server.asked[0]["modalities"] == ["image", "text"]
    assert [part["type"] for part in server.asked[0]["messages"][0]["content"]] == ["image_url", "text"]


def test_gemini_draws(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    inline = {"inlineData": {"mimeType": "image/png", "data": ENCODED}}
    parts = [{"text": "Here:"}, inline]
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 1290}
    candidates = [{"content": {"parts": parts}, "finishReason": "STOP"}]
    server.says({"candidates": candidates, "usageMetadata": usage})
    [output] = ask(f"google/g:base_url={server.url},draws=yes", drawing("A green square"))
    assert isinstance(output, Drawn)
    assert output.usage == Usage(7, 1290)
    assert (output.text, list(output.data.values())) == ("Here:", [DATA])
    assert server.asked[0]["generationConfig"] == {"responseModalities": ["TEXT", "IMAGE"]}


@pytest.mark.parametrize("options", ["endpoint=images", "draws=yes"])
def test_a_filter_that_lets_nothing_be_drawn_is_a_refusal(server: StandIn, options: str) -> None:
    error = {"message": "Your request was rejected by our safety system", "code": "x"}
    server.says({"error": error}, 400)
    [output] = ask(f"{server.url}#tiny:{options}", drawing("x"))
    assert output == Generated(error["message"], "refusal", seconds=getattr(output, "seconds", 0))


def test_a_model_that_refuses_in_words(server: StandIn) -> None:
    server.says(chat_reply(None, refusal="I will not draw this."))
    [output] = ask(f"{server.url}#tiny:draws=yes", drawing("x"))
    assert isinstance(output, Generated)
    assert (output.text, output.stop_reason) == ("I will not draw this.", "refusal")
    assert check_output(drawing("x"), output) is output


def test_text_reply_to_a_drawing_request_is_unsupported() -> None:
    output = check_output(drawing("x"), Generated("Here you are."))
    assert isinstance(output, Failure)
    assert output.kind == "unsupported"


def test_a_refused_drawing_is_worth_nothing_and_not_asked_for_again(server: StandIn, tmp_path: Path) -> None:
    server.says({"error": {"message": "safety system: the answer is A"}}, 400)
    data = seed_h(tmp_path, per_dimension=1, only=["Text-to-Image Generation"])

    class Comparer:
        identity = Identity("test", "comparer")
        capabilities = Capabilities(outputs=frozenset(), similarity=True)

        def answer(self, request: Request) -> Output:
            assert request.ref.sample == "preflight"
            return Compared((1.0,))

    def counts() -> dict[str, int]:
        (run,) = evaluate(
            [f"{server.url}#tiny:endpoint=images"],
            ["seedbench:version=H,level=L3"],
            out=tmp_path / "out",
            variant=Variant(data=str(data)),
            clip=Comparer(),
            html=False,
        ).runs
        assert run.info.status == "complete"
        (record,) = run.records()
        assert (record.outcome, record.score) == ("refused", 0.0)
        return run.report().summary.outcomes

    assert counts()["refused"] == 1
    asked = len(server.asked)
    assert counts()["refused"] == 1
    assert len(server.asked) == asked


def test_invalid_drawn_images_are_errors(server: StandIn) -> None:
    server.says({"data": [{"b64_json": base64.b64encode(b"no picture").decode()}]})
    with pytest.raises(MediaError, match="cannot be opened"):
        ask(f"{server.url}#tiny:endpoint=images", drawing("x"))
    server.says({"data": [{"b64_json": "%%%"}]})
    with pytest.raises(ModelError, match="not base64"):
        ask(f"{server.url}#tiny:endpoint=images", drawing("x"))
    server.says({"data": []})
    with pytest.raises(ModelError, match="holds no images"):
        ask(f"{server.url}#tiny:endpoint=images", drawing("x"))
    server.says(chat_reply("I would rather not."))
    with pytest.raises(ModelError, match="text alone: 'I would rather not"):
        ask(f"{server.url}#tiny:draws=yes", drawing("x"))


def test_an_address_with_nothing_behind_it(server: StandIn) -> None:
    server.says({"data": [{"url": f"{server.url}/gone.png"}]})
    with pytest.raises(ModelError, match="answers 404"):
        ask(f"{server.url}#tiny:endpoint=images", drawing("x"))


@pytest.mark.parametrize(("key", "refused"), [(None, False), ("right", True)])
def test_check_of_a_drawing_server_requests_no_image(server: StandIn, key: str | None, refused: bool) -> None:
    server.key = key
    model: Any = open_model(f"{server.url}#tiny:endpoint=images")
    if refused:
        with pytest.raises(UsageError, match="wants a key"):
            asyncio.run(model.check())
    else:
        asyncio.run(model.check())
    assert server.asked == []


def test_refuses_inputs_that_an_endpoint_does_not_take(server: StandIn) -> None:
    [shown] = ask(f"{server.url}#tiny:endpoint=images", drawing(DATA, "Again."))
    assert shown == Failure("unsupported", "the model takes no image input")
    [asked] = ask(f"{server.url}#tiny:endpoint=images", question("?"))
    assert isinstance(asked, Failure)
    [plain] = ask(f"{server.url}#tiny", drawing("x"))
    assert isinstance(plain, Failure)
    assert (asked.kind, plain.kind) == ("unsupported", "unsupported")
    assert server.asked == []


def test_capabilities(server: StandIn) -> None:
    assert open_model(f"{server.url}#tiny:endpoint=images").capabilities.outputs == {"image"}
    both = open_model(f"{server.url}#tiny:draws=yes").capabilities
    assert both.outputs == {"text", "image"}
    assert both.interleaved_output


class _FirstPicture:
    """Compares pictures: the first candidate is always the likest."""

    identity = Identity("test", "first-picture")
    capabilities = Capabilities(similarity=True)

    def answer(self, request: Request) -> Output:
        assert isinstance(request, Compare)
        return Compared(tuple(-float(place) for place in range(len(request.candidates))))


def test_two_servers_answer_as_one_and_both_are_paid_for(server: StandIn, tmp_path: Path) -> None:
    async def handler(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        if request.path.endswith("/images/generations"):
            usage = {"input_tokens": 1000, "output_tokens": 2000}
            return web.json_response({"data": [{"b64_json": ENCODED}], "usage": usage})
        return web.json_response(chat_reply("A green square on white."))

    server.handler = handler
    server.models = ["words", "painter"]
    (run,) = evaluate(
        [f"join:text={server.url}#words,draw={server.url}#painter:endpoint=images"],
        ["seedbench:version=H,level=L3,protocol=generate"],
        out=tmp_path / "out",
        variant=Variant(data=str(seed_h(tmp_path, 1, ["Next Image Prediction"]))),
        clip=_FirstPicture(),
        prices=["words:input=1,output=1", "painter:input=1,output=3"],
        budget="1usd",
    ).runs
    assert run.info.model.startswith("join:text=words,draw=painter")
    assert "127.0.0.1" not in run.info.model
    (record,) = run.records()
    described, picture_pass, _ = record.passes
    assert isinstance(described.output, Generated)
    assert isinstance(picture_pass.output, Drawn)
    painted = [body for body in server.asked if "prompt" in body]
    assert [body["prompt"] for body in painted] == ["A green square on white."]
    assert run.info.spent["drawer"].cost == pytest.approx(0.007)
    assert run.info.spent["model"].sent == 1
