"""Asks Snellen's judge what a peer sends to a judge over HTTP.

The peers' own code makes its requests (openai, requests, httpx) and reads the replies; what is
replaced is the wire. A request of OpenAI's chat completions or responses, or of Anthropic's messages,
is put to `ask_judge`, and the text that comes back stands in a body of that format. What a judge
cannot take, or a request of another format to a model, stops the call: peers make a grade of 0 of an
error that they catch. Everything else passes, and fails where there is no network.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .main import AskJudge, DataMissing, JudgeFailed, JudgeStopped
from .message_parts import ROLES, linked_part, text_part

_PLACEHOLDER = "none"
"""What clients are given in place of a key, which they demand before they send anything."""
_VARIABLES = {
    **dict.fromkeys(("OPENAI_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY"), _PLACEHOLDER),
    "OPENAI_API_URL": "https://judge.invalid/v1/chat/completions",
    "AZURE_ENDPOINT": "https://judge.invalid/v1/chat/completions",
    "AZURE_OPENAI_ENDPOINT": "https://judge.invalid",
}
_MODULES = ("httpx", "httpx2")
_KNOWN = re.compile(r"/(chat/completions|responses|messages)/?$")
_OTHER = re.compile(
    r"(:\w*generateContent|/(completions|embeddings|moderations|rerank|invoke|converse))/?$", re.IGNORECASE
)
"""Requests to models that no answer of a judge fits."""


class HttpJudge:
    """The judge behind the clients of a peer."""

    def __init__(self, ask_judge: AskJudge) -> None:
        self._ask = ask_judge
        self.folder = Path()
        """Where pictures that the judge is shown are written."""

    def install(self) -> None:
        """Take the place of the wire in the HTTP libraries that are installed."""
        for name, value in _VARIABLES.items():
            os.environ.setdefault(name, value)
        for name in _MODULES:
            if importlib.util.find_spec(name) is not None:
                self._install_httpx(importlib.import_module(name))
        if importlib.util.find_spec("requests") is not None:
            self._install_requests()

    def reply(self, address: str, body: bytes) -> dict[str, Any] | None:
        """The body that the judge's answer makes, None where this asks no model. Raises JudgeStopped."""
        path = address.split("?")[0]
        known = _KNOWN.search(path)
        if known is None:
            if _OTHER.search(path):
                raise JudgeStopped(f"the peer asks a model at {path}, a format in which no judge can be asked")
            return None
        try:
            sent = json.loads(body)
        except ValueError:
            return None
        _check_wishes(sent)
        text = self.ask(_read_messages(known[1], sent, self.folder), _generation(sent))
        return {"id": "judge", "model": sent.get("model") or "judge", **_BODIES[known[1]](text)}

    def ask(self, messages: Sequence[Mapping[str, Any]], generation: Mapping[str, Any]) -> str:
        """The judge's text. Raises JudgeStopped where it does not answer."""
        try:
            return self._ask(messages, generation)
        except JudgeFailed as error:
            raise JudgeStopped(f"the judge did not answer: {error}") from error

    def _install_httpx(self, httpx: Any) -> None:
        sync, of_async = httpx.HTTPTransport, httpx.AsyncHTTPTransport
        plain_send, plain_async_send = sync.handle_request, of_async.handle_async_request

        def send(transport: Any, request: Any) -> Any:
            body = self.reply(str(request.url), request.read())
            return plain_send(transport, request) if body is None else httpx.Response(200, json=body)

        async def send_async(transport: Any, request: Any) -> Any:
            body = self.reply(str(request.url), await request.aread())
            return await plain_async_send(transport, request) if body is None else httpx.Response(200, json=body)

        sync.handle_request, of_async.handle_async_request = send, send_async

    def _install_requests(self) -> None:
        requests = importlib.import_module("requests")
        adapter = requests.adapters.HTTPAdapter
        plain_send = adapter.send

        def send(self_: Any, request: Any, *arguments: Any, **named: Any) -> Any:
            sent = request.body.encode() if isinstance(request.body, str) else request.body or b""
            body = self.reply(request.url, sent) if request.method == "POST" and isinstance(sent, bytes) else None
            if body is None:
                return plain_send(self_, request, *arguments, **named)
            response = requests.Response()
            response.status_code, response.url, response.request = 200, request.url, request
            response.headers["Content-Type"] = "application/json"
            response.encoding, response._content = "utf-8", json.dumps(body).encode()
            return response

        adapter.send = send


