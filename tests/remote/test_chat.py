"""What is sent to an OpenAI-compatible server, and how its replies are read."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from asking_remote import ask, picture, question
from made_videos import write_video
from standin_server import StandIn, chat_reply

from snellen import evaluate
from snellen.core.errors import MediaError
from snellen.core.media import InlineSource, digest_bytes
from snellen.core.output import Failure, Generated, Usage
from snellen.core.request import Generate, Media, Message, Ref, Text, user
from snellen.models.naming.registry import open_model


def sent(server: StandIn, options: str = "", **settings: Any) -> dict[str, Any]:
    """The body that a question with a picture makes."""
    ask(f"{server.url}#tiny{options}", question(picture(), "Which colour?", **settings))
    return server.asked[-1]


def test_a_question_with_a_picture(server: StandIn) -> None:
    body = sent(server)
    image, text = body["messages"][0]["content"]
    assert text == {"type": "text", "text": "Which colour?"}
    head, _, data = image["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == picture()
    rest = {name: value for name, value in body.items() if name != "messages"}
    assert rest == {"model": "tiny", "max_tokens": 512, "temperature": 0.0}


def test_text_alone_is_a_plain_string(server: StandIn) -> None:
    ask(f"{server.url}#tiny", question("one", "two"))
    assert server.asked[-1]["messages"] == [{"role": "user", "content": "one\ntwo"}]


def test_roles_and_order_are_kept(server: StandIn) -> None:
    data = picture()
    image = Media("image", digest_bytes(data))
    messages = (
        Message("system", (Text("Be brief."),)),
        user(Text("First"), image, Text("second"), Text("third")),
        Message("assistant", (Text("A"),)),
        user(Text("Sure?")),
    )
    media = {image.digest: InlineSource(data)}
    ask(f"{server.url}#tiny", Generate(messages=messages, ref=Ref("1"), media=media))
    system, first, assistant, last = server.asked[-1]["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    assert [part["type"] for part in first["content"]] == ["text", "image_url", "text"]
    assert first["content"][2]["text"] == "second\nthird"
    assert assistant == {"role": "assistant", "content": "A"}
    assert last == {"role": "user", "content": "Sure?"}


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({"max_new_tokens": 7}, {"max_tokens": 7}),
        ({"temperature": 0.6, "top_p": 0.9}, {"temperature": 0.6, "top_p": 0.9}),
        ({"seed": 3}, {"seed": 3}),
        ({"stop": ("\n",)}, {"stop": ["\n"]}),
        ({"logprobs": 5}, {"logprobs": True, "top_logprobs": 5}),
    ],
)
def test_settings_become_fields(server: StandIn, settings: dict[str, Any], fields: dict[str, Any]) -> None:
    assert fields.items() <= sent(server, **settings).items()


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (":reasoning_effort=high", {"reasoning_effort": "high"}),
        (":body.top_k=1", {"top_k": 1}),
        (":body.service_tier=flex", {"service_tier": "flex"}),
        (":body.chat_template_kwargs.enable_thinking=false", {"chat_template_kwargs": {"enable_thinking": False}}),
        (":body.temperature=1", {"temperature": 1}),
        (":stream=yes", {"stream": True, "stream_options": {"include_usage": True}}),
    ],
)
def test_options_become_fields(server: StandIn, options: str, fields: dict[str, Any]) -> None:
    if "stream" in options:
        server.says(b'data: {"choices":[{"delta":{"content":"A"},"finish_reason":"stop"}]}\n\n')
    assert fields.items() <= sent(server, options).items()


def test_stop_strings_are_cut_off_where_the_server_takes_none(server: StandIn) -> None:
    """`transformers serve` fails with stop strings for models with a processor."""
    server.says(chat_reply("B. Then\nQuestion: next"))
    asked_for = question(picture(), "Which?", stop=("\nQuestion", "Then"))
    [cut] = ask(f"transformers/tiny:base_url={server.url}", asked_for)
    assert isinstance(cut, Generated)
    assert (cut.text, cut.stop_reason) == ("B.", "stop")
    assert "stop" not in server.asked[-1]
    [whole] = ask(f"{server.url}#tiny", asked_for)
    assert isinstance(whole, Generated)
    assert whole.text == "B. Then\nQuestion: next"
    assert server.asked[-1]["stop"] == ["\nQuestion", "Then"]


def test_without_sampling_the_model_chooses(server: StandIn) -> None:
    assert "temperature" not in sent(server, ":sampling=no", temperature=0.5, top_p=0.5)


def test_first_image_for_single_image_models(server: StandIn) -> None:
    pair = question(picture("red"), picture("blue"), "Same?")
    ask(f"{server.url}#tiny:images=first", pair)
    parts = server.asked[-1]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["image_url", "text"]


def test_images_that_follow_each_other_are_one_video(server: StandIn) -> None:
    """Frames in the order of the message, as vLLM reads them; an image alone stays an image."""
    red, blue, green = (picture(colour) for colour in ("red", "blue", "green"))
    frames = question(red, blue, "What moves?", green)
    [output] = ask(f"{server.url}#tiny:images=video", frames)
    assert isinstance(output, Generated)
    film, text, image = server.asked[-1]["messages"][0]["content"]
    head, *data = film["video_url"]["url"].split(",")
    assert head == "data:video/jpeg;base64"
    assert [base64.b64decode(one) for one in data] == [red, blue]
    assert [part["type"] for part in (film, text, image)] == ["video_url", "text", "image_url"]
    model = open_model(f"{server.url}#tiny:images=video")
    assert model.capabilities.many_images
    assert model.identity.facts["images"] == "video"


def test_refuses_images_of_several_sizes_as_video(server: StandIn) -> None:
    with pytest.raises(MediaError, match="8 x 6 and of 9 x 4 pixels are no frames of one video"):
        ask(f"{server.url}#tiny:images=video", question(picture("red"), picture(size=(9, 4)), "Same?"))


def test_more_images_than_the_server_reads_of_a_video_are_refused(server: StandIn) -> None:
    """vLLM reads 32 frames by default, and drops the others without a word."""
    frames = [picture("red")] * 33
    with pytest.raises(MediaError, match="33 images are more than the 32 frames"):
        ask(f"{server.url}#tiny:images=video", question(*frames, "What moves?"))
    [output] = ask(f"{server.url}#tiny:images=video,video_frames=33", question(*frames, "What?"))
    assert isinstance(output, Generated)


VIDEO = b"\x00\x00\x00\x18ftypmp42 frames"


def about_a_video() -> Generate:
    film = Media("video", digest_bytes(VIDEO))
    media = {film.digest: InlineSource(VIDEO)}
    return Generate(messages=(user(film, Text("Who wins?")),), ref=Ref("1"), media=media)


def test_a_whole_video(server: StandIn) -> None:
    ask(f"{server.url}#tiny:video=native", about_a_video())
    film, _ = server.asked[-1]["messages"][0]["content"]
    url = "data:video/mp4;base64," + base64.b64encode(VIDEO).decode()
    assert film == {"type": "video_url", "video_url": {"url": url}}
    assert "video" in open_model(f"{server.url}#tiny:video=native").capabilities.inputs


@pytest.mark.parametrize(
    ("model", "benchmark", "kind"),
    [
        (":video=native", "", "video_url"),
        (":video=native", ":video=frames,frames=3", "image_url"),
        ("", ":frames=3", "image_url"),
    ],
)
def test_a_model_opened_for_whole_videos_gets_them(
    server: StandIn, tmp_path: Path, model: str, benchmark: str, kind: str
) -> None:
    write_video(tmp_path / "film.mp4", frames=6)
    row = {"id": "1", "question": "Who wins?", "A": "x", "B": "y", "answer": "A", "video": "film.mp4"}
    (tmp_path / "films.jsonl").write_text(json.dumps(row))
    evaluate(f"{server.url}#tiny{model}", f"{tmp_path / 'films.jsonl'}{benchmark}", out=tmp_path / "out", html=False)
    parts = server.asked[-1]["messages"][0]["content"]
    assert {part["type"] for part in parts} == {kind, "text"}


def test_a_video_is_not_sent_unasked(server: StandIn) -> None:
    [output] = ask(f"{server.url}#tiny", about_a_video())
    assert output == Failure("unsupported", "the model takes no video input")
    assert server.asked == []


def test_a_video_for_gemini(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    server.says({"candidates": [{"content": {"parts": [{"text": "A"}]}}]})
    ask(f"google/g:base_url={server.url},video=native", about_a_video())
    film, _ = server.asked[-1]["contents"][0]["parts"]
    assert film["inlineData"]["mimeType"] == "video/mp4"
    assert base64.b64decode(film["inlineData"]["data"]) == VIDEO


def test_a_text_model_is_not_asked_about_pictures(server: StandIn) -> None:
    [output] = ask(f"{server.url}#tiny:images=none", question(picture(), "What?"))
    assert output == Failure("unsupported", "the model takes no image input")
    assert server.asked == []


REPLIES: list[tuple[str, object, Generated]] = [
    ("text", chat_reply(" B\n"), Generated("B")),
    ("parts", chat_reply([{"type": "text", "text": "B"}]), Generated("B")),
    ("nothing", chat_reply(None), Generated("")),
    ("cut", chat_reply("The an", "length"), Generated("The an", "length")),
    ("gemini", chat_reply("The an", "MAX_TOKENS"), Generated("The an", "length")),
    ("filter", chat_reply(None, "content_filter"), Generated("", "refusal")),
    ("zhipu", chat_reply("", "sensitive"), Generated("", "refusal")),
    ("refusal", chat_reply(None, refusal="I cannot."), Generated("I cannot.", "refusal")),
    ("field", chat_reply("B", reasoning_content="hm"), Generated("B", reasoning="hm")),
    ("openrouter", chat_reply("B", reasoning="hm"), Generated("B", reasoning="hm")),
    ("tags", chat_reply("<think>hm</think>B"), Generated("B", reasoning="hm")),
    ("closing tag", chat_reply("hm</think>\n\nB"), Generated("B", reasoning="hm")),
    (
        "magistral",
        chat_reply([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "B"}]),
        Generated("B", reasoning="hm"),
    ),
    ("no more than the tag", chat_reply("<think>", "length"), Generated("", "length")),
    ("half a thought", chat_reply("<think>B is", "length"), Generated("", "length", "B is")),
    (
        "half a thought, in its field",
        chat_reply(None, "length", reasoning_content="B is"),
        Generated("", "length", "B is"),
    ),
]


@pytest.mark.parametrize(("reply", "expected"), [row[1:] for row in REPLIES], ids=[row[0] for row in REPLIES])
def test_chat_replies(server: StandIn, reply: object, expected: Generated) -> None:
    server.says(reply)
    [output] = ask(f"{server.url}#tiny", question("?"))
    assert isinstance(output, Generated)
    got = (output.text, output.stop_reason, output.reasoning)
    assert got == (expected.text, expected.stop_reason, expected.reasoning)
    assert output.usage == Usage(12, 3)
    assert output.seconds is not None


def test_thoughts_are_left_in_the_text_when_asked(server: StandIn) -> None:
    server.says(chat_reply("<think>hm</think>B"))
    [output] = ask(f"{server.url}#tiny:reasoning=off", question("?"))
    assert isinstance(output, Generated)
    assert output.text == "<think>hm</think>B"


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "prompt_tokens": 90,
                "completion_tokens": 40,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens_details": {"reasoning_tokens": 30},
                "total_tokens": 130,
            },
            Usage(90, 40, 30, 64),
        ),
        (
            {
                "prompt_tokens": 90,
                "completion_tokens": 10,
                "completion_tokens_details": {"reasoning_tokens": 30},
                "total_tokens": 130,
            },
            Usage(90, 40, 30),
        ),
        ({"prompt_tokens": 90, "completion_tokens": 1, "prompt_cache_hit_tokens": 80}, Usage(90, 1, 0, 80)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "cached_tokens": 8}, Usage(9, 1, 0, 8)),
        (None, None),
    ],
    ids=["openai", "xai", "deepseek", "moonshot", "none"],
)
def test_usage_of_chat_replies(server: StandIn, usage: object, expected: Usage | None) -> None:
    server.says({**chat_reply("B"), "usage": usage})
    [output] = ask(f"{server.url}#tiny", question("?"))
    assert isinstance(output, Generated)
    assert output.usage == expected


def test_log_probabilities_of_the_first_token(server: StandIn) -> None:
    reply = chat_reply("B")
    top = [{"token": "B", "logprob": -0.1}, {"token": "A", "logprob": -2.5}]
    reply["choices"][0]["logprobs"] = {"content": [{"token": "B", "logprob": -0.1, "top_logprobs": top}]}
    server.says(reply)
    [output] = ask(f"{server.url}#tiny", question("?", logprobs=2))
    assert isinstance(output, Generated)
    assert output.first_logprobs == {"B": -0.1, "A": -2.5}


@pytest.mark.parametrize(
    "message", [{"content": "The answer is B.", "reasoning_content": "A or B?"}, {"content": "The answer is B."}]
)
def test_a_stream_says_the_same(server: StandIn, message: dict[str, str]) -> None:
    whole = chat_reply(**message)
    server.says(whole)
    [once] = ask(f"{server.url}#tiny", question("?"))
    lines = [
        {"choices": [{"index": 0, "delta": {name: piece}}]}
        for name, text in sorted(message.items(), reverse=True)
        for piece in (text[:3], text[3:])
    ]
    lines += [
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": whole["usage"]},
    ]
    stream = ": a comment\n\n" + "".join(f"data: {json.dumps(line)}\n\n" for line in lines)
    server.says(f"{stream}data: [DONE]\n\n".encode())
    [piecewise] = ask(f"{server.url}#tiny:stream=yes", question("?"))
    assert isinstance(once, Generated)
    assert isinstance(piecewise, Generated)
    assert (piecewise.text, piecewise.reasoning) == (once.text, once.reasoning)
    assert (piecewise.stop_reason, piecewise.usage) == (once.stop_reason, once.usage)
