"""Driving flows: what a request costs beside the model, without and with the store."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from benchmarks.perf.figures import Part, Size, figure, profiled, seconds

from snellen.benchmarks.protocol.flows import AskConfig, SinglePassFlow
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Generated, Output
from snellen.core.record import Record
from snellen.core.request import Generation, Message, Request
from snellen.core.sample import Sample
from snellen.engine.loop.driving import drive_all
from snellen.engine.loop.request_broker import MAIN, RequestBroker
from snellen.prompts.choice import prompt
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunWriter

METHOD = (
    "Choice questions are driven with the real flow against a model that answers at once: digest, "
    "look-up, reading the reply, the sample's record; with the store also a commit per reply and "
    "a line of samples.jsonl per sample. Building the prompts is measured alone and taken off. "
    "The bare sketch hashes the same prebuilt prompts in a plain loop, and with the store looks "
    "up, commits and writes the line; it has no flow, no typed answer, no retry and no model."
)
ALONE_BAR, STORED_BAR = 32.0, 2.7
"""Times the bare sketch: what it was at commit 9470a765."""
FLOW = SinglePassFlow(AskConfig(Generation(max_new_tokens=16)))
_OPTIONS = {"A": "red", "B": "green", "C": "blue", "D": "white"}
_CONCURRENCY = 64
_encode = msgspec.json.Encoder().encode


class AtOnce:
    """Answers B."""

    identity = Identity("perf", "at-once")
    capabilities = Capabilities()
    concurrency = _CONCURRENCY

    async def answer(self, request: Request) -> Output:
        return Generated("B")


class Forgetful(ResponseStore):
    """No store: nothing is known, nothing is kept."""

    def get(self, digest: bytes) -> None:
        return None

    def put(self, digest: bytes, output: Output, model_key: int, *, wait: float = 0.0) -> None:
        pass


def measure(size: Size) -> Part:
    count = size.flows
    samples = questions(count)
    messages = [prompt(sample, sample.options) for sample in samples]
    taken: dict[str, list[float]] = {}

    def note(name: str, took: float) -> None:
        taken.setdefault(name, []).append(1e6 * took / count)

    engine_alone(samples[: count // 10])  # Warm-up.
    for _ in range(size.repeats):
        note("sketch", seconds(lambda: sketch(messages)))
        note("sketch, stored", seconds(lambda: sketch_stored(messages)))
        note("prompt", seconds(lambda: build_prompts(samples)))
        note("engine", seconds(lambda: engine_alone(samples)))
        note("engine, stored", seconds(lambda: engine_stored(samples)))
    prompts = taken["prompt"]

    def less_prompt(name: str) -> list[float]:
        return [whole - part for whole, part in zip(taken[name], prompts, strict=True)]

    figures = (
        figure("bare sketch, no store", "µs", taken["sketch"]),
        figure("bare sketch, store and line", "µs", taken["sketch, stored"]),
        figure("building a prompt", "µs", prompts),
        figure(
            "engine, no store",
            "µs",
            less_prompt("engine"),
            reference="bare sketch, no store",
            against=taken["sketch"],
            ratio_bar=ALONE_BAR,
        ),
        figure(
            "engine, store and line",
            "µs",
            less_prompt("engine, stored"),
            reference="bare sketch, store and line",
            against=taken["sketch, stored"],
            ratio_bar=STORED_BAR,
        ),
    )
    limits = profiled(lambda: engine_stored(samples[: max(100, count // 5)]))
    return Part("engine", f"Engine, per request, over {count:,} flows", METHOD, figures, limits)


def questions(count: int) -> list[Sample]:
    return [
        Sample(str(number), "choice", f"What color is thing {number}?", ("B",), _OPTIONS) for number in range(count)
    ]


def build_prompts(samples: Sequence[Sample]) -> None:
    for sample in samples:
        prompt(sample, sample.options)


def engine_alone(samples: Sequence[Sample]) -> None:
    with Forgetful(None) as store:
        _drive(samples, store, None)
        assert len(store) == 0, "the engine keeps replies by another method than is replaced here"


def engine_stored(samples: Sequence[Sample]) -> None:
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        out = Path(folder)
        with RunWriter(out / "run") as writer, ResponseStore(out / "store.sqlite") as store:
            _drive(samples, store, writer)


def _drive(samples: Sequence[Sample], store: ResponseStore, writer: RunWriter | None) -> None:
    def finished(record: Record) -> None:
        if writer is not None:
            writer.append(record)

    async def main() -> None:
        broker = RequestBroker({MAIN: AtOnce()}, store)
        await drive_all(iter(samples), FLOW, broker, finished, _CONCURRENCY)
        broker.close()

    asyncio.run(main())


def sketch(prompts: Sequence[tuple[Message, ...]]) -> None:
    for messages in prompts:
        hashlib.sha256(_encode(("model", messages))).digest()


def sketch_stored(prompts: Sequence[tuple[Message, ...]]) -> None:
    """A look-up, a commit and a JSON line for every prompt."""
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        database = sqlite3.connect(Path(folder, "store.sqlite"), isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("CREATE TABLE replies (digest BLOB PRIMARY KEY, reply BLOB) WITHOUT ROWID")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        lines = os.open(Path(folder, "samples.jsonl"), flags)
        for messages in prompts:
            key = hashlib.sha256(_encode(("model", messages))).digest()
            database.execute("SELECT reply FROM replies WHERE digest = ?", (key,)).fetchone()
            database.execute("INSERT INTO replies VALUES (?, ?)", (key, b'{"text":"B"}'))
            line = {"prompt": messages, "reply": "B", "score": 1.0, "request": key.hex()}
            os.write(lines, _encode(line) + b"\n")
        os.close(lines)
        database.close()
