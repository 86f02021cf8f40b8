"""Pictures drawn by servers: images/generations, and chat replies that hold pictures."""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import Awaitable, Callable

from snellen.core.errors import ModelError
from snellen.core.media import check_image, digest_bytes
from snellen.core.output import Drawn, Failure, Generated, Output, Usage
from snellen.core.request import Draw
from snellen.models.drawn_images import Setting, not_honoured
from snellen.models.remote.chat import with_extra
from snellen.models.remote.dialect import (
    Asked,
    Body,
    Dialect,
    Pictures,
    Reply,
    mapping,
    whole_number,
)
from snellen.models.remote.errors import Unanswered, reported
from snellen.models.remote.http import Wire
from snellen.models.remote.json_reply import quoted
from snellen.models.remote.media import written
from snellen.settings import most_pixels

PATH = "images/generations"
_HONOURED: tuple[Setting, ...] = ("size",)
_REFUSED = "refusal"
_Draws = Callable[[Wire, Dialect, Draw, Pictures, Asked], Awaitable[Output]]


def _or_refused(draw: _Draws) -> _Draws:
    """Where a filter speaks in place of the model, that is a refusal in words: an outcome of its
    own, and no failure that is owed on the next start."""

    @functools.wraps(draw)
    async def drawn_or_refused(
        wire: Wire, dialect: Dialect, request: Draw, pictures: Pictures, asked: Asked
    ) -> Output:
        try:
            return await draw(wire, dialect, request, pictures, asked)
        except Unanswered as ended:
            if ended.stop_reason != _REFUSED:
                raise
            return Generated(str(ended), _REFUSED)

    return drawn_or_refused


@_or_refused
async def draw_by_images(
    wire: Wire, dialect: Dialect, request: Draw, pictures: Pictures, asked: Asked
) -> Output:
    """`POST images/generations`: the prompt's text in, pictures out as base64 or by address."""
    if pictures:
        return Failure("unsupported", "images/generations takes text alone")
    lacking = not_honoured(request.settings, PATH, _HONOURED)
    if lacking:
        return Failure("unsupported", f"{lacking}, or name the server's own field (body.NAME=...)")
    body: Body = {"model": asked.model, "n": 1, "prompt": _text(request)}
    settings = request.settings
    if settings.width and settings.height:
        body["size"] = f"{settings.width}x{settings.height}"
    reply = await wire.post(PATH, written(with_extra(body, asked), pictures))
    found = reply.get("data")
    if not isinstance(found, list) or not found:
        raise reported(reply) or ModelError("the reply holds no pictures", "server")
    given = (mapping(one).get("b64_json") or mapping(one).get("url") for one in found)
    images = [one for one in given if isinstance(one, str)]
    if not images:
        raise reported(reply) or ModelError("the reply holds no pictures", "server")
    usage = mapping(reply.get("usage"))
    spent = Usage(whole_number(usage.get("input_tokens")), whole_number(usage.get("output_tokens")))
    return await drawn(wire, images, "", spent if usage else None)


@_or_refused
async def draw_by_chat(
    wire: Wire, dialect: Dialect, request: Draw, pictures: Pictures, asked: Asked
) -> Output:
    """A chat request whose reply holds pictures, maybe with text beside them."""
    lacking = not_honoured(request.settings, "a chat model", ())
    if lacking:
        return Failure("unsupported", lacking)
    call = dialect.call(request, pictures, asked)
    body = written(call.body, pictures)
    reply: Reply
    if asked.setup.stream:
        reply = dialect.whole([piece async for piece in wire.events(call.path, body)])
    else:
        reply = await wire.post(call.path, body)
    told, images = dialect.generated(reply, asked), dialect.said(reply).images
    if not images:
        if told.stop_reason == _REFUSED:
            return told
        raise ModelError(
            f"the model answered with text alone: {quoted(told.text, 120)!r}", "request"
        )
    return await drawn(wire, images, told.text, told.usage)


async def drawn(
    wire: Wire, images: tuple[str, ...] | list[str], text: str, usage: Usage | None
) -> Drawn:
    """The pictures behind data URLs, bare base64 or addresses. Raises ModelError, MediaError."""
    data = [await _bytes(wire, image) for image in images]
    for one in data:
        check_image(one, most_pixels())
    names = tuple(digest_bytes(one) for one in data)
    return Drawn(names, text, dict(zip(names, data, strict=True)), usage)


async def _bytes(wire: Wire, image: str) -> bytes:
    if image.startswith(("http://", "https://")):
        return await wire.fetch(image)
    encoded = image.partition(",")[2] if image.startswith("data:") else image
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ModelError(f"a picture of the reply is no base64: {error}", "request") from error


def _text(request: Draw) -> str:
    return "\n".join(filter(None, (message.text() for message in request.messages)))
