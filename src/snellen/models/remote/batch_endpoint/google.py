"""Gemini's batches: `POST models/<model>:batchGenerateContent`, with the requests in it or in a file."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterator
from typing import IO

import msgspec

from snellen.core.model import BatchState
from snellen.models.remote.batch_endpoint.protocol import (
    BatchLine,
    batch_problem,
    cancellation_error,
    error_of,
    expiry_error,
    is_near,
    parse_line,
    place_of,
    reopen,
)
from snellen.models.remote.dialect import Body, Call, Reply, dict_or_empty, list_or_empty
from snellen.models.remote.http import HttpClient
from snellen.models.remote.json_reply import quote

_INLINE_BYTES = 15_000_000
"""Bytes up to which the requests stand in the batch itself, which may have 20 MB
(ai.google.dev/gemini-api/docs/batch-mode, read 2026-11-30)."""
_INLINE_REQUESTS = 200
"""The same for their number: their replies then come in one body, which `max_reply_mb` limits."""
_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")


class GoogleBatches:
    """The Gemini Batch API, as of Google's client."""

    def __init__(self, model: str, version: str) -> None:
        """`version` is the last step of the base URL, e.g. `v1beta`, which files have elsewhere in theirs."""
        self._model, self._version = model, version

    def line(self, key: str, call: Call) -> Body:
        return {"key": key, "request": call.body}

    async def upload(self, client: HttpClient, name: str, lines: IO[bytes]) -> str:
        size = lines.seek(0, io.SEEK_END)
        lines.seek(0)
        if size <= _INLINE_BYTES and sum(1 for _ in lines) <= _INLINE_REQUESTS:
            return ""
        begin = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(size),
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
        }
        body = msgspec.json.encode({"file": {"displayName": name, "mimeType": "application/jsonl"}})
        _, headers = await client.upload(f"../upload/{self._version}/files", body, begin)
        rest = {"X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0"}
        with reopen(lines) as file:
            reply, _ = await client.upload(headers.get("X-Goog-Upload-URL", ""), file, rest)
        return place_of(dict_or_empty(reply.get("file")), "name")

    async def create(self, client: HttpClient, name: str, upload: str, lines: IO[bytes]) -> str:
        source: Body = {"fileName": upload} if upload else {"requests": {"requests": list(_inline(lines))}}
        body = {"batch": {"displayName": name, "inputConfig": source}}
        path = f"models/{self._model}:batchGenerateContent"
        reply, _ = await client.upload(path, msgspec.json.encode(body))
        return place_of(reply, "name")

    async def find(self, client: HttpClient, name: str, count: int, since: float) -> list[str]:
        page = ""
        for _ in range(50):
            reply = await client.get(f"batches?pageSize=100{page}")
            batches = [dict_or_empty(each) for each in list_or_empty(reply.get("operations"))]
            for batch in batches:
                if dict_or_empty(batch.get("metadata")).get("displayName") == name:
                    return [place_of(batch, "name")]
            token = reply.get("nextPageToken")
            if not token or not batches:
                break
            if not is_near(dict_or_empty(batches[-1].get("metadata")).get("createTime"), since):
                break
            page = f"&pageToken={token}"
        return []

    async def state(self, client: HttpClient, place: str) -> BatchState:
        batch = await client.get(place)
        state = quote(dict_or_empty(batch.get("metadata")).get("state")).rpartition("STATE_")[2]
        output = _output(batch)
        if state in _ENDED and not output:
            problems = {"EXPIRED": expiry_error(), "CANCELLED": cancellation_error()}
            return BatchState(True, problems.get(state) or batch_problem(batch.get("error")))
        return BatchState(state in _ENDED or batch.get("done") is True)

    async def results(self, client: HttpClient, place: str) -> AsyncIterator[BatchLine]:
        output = _output(await client.get(place))
        file = output.get("responsesFile")
        if isinstance(file, str) and file:
            async for text in client.lines(f"{file}:download?alt=media"):
                line = parse_line(text)
                yield _line(line.get("key"), line)
            return
        for entry in list_or_empty(dict_or_empty(output.get("inlinedResponses")).get("inlinedResponses")):
            line = dict_or_empty(entry)
            yield _line(dict_or_empty(line.get("metadata")).get("key"), line)


def _inline(lines: IO[bytes]) -> Iterator[Body]:
    """The lines as requests in the batch itself, which have their key among the metadata."""
    lines.seek(0)
    for line in lines:
        entry = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        yield {"metadata": {"key": entry["key"]}, "request": entry["request"]}


def _output(batch: Reply) -> Reply:
    """Where the results are: the operation has them in its response, the batch in its metadata."""
    response, metadata = dict_or_empty(batch.get("response")), dict_or_empty(batch.get("metadata"))
    return response or dict_or_empty(metadata.get("output"))


def _line(key: object, line: Reply) -> BatchLine:
    response, error = line.get("response"), dict_or_empty(line.get("error"))
    if isinstance(response, dict):
        return BatchLine(quote(key, 200), response)
    code = error.get("code")
    # A status of gRPC (google.rpc.Code) or of HTTP.
    status = {3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 16: 401}.get(code, code) if isinstance(code, int) else 500
    return BatchLine(quote(key, 200), {}, error_of(int(status or 500), {"error": error}))
