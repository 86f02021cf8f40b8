"""Readers and uploads at once: a board page of `snellen hub serve` beside a bare FastAPI route.

`python -m benchmarks.perf.hub_load [--readers N] [--uploads N] [--seconds S] [--workers N]`

The bare route returns as many bytes as the board page, from one process as the hub does, and the
same readers and uploads go to both, in turns. A reader asks for the next page as soon as it has the
last one, so that with many readers a latency is mostly the time of waiting for one's turn. The
client runs on the same machine and takes its share of it on both sides alike. Other programs slow
single rounds down: beside each ratio stands that of the least p95 of all rounds, and the load of
the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

BARE = """
import sys
import uvicorn
from fastapi import FastAPI, Response, UploadFile
app = FastAPI()
body = open(sys.argv[1], "rb").read()
@app.get("/page")
async def page() -> Response:
    return Response(body, media_type="text/html")
@app.post("/page", status_code=201)
async def take(predictions: UploadFile) -> dict:
    return {"bytes": len(await predictions.read())}
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)
"""
QUESTIONS = 1_000
MODELS = 60
ROUNDS = 3
KEY = "the key of a measurement"
VIEWS = ("", "?sort=model", "?weights=open", "?evidence=verified")
"""Addresses of one board: also sorted and filtered ones."""


class Load(NamedTuple):
    """How much is asked at once."""

    readers: int
    uploads: int
    seconds: float


class Side(NamedTuple):
    """A server, what readers ask of it, and how a file is sent to it."""

    port: int
    paths: Sequence[str]
    upload: Callable[[int], tuple[str, dict[str, str], bytes]]


def environment() -> dict[str, str]:
    return {**os.environ, "SNELLEN_HUB_KEY": KEY}


def snellen(*words: object, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "snellen", *map(str, words)],
        input=stdin,
        text=True,
        capture_output=True,
        env=environment(),
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr + done.stdout)
    return done.stdout


def make_hub(folder: Path, uploads: int) -> list[str]:
    """A hub with a board of `MODELS` models, scored here; returns a token for each uploader."""
    from sqlalchemy import select

    from snellen_hub.accounts.access import create_token
    from snellen_hub.database.tables import Account, HostedBenchmark
    from snellen_hub.hub import open_hub
    from snellen_hub.intake import ModelFacts, NewSubmission, take_submission
    from snellen_hub.jobs.queue import take_job
    from snellen_hub.jobs.scoring import score_submission
    from snellen_hub.publishing import publish_submission

    data = folder / "signs.tsv"
    rows = (f"{n}\tWhich sign?\tstop\tyield\tturn\tslow\t{'ABCD'[n % 4]}\n" for n in range(QUESTIONS))
    data.write_text("index\tquestion\tA\tB\tC\tD\tanswer\n" + "".join(rows))
    os.environ["SNELLEN_HUB_KEY"] = KEY
    snellen("hub", "init", folder / "hub", "--owner", "olga", stdin="a long password\n")
    snellen("hub", "benchmark", folder / "hub", "signs", "--data", data)
    hub = open_hub(folder / "hub")
    limits = hub.config.submissions
    tokens = []
    with hub.database.writing() as session:
        for number in range(MODELS + uploads):
            account = Account(name=f"lab-{number}", role="submitter", created=_now())
            session.add(account)
            session.flush()
            if number >= MODELS:
                tokens.append(create_token(session, account, "load", frozenset({"submit"}), hub.config.sessions))
    for number in range(MODELS):
        new = NewSubmission(
            model=f"Lab-{number} model {number % 7 + 1}B",
            file_name="replies.csv",
            content=replies(0.3 + number / 100, number),
            facts=ModelFacts(parameters=number % 7 + 1.0, weights="open", released="2026-01"),
        )
        with hub.database.writing() as session:
            benchmark = session.scalars(select(HostedBenchmark)).one()
            account = session.scalars(select(Account).where(Account.name == f"lab-{number}")).one()
            row = take_submission(session, hub.storage, benchmark, account.id, new, limits)
            name = row.id
        job = take_job(hub.database, "measurement")
        assert job is not None
        score_submission(hub, job)
        with hub.database.writing() as session:
            from snellen_hub.database.tables import Submission

            publish_submission(session, session.get_one(Submission, name))
    hub.close()
    return tokens


def _now() -> object:
    from snellen_hub.accounts.access import now

    return now()


def replies(skill: float, seed: int) -> bytes:
    """A file of predictions that is right with a probability of `skill`."""
    draw = random.Random(seed)
    lines = [f"{n},{'ABCD'[n % 4] if draw.random() < skill else draw.choice('ABCD')}" for n in range(QUESTIONS)]
    return "\n".join(["index,prediction", *lines, ""]).encode()


def multipart(fields: dict[str, str], name: str, content: bytes) -> tuple[str, bytes]:
    """A form with a file: its content type and body."""
    mark = "----measurement"
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in fields.items()
    ]
    head = (
        f'--{mark}\r\nContent-Disposition: form-data; name="predictions"; filename="{name}"\r\n'
        "Content-Type: text/csv\r\n\r\n"
    )
    body = b"".join([*parts, head.encode(), content, f"\r\n--{mark}--\r\n".encode()])
    return f"multipart/form-data; boundary={mark}", body


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> tuple[int, bytes]:
    """Send a request and read its answer on a connection that stays open."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    lengths = [
        int(line.split(b":", 1)[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
    ]
    return status, await reader.readexactly(lengths[0] if lengths else 0)


async def read_pages(side: Side, until: float, number: int, latencies: list[float]) -> int:
    """Ask for pages until the time is up; returns the number of answers that are no page."""
    failures, turn = 0, number
    reader, writer = await asyncio.open_connection("127.0.0.1", side.port)
    while time.perf_counter() < until:
        path = side.paths[turn % len(side.paths)]
        turn += 1
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/html\r\n\r\n"
        started = time.perf_counter()
        try:
            status, _ = await exchange(reader, writer, head.encode())
        except (OSError, asyncio.IncompleteReadError):
            failures += 1
            reader, writer = await asyncio.open_connection("127.0.0.1", side.port)
            continue
        latencies.append(time.perf_counter() - started)
        failures += status != 200
    writer.close()
    return failures


async def upload(side: Side, number: int) -> tuple[int, bytes]:
    path, headers, body = side.upload(number)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}Content-Length: {len(body)}\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", side.port)
    answer = await exchange(reader, writer, head.encode() + body)
    writer.close()
    return answer


