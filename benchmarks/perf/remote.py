"""Requests to a server: Snellen beside a bare aiohttp client that sends the same payloads."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import msgspec
from benchmarks.perf.figures import Figure, Part, Size, figure, profiled
from benchmarks.perf.settled import settle

from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.run import run
from snellen.models.naming.registry import open_model
from snellen.store.responses import ResponseStore

METHOD = (
    "A server on loopback answers after 50 ms; each request carries a JPEG of about 40 kB of its "
    "own, read from a TSV that was written a while ago (pictures of a file that may still be "
    "changing are hashed again). Snellen makes a whole run, with the store and samples.jsonl, in "
    "a fresh folder. The bare client reads the same TSV, and sends the same bodies over as many "
    "connections with nothing around them. Client and server have a core each where the system "
    "lets them be told. The CPU time is the client's own, reading data and starting included; at "
    "few connections the core sleeps between replies, and what waking it takes counts too, which "
    "differs by machine and hour: the bare client's tells how much. In a profile of 800 "
    "requests, without the waiting, 38 to 40 % of Snellen's time is its own Python; aiohttp's is "
    "24 %, asyncio's 8 %, SQLite's 5 %, that of files and sockets 9 %, msgspec's 2 %, and most of "
    "the others that of Python's own functions. A client of our own over aiohttp's "
    "connections, without its session, was tried: 1.4 instead of 1.9 times the bare client at 256 "
    "connections. It was left out, because it needs what aiohttp does not document."
)
DELAY_MS = 50.0
BARS = {32: 96.0, 256: 80.0}
"""Connections to the least percentage of the bare client's rate."""
CPU_BAR = 1.4
"""Times the bare client's."""
_JPEG = 40_000
_OPTIONS = ("red", "green", "blue", "white")


class Cost(NamedTuple):
    rate: float
    """Requests per second."""
    cpu: float
    """Milliseconds of processor time per request."""


def measure(size: Size) -> Part:
    count = size.requests
    taken: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        taken.setdefault(name, []).append(value)

    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder, cores():
        data = Path(folder, "questions.tsv")
        write_pictures(data, count)
        benchmark = resolve_benchmark(str(data), Variant(), {})
        benchmark.open()
        with server() as url:
            snellen(benchmark, url, 32, Path(folder, "warm"), 200)
            for repeat in range(min(size.repeats, 3)):
                for width in BARS:
                    out = Path(folder, f"{width}-{repeat}")
                    ours = snellen(benchmark, url, width, out, None)
                    bare = asyncio.run(bare_client(data, url, width))
                    note(f"bare {width}", bare.rate)
                    note(f"bare cpu {width}", bare.cpu)
                    note(f"rate {width}", ours.rate)
                    note(f"cpu {width}", ours.cpu)
                    note(f"share {width}", 100 * ours.rate / bare.rate)
            limits = profiled(lambda: snellen(benchmark, url, 256, Path(folder, "profiled"), None), 10)
    figures = [one for width in BARS for one in _figures(width, taken)]
    title = f"Requests to a server, {count:,} with a picture each"
    return Part("remote", title, METHOD, tuple(figures), limits)


def _figures(width: int, taken: dict[str, list[float]]) -> Iterator[Figure]:
    bare = f"bare client, {width} connections"
    yield figure(bare, "/s", taken[f"bare {width}"])
    yield figure(
        f"Snellen, {width} connections", "/s", taken[f"rate {width}"], reference=bare, against=taken[f"bare {width}"]
    )
    yield figure(
        f"share of the bare client's rate, {width} connections",
        "%",
        taken[f"share {width}"],
        bar=BARS[width],
        at_least=True,
    )
    bare_cpu = f"bare client's CPU per request, {width} connections"
    yield figure(bare_cpu, "ms", taken[f"bare cpu {width}"])
    yield figure(
        f"Snellen's CPU per request, {width} connections",
        "ms",
        taken[f"cpu {width}"],
        reference=bare_cpu,
        against=taken[f"bare cpu {width}"],
        ratio_bar=CPU_BAR,
    )


