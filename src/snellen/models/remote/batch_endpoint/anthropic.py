"""Anthropic's Message Batches: `POST messages/batches`, and a file of results."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import IO

from snellen.core.model import BatchState
from snellen.models.remote.batch_endpoint.protocol import (
    BatchLine,
    cancellation_error,
    error_of,
    expiry_error,
    is_near,
    pages,
    parse_line,
    place_of,
)
from snellen.models.remote.dialect import Body, Call, dict_or_empty
from snellen.models.remote.http import HttpClient
from snellen.models.remote.json_reply import quote

_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Statuses of the types of errors (platform.claude.com, API reference, Errors); others are 500."""


class AnthropicBatches:
    """The Message Batches API, as of the types of Anthropic's client."""

    def line(self, key: str, call: Call) -> Body:
        return {"custom_id": key, "params": call.body}

    async def upload(self, client: HttpClient, name: str, lines: IO[bytes]) -> str:
        return ""

    async def create(self, client: HttpClient, name: str, upload: str, lines: IO[bytes]) -> str:
        reply, _ = await client.upload("messages/batches", b"".join(_body(lines)))
        return place_of(reply)

    async def find(self, client: HttpClient, name: str, count: int, since: float) -> list[str]:
        found = []
        async for batch in pages(client, "messages/batches", "after_id", {"limit": 1000}):
            if not is_near(batch.get("created_at"), since):
                break
            counts = dict_or_empty(batch.get("request_counts")).values()
            # Batches have no names here: what they hold shows in their results.
            if sum(number for number in counts if isinstance(number, int)) == count:
                found.append(place_of(batch))
        return found

    async def state(self, client: HttpClient, place: str) -> BatchState:
        batch = await client.get(f"messages/batches/{place}")
        return BatchState(batch.get("processing_status") == "ended")

    async def results(self, client: HttpClient, place: str) -> AsyncIterator[BatchLine]:
        async for text in client.lines(f"messages/batches/{place}/results"):
            line = parse_line(text)
            key, result = quote(line.get("custom_id"), 200), dict_or_empty(line.get("result"))
            kind = result.get("type")
            if kind == "succeeded":
                yield BatchLine(key, dict_or_empty(result.get("message")))
            elif kind in ("expired", "canceled"):
                yield BatchLine(key, {}, expiry_error() if kind == "expired" else cancellation_error())
            else:
                error = dict_or_empty(result.get("error"))
                inner = dict_or_empty(error.get("error"))
                yield BatchLine(key, {}, error_of(_STATUS.get(quote(inner.get("type")), 500), error))


def _body(lines: IO[bytes]) -> Iterator[bytes]:
    lines.seek(0)
    before = b'{"requests":['
    for line in lines:
        yield before + line.rstrip(b"\n")
        before = b","
    yield b"]}"
