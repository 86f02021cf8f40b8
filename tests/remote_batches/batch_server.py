"""A server on loopback with the batch endpoints of OpenAI, Mistral, Anthropic and Google, as their published
descriptions and clients have them, which can fail in every way.

`tests/schemas/batches.py` holds what it answers, and what it is asked, to the types of the providers' clients.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from aiohttp import web

Api = Literal["openai", "mistral", "anthropic", "google"]
Json = dict[str, Any]
Fate = Literal["answered", "refused", "cut", "overloaded", "expired", "missing", "invalid"]
_KEY = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass
class Batch:
    """A batch that was created."""

    api: Api
    id: str
    requests: list[tuple[str, Json]]
    name: str = ""
    model: str = ""
    created: float = field(default_factory=time.time)
    polls: int = 0
    status: str = "running"
    problem: str = ""
    fates: dict[str, Fate] = field(default_factory=dict)
    host: str = ""
    bodies: dict[str, Json] = field(default_factory=dict)
    in_file: bool = False
    """Whether its requests came in a file, of Google's."""


@dataclass
class BatchServer:
    """What the server was asked, and how it fails."""

    batches: dict[str, Batch] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    exchanges: list[tuple[str, Json, Json]] = field(default_factory=list)
    """Of each request with JSON: method and path, body, and the reply."""
    lines: list[bytes] = field(default_factory=list)
    """Lines of uploaded files."""
    result_lines: list[tuple[Api, bytes]] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    """How often each question was in a batch that was created."""
    live: int = 0
    """Requests that were answered at once."""
    key: str = ""
    """The key that is wanted; "" takes any."""
    is_upload_held: bool = True
    """Whether an upload that waits goes on waiting."""
    is_gone: bool = False
    """Whether every request gets 503."""
    polls_needed: int = 1
    """Looks at a batch until it has ended; a large number holds all batches."""
    faults: Counter[str] = field(default_factory=Counter)
    """How many more times a fault happens, by its name."""
    reached: Counter[str] = field(default_factory=Counter)
    """How often a fault has happened, or a step was reached."""
    fate: Callable[[str, int], Fate] = lambda question, time: "answered"
    """How a question ends in the so-many-th batch it is in, from 1."""
    reply: Callable[[str], str] = lambda prompt: "AB"[int(prompt.split("What is ")[1].split("?")[0]) % 2]
    extra_lines: Callable[[list[Json]], list[Json]] = lambda lines: lines
    """Changes the result lines of a batch."""
    most_requests: int = 1_000_000
    """Requests of a batch above which it fails as a whole."""
    url: str = ""

    def take(self, fault: str) -> bool:
        """Whether a fault happens now."""
        if not self.faults[fault]:
            return False
        self.faults[fault] -= 1
        self.reached[fault] += 1
        return True

    async def handle(self, request: web.Request) -> web.StreamResponse:
        sent = {name: request.headers.get(name, "") for name in ("Authorization", "x-api-key", "x-goog-api-key")}
        if self.is_gone:
            return web.json_response({"error": {"message": "gone"}}, status=503)
        if self.key and not any(value.removeprefix("Bearer ") == self.key for value in sent.values()):
            error = {"type": "authentication_error", "message": "Incorrect API key provided", "code": "invalid_api_key"}
            return web.json_response({"error": error}, status=401)
        path = request.path
        if path.endswith("/content") or path.endswith("/results") or path.endswith(":download"):
            return await self._results(request)
        if request.content_type.startswith("multipart/"):
            return await self._multipart(request)
        if path.startswith("/upload/"):
            return await self._resumable(request)
        body = await request.json() if request.method == "POST" else {}
        status, reply = await self._route(request, path, body)
        self.exchanges.append((f"{request.method} {path}", body, reply))
        return web.json_response(reply, status=status)

    async def _route(self, request: web.Request, path: str, body: Json) -> tuple[int, Json]:
        if request.method == "POST":
            if path == "/v1/batches":
                return await self._create("openai", self._openai_requests(body), (body.get("metadata") or {}), body)
            if path == "/v1/batch/jobs":
                lines = [json.loads(line) for line in self.files[body["input_files"][0]].splitlines()]
                requests = [(line["custom_id"], line["body"]) for line in lines]
                return await self._create("mistral", requests, body.get("metadata") or {}, body)
            if path == "/v1/messages/batches":
                requests = [(each["custom_id"], each["params"]) for each in body["requests"]]
                return await self._create("anthropic", requests, {}, body)
            if path.endswith(":batchGenerateContent"):
                requests = self._google_requests(body["batch"]["inputConfig"])
                return await self._create("google", requests, {"snellen": body["batch"]["displayName"]}, body)
            self.live += 1
            api = "anthropic" if path.endswith("/messages") else "google" if "generateContent" in path else "openai"
            return 200, _message(api, body, "A")
        if path == "/v1/models":
            return 200, {"data": [{"id": "tiny", "object": "model"}]}
        return self._look(request, path)

    def _openai_requests(self, body: Json) -> list[tuple[str, Json]]:
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        assert body["completion_window"] == "24h"
        assert all(line["method"] == "POST" and line["url"] == body["endpoint"] for line in lines)
        assert len({line["body"]["model"] for line in lines}) == 1
        return [(line["custom_id"], line["body"]) for line in lines]

    def _google_requests(self, source: Json) -> list[tuple[str, Json]]:
        if "fileName" in source:
            lines = [json.loads(line) for line in self.files[source["fileName"].removeprefix("files/")].splitlines()]
            return [(line["key"], line["request"]) for line in lines]
        return [(each["metadata"]["key"], each["request"]) for each in source["requests"]["requests"]]

    async def _create(self, api: Api, requests: list[tuple[str, Json]], metadata: Json, body: Json) -> tuple[int, Json]:
        if self.take("create rejected"):
            return 400, {"error": {"message": "this model takes no batches"}}
        if self.take("create broken before"):
            return 500, {"error": {"message": "broken"}}
        if self.take("create hangs before"):
            await asyncio.sleep(3600)
        keys = [key for key, _ in requests]
        assert len(set(keys)) == len(keys)
        assert all(_KEY.fullmatch(key) for key in keys)
        number = len(self.batches) + 1
        place = {"google": f"batches/b{number}", "anthropic": f"msgbatch_{number}"}.get(api, f"batch_{number}")
        batch = Batch(api, place, requests, metadata.get("snellen", ""), body.get("model", "tiny"), host=self.url)
        batch.bodies = dict(requests)
        batch.in_file = "fileName" in body.get("batch", {}).get("inputConfig", {})
        self.batches[place] = batch
        if len(requests) > self.most_requests:
            batch.status, batch.problem = "failed", "token_limit_exceeded"
        else:
            for key, asked in requests:
                question = _prompt(asked)
                self.asked[question] += 1
                batch.fates[key] = self.fate(question, self.asked[question])
        self.reached["created"] += 1
        if self.take("create broken after"):
            return 500, {"error": {"message": "broken"}}
        if self.take("create hangs after"):
            await asyncio.sleep(3600)
        return 200, self._shown(batch)

    def _look(self, request: web.Request, path: str) -> tuple[int, Json]:
        kinds: dict[str, tuple[Api, str]] = {
            "/v1/batches": ("openai", "data"),
            "/v1/batch/jobs": ("mistral", "data"),
            "/v1/messages/batches": ("anthropic", "data"),
            "/v1beta/batches": ("google", "operations"),
        }
        if path in kinds:
            api, entries = kinds[path]
            self.reached["listed"] += 1
            shown = [self._shown(batch) for batch in reversed(self.batches.values()) if batch.api == api]
            size = int(request.query.get("limit") or request.query.get("page_size") or request.query["pageSize"])
            if api == "mistral":
                start = int(request.query["page"]) * size
                return 200, {"object": "list", "total": len(shown), "data": shown[start : start + size]}
            after = request.query.get("after") or request.query.get("after_id") or request.query.get("pageToken")
            names = [each.get("id") or each.get("name") for each in shown]
            start = names.index(after) + 1 if after else 0
            page = shown[start : start + size]
            more = len(shown) > start + size
            if api == "google":
                return 200, {entries: page} | ({"nextPageToken": page[-1]["name"]} if more else {})
            ends = {"first_id": page[0]["id"] if page else None, "last_id": page[-1]["id"] if page else None}
            return 200, {"object": "list", "data": page, "has_more": more} | ends
        name = path.removeprefix("/v1beta/") if path.startswith("/v1beta/") else path.rpartition("/")[2]
        batch = self.batches.get(name)
        if batch is None:
            return 404, {"error": {"message": f"No batch found with id '{name}'.", "type": "invalid_request_error"}}
        if self.take("state broken"):
            return 500, {"error": {"message": "broken"}}
        batch.polls += 1
        self.reached["polled"] += 1
        if batch.status == "running" and batch.polls >= self.polls_needed:
            batch.status = "ended"
        return 200, self._shown(batch)

    def _shown(self, batch: Batch) -> Json:
        return {"openai": _openai, "mistral": _mistral, "anthropic": _anthropic, "google": self._google}[batch.api](
            batch
        )

    def _google(self, batch: Batch) -> Json:
        state = {"running": "RUNNING", "ended": "SUCCEEDED", "failed": "FAILED", "expired": "EXPIRED"}[batch.status]
        moment = datetime.fromtimestamp(batch.created, UTC).isoformat().replace("+00:00", "Z")
        metadata = {
            "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
            "model": "models/tiny",
            "displayName": batch.name,
            "createTime": moment,
            "updateTime": moment,
            "batchStats": {"requestCount": str(len(batch.requests))},
            "state": f"BATCH_STATE_{state}",
            "name": batch.id,
        }
        shown: Json = {"name": batch.id, "metadata": metadata}
        if batch.status == "ended":
            output: Json = {"responsesFile": f"files/{batch.id.removeprefix('batches/')}"}
            if not batch.in_file:
                lines = self.extra_lines([self._line(batch, key) for key in batch.fates])
                entries = [{"metadata": {"key": line.pop("key")}, **line} for line in lines if line]
                output = {"inlinedResponses": {"inlinedResponses": entries}}
            shown |= {"done": True, "response": output}
            metadata["output"] = output
        if batch.status == "failed":
            shown |= {"done": True, "error": {"code": 8, "message": batch.problem}}
        return shown

    async def _multipart(self, request: web.Request) -> web.StreamResponse:
        if self.take("upload broken"):
            return web.json_response({"error": {"message": "broken"}}, status=500)
        fields: dict[str, bytes] = {}
        name = ""
        async for part in await request.multipart():
            fields[part.name] = bytes(await part.read())  # type: ignore[index,union-attr]
            name = part.filename or name  # type: ignore[union-attr]
        assert fields["purpose"] == b"batch"
        assert name.endswith(".jsonl")
        reply = self._keep(fields["file"], name)
        if self.take("upload hangs after"):
            await asyncio.sleep(3600)
        if self.take("upload waits"):
            while self.is_upload_held:
                await asyncio.sleep(0.01)
        self.exchanges.append(("POST /v1/files", {}, reply))
        return web.json_response(reply)

    async def _resumable(self, request: web.Request) -> web.StreamResponse:
        if request.headers["X-Goog-Upload-Command"] == "start":
            assert request.headers["X-Goog-Upload-Protocol"] == "resumable"
            url = f"{self.url.removesuffix('/v1')}/upload/v1beta/files?upload_id=1"
            return web.Response(headers={"X-Goog-Upload-URL": url, "X-Goog-Upload-Status": "active"})
        if self.take("upload broken"):
            return web.json_response({"error": {"message": "broken"}}, status=500)
        kept = self._keep(await request.read(), "")
        reply = {"file": {"name": f"files/{kept['id']}", "mimeType": "application/jsonl", "state": "ACTIVE"}}
        return web.json_response(reply, headers={"X-Goog-Upload-Status": "final"})

    def _keep(self, data: bytes, name: str) -> Json:
        number = len(self.files) + 1
        self.files[f"file-{number}"] = data
        self.lines += data.splitlines()
        self.reached["uploaded"] += 1
        shown = {"id": f"file-{number}", "object": "file", "bytes": len(data), "created_at": int(time.time())}
        more = {"sample_type": "batch_request", "source": "upload", "num_lines": data.count(b"\n")}
        return shown | {"filename": name, "purpose": "batch", "status": "processed"} | more

    async def _results(self, request: web.Request) -> web.StreamResponse:
        name = request.path.removesuffix("/content").removesuffix("/results").removesuffix(":download")
        name = name.rpartition("/")[2]
        wants_errors, name = name.startswith("errors-"), name.removeprefix("errors-").removeprefix("results-")
        batch = self.batches.get(name) or self.batches[f"batches/{name}"]
        lines = [self._line(batch, key) for key in batch.fates]
        lines = [line for line in self.extra_lines(lines) if line]
        if batch.api in ("openai", "mistral"):
            lines = [line for line in lines if bool(line.get("error")) == wants_errors]
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        self.result_lines += [(batch.api, line) for line in data.splitlines()]
        if self.take("results broken"):
            return web.json_response({"error": {"message": "broken"}}, status=500)
        if self.take("results end early"):
            return web.Response(body=data[: len(data) // 2])
        cuts, hangs = self.take("results cut"), self.take("results hang")
        response = web.StreamResponse()
        response.content_length = len(data)
        await response.prepare(request)
        if not (cuts or hangs):
            await response.write(data)
            return response
        await response.write(data[: len(data) // 2])
        if hangs:
            await asyncio.sleep(3600)
        assert request.transport is not None
        request.transport.abort()
        return response

    def _line(self, batch: Batch, key: str) -> Json:
        """The result of a request, {} if it has none."""
        asked = batch.bodies[key]
        fate = batch.fates[key] if batch.status != "expired" else "expired"
        if fate == "missing":
            return {}
        reply = _message(batch.api, asked, self.reply(_prompt(asked)), fate)
        return {"openai": _openai_line, "mistral": _openai_line, "anthropic": _anthropic_line, "google": _google_line}[
            batch.api
        ](key, fate, reply)


def _prompt(body: Json) -> str:
    """The text of a request, in any dialect."""
    if "contents" in body:
        return "\n".join(part.get("text", "") for part in body["contents"][-1]["parts"])
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _message(api: str, body: Json, text: str, fate: Fate = "answered") -> Json:
    """A reply as of a single request."""
    if fate == "refused":
        text = ""
    if api == "anthropic":
        stop = {"refused": "refusal", "cut": "max_tokens"}.get(fate, "end_turn")
        usage = {"input_tokens": 12, "output_tokens": 3}
        content = [{"type": "text", "text": text}] if text else []
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "tiny"),
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
    if api == "google":
        stop = {"refused": "SAFETY", "cut": "MAX_TOKENS"}.get(fate, "STOP")
        candidate: Json = {"finishReason": stop, "index": 0}
        candidate |= {"content": {"parts": [{"text": text}], "role": "model"}} if text else {}
        usage = {"promptTokenCount": 12, "candidatesTokenCount": 3, "totalTokenCount": 15}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "tiny"}
    stop = {"refused": "content_filter", "cut": "length"}.get(fate, "stop")
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", "tiny"),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": stop}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }


