"""Pictures and requests for the tests of models."""

from __future__ import annotations

import io
import random
from typing import Any

from PIL import Image

from snellen.core.media import Clip, InlineSource, Source, digest_bytes, encode_clip
from snellen.core.request import Generate, Generation, Media, Message, Part, Rank, Ref, Text, user


def noise(seed: int, width: int = 40, height: int = 30) -> bytes:
    """A PNG of random pixels."""
    draw = random.Random(seed)
    image = Image.frombytes("RGB", (width, height), draw.randbytes(width * height * 3))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def shown(text: str, *pictures: bytes) -> tuple[tuple[Message, ...], dict[str, Source]]:
    """A user's message with the pictures before the text, and the pictures' sources."""
    parts: list[Part] = [Media("image", digest_bytes(data)) for data in pictures]
    sources: dict[str, Source] = {digest_bytes(data): InlineSource(data) for data in pictures}
    return (user(*parts, Text(text)),), sources


def ask(text: str, *pictures: bytes, settings: Generation | None = None) -> Generate:
    messages, media = shown(text, *pictures)
    settings = settings or Generation(max_new_tokens=10)
    return Generate(messages=messages, media=media, ref=Ref("q"), settings=settings)


def rank(text: str, candidates: tuple[str, ...], *pictures: bytes) -> Rank:
    messages, media = shown(text, *pictures)
    return Rank(messages=messages, media=media, ref=Ref("q"), candidates=candidates)


def clip(*seeds: int, distance: float = 0.5, size: tuple[int, int] = (64, 48)) -> bytes:
    """Frames of random pixels as one video, `distance` seconds apart."""
    frames = tuple(noise(seed, *size) for seed in seeds)
    return encode_clip(Clip(frames, tuple(distance * number for number in range(len(seeds)))))


def about(data: bytes, text: str = "What happens?", **changes: Any) -> Generate | Rank:
    """A question about a video, or a ranking with `candidates`."""
    digest = digest_bytes(data)
    parts: dict[str, Any] = {
        "messages": (user(Media("video", digest), Text(text)),),
        "media": {digest: InlineSource(data)},
        "ref": Ref("q"),
    }
    if "candidates" in changes:
        return Rank(**parts, **changes)
    return Generate(**parts, settings=Generation(max_new_tokens=6), **changes)