def snellen(benchmark: Benchmark, url: str, width: int, out: Path, limit: int | None) -> Cost:
    """A whole run into a fresh folder."""
    name = f"{url}#perf"
    plan = RunPlan(
        model=open_model(f"{name}:concurrency={width}"), model_name=name, benchmark=benchmark, out=out, limit=limit
    )
    began, used = time.perf_counter(), time.process_time()
    with ResponseStore(out / "store.sqlite") as store:
        folder = run(plan, store)
    took, cpu = time.perf_counter() - began, time.process_time() - used
    counts = folder.info.counts
    if folder.info.status != "complete" or counts.sent != counts.samples:
        raise RuntimeError(f"{folder.info.status}: {counts}")
    return Cost(counts.sent / took, 1000 * cpu / counts.sent)


async def bare_client(data: Path, url: str, width: int) -> Cost:
    """The same requests, with nothing around them."""
    began, used, count = time.perf_counter(), time.process_time(), 0
    encode = msgspec.json.Encoder().encode

    async def worker(rows: Iterator[tuple[str, bytes]], session: aiohttp.ClientSession) -> None:
        nonlocal count
        for question, picture in rows:
            image = msgspec.Raw(b'{"url":"data:image/jpeg;base64,%b"}' % picture)
            content = [{"type": "image_url", "image_url": image}, {"type": "text", "text": question}]
            body = encode({"model": "perf", "messages": [{"role": "user", "content": content}]})
            headers = {"Content-Type": "application/json"}
            async with session.post(f"{url}/chat/completions", data=body, headers=headers) as reply:
                msgspec.json.decode(await reply.read())
            count += 1

    connector = aiohttp.TCPConnector(limit=width)
    async with aiohttp.ClientSession(connector=connector) as session:
        rows = read_pictures(data)
        await asyncio.gather(*(worker(rows, session) for _ in range(width)))
    took, cpu = time.perf_counter() - began, time.process_time() - used
    return Cost(count / took, 1000 * cpu / count)


def write_pictures(path: Path, count: int, distinct: int | None = None) -> None:
    """Questions with pictures; no two of the first `distinct` are alike."""
    jpeg = _jpeg()
    with path.open("wb") as file:
        file.write(b"\t".join([b"index", b"image", b"question", b"A", b"B", b"C", b"D", b"answer"]))
        for number in range(count):
            # Bytes after the end of the picture are no part of it, and make it another file.
            own = jpeg + (number % (distinct or count)).to_bytes(8, "big")
            cells = [str(number).encode(), base64.b64encode(own), b"What color is thing %d?" % number]
            file.write(b"\n" + b"\t".join([*cells, *(one.encode() for one in _OPTIONS), b"B"]))
        file.write(b"\n")
    settle(path)


def read_pictures(path: Path) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as file:
        next(file)
        for line in file:
            _, picture, question, *options, _ = line.rstrip(b"\n").split(b"\t")
            yield f"{question!r} {options!r}", picture


def _jpeg() -> bytes:
    """A photograph's size: noise in the right amount."""
    import io

    from PIL import Image

    lot = random.Random(0)
    small = Image.frombytes("RGB", (160, 120), lot.randbytes(160 * 120 * 3))
    for quality in range(95, 20, -5):
        out = io.BytesIO()
        small.resize((640, 480)).save(out, "JPEG", quality=quality)
        if out.tell() <= _JPEG:
            break
    return out.getvalue().ljust(_JPEG, b"\0")


@contextmanager
def server(delay_ms: float = DELAY_MS) -> Iterator[str]:
    """The stand-in, in a process of its own on the other core."""
    core = max(_all_cores()) if len(_all_cores()) > 1 else -1
    command = [sys.executable, "-m", "benchmarks.perf.answering_server", str(core), str(delay_ms)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            assert process.stdin is not None
            process.stdin.close()


@contextmanager
def cores() -> Iterator[None]:
    """This process on the first of its cores."""
    allowed = _all_cores()
    if len(allowed) < 2:
        yield
        return
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


_CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()


def _all_cores() -> set[int]:
    return _CORES
