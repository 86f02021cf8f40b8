"""Bodies of replies: decompressed, up to a limit."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from snellen.core.errors import ModelError

if TYPE_CHECKING:
    from aiohttp import ClientResponse

MEGABYTE = 1 << 20
_CHUNK_BYTES = 1 << 18
"""Most bytes decompressed at a time: 1 kB can hold 1 MB."""
_PLAIN = ("", "identity")
_PACKED = ("gzip", "x-gzip", "deflate")


async def read_body(response: ClientResponse, limit: int) -> bytes:
    """Read the whole body, of at most `limit` bytes. Raises as `read_chunks` does."""
    headers = response.headers
    if "Content-Encoding" not in headers and (response.content_length or limit + 1) <= limit:
        return await response.content.read()
    return b"".join([piece async for piece in read_chunks(response, limit)])


async def read_chunks(response: ClientResponse, limit: int) -> AsyncIterator[bytes]:
    """Iterate over the body as it arrives.

    Raises ModelError (`server`) once more than `limit` bytes are decompressed, and if the encoding
    is damaged or was not requested; network errors as aiohttp does.
    """
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    if packing not in (*_PLAIN, *_PACKED):
        raise ModelError(f"the server packs its replies ({packing[:20]}), which was not asked for", "server")
    unpacker = Unpacker() if packing in _PACKED else None
    remaining = limit
    async for chunk in response.content.iter_any():
        for piece in (chunk,) if unpacker is None else unpacker.unpack(chunk):
            remaining -= len(piece)
            if remaining < 0:
                response.close()
                raise ModelError(
                    f"the reply is longer than {limit / MEGABYTE:g} MB, the most that is read (option max_reply_mb)",
                    "server",
                )
            yield piece
    if unpacker is not None:
        unpacker.finish()


async def read_prefix(response: ClientResponse, limit: int) -> bytes:
    """Read the beginning of the body of an error, as far as possible: its status alone suffices."""
    import aiohttp

    data = bytearray()
    try:
        async for piece in read_chunks(response, limit):
            data += piece
    except (ModelError, aiohttp.ClientError, ConnectionError, TimeoutError):
        response.close()
    return bytes(data)


class Unpacker:
    """Decompress gzip and deflate, in pieces of bounded size."""

    def __init__(self) -> None:
        self._state: zlib._Decompress | None = None
        self._ended = True

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        """Decompress a chunk. Raises ModelError (`server`) if it is neither gzip nor deflate."""
        while chunk:
            if self._state is None:
                # A zlib stream begins with 8 in the low half of its first byte, gzip with 1F;
                # some servers send raw deflate, without a header.
                is_raw = chunk[0] & 0x0F != 8 and chunk[0] != 0x1F
                self._state = zlib.decompressobj(-15 if is_raw else 47)
                self._ended = False
            yield from self._decompress(self._state, chunk)
            chunk = self._state.unused_data
            if self._state.eof:
                self._state, self._ended = None, True

    def finish(self) -> None:
        """Raises ModelError (`connection`) if the body is truncated."""
        if not self._ended:
            raise ModelError("the reply broke off before its end", "connection")

    def _decompress(self, state: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
        while True:
            try:
                piece = state.decompress(chunk, _CHUNK_BYTES)
            except zlib.error as error:
                raise ModelError("the reply is packed and damaged", "server") from error
            if piece:
                yield piece
            chunk = state.unconsumed_tail
            if state.eof or (not chunk and len(piece) < _CHUNK_BYTES):
                return