async def press(side: Side, load: Load) -> dict[str, object]:
    """All readers and all uploads at once."""
    latencies: list[float] = []
    until = time.perf_counter() + load.seconds
    readers = [asyncio.create_task(read_pages(side, until, number, latencies)) for number in range(load.readers)]
    await asyncio.sleep(load.seconds / 4)
    started = time.perf_counter()
    answers = await asyncio.gather(*(upload(side, number) for number in range(load.uploads)))
    uploaded = time.perf_counter() - started
    failures = sum(await asyncio.gather(*readers))
    cuts = statistics.quantiles(latencies, n=100)
    return {
        "p50": cuts[49],
        "p95": cuts[94],
        "p99": cuts[98],
        "pages": len(latencies),
        "failures": failures,
        "upload_seconds": uploaded,
        "uploads": [(status, body.decode()) for status, body in answers],
    }


def _press_in_process(side_port: int, paths: list[str], uploads: list, load: Load, out: object) -> None:
    side = Side(side_port, paths, lambda number: uploads[number])
    out.put(asyncio.run(press(side, load)))  # type: ignore[attr-defined]


def measure(side: Side, load: Load) -> dict:
    """The load from a process of its own, so that every turn begins alike."""
    queue = multiprocessing.get_context("spawn").Queue()
    uploads = [side.upload(number) for number in range(load.uploads)]
    process = multiprocessing.get_context("spawn").Process(
        target=_press_in_process, args=(side.port, list(side.paths), uploads, load, queue)
    )
    process.start()
    result = queue.get()
    process.join()
    return result


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str) -> bytes:
    for _ in range(300):
        with suppress(OSError), urllib.request.urlopen(url, timeout=30) as answer:
            return bytes(answer.read())
        time.sleep(0.1)
    sys.exit(f"{url} does not answer")


