"""What a server makes of a request before its model reads it, as far as it tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import pybase64

from snellen.core.errors import ModelError
from snellen.core.media import picture_size
from snellen.core.message import Media
from snellen.core.model import Rendered
from snellen.core.request import Generate, Request
from snellen.models.remote.dialect import Asked, Dialect
from snellen.models.remote.faults import Unanswered
from snellen.models.remote.shown import Shown, written
from snellen.models.remote.wire import Wire
from snellen.settings import most_pixels

_ROOT = "../"
"""The two paths stand beside /v1, not below it."""


async def rendered(
    request: Request, pictures: Mapping[str, Shown], asked: Asked, dialect: Dialect, wire: Wire
) -> Rendered:
    """Sizes of the pictures as they are sent, and the prompt where the server has vLLM's paths
    `/tokenize` (of messages) and `/detokenize`."""
    sizes = []
    for part in _media(request):
        data = pybase64.b64decode(pictures[part.digest].data)
        sizes.append(picture_size(data, most_pixels()))
    text = None
    if isinstance(request, Generate) and asked.profile.tokenize:
        text = await _prompt(dialect.call(request, pictures, asked).body, pictures, wire)
    return Rendered(text, tuple(sizes))


async def _prompt(
    body: Mapping[str, object], pictures: Mapping[str, Shown], wire: Wire
) -> str | None:
    try:
        asked = {"model": body["model"], "messages": body["messages"]}
        asked["add_generation_prompt"] = True
        found = await wire.post(f"{_ROOT}tokenize", written(asked, pictures))
        tokens = {"model": body["model"], "tokens": found["tokens"]}
        prompt = (await wire.post(f"{_ROOT}detokenize", msgspec.json.encode(tokens)))["prompt"]
    except (ModelError, Unanswered, KeyError):
        return None
    return prompt if isinstance(prompt, str) else None


def _media(request: Request) -> Iterable[Media]:
    return (part for message in request.messages for part in message.media())
