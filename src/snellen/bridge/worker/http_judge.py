"""Asks Snellen's judge what a peer sends to a judge over HTTP.

The peers' own code makes its requests (openai, requests, httpx) and reads the replies; what is
replaced is the wire. A request of OpenAI's chat completions or responses, or of Anthropic's messages,
is put to `ask_judge`, and the text that comes back stands in a body of that format. Everything else
passes, and fails where there is no network.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import importlib.util
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .main import AskJudge, JudgeFailed, media_part

_PLACEHOLDER = "none"
"""What clients are given in place of a key, which they demand before they send anything."""
_KEYS = ("OPENAI_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY")
_ENDPOINTS = {
    "OPENAI_API_URL": "https://judge.invalid/v1/chat/completions",
    "AZURE_ENDPOINT": "https://judge.invalid/v1/chat/completions",
    "AZURE_OPENAI_ENDPOINT": "https://judge.invalid",
}
_MODULES = ("httpx", "httpx2")
_IMAGE_SUFFIXES = {"image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp", "image/gif": ".gif"}


class JudgeStopped(BaseException):
    """The judge did not answer. No `except Exception` of the peer makes a grade of that."""


class HttpJudge:
    """The judge behind the clients of a peer."""

    def __init__(self, ask_judge: AskJudge) -> None:
        self._ask = ask_judge
        self._lock = threading.Lock()
        self.folder = Path()
        """Where pictures that the judge is shown are written."""
        self.asked = 0
        self.models: set[str] = set()
        """The models that the peer asked for."""

    def install(self) -> None:
        """Take the place of the wire in the HTTP libraries that are installed."""
        for name in _KEYS:
            os.environ.setdefault(name, _PLACEHOLDER)
        for name, address in _ENDPOINTS.items():
            os.environ.setdefault(name, address)
        for name in _MODULES:
            if importlib.util.find_spec(name) is not None:
                self._install_httpx(importlib.import_module(name))
        if importlib.util.find_spec("requests") is not None:
            self._install_requests()

    def reply(self, address: str, body: bytes) -> dict[str, Any] | None:
        """The body that the judge's answer makes, None where this asks no model."""
        kind = _request_kind(address)
        if kind is None:
            return None
        try:
            sent = json.loads(body)
        except ValueError:
            return None
        text = self.ask(_read_messages(kind, sent, self.folder), _generation(sent), sent.get("model"))
        return {**_BODIES[kind](text), "model": sent.get("model") or "judge"}

    def ask(self, messages: Sequence[Mapping[str, Any]], generation: Mapping[str, Any], model: str | None) -> str:
        """The judge's text. Raises JudgeStopped where it does not answer."""
        with self._lock:
            self.asked += 1
            if model:
                self.models.add(model)
        try:
            return self._ask(messages, generation)
        except JudgeFailed as error:
            raise JudgeStopped(str(error)) from error

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


def _request_kind(address: str) -> str | None:
    path = address.split("?")[0].rstrip("/")
    for ending in ("chat/completions", "responses", "messages"):
        if path.endswith(f"/{ending}"):
            return ending
    return None


def _read_messages(kind: str, sent: Mapping[str, Any], folder: Path) -> list[dict[str, Any]]:
    """The messages of a request as those of a sample."""
    told = sent.get("instructions" if kind == "responses" else "system") if kind != "chat/completions" else None
    messages = [{"role": "system", "content": told}] if told else []
    given = sent.get("input" if kind == "responses" else "messages") or []
    messages += [{"role": "user", "content": given}] if isinstance(given, str) else given
    return [
        {"role": _role(message.get("role", "user")), "parts": _read_parts(message.get("content"), folder)}
        for message in messages
    ]


def _role(name: str) -> str:
    return {"developer": "system"}.get(name, name)


def _read_parts(content: Any, folder: Path) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = []
    for part in content or []:
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
        elif "text" in part:
            parts.append({"type": "text", "text": part["text"]})
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
    head, _, data = link.partition(",")
    if not head.startswith("data:") or ";base64" not in head:
        raise JudgeStopped(f"the peer shows its judge a picture by its address, {link[:80]}, which is not fetched")
    media_type = head[len("data:") :].split(";")[0]
    try:
        content = base64.b64decode(data)
    except binascii.Error as error:
        raise JudgeStopped("the peer shows its judge a picture that is no base64") from error
    return media_part(folder, "image", content, _IMAGE_SUFFIXES.get(media_type, ".png"), media_type)


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
    return {"id": "judge", "object": "chat.completion", "created": 0, "choices": [choice], "usage": usage}


def _response(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    output = [{"type": "message", "id": "judge", "role": "assistant", "status": "completed", "content": content}]
    return {"id": "judge", "object": "response", "created_at": 0, "status": "completed", "output": output}


def _anthropic_message(text: str) -> dict[str, Any]:
    usage = {"input_tokens": 0, "output_tokens": 0}
    content = [{"type": "text", "text": text}]
    return {"id": "judge", "type": "message", "role": "assistant", "content": content, "usage": usage}


_BODIES: dict[str, Callable[[str], dict[str, Any]]] = {
    "chat/completions": _completion,
    "responses": _response,
    "messages": _anthropic_message,
}
