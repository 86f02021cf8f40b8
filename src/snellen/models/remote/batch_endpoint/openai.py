"""OpenAI's Batch API: a file of lines, `POST batches`, and a file of results and one of errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import IO

import msgspec

from snellen.core.model import BatchState
from snellen.models.remote.batch_endpoint.protocol import (
    NAME_FIELD,
    BatchLine,
    batch_problem,
    cancellation_error,
    expiry_error,
    is_near,
    pages,
    parse_line,
    place_of,
    response_line,
    upload_file,
)
from snellen.models.remote.dialect import Body, Call, dict_or_empty
from snellen.models.remote.http import HttpClient

_ENDED = frozenset({"completed", "expired", "cancelled", "failed"})


class OpenAIBatches:
    """`POST files`, `POST batches`, as of OpenAI's description of its API."""

    def __init__(self, endpoint: str) -> None:
        """`endpoint` is the path that each line asks, e.g. `/v1/chat/completions`."""
        self._endpoint = endpoint

    def line(self, key: str, call: Call) -> Body:
        return {"custom_id": key, "method": "POST", "url": self._endpoint, "body": call.body}

    async def upload(self, client: HttpClient, name: str, lines: IO[bytes]) -> str:
        return await upload_file(client, name, lines)

    async def create(self, client: HttpClient, name: str, upload: str, lines: IO[bytes]) -> str:
        body = {"input_file_id": upload, "endpoint": self._endpoint, "completion_window": "24h"}
        reply, _ = await client.upload("batches", msgspec.json.encode({**body, "metadata": {NAME_FIELD: name}}))
        return place_of(reply)

    async def find(self, client: HttpClient, name: str, count: int, since: float) -> list[str]:
        async for batch in pages(client, "batches", "after", {"limit": 100}):
            if dict_or_empty(batch.get("metadata")).get(NAME_FIELD) == name:
                return [place_of(batch)]
            if not is_near(batch.get("created_at"), since):
                break
        return []

    async def state(self, client: HttpClient, place: str) -> BatchState:
        batch = await client.get(f"batches/{place}")
        status = batch.get("status")
        if status == "failed":
            return BatchState(True, batch_problem(dict_or_empty(batch.get("errors")).get("data")))
        files = batch.get("output_file_id") or batch.get("error_file_id")
        if status in ("cancelled", "expired") and not files:
            return BatchState(True, cancellation_error() if status == "cancelled" else expiry_error())
        return BatchState(status in _ENDED)

    async def results(self, client: HttpClient, place: str) -> AsyncIterator[BatchLine]:
        batch = await client.get(f"batches/{place}")
        async for line in _file_lines(client, batch.get("output_file_id"), batch.get("error_file_id")):
            yield line


class MistralBatches:
    """Mistral's jobs: `POST files`, `POST batch/jobs`, as of its client."""

    def __init__(self, endpoint: str, model: str, hours: int) -> None:
        self._endpoint, self._model, self._hours = endpoint, model, hours

    def line(self, key: str, call: Call) -> Body:
        return {"custom_id": key, "body": call.body}

    async def upload(self, client: HttpClient, name: str, lines: IO[bytes]) -> str:
        return await upload_file(client, name, lines)

    async def create(self, client: HttpClient, name: str, upload: str, lines: IO[bytes]) -> str:
        body: Body = {"input_files": [upload], "endpoint": self._endpoint, "model": self._model}
        body |= {"metadata": {NAME_FIELD: name}, "timeout_hours": self._hours}
        reply, _ = await client.upload("batch/jobs", msgspec.json.encode(body))
        return place_of(reply)

    async def find(self, client: HttpClient, name: str, count: int, since: float) -> list[str]:
        for page in range(50):
            reply = await client.get(f"batch/jobs?page={page}&page_size=100&order_by=-created")
            jobs = [dict_or_empty(job) for job in reply.get("data") or ()]
            for job in jobs:
                if dict_or_empty(job.get("metadata")).get(NAME_FIELD) == name:
                    return [place_of(job)]
            if not jobs or not is_near(jobs[-1].get("created_at"), since):
                break
        return []

    async def state(self, client: HttpClient, place: str) -> BatchState:
        job = await client.get(f"batch/jobs/{place}")
        status, has_files = job.get("status"), job.get("output_file") or job.get("error_file")
        if status in ("FAILED", "CANCELLED") and not has_files:
            return BatchState(True, cancellation_error() if status == "CANCELLED" else batch_problem(job.get("errors")))
        return BatchState(status in ("SUCCESS", "FAILED", "TIMEOUT_EXCEEDED", "CANCELLED"))

    async def results(self, client: HttpClient, place: str) -> AsyncIterator[BatchLine]:
        job = await client.get(f"batch/jobs/{place}")
        async for line in _file_lines(client, job.get("output_file"), job.get("error_file")):
            yield line


async def _file_lines(client: HttpClient, *files: object) -> AsyncIterator[BatchLine]:
    """The replies in those of the files of a batch that there are."""
    for file in files:
        if isinstance(file, str) and file:
            async for line in client.lines(f"files/{file}/content"):
                yield response_line(parse_line(line))
