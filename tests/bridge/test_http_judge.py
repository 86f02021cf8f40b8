"""What a peer's own client sends is put to the judge, and the client reads the answer."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from snellen.bridge.worker.http_judge import HttpJudge
from snellen.bridge.worker.main import JudgeFailed, JudgeStopped

ADDRESS = "https://judge.invalid/v1"
PICTURE = "data:image/png;base64," + base64.b64encode(b"pixels").decode()


class Asked:
    """A judge that notes what it is asked."""

    def __init__(self, failure: str = "") -> None:
        self.messages: list[Any] = []
        self.generation: dict[str, Any] = {}
        self.failure = failure

    def __call__(self, messages: Sequence[Any], generation: Any = None) -> str:
        if self.failure:
            raise JudgeFailed(self.failure)
        self.messages, self.generation = list(messages), dict(generation)
        return "7 of 10"


def send(judge: HttpJudge, path: str, body: dict[str, Any]) -> Any:
    return judge.reply(f"{ADDRESS}/{path}", json.dumps(body).encode())


def test_chat_completions_with_a_picture(tmp_path: Path) -> None:
    asked = Asked()
    judge = HttpJudge(asked)
    judge.folder = tmp_path
    content = [{"type": "text", "text": "Grade."}, {"type": "image_url", "image_url": {"url": PICTURE}}]
    messages = [{"role": "system", "content": "Be fair."}, {"role": "user", "content": content}]
    body = send(judge, "chat/completions?api-version=1", {"model": "m", "messages": messages, "max_tokens": 9})
    assert body["choices"][0]["message"]["content"] == "7 of 10"
    assert body["model"] == "m"
    assert asked.generation == {"max_new_tokens": 9}
    assert asked.messages[0] == {"role": "system", "parts": [{"type": "text", "text": "Be fair."}]}
    text, picture = asked.messages[1]["parts"]
    assert text == {"type": "text", "text": "Grade."}
    assert Path(picture["path"]).read_bytes() == b"pixels"


def test_responses_and_anthropic_messages() -> None:
    asked = Asked()
    judge = HttpJudge(asked)
    body = send(judge, "responses", {"model": "m", "instructions": "Be fair.", "input": "Grade."})
    assert body["output"][0]["content"][0]["text"] == "7 of 10"
    assert [one["role"] for one in asked.messages] == ["system", "user"]
    body = send(judge, "messages", {"model": "m", "system": "S", "messages": [{"role": "user", "content": "Grade."}]})
    assert body["content"][0]["text"] == "7 of 10"


def test_other_addresses_pass() -> None:
    judge = HttpJudge(Asked())
    assert send(judge, "models", {"messages": []}) is None
    assert judge.reply(f"{ADDRESS}/chat/completions", b"no JSON") is None


def test_a_judge_that_fails_is_no_grade() -> None:
    judge = HttpJudge(Asked(failure="the budget is spent"))
    with pytest.raises(JudgeStopped, match="the budget is spent"):
        send(judge, "chat/completions", {"messages": [{"role": "user", "content": "Grade."}]})


def test_a_picture_by_its_address_is_not_fetched() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    with pytest.raises(JudgeStopped, match="not fetched"):
        send(HttpJudge(Asked()), "chat/completions", {"messages": [{"role": "user", "content": [part]}]})


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"tools": [{"type": "function"}]}, "for tools"),
        ({"n": 3}, "for several answers"),
        ({"stream": True}, "for a stream"),
        ({"messages": [{"role": "tool", "content": "4"}]}, "role 'tool'"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "kind 'input_audio'"),
    ],
)
def test_what_no_judge_can_take_is_no_grade(body: dict[str, Any], says: str) -> None:
    asked = Asked()
    with pytest.raises(JudgeStopped, match=says):
        send(HttpJudge(asked), "chat/completions", {"messages": [{"role": "user", "content": "Grade."}], **body})
    assert not asked.messages


@pytest.mark.parametrize("path", ["models/gemini-2.5-pro:generateContent?key=secret", "embeddings", "completions"])
def test_a_request_to_a_model_in_another_format_is_no_grade(path: str) -> None:
    with pytest.raises(JudgeStopped, match="no judge can be asked") as caught:
        send(HttpJudge(Asked()), path, {"input": "red"})
    assert "secret" not in str(caught.value)
