"""Runs to look at, and a server that shows them."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from synthetic import build_report, write_run

import snellen
from snellen.core.benchmark import Variant
from snellen.store.runs import RunFolder
from snellen.view.local_server import HOST
from snellen.view.run_view import RunLibrary
from snellen.view.server import PageServer


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def served(*paths: Path) -> Iterator[PageServer]:
    with PageServer(RunLibrary(paths), 0) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(
    server: PageServer,
    path: str,
    /,
    method: str = "GET",
    host: str | None = None,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    **query: object,
) -> Answer:
    """One request, its path sent as it stands."""
    connection = http.client.HTTPConnection(HOST, server.server_port, timeout=30)
    target = f"{path}?{urlencode(query)}" if query else path
    connection.putrequest(method, target, skip_host=True)
    sent = {"Host": host or f"{HOST}:{server.server_port}", "Cookie": server.cookie}
    if body is not None:
        sent["Content-Length"] = str(len(body))
    for name, value in {**sent, **(headers or {})}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    found = Answer(answer.status, dict(answer.getheaders()), answer.read())
    connection.close()
    return found


def catalog(server: PageServer) -> list[dict[str, Any]]:
    """The rows that the first page gets, with their shared values in place."""
    server.library.catalog.refresh(now=True)
    told = ask(server, "/api/catalog").json
    rows = [{} for _ in range(told["rows"])]
    for name, values in told["plain"].items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    for name, column in told["shared"].items():
        for row, code in zip(rows, column["codes"], strict=True):
            row[name] = column["values"][code]
    return rows


def real_runs(out: Path, limit: int = 60, circular: str | None = None) -> list[RunFolder]:
    """What `random` and the bundled model answered to questions of the bundled benchmark."""
    # In a thread of its own: the browser's driver runs an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(
            snellen.evaluate,
            ["random", "snellen/tiny"],
            ["eyechart"],
            out=out,
            limit=limit,
            html=False,
            variant=Variant(circular=circular),
        )
        return done.result().runs


def made_run(root: Path, model: str = "snellen/tiny", **told: Any) -> RunFolder:
    """A run with answers of every kind. Its benchmark is known nowhere."""
    report, records, pictures = build_report(model, benchmark="made", **told)
    return write_run(root, report, records, pictures)


def going_on(run: RunFolder, samples: int) -> list[bytes]:
    """Makes of a finished run one that has come so far; gives the lines that are still to come."""
    file = run.path / "samples.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:samples]))
    (run.path / "report.json").unlink()
    set_status(run.path, "running")
    return lines[samples:]


def set_status(folder: Path, status: str) -> None:
    file = folder / "run.json"
    info = msgspec.json.decode(file.read_bytes())
    file.write_bytes(msgspec.json.encode({**info, "status": status}))


def view(*words: str) -> subprocess.Popen[str]:
    """`snellen view` as a process of its own."""
    code = "import sys; from snellen.cli.main import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", code, "view", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@contextmanager
def viewed(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process once it serves, and its address; ended afterwards."""
    with view(*words) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[0]
        finally:
            process.kill()
