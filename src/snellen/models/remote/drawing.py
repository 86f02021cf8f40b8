"""Images drawn by servers: images/generations, and chat replies that hold images."""

from __future__ import annotations

import base64
import binascii

from snellen.core.errors import ModelError
from snellen.core.media import check_image, digest_bytes
from snellen.core.output import Drawn, Failure, Output, Usage
from snellen.core.request import Draw
from snellen.models.drawn_images import DrawingSetting, unsupported_settings
from snellen.models.remote.chat import with_extra
from snellen.models.remote.dialect import (
    Body,
    Dialect,
    MediaByDigest,
    RemoteModelConfig,
    dict_or_empty,
    receive_reply,
    to_generated,
    token_count,
)
from snellen.models.remote.errors import error_in_body
from snellen.models.remote.http import ServerClient
from snellen.models.remote.json_reply import quote
from snellen.models.remote.media import encode_body
from snellen.settings import max_image_pixels

PATH = "images/generations"
_SUPPORTED: tuple[DrawingSetting, ...] = ("size",)


async def draw_by_images(
    client: ServerClient, dialect: Dialect, request: Draw, media: MediaByDigest, config: RemoteModelConfig
) -> Output:
    """`POST images/generations`: text of the prompt in, images out as base64 or URLs."""
    if media:
        return Failure("unsupported", "images/generations takes text alone")
    unsupported = unsupported_settings(request.settings, PATH, _SUPPORTED)
    if unsupported:
        return Failure("unsupported", f"{unsupported}, or name the server's own field (body.NAME=...)")
    body: Body = {"model": config.model, "n": 1, "prompt": request.text()}
    settings = request.settings
    if settings.width and settings.height:
        if config.profile.image_sides:
            body |= {"width": settings.width, "height": settings.height}
        else:
            body["size"] = f"{settings.width}x{settings.height}"
    reply = await client.post(PATH, encode_body(with_extra(body, config), media))
    entries = reply.get("data")
    if not isinstance(entries, list) or not entries:
        raise error_in_body(reply) or ModelError("the reply holds no images", "server")
    values = (dict_or_empty(entry).get("b64_json") or dict_or_empty(entry).get("url") for entry in entries)
    images = [entry for entry in values if isinstance(entry, str)]
    if not images:
        raise error_in_body(reply) or ModelError("the reply holds no images", "server")
    usage = dict_or_empty(reply.get("usage"))
    spent = Usage(token_count(usage.get("input_tokens")), token_count(usage.get("output_tokens")))
    return await load_images(client, images, "", spent if usage else None)


async def draw_by_chat(
    client: ServerClient, dialect: Dialect, request: Draw, media: MediaByDigest, config: RemoteModelConfig
) -> Output:
    """A chat request whose reply holds images, possibly with text."""
    unsupported = unsupported_settings(request.settings, "a chat model", ())
    if unsupported:
        return Failure("unsupported", unsupported)
    call = dialect.build_call(request, media, config)
    raw = dialect.parse_reply(await receive_reply(client, dialect, call, media, config))
    generated = to_generated(raw, config)
    if not raw.images:
        if generated.stop_reason == "refusal":
            return generated
        raise ModelError(f"the model answered with text alone: {quote(generated.text, 120)!r}", "request")
    return await load_images(client, raw.images, generated.text, generated.usage)


async def load_images(
    client: ServerClient, images: tuple[str, ...] | list[str], text: str, usage: Usage | None
) -> Drawn:
    """Load images from data URLs, base64 or URLs. Raises ModelError and MediaError."""
    data = [await _image_bytes(client, image) for image in images]
    for image_bytes in data:
        check_image(image_bytes, max_image_pixels())
    names = tuple(digest_bytes(image_bytes) for image_bytes in data)
    return Drawn(names, text, dict(zip(names, data, strict=True)), usage)


async def _image_bytes(client: ServerClient, image: str) -> bytes:
    if image.startswith(("http://", "https://")):
        return await client.fetch(image)
    encoded = image.partition(",")[2] if image.startswith("data:") else image
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ModelError(f"an image of the reply is not base64: {error}", "request") from error