def _check_wishes(sent: Mapping[str, Any]) -> None:
    """Raise JudgeStopped for what an answer of one text is not."""
    wishes = {"tools": sent.get("tools"), "several answers": (sent.get("n") or 1) > 1, "a stream": sent.get("stream")}
    for wish, is_there in wishes.items():
        if is_there:
            raise JudgeStopped(f"the peer asks its judge for {wish}, which none can give")


def _read_messages(kind: str, sent: Mapping[str, Any], folder: Path) -> list[dict[str, Any]]:
    """The messages of a request as those of a sample."""
    told = {"responses": sent.get("instructions"), "messages": sent.get("system")}.get(kind)
    given = sent.get("input" if kind == "responses" else "messages") or []
    given = [{"role": "user", "content": given}] if isinstance(given, str) else given
    messages = []
    for message in [{"role": "system", "content": told}, *given] if told else given:
        role = message.get("role", "user").replace("developer", "system")
        if role not in ROLES:
            raise JudgeStopped(f"the peer shows its judge a message of the role {role!r}, which none can take")
        messages.append({"role": role, "parts": _read_parts(message.get("content"), folder)})
    return messages


def _read_parts(content: Any, folder: Path) -> list[dict[str, Any]]:
    parts = []
    for part in [content] if isinstance(content, str) else content or []:
        if isinstance(part, str):
            parts.append(text_part(part))
        elif "text" in part:
            parts.append(text_part(part["text"]))
        elif "image_url" in part:
            link = part["image_url"]
            parts.append(_picture(link["url"] if isinstance(link, Mapping) else link, folder))
        elif part.get("type") == "image" and "data" in part.get("source", {}):
            source = part["source"]
            parts.append(_picture(f"data:{source.get('media_type', 'image/png')};base64,{source['data']}", folder))
        else:
            raise JudgeStopped(f"the peer shows its judge a part of the kind {part.get('type')!r}, which none can take")
    return parts


def _picture(link: str, folder: Path) -> dict[str, Any]:
    if not link.startswith("data:") or ";base64" not in link.partition(",")[0]:
        raise JudgeStopped(f"the peer shows its judge a picture by its address, {link[:80]}, which is not fetched")
    try:
        return linked_part(folder, "image", link)
    except DataMissing as error:
        raise JudgeStopped(f"the peer shows its judge what cannot be read: {error}") from error


def _generation(sent: Mapping[str, Any]) -> dict[str, Any]:
    """How the peer wants the reply generated, by the names of the exchange."""
    found: dict[str, Any] = {}
    for name in ("max_completion_tokens", "max_output_tokens", "max_tokens"):
        if sent.get(name):
            found["max_new_tokens"] = sent[name]
    for name in ("temperature", "top_p"):
        if sent.get(name) is not None:
            found[name] = sent[name]
    if sent.get("stop"):
        found["stop"] = [sent["stop"]] if isinstance(sent["stop"], str) else sent["stop"]
    return found


def _completion(text: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"object": "chat.completion", "created": 0, "choices": [choice], "usage": usage}


def _response(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    output = [{"type": "message", "id": "judge", "role": "assistant", "status": "completed", "content": content}]
    return {"object": "response", "created_at": 0, "status": "completed", "output": output}


def _anthropic_message(text: str) -> dict[str, Any]:
    usage = {"input_tokens": 0, "output_tokens": 0}
    content = [{"type": "text", "text": text}]
    return {"type": "message", "role": "assistant", "content": content, "usage": usage}


_BODIES = {"chat/completions": _completion, "responses": _response, "messages": _anthropic_message}
