"""What the protocols of batch endpoints share."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import IO, NamedTuple, Protocol
from urllib.parse import urlencode

import msgspec

from snellen.core.errors import ModelError
from snellen.core.model import BatchState
from snellen.models.remote.dialect import Body, Call, Reply, dict_or_empty, list_or_empty
from snellen.models.remote.errors import error_from_status
from snellen.models.remote.http import HttpClient
from snellen.models.remote.json_reply import parse_json, quote

NAME_FIELD = "snellen"
"""Key of a batch's name among its metadata."""
_CLOCK_SECONDS = 900.0
"""Seconds by which a provider's clock may differ from this machine's, and a creation may last."""
_MAX_PAGES = 50
"""Pages of a list of batches that are searched: the newest come first."""


class BatchLine(NamedTuple):
    """A result of a batch: the reply's body, or what the request failed by."""

    key: str
    reply: Reply
    error: Exception | None = None


class BatchProtocol(Protocol):
    """Wire format of one kind of batch endpoint. Methods that ask the server raise ModelError."""

    def line(self, key: str, call: Call) -> Body:
        """A request as a line of a batch."""
        ...

    async def upload(self, client: HttpClient, name: str, lines: IO[bytes]) -> str:
        """Upload the lines; returns the name of the file, "" if `create` sends the lines."""
        ...

    async def create(self, client: HttpClient, name: str, upload: str, lines: IO[bytes]) -> str:
        """Create the batch; returns its place."""
        ...

    async def find(self, client: HttpClient, name: str, count: int, since: float) -> list[str]:
        """Places of the batches that may be the named one, as `BatchedModel.find_batches`."""
        ...

    async def state(self, client: HttpClient, place: str) -> BatchState:
        """How far a batch is."""
        ...

    def results(self, client: HttpClient, place: str) -> AsyncIterator[BatchLine]:
        """The lines of a batch that has ended."""
        ...


async def pages(client: HttpClient, path: str, cursor: str, query: Mapping[str, object]) -> AsyncIterator[Reply]:
    """The entries of a list of batches, whose next page begins after the last entry (`cursor`)."""
    asked = dict(query)
    for _ in range(_MAX_PAGES):
        reply = await client.get(f"{path}?{urlencode(asked)}")
        entries = [dict_or_empty(entry) for entry in list_or_empty(reply.get("data"))]
        for entry in entries:
            yield entry
        if not entries or reply.get("has_more") is not True:
            return
        asked[cursor] = str(entries[-1].get("id"))


def is_near(moment: object, since: float) -> bool:
    """Whether a batch may have been created since about then; `moment` is its Unix time or ISO 8601 date."""
    try:
        seconds = float(moment) if isinstance(moment, int | float) else datetime.fromisoformat(str(moment)).timestamp()
    except ValueError:
        return True
    return seconds > since - _CLOCK_SECONDS


def place_of(reply: Reply, field: str = "id") -> str:
    """The name of what was created. Raises ModelError if the server gives none."""
    value = reply.get(field)
    if not isinstance(value, str) or not value or " " in value:
        raise ModelError(f"the server names no {field} of what it created: {quote(dict(reply), 120)}", "server")
    return value


def parse_line(line: bytes) -> Reply:
    """A line of results; empty, so that its request counts as missing, if it is cut or is no object."""
    try:
        return dict_or_empty(parse_json(line))
    except ValueError:
        return {}


def error_of(status: int, body: object) -> Exception:
    """The error that a status and a body stand for, as that of a single request."""
    return error_from_status(status if status >= 400 else 500, {}, msgspec.json.encode(body))


def response_line(line: Reply) -> BatchLine:
    """A line in OpenAI's format: a response with its status, or an error."""
    key, response, error = quote(line.get("custom_id"), 200), dict_or_empty(line.get("response")), line.get("error")
    status, body = response.get("status_code"), response.get("body")
    if isinstance(status, int) and status >= 400:
        return BatchLine(key, {}, error_of(status, body))
    if isinstance(body, dict) and body and not error:
        return BatchLine(key, body)
    code = quote(dict_or_empty(error).get("code"))
    if code in ("batch_expired", "batch_cancelled"):
        return BatchLine(key, {}, expiry_error() if code == "batch_expired" else cancellation_error())
    return BatchLine(key, {}, error_of(500, {"error": error or "the result holds neither a reply nor an error"}))


def expiry_error() -> ModelError:
    return ModelError("the batch expired before the request was answered", "timeout")


def cancellation_error() -> ModelError:
    """Not tried again in this start: somebody wanted it to end."""
    return ModelError("the batch was cancelled at the provider", "request")


def batch_problem(messages: object) -> ModelError:
    """Why a whole batch failed; `rate_limit` if only less fits at a time."""
    text = quote(messages or "the server says not why", 300)
    is_limit = "token_limit_exceeded" in text or "limit reached" in text.lower()
    return ModelError(f"the batch failed: {text}", "rate_limit" if is_limit else "request")


def reopen(lines: IO[bytes]) -> IO[bytes]:
    """The file from its begin, which its sender may close: an upload may be tried again."""
    lines.flush()
    lines.seek(0)
    return os.fdopen(os.dup(lines.fileno()), "rb")


async def upload_file(client: HttpClient, name: str, lines: IO[bytes]) -> str:
    """Upload lines for a batch (`POST files`); returns the name of the file."""
    import aiohttp

    with reopen(lines) as file:
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", file, filename=f"{name}.jsonl", content_type="application/jsonl")
        reply, _ = await client.upload("files", form)
        return place_of(reply)
