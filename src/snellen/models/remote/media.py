"""Pictures and videos as a request carries them: base64, made once for each medium."""

from __future__ import annotations

import asyncio
import io
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
import pybase64
from msgspec import Raw

from snellen.core.errors import MediaError
from snellen.core.media import Source, decode_image
from snellen.core.message import Media
from snellen.settings import most_pixels

LIMIT = 64 << 20
"""Bytes of base64 kept."""

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
}


class Shown(NamedTuple):
    """A medium ready to be put into a JSON body, which `written` does."""

    mime: str
    data: bytes
    """Base64."""
    digest: str

    def data_url(self) -> Raw:
        return Raw(f'"data:{self.mime};base64,{self._mark()}"'.encode())

    def base64(self) -> Raw:
        """The data alone."""
        return Raw(f'"{self._mark()}"'.encode())

    def _mark(self) -> str:
        """What stands in place of the data: zero bytes are in no other JSON text."""
        return f"\0{self.digest}\0"


def written(body: Mapping[str, object], media: Mapping[str, Shown]) -> bytes:
    """A body as JSON with the data of its media, which are copied this once."""
    pieces = _encode(body).split(b"\0")
    pieces[1::2] = [media[digest.decode()].data for digest in pieces[1::2]]
    return b"".join(pieces)


class Gallery:
    """The media of a model's requests by digest, those least recently asked about leave first."""

    def __init__(self, image_types: Iterable[str], longest_edge: int | None = None) -> None:
        self._types = frozenset(image_types)
        self._edge = longest_edge
        self._bytes = 0
        self._kept: OrderedDict[str, Shown] = OrderedDict()
        self._at_work: dict[str, asyncio.Future[bytes]] = {}
        """Pictures that are being encoded."""

    async def shown(
        self, wanted: Iterable[Media], sources: Mapping[str, Source]
    ) -> dict[str, Shown]:
        """Every medium by digest. Raises MediaError for one that cannot be read or decoded."""
        return {part.digest: await self._one(part, sources) for part in wanted}

    async def _one(self, part: Media, sources: Mapping[str, Source]) -> Shown:
        known = self._kept.get(part.digest)
        if known is not None:
            self._kept.move_to_end(part.digest)
            return known
        source = sources.get(part.digest)
        if source is None:
            raise MediaError(f"the bytes of {part.kind} {part.digest[:12]} did not come along")
        data = source.read()
        mime = media_type(data)
        if part.kind == "image" and (self._edge or mime not in self._types):
            data = await self._fitted(part.digest, data, mime in self._types)
            if (known := self._kept.get(part.digest)) is not None:
                return known
            mime = media_type(data)
        made = Shown(mime, pybase64.b64encode(data), part.digest)
        self._keep(part.digest, made)
        return made

    async def _fitted(self, digest: str, data: bytes, sendable: bool) -> bytes:
        """`fitted` in a thread, once for all who ask about the picture meanwhile."""
        at_work = self._at_work.get(digest)
        if at_work is None:
            at_work = asyncio.ensure_future(asyncio.to_thread(fitted, data, self._edge, sendable))
            self._at_work[digest] = at_work
            at_work.add_done_callback(lambda _: self._at_work.pop(digest, None))
        return await asyncio.shield(at_work)

    def _keep(self, digest: str, made: Shown) -> None:
        if digest not in self._kept:
            self._bytes += len(made.data)
        self._kept[digest] = made
        while self._bytes > LIMIT and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= len(oldest.data)


def media_type(data: bytes) -> str:
    """The media type by the first bytes; names and headers of files are not to be trusted."""
    for magic, mime in _MAGIC:
        if data.startswith(magic):
            return mime
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], "application/octet-stream")
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "video/mp4")
    return "application/octet-stream"


def fitted(data: bytes, edge: int | None, sendable: bool) -> bytes:
    """The picture as PNG, shrunk (Lanczos) so that neither edge is longer than `edge` pixels.

    The original bytes where it is small enough and of a type that can be sent.
    Raises MediaError."""
    from PIL.Image import Resampling

    picture = decode_image(data, most_pixels())
    longest = max(picture.size)
    if edge is not None and longest > edge:
        size = tuple(max(1, round(side * edge / longest)) for side in picture.size)
        picture = picture.resize((size[0], size[1]), Resampling.LANCZOS)
    elif sendable:
        return data
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()
