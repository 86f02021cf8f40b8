"""Requests for models behind servers, and one event loop to ask in."""

from __future__ import annotations

import asyncio
import io
from typing import Any

from PIL import Image

from snellen.core.media import InlineSource, digest_bytes
from snellen.core.output import Output
from snellen.core.request import Draw, Generate, Generation, Media, Message, Part, Rank, Ref, Request, Text, user
from snellen.models.naming.registry import open_model

REF = Ref("1")


def picture(colour: str = "red", kind: str = "PNG", size: tuple[int, int] = (8, 6)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, kind)
    return out.getvalue()


def question(*parts: bytes | str, **settings: Any) -> Generate:
    messages, media = shown(*parts)
    return Generate(messages=messages, ref=REF, settings=Generation(**settings), media=media)


def ranking(*parts: bytes | str, candidates: tuple[str, ...]) -> Rank:
    messages, media = shown(*parts)
    return Rank(messages=messages, ref=REF, candidates=candidates, media=media)


def drawing(*parts: bytes | str) -> Draw:
    messages, media = shown(*parts)
    return Draw(messages=messages, ref=REF, media=media)


def shown(*parts: bytes | str) -> tuple[tuple[Message, ...], dict[str, InlineSource]]:
    media = {digest_bytes(part): InlineSource(part) for part in parts if isinstance(part, bytes)}
    made: list[Part] = [Text(part) if isinstance(part, str) else Media("image", digest_bytes(part)) for part in parts]
    return (user(*made),), media


def ask(spec: str, *requests: Request) -> list[Output]:
    """The outputs of a fresh model, asked one after the other; errors are raised."""
    model = open_model(spec)

    async def all_of_them() -> list[Output]:
        try:
            return [await model.answer(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(all_of_them())