def _openai(batch: Batch) -> Json:
    status = {"running": "in_progress", "ended": "completed"}.get(batch.status, batch.status)
    has_files = batch.status in ("ended", "expired")
    failed = sum(fate in ("expired", "overloaded", "invalid") for fate in batch.fates.values())
    count = len(batch.requests)
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "errors": {"object": "list", "data": [{"code": batch.problem, "message": "Enqueued token limit reached"}]}
        if batch.status == "failed"
        else None,
        "input_file_id": "file-1",
        "completion_window": "24h",
        "status": status,
        "output_file_id": f"results-{batch.id}" if has_files else None,
        "error_file_id": f"errors-{batch.id}" if has_files and (failed or batch.status == "expired") else None,
        "created_at": int(batch.created),
        "request_counts": {"total": count, "completed": count - failed, "failed": failed},
        "metadata": {"snellen": batch.name},
    }


def _mistral(batch: Batch) -> Json:
    status = {"running": "RUNNING", "ended": "SUCCESS", "expired": "TIMEOUT_EXCEEDED"}.get(batch.status, "FAILED")
    has_files = batch.status in ("ended", "expired")
    failed = sum(fate in ("expired", "overloaded", "invalid") for fate in batch.fates.values())
    count = len(batch.requests)
    return {
        "id": batch.id,
        "object": "batch",
        "input_files": ["file-1"],
        "endpoint": "/v1/chat/completions",
        "model": batch.model,
        "errors": [{"message": batch.problem, "count": 1}] if batch.problem else [],
        "status": status,
        "created_at": int(batch.created),
        "total_requests": count,
        "completed_requests": count if has_files else 0,
        "succeeded_requests": count - failed if has_files else 0,
        "failed_requests": failed if has_files else 0,
        "metadata": {"snellen": batch.name},
        "output_file": f"results-{batch.id}" if has_files else None,
        "error_file": f"errors-{batch.id}" if has_files and failed else None,
    }


