"""A store that another process holds for a while."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path

import pytest

from snellen.core.model import Capabilities, Identity
from snellen.core.output import Generated, Output
from snellen.core.request import Generate, Ref, Request, Text, user
from snellen.engine.loop import request_broker
from snellen.engine.loop.request_broker import RequestBroker
from snellen.store.responses import ResponseStore, StoreBusy

HELD = 0.6


class Model:
    identity = Identity("test", "quick")
    capabilities = Capabilities()

    async def answer(self, request: Request) -> Output:
        return Generated("A")


def test_other_requests_go_on_while_the_store_is_held(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with ResponseStore(path) as store:
        broker = RequestBroker({"model": Model()}, store)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        gaps: list[float] = []

        async def watch() -> None:
            last = time.monotonic()
            while True:
                await asyncio.sleep(0.01)
                gaps.append(time.monotonic() - last)
                last = time.monotonic()

        async def main() -> None:
            watching = asyncio.ensure_future(watch())
            asyncio.get_running_loop().call_later(HELD, other.execute, "COMMIT")
            asked = Generate(messages=(user(Text("Which?")),), ref=Ref("1"))
            assert (await broker.ask(asked)).output == Generated("A")
            watching.cancel()

        asyncio.run(main())
        other.close()
        assert len(store) == 1
        assert len(gaps) > 5
        # Two hundredths at a time, and not the whole while.
        assert max(gaps) < HELD / 2


def test_a_store_that_stays_held_is_an_error_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_broker, "WAIT", 0.3)
    path = tmp_path / "store.sqlite"
    asked = Generate(messages=(user(Text("Which?")),), ref=Ref("1"))
    with ResponseStore(path) as store:
        broker = RequestBroker({"model": Model()}, store)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="database is locked; what was stored before is safe"):
            asyncio.run(broker.ask(asked))
        other.execute("COMMIT")
        other.close()
        assert len(store) == 0