def scored_submissions(folder: Path) -> dict[str, str]:
    from sqlalchemy import select

    from snellen_hub.database.tables import Submission
    from snellen_hub.hub import open_hub

    hub = open_hub(folder / "hub")
    with hub.database.reading() as session:
        rows = {row.public_id: row.status for row in session.scalars(select(Submission))}
    hub.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--uploads", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    load = Load(arguments.readers, arguments.uploads, arguments.seconds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokens = make_hub(folder, arguments.rounds * load.uploads)
        ports = free_port(), free_port()
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "snellen", "hub", "serve", str(folder / "hub"), "--port", str(ports[0])],
                env=environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ),
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "snellen",
                    "hub",
                    "worker",
                    str(folder / "hub"),
                    "--processes",
                    str(arguments.workers),
                ],
                env=environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ),
        ]
        try:
            page = wait_for(f"http://127.0.0.1:{ports[0]}/benchmarks/signs")
            (folder / "page.html").write_bytes(page)
            (folder / "bare.py").write_text(BARE)
            processes.append(
                subprocess.Popen([sys.executable, str(folder / "bare.py"), str(folder / "page.html"), str(ports[1])])
            )
            wait_for(f"http://127.0.0.1:{ports[1]}/page")
            print(
                f"the board page has {len(page):,} bytes; {load.readers} readers, "
                f"{load.uploads} uploads at once, {arguments.workers} workers"
            )
            p95s: dict[str, list[float]] = {"hub": [], "bare": []}
            sent = []
            for turn in range(arguments.rounds):
                kind, body = multipart({"model": f"model {turn}"}, "replies.csv", replies(0.6, turn))

                def send_to_hub(number: int, turn: int = turn) -> tuple[str, dict[str, str], bytes]:
                    token = tokens[turn * load.uploads + number]
                    headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}  # noqa: B023
                    return "/api/v1/benchmarks/signs/submissions", headers, body  # noqa: B023

                def send_bare(number: int) -> tuple[str, dict[str, str], bytes]:
                    return "/page", {"Content-Type": kind}, body  # noqa: B023

                hub = measure(Side(ports[0], [f"/benchmarks/signs{view}" for view in VIEWS], send_to_hub), load)
                bare = measure(Side(ports[1], ["/page"], send_bare), load)
                sent += [json.loads(text)["id"] for status, text in hub["uploads"] if status == 201]
                for side, result in (("hub", hub), ("bare", bare)):
                    p95s[side].append(result["p95"])
                    taken = sum(status == 201 for status, _ in result["uploads"])
                    print(
                        f"{side:5} p50 {1000 * result['p50']:6.0f} ms, p95 "
                        f"{1000 * result['p95']:6.0f} ms, p99 {1000 * result['p99']:6.0f} ms; "
                        f"{result['pages'] / load.seconds:6.0f} pages/s; {taken} uploads in "
                        f"{result['upload_seconds']:.1f} s; "
                        f"{result['failures']} failures"
                    )
            end = time.monotonic() + 180
            while time.monotonic() < end:
                rows = scored_submissions(folder)
                if all(rows[each] == "scored" for each in sent):
                    break
                time.sleep(1)
            lost = [each for each in sent if rows.get(each) != "scored"]
            ratios = [one / other for one, other in zip(p95s["hub"], p95s["bare"], strict=True)]
            print(
                f"p95 of the hub over that of the bare route: {min(ratios):.2f} to "
                f"{max(ratios):.2f}, median {statistics.median(ratios):.2f}; least of {len(ratios)} rounds: "
                f"{min(p95s['hub']) / min(p95s['bare']):.2f}; load of the machine {os.getloadavg()[0]:.1f}"
            )
            print(f"{len(sent)} of {arguments.rounds * load.uploads} uploads taken, {len(lost)} not scored")
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


if __name__ == "__main__":
    main()
