"""Drives the batch endpoints of a server by the providers' own clients, and judges bodies by their types.

Reads `{"url", "bodies": [[type, body]], "faults": [[type, body]]}` from standard input, writes `{"versions",
"problems", "refused", "read"}` to standard output: `refused` counts the faults that were found; `read` is what
each client makes of a batch that ended, of its results and of the list.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic_core import ValidationError
from typed import validator_of

KEY = "sk-a-key-of-tests-0123456789"
PACKAGES = ("openai", "anthropic", "mistralai", "google-genai")
TEXTS = ("What is 0? A. one B. two", "What is 1? A. one B. two")
CHAT = [{"model": "tiny", "messages": [{"role": "user", "content": text}]} for text in TEXTS]


def main() -> None:
    job = json.load(sys.stdin)
    problems = [problem for name, body in job["bodies"] for problem in problems_of(name, body)]
    refused = sum(bool(problems_of(name, body)) for name, body in job["faults"])
    read = {name: drive(job["url"]) for name, drive in DRIVES.items()}
    versions = {name: metadata.version(name) for name in PACKAGES}
    json.dump({"versions": versions, "problems": problems, "refused": refused, "read": read}, sys.stdout)


def problems_of(name: str, body: Any) -> list[str]:
    try:
        validator_of(name).validate_python(body)
    except ValidationError as error:
        return [f"{name}: {'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
    return []


def lines_of(**more: Any) -> bytes:
    lines = [{"custom_id": f"k{number}", **more, "body": body} for number, body in enumerate(CHAT)]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def drive_openai(url: str) -> list[Any]:
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key=KEY)
    lines = lines_of(method="POST", url="/v1/chat/completions")
    file = client.files.create(file=("lines.jsonl", lines), purpose="batch")
    batch = client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"snellen": "name"}
    )
    while batch.status != "completed":
        time.sleep(0.05)
        batch = client.batches.retrieve(batch.id)
    results = [json.loads(line) for line in client.files.content(batch.output_file_id or "").text.splitlines()]
    texts = [each["response"]["body"]["choices"][0]["message"]["content"] for each in results]
    listed = [each.metadata for each in client.batches.list(limit=100) if each.id == batch.id]
    return [batch.status, batch.request_counts and batch.request_counts.total, texts, listed]


def drive_mistral(url: str) -> list[Any]:
    from mistralai.client import Mistral

    client = Mistral(api_key=KEY, server_url=url.removesuffix("/v1"))
    file = client.files.upload(file={"file_name": "lines.jsonl", "content": lines_of()}, purpose="batch")
    job = client.batch.jobs.create(
        input_files=[file.id],
        model="tiny",
        endpoint="/v1/chat/completions",
        metadata={"snellen": "name"},
        timeout_hours=24,
    )
    while job.status != "SUCCESS":
        time.sleep(0.05)
        job = client.batch.jobs.get(job_id=job.id)
    results = [json.loads(line) for line in client.files.download(file_id=job.output_file).read().splitlines()]
    texts = [each["response"]["body"]["choices"][0]["message"]["content"] for each in results]
    listed = [each.metadata for each in client.batch.jobs.list(page_size=100).data or [] if each.id == job.id]
    return [job.status, job.total_requests, texts, listed]


def drive_anthropic(url: str) -> list[Any]:
    from anthropic import Anthropic

    client = Anthropic(base_url=url.removesuffix("/v1"), api_key=KEY)
    requests: Any = [
        {"custom_id": f"k{number}", "params": body | {"max_tokens": 8}} for number, body in enumerate(CHAT)
    ]
    batch = client.messages.batches.create(requests=requests)
    while batch.processing_status != "ended":
        time.sleep(0.05)
        batch = client.messages.batches.retrieve(batch.id)
    results: list[Any] = [each.result for each in client.messages.batches.results(batch.id)]
    texts = [each.message.content[0].text for each in results]
    listed = [sum(each.request_counts.model_dump().values()) for each in client.messages.batches.list(limit=100)]
    return [batch.processing_status, batch.request_counts.succeeded, texts, listed[:1]]


def drive_google(url: str) -> list[Any]:
    from google import genai

    client = genai.Client(api_key=KEY, http_options={"base_url": url.removesuffix("/v1"), "api_version": "v1beta"})
    asked = [{"role": "user", "parts": [{"text": text}]} for text in TEXTS]
    source: Any = [{"contents": [each], "metadata": {"key": f"k{number}"}} for number, each in enumerate(asked)]
    read: list[Any] = []
    job = ended(client, client.batches.create(model="tiny", src=source, config={"display_name": "name"}))
    responses = job.dest.inlined_responses
    read += [job.state.value, [each.response.text for each in responses], [each.metadata for each in responses]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.jsonl"
        lines = [{"key": f"k{number}", "request": {"contents": [each]}} for number, each in enumerate(asked)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        file = client.files.upload(file=path, config={"display_name": "name", "mime_type": "application/jsonl"})
    job = ended(client, client.batches.create(model="tiny", src=file.name, config={"display_name": "other"}))
    results = [json.loads(line) for line in client.files.download(file=job.dest.file_name).splitlines()]
    texts = [each["response"]["candidates"][0]["content"]["parts"][0]["text"] for each in results]
    listed = sorted(each.display_name for each in client.batches.list(config={"page_size": 100}))
    return [*read, job.state.value, texts, listed]


def ended(client: Any, job: Any) -> Any:
    while job.state.value != "JOB_STATE_SUCCEEDED":
        time.sleep(0.05)
        job = client.batches.get(name=job.name)
    return job


DRIVES = {"openai": drive_openai, "mistral": drive_mistral, "anthropic": drive_anthropic, "google": drive_google}

if __name__ == "__main__":
    main()
