"""Hold batch endpoints to the providers' own clients: what Snellen sends, and what the server of the tests answers.

    python -m tests.schemas.batches            judge anew, and compare with what is stored
    python -m tests.schemas.batches --write    store it

`SNELLEN_ORACLE_PYTHON` names a Python with the clients (`packages.txt`). Each body that Snellen sends must be
of the client's type, and have no field that the client's own request to the same path lacks; each client
must read the server of `tests/remote_batches` as Snellen does.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(__file__).parent
STORED = FOLDER / "batches.json"
sys.path.insert(0, str(FOLDER.parent / "remote_batches"))

from batch_server import running_batches  # noqa: E402

from snellen.core.media import InlineSource  # noqa: E402
from snellen.core.request import Generate, Generation, Media, Message, Ref, Text, user  # noqa: E402
from snellen.models.naming.registry import open_model  # noqa: E402

KEYS = ("OPENAI_API_KEY", "MISTRAL_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
_TYPES = {
    "/v1/batches": "openai.types.batch_create_params:BatchCreateParams",
    "/v1/batch/jobs": "mistralai.client.models:CreateBatchJobRequest",
    "/v1/messages/batches": "anthropic.types.messages.batch_create_params:BatchCreateParams",
}
_LINE_TYPES = {
    "mistral": ("mistralai.client.models:BatchRequest", None),
    "openai": ("openai.types.chat.completion_create_params:CompletionCreateParamsNonStreaming", "body"),
}
_CONTENT = ("requests.*.params", "requests.*.request", "batch.inputConfig.requests.requests.*.request", "metadata")
"""What stands below these is judged with single requests, or is of the caller's choice."""


class Sent:
    """Takes the place of the client, and keeps what is uploaded and created."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, Any]] = []

    async def upload(self, path: str, body: Any, headers: Mapping[str, str] = {}) -> tuple[dict[str, Any], Any]:
        if isinstance(body, bytes):
            self.bodies.append((f"/v1/{path}", json.loads(body)))
        names = {"id": "file-1", "name": "batches/b1", "file": {"name": "files/f1"}}
        return names, {"X-Goog-Upload-URL": "http://127.0.0.1/upload"}


def requests() -> list[Generate]:
    image = b"\x89PNG\r\n\x1a\n" + b"0" * 40
    digest = hashlib.sha256(image).hexdigest()
    ref, settings = Ref("1"), Generation(max_new_tokens=16, stop=("###",))
    told = (Message("system", (Text("Be brief."),)), user(Media("image", digest), Text("What is it?")))
    schema = '{"additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}'
    return [
        Generate(messages=(user(Text("What is 1?")),), ref=ref, settings=settings),
        Generate(messages=told, ref=ref, settings=settings, media={digest: InlineSource(image)}),
        Generate(
            messages=told[1:], ref=ref, settings=Generation(response_schema=schema), media={digest: InlineSource(image)}
        ),
    ]


async def _sent_by(api: str) -> tuple[list[dict[str, Any]], list[tuple[str, Any]]]:
    """The lines of a batch, and the bodies that create it; of Google, one with its lines and one with a file."""
    from snellen.models.remote.batch_endpoint import google

    # Claude's newer models are sent no temperature, of which the client's types know nothing any more.
    model: Any = open_model(f"{api}/{'claude-opus-5' if api == 'anthropic' else 'tiny'}:batch=yes")
    sent = Sent()
    model._http = sent
    encoded = [await model.encode_request(f"{number:064}", request) for number, request in enumerate(requests())]
    with tempfile.TemporaryFile() as lines:
        lines.write(b"".join(each.line + b"\n" for each in encoded))
        for limit in (google._INLINE_BYTES, 0) if api == "google" else (0,):
            usual, google._INLINE_BYTES = google._INLINE_BYTES, limit
            upload = await model.upload_batch("name", lines)
            google._INLINE_BYTES = usual
            await model.create_batch("name", upload, lines)
    return [json.loads(each.line) for each in encoded], sent.bodies


def sent() -> dict[str, Any]:
    """By API, what Snellen sends: lines and bodies."""
    for name in KEYS:
        os.environ.setdefault(name, "sk-a-key-of-tests-0123456789")
    return {api: asyncio.run(_sent_by(api)) for api in ("openai", "mistral", "anthropic", "google")}


def digest_of(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


def judge() -> dict[str, Any]:
    """What the clients say, also of each body with a field that they do not know."""
    ours = sent()
    judged = [(_TYPES[path], body) for _, bodies in ours.values() for path, body in bodies if path in _TYPES]
    for api, (name, field) in _LINE_TYPES.items():
        judged += [(name, line[field] if field else line) for line in ours[api][0]]
    with running_batches() as server:
        faults = [(name, body | {"snellen_unknown": 1}) for name, body in judged]
        job = json.dumps({"url": server.url, "bodies": judged, "faults": faults})
        command = [os.environ["SNELLEN_ORACLE_PYTHON"], str(FOLDER / "oracles" / "batch_clients.py")]
        done = subprocess.run(command, input=job, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-3000:])
        theirs: dict[str, set[str]] = {}
        for call, body, _ in server.exchanges:
            path = call.removeprefix("POST ").replace("/v1beta/models", "/v1/models")
            theirs.setdefault(path, set()).update(_paths(body))
    said = json.loads(done.stdout)
    unknown = [
        f"{path}: the client sends no {field}"
        for _, bodies in ours.values()
        for path, body in bodies
        if "upload" not in path
        for field in sorted(set(_paths(body)) - theirs.get(path, set()))
    ]
    return {**said, "unknown": unknown, "bodies": len(judged), "digest": digest_of(ours)}


def _paths(value: Any, at: str = "") -> Iterator[str]:
    """Paths of the fields of a body; entries of lists are `*`."""
    if any(at.endswith(end) for end in _CONTENT):
        return
    entries = value.items() if isinstance(value, dict) else (("*", each) for each in value)
    for name, each in entries:
        path = f"{at}.{name}".lstrip(".")
        yield path
        if isinstance(each, dict | list):
            yield from _paths(each, path)


def main() -> int:
    found = judge()
    if "--write" in sys.argv:
        STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    return int(bool(found["problems"] or found["unknown"]) or found != json.loads(STORED.read_text(encoding="utf-8")))


if __name__ == "__main__":
    sys.exit(main())