def _anthropic(batch: Batch) -> Json:
    moment = datetime.fromtimestamp(batch.created, UTC).isoformat()
    ended = batch.status != "running"
    fates = Counter(batch.fates.values())
    counts = {"processing": 0 if ended else len(batch.requests), "canceled": 0}
    counts["expired"] = fates["expired"] if ended else 0
    counts["errored"] = fates["overloaded"] + fates["invalid"] if ended else 0
    counts["succeeded"] = len(batch.requests) - counts["expired"] - counts["errored"] if ended else 0
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if ended else "in_progress",
        "request_counts": counts,
        "ended_at": moment if ended else None,
        "created_at": moment,
        "expires_at": moment,
        "cancel_initiated_at": None,
        "archived_at": None,
        "results_url": f"{batch.host}/messages/batches/{batch.id}/results" if ended else None,
    }


def _openai_line(key: str, fate: Fate, reply: Json) -> Json:
    line: Json = {"id": "batch_req_1", "custom_id": key, "response": None, "error": None}
    if fate == "expired":
        message = "This request could not be executed before the completion window expired."
        return line | {"error": {"code": "batch_expired", "message": message}}
    status = {"overloaded": 500, "invalid": 400}.get(fate, 200)
    body = reply if status == 200 else {"error": {"message": f"{fate} request", "type": "error", "code": None}}
    line["response"] = {"status_code": status, "request_id": "1", "body": body}
    return line


