"""Images and videos in requests: base64, encoded once per medium."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import pybase64
from msgspec import Raw

from snellen.core.errors import MediaError
from snellen.core.media import InlineSource, Source, decode_image, upright_size
from snellen.core.recent import RecentValues
from snellen.core.request import Media
from snellen.settings import max_image_pixels

LIMIT = 64 << 20
"""Bytes of base64 that the cache holds."""

_encode = msgspec.json.Encoder().encode

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
)
_RIFF = {b"WEBP": "image/webp", b"AVI ": "video/x-msvideo", b"WAVE": "audio/wav"}
_BRANDS = {
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"avif": "image/avif",
    b"avis": "image/avif",
}


class EncodedMedia(NamedTuple):
    """A medium in base64; `encode_body` puts it into a JSON body."""

    mime: str
    data: bytes
    """Base64."""
    digest: str
    sent_size: tuple[int, int] | None = None
    """Width and height as sent, of an image that was shrunk."""

    def data_url(self) -> Raw:
        """JSON string of the data URL, with a placeholder for the data."""
        return Raw(f'"data:{self.mime};base64,{self.placeholder()}"'.encode())

    def base64(self) -> Raw:
        """JSON string of the data, as a placeholder."""
        return Raw(f'"{self.placeholder()}"'.encode())

    def size(self) -> tuple[int, int]:
        """Width and height of an image as sent, in pixels, upright. Raises MediaError."""
        return self.sent_size or upright_size(pybase64.b64decode(self.data), max_image_pixels())

    def placeholder(self) -> str:
        """Placeholder of the data. JSON text contains no other zero bytes."""
        return f"\0{self.digest}\0"


def frames_url(frames: Sequence[EncodedMedia], most: int) -> Raw:
    """JSON string of one data URL that holds the frames of a video, as vLLM reads it: their base64
    texts, separated by commas (vllm.multimodal.media.video). Frames stay images, so that no pixel
    changes.

    Raises MediaError if they differ in size, or are more than `most`: vLLM drops the others without
    a word.
    """
    if len(frames) > most:
        raise MediaError(
            f"{len(frames)} images are more than the {most} frames that the server reads of a "
            'video; start vLLM with --media-io-kwargs \'{"video": {"num_frames": -1}}\' and say '
            f"so with video_frames={len(frames)}, or leave out images=video"
        )
    sizes = list(dict.fromkeys(frame.size() for frame in frames))
    if len(sizes) > 1:
        (width, height), (other_width, other_height) = sizes[:2]
        raise MediaError(
            f"images of {width} x {height} and of {other_width} x {other_height} pixels are no "
            "frames of one video, which have one size; leave out images=video"
        )
    data = ",".join(frame.placeholder() for frame in frames)
    return Raw(f'"data:video/jpeg;base64,{data}"'.encode())


def encode_body(body: Mapping[str, object], media: Mapping[str, EncodedMedia]) -> bytes:
    """Encode a body as JSON with the data of its media, which are copied only once."""
    # The placeholders are the odd parts: text, digest, text, digest, ..., text.
    pieces = _encode(body).split(b"\0")
    pieces[1::2] = [media[digest.decode()].data for digest in pieces[1::2]]
    return b"".join(pieces)


class MediaCache:
    """Encoded media of a model's requests by digest; the least recently used are dropped first."""

    def __init__(self, image_types: Iterable[str], max_edge: int | None = None) -> None:
        self._types = frozenset(image_types)
        self._edge = max_edge
        self._cached: RecentValues[EncodedMedia] = RecentValues(LIMIT, lambda encoded: len(encoded.data))
        self._pending: dict[str, asyncio.Future[ResizedImage]] = {}
        """Images that are being resized, by digest."""

    async def encode(self, parts: Iterable[Media], sources: Mapping[str, Source]) -> dict[str, EncodedMedia]:
        """Encode media, by digest. Raises MediaError if one cannot be read or decoded."""
        return {part.digest: await self._encode_part(part, sources) for part in parts}

    async def _encode_part(self, part: Media, sources: Mapping[str, Source]) -> EncodedMedia:
        cached = self._cached.get(part.digest)
        if cached is not None:
            return cached
        source = sources.get(part.digest)
        if source is None:
            raise MediaError(f"the bytes of {part.kind} {part.digest[:12]} did not come along")
        data = source.read()
        mime, sent_size = media_type(data), None
        if part.kind == "image" and (self._edge or mime not in self._types):
            data, sent_size = await self._resize_once(part.digest, data, mime in self._types)
            if (cached := self._cached.get(part.digest)) is not None:
                return cached
            mime, source = media_type(data), InlineSource(data)
        ready = source.base64 if isinstance(source, InlineSource) else b""
        encoded = EncodedMedia(mime, ready or pybase64.b64encode(data), part.digest, sent_size)
        return self._cached.put(part.digest, encoded)

    async def _resize_once(self, digest: str, data: bytes, sendable: bool) -> ResizedImage:
        """Run `resize_for_api` in a thread, once for all requests that wait for the image."""
        pending = self._pending.get(digest)
        if pending is None:
            pending = asyncio.ensure_future(asyncio.to_thread(resize_for_api, data, self._edge, sendable))
            self._pending[digest] = pending
            pending.add_done_callback(lambda _: self._pending.pop(digest, None))
        return await asyncio.shield(pending)


def media_type(data: bytes) -> str:
    """The media type by the first bytes, since names of files may be wrong."""
    for magic, mime in _MAGIC:
        if data.startswith(magic):
            return mime
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], "application/octet-stream")
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "video/mp4")
    return "application/octet-stream"


class ResizedImage(NamedTuple):
    """Bytes of an image as they are sent, and its width and height if it was shrunk."""

    data: bytes
    size: tuple[int, int] | None = None


def resize_for_api(data: bytes, max_edge: int | None, sendable: bool) -> ResizedImage:
    """Resize an image (Lanczos) so that no edge exceeds `max_edge` pixels, and encode it as PNG.

    Returns the original bytes if it is small enough and `sendable`. Raises MediaError.
    """
    from PIL.Image import Resampling

    image = decode_image(data, max_image_pixels())
    longest_edge = max(image.size)
    size = None
    if max_edge is not None and longest_edge > max_edge:
        width, height = (max(1, round(side * max_edge / longest_edge)) for side in image.size)
        size = (width, height)
        image = image.resize(size, Resampling.LANCZOS)
    elif sendable:
        return ResizedImage(data)
    out = io.BytesIO()
    image.save(out, "PNG")
    return ResizedImage(out.getvalue(), size)


def sent_sizes(parts: Iterable[Media], media: Mapping[str, EncodedMedia]) -> tuple[tuple[int, int], ...]:
    """Width and height of each image of a prompt as sent; empty if none of them was shrunk."""
    images = [media[part.digest] for part in parts if part.kind == "image"]
    if all(image.sent_size is None for image in images):
        return ()
    return tuple(image.size() for image in images)
