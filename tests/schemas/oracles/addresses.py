"""Prints where the client packages send a chat request, and the header with the key, as JSON.

Nothing is sent: each client is given a transport that keeps the request and answers nothing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

KEY = "opens.nothing"
PLACE = "europe-west1"
BODY: dict[str, Any] = {"model": "some-model", "messages": [{"role": "user", "content": "A"}], "max_tokens": 5}


class Kept(Exception):
    """The request that was to be sent."""

    def __init__(self, url: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        super().__init__(url)
        self.url, self.headers, self.body = url, headers, body


def keep(request: Any) -> Any:
    headers = {name.lower(): _text(value) for name, value in request.headers.items()}
    # Amazon's client calls it the body.
    raise Kept(str(request.url), headers, json.loads(getattr(request, "body", None) or request.content))


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _openai() -> None:
    import openai

    openai.OpenAI(api_key=KEY, max_retries=0).chat.completions.create(**BODY)


def _anthropic() -> None:
    import anthropic

    anthropic.Anthropic(api_key=KEY, max_retries=0).messages.create(**BODY)


def _groq() -> None:
    import groq

    groq.Groq(api_key=KEY, max_retries=0).chat.completions.create(**BODY)


def _together() -> None:
    import together

    together.Together(api_key=KEY, max_retries=0).chat.completions.create(**BODY)


def _fireworks() -> None:
    import fireworks

    fireworks.Fireworks(api_key=KEY, max_retries=0).chat.completions.create(**BODY)


def _mistral() -> None:
    from mistralai.client import Mistral

    Mistral(api_key=KEY).chat.complete(**BODY)


def _openrouter() -> None:
    from openrouter import OpenRouter

    OpenRouter(api_key=KEY).chat.send(**BODY)


def _google() -> None:
    from google import genai

    client = genai.Client(api_key=KEY)
    client.models.generate_content(model="some-model", contents="A")


def _zhipu() -> None:
    from zai import ZhipuAiClient

    ZhipuAiClient(api_key=KEY).chat.completions.create(**BODY)


def _doubao() -> None:
    from volcenginesdkarkruntime import Ark

    Ark(api_key=KEY, max_retries=0).chat.completions.create(**BODY)


def _vertex() -> None:
    from google import genai
    from google.oauth2.credentials import Credentials

    client = genai.Client(vertexai=True, project="some-project", location=PLACE, credentials=Credentials(KEY))
    client.models.generate_content(model="some-model", contents="A")


def _vertex_anthropic() -> None:
    import anthropic

    client = anthropic.AnthropicVertex(access_token=KEY, project_id="some-project", region=PLACE, max_retries=0)
    client.messages.create(**BODY)


def _bedrock() -> None:
    import botocore.session

    client = botocore.session.get_session().create_client("bedrock-runtime", region_name=PLACE)
    client.meta.events.register("before-send", lambda request, **_: keep(request))
    client.converse(modelId="some-model", messages=[{"role": "user", "content": [{"text": "A"}]}])


CALLS: dict[str, Callable[[], None]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "groq": _groq,
    "together": _together,
    "fireworks": _fireworks,
    "mistral": _mistral,
    "openrouter": _openrouter,
    "google": _google,
    "zhipu": _zhipu,
    "doubao": _doubao,
    "vertex": _vertex,
    "vertex-anthropic": _vertex_anthropic,
    "bedrock": _bedrock,
}


def kept_of(error: BaseException | None) -> Kept | None:
    """The kept request among the causes of an error."""
    while error is not None and not isinstance(error, Kept):
        error = error.__cause__ or error.__context__
    return error


def main() -> None:
    os.environ["AWS_BEARER_TOKEN_BEDROCK"] = KEY
    # Every client but Amazon's sends by one of these two libraries.
    for name in ("httpx", "httpx2"):
        try:
            library = __import__(name)
        except ImportError:
            continue
        library.HTTPTransport.handle_request = lambda self, request: keep(request)
    found = {}
    for name, call in CALLS.items():
        try:
            call()
        except Exception as error:  # noqa: BLE001 - any error of a client may be caused by the kept request
            kept = kept_of(error)
            if kept is None:
                print(f"{name}: {error!r}", file=sys.stderr)
                continue
            header = next(key for key, value in kept.headers.items() if KEY in value or key == "authorization")
            found[name] = {"url": kept.url, "header": header, "bearer": kept.headers[header].startswith("Bearer ")}
            version = kept.headers.get("anthropic-version") or kept.body.get("anthropic_version")
            if version:
                found[name]["version"] = version
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