def _anthropic_line(key: str, fate: Fate, reply: Json) -> Json:
    if fate == "expired":
        return {"custom_id": key, "result": {"type": "expired"}}
    if fate in ("overloaded", "invalid"):
        kind = "overloaded_error" if fate == "overloaded" else "invalid_request_error"
        error = {"type": "error", "error": {"type": kind, "message": f"{fate} request"}, "request_id": None}
        return {"custom_id": key, "result": {"type": "errored", "error": error}}
    return {"custom_id": key, "result": {"type": "succeeded", "message": reply}}


def _google_line(key: str, fate: Fate, reply: Json) -> Json:
    codes = {"expired": (4, "Deadline expired"), "overloaded": (14, "overloaded"), "invalid": (3, "invalid request")}
    if fate in codes:
        code, message = codes[fate]
        return {"key": key, "error": {"code": code, "message": message}}
    return {"key": key, "response": reply}


@contextmanager
def running_batches() -> Iterator[BatchServer]:
    """The server in a thread of its own."""
    server = BatchServer()
    loop = asyncio.new_event_loop()
    started = threading.Event()

    async def serve() -> web.AppRunner:
        app = web.Application(client_max_size=256 << 20)
        app.router.add_route("*", "/{path:.*}", server.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        return runner

    async def end_tasks() -> None:
        await asyncio.sleep(0)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(serve())
        started.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.run_until_complete(end_tasks())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = threading.Thread(target=work, name="batch-server")
    thread.start()
    started.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
