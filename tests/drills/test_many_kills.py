"""A hundred kills at random moments, of runs of four kinds: how many replies were asked for twice.

`SNELLEN_DRILL_KILLS=5` makes fewer of each kind; `pytest -s` prints the table, and
`SNELLEN_DRILL_KEEP=1` stores it for docs/attacks.md.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from drill import Drill
from PIL import Image

KILLS = int(os.environ.get("SNELLEN_DRILL_KILLS", "25"))
"""Of each kind."""
KEPT = Path(__file__).parents[2] / "docs" / "data" / "kills.json"
SEED = 100
IN_FLIGHT = 4
SAMPLES = 40 * KILLS
"""More than as many starts can ask before they are killed."""


@dataclass
class Server:
    """Answers B, or a grade, after a while; keeps what it was asked."""

    delay: float = 0.05
    asked: list[bytes] = field(default_factory=list)
    url: str = ""

    def reply(self, body: bytes) -> bytes:
        if b"Reply with the single letter" not in body:
            self.asked.append(body)
        time.sleep(self.delay)
        text = "1.0" if json.loads(body)["model"] == "judge" else "B"
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 10, "completion_tokens": 1}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return json.dumps({"choices": choices, "usage": usage}).encode()


@contextmanager
def running() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            content = server.reply(body)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                return  # The client was killed.

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def judged(drill: Drill) -> tuple[str, ...]:
    Image.new("RGB", (8, 8), "red").save(drill.home / "red.png")
    rows = [f"v1_{n}\tred.png\tWhat is {n}?\tred\trec" for n in range(drill.samples)]
    table = drill.home / "graded.tsv"
    table.write_text("\n".join(["index\timage_path\tquestion\tanswer\tcategory", *rows]) + "\n")
    return ("--data", str(table))


def watched(drill: Drill) -> tuple[str, ...]:
    frames = [Image.new("RGB", (16, 16), (60 * n, 0, 0)) for n in range(4)]
    frames[0].save(drill.home / "film.gif", save_all=True, append_images=frames[1:], duration=200)
    rows = [f"{n}\tfilm.gif\tWhat is {n}?\tone\ttwo\tB" for n in range(drill.samples)]
    drill.data.write_text("\n".join(["index\tvideo_path\tquestion\tA\tB\tanswer", *rows]) + "\n")
    return ()


def nothing(drill: Drill) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Kind:
    name: str
    prepare: Callable[[Drill], tuple[str, ...]] = nothing
    benchmark: str = ""
    local: bool = False
    roles: int = 1
    """Models that are asked, each with so many in flight."""


KINDS = (Kind("API"), Kind("local", local=True), Kind("judged", judged, "mm-vet", roles=2), Kind("video", watched))


@dataclass(frozen=True)
class Row:
    kind: str
    kills: int
    sent: int
    asked_twice: int
    most_in_flight: int

    def line(self) -> str:
        counts = f"{self.kills:6} {self.sent:7} {self.asked_twice:12} {self.most_in_flight:14}"
        return f"{self.kind:8} {counts}"


def killed(kind: Kind, home: Path, server: Server) -> Row:
    """Kill a run again and again, let it end, and count."""
    home.mkdir()
    drill = Drill(home, SAMPLES)
    more = kind.prepare(drill)
    model = "patient" if kind.local else f"{server.url}#tiny:concurrency={IN_FLIGHT}"
    if kind.roles > 1:
        more = (*more, "--judge", f"{server.url}#judge:concurrency={IN_FLIGHT}")
    server.asked.clear()

    def asked() -> list[str] | list[bytes]:
        return drill.sent() if kind.local else server.asked

    draw = random.Random(f"{SEED} {kind.name}")
    server.delay = 0.05
    for kill in range(KILLS):
        before = len(asked())
        process = drill.start(model, "--out", "out", *more, benchmark=kind.benchmark, PATIENCE="0.05")
        while kill % 4 and len(asked()) == before:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        time.sleep(draw.uniform(0.0, 0.4))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    server.delay = 0.0
    last = drill.run(model, *more, benchmark=kind.benchmark, PATIENCE="0")
    assert last.code == 0, last
    assert len(drill.records()) == SAMPLES
    distinct = len(set(asked()))
    spent = drill.only_run().info.spent
    assert sum(one.answered for one in spent.values()) == distinct
    sent = len(asked())
    return Row(kind.name, KILLS, sent, sent - distinct, KILLS * IN_FLIGHT * kind.roles)


@pytest.mark.release
@pytest.mark.timeout(1800)
@pytest.mark.attack(
    "kill -9 at random moments of runs with a server, a local model, a judge and videos",
    "only what was in flight is asked for twice",
)
def test_a_hundred_kills(tmp_path: Path) -> None:
    with running() as server:
        rows = [killed(kind, tmp_path / kind.name, server) for kind in KINDS]
    if os.environ.get("SNELLEN_DRILL_KEEP"):
        KEPT.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    print("\nkind      kills    sent  asked twice  most in flight")
    print("\n".join(row.line() for row in rows))
    assert [row.kind for row in rows if row.asked_twice > row.most_in_flight] == []
