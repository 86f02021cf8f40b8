"""A user who types commands in an empty folder of their own."""

from __future__ import annotations

import base64
import io
import json
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from snellen.cli import main

ALWAYS_A = """
class AlwaysA:
    def answer(self, request):
        return "A"
"""
"""A model of one's own: the file to `--load`."""
PLUM_OR_A = """
import re

class PlumOrA:
    def answer(self, request):
        text = request.text()
        number = int(re.search("[0-9]+", text)[0])
        plum = re.search("([A-D])[.] plum", text)
        return plum[1] if plum and number % 4 == 1 else "A"
"""
"""Finds the plum of every fourth question in each rotation, and says A to all others."""

_PATIENCE = 120.0
"""Seconds that a process may take to start, and to end."""


class Printed(NamedTuple):
    """What a command wrote."""

    text: str
    """Standard output."""
    remarks: str
    """Standard error."""

    def json(self) -> Any:
        return json.loads(self.text)


class User:
    """Types commands in a folder, and makes the files for them."""

    def __init__(self, folder: Path, read: Callable[[], tuple[str, str]]) -> None:
        self.folder = folder
        self._read = read
        self._servers: list[ThreadingHTTPServer] = []
        self._processes: list[subprocess.Popen[bytes]] = []

    def run(self, command: str, *, code: int = 0, **words: object) -> Printed:
        """Run a command line, with `words` in place of the words in capitals that name them. The
        page of the rows shows it as it is typed here. Fails if it ends with another exit code."""
        typed = _typed(command, words)
        self._read()
        ended = main(typed[1:])
        printed = Printed(*self._read())
        assert ended == code, f"{command} ended with {ended}: {printed.remarks[-2000:]}"
        return printed

    def start(self, command: str, *, until: str, **words: object) -> str:
        """Start a command as a process that ends with the test. Returns what first matches the
        expression `until` in what it writes."""
        typed = _typed(command, words)
        output = self.folder / f"output-{len(self._processes)}.txt"
        with output.open("w") as file:
            process = subprocess.Popen([sys.executable, "-m", "snellen", *typed[1:]], stdout=file, stderr=file)
        self._processes.append(process)
        end = time.monotonic() + _PATIENCE
        while not (found := re.search(until, output.read_text().rpartition("\n")[0])):
            has_ended = process.poll() is not None or time.monotonic() > end
            assert not has_ended, f"{command}: {output.read_text()}"
            time.sleep(0.05)
        return found[0]

    def report(self, part: str, out: str = "snellen-results") -> dict[str, Any]:
        """report.json of the only run whose folder's name holds `part`."""
        found: dict[str, Any] = json.loads((self.find_run(part, out) / "report.json").read_bytes())
        return found

    def score(self, part: str, out: str = "snellen-results") -> float:
        """The headline of the only run whose folder's name holds `part`, in percent."""
        value: float = self.report(part, out)["summary"]["headline"]["value"]
        return value

    def samples(self, part: str, out: str = "snellen-results") -> list[dict[str, Any]]:
        """The samples of the only run whose folder's name holds `part`, in their order."""
        lines = (self.find_run(part, out) / "samples.jsonl").read_text(encoding="utf-8")
        return sorted(map(json.loads, lines.splitlines()), key=lambda sample: sample["position"])

    def find_run(self, part: str, out: str = "snellen-results") -> Path:
        """The only run folder whose name holds `part`."""
        [found] = [path for path in (self.folder / out).iterdir() if path.is_dir() and part in path.name]
        return found

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def write_choices(self, name: str, golds: str, images: int = 0) -> list[dict[str, Any]]:
        """Write JSON lines of questions with four options; the gold of each is a letter of `golds`.
        Each has so many images of its own. Returns the rows."""
        rows = [
            {
                "index": at,
                "question": f"Which is number {at}?",
                **{
                    letter: f"{fruit} {at}"
                    for letter, fruit in zip("ABCD", ("pear", "plum", "fig", "lime"), strict=True)
                },
                "answer": gold,
                "image": [encoded_image(10 * at + number) for number in range(images)],
            }
            for at, gold in enumerate(golds)
        ]
        self.write_rows(name, rows)
        return rows

    def write_rows(self, name: str, rows: list[dict[str, Any]]) -> Path:
        """Write JSON lines."""
        return self.write(name, "".join(f"{json.dumps(row)}\n" for row in rows))

    def write_replies(self, name: str, replies: Sequence[str]) -> None:
        """Write replies to the questions 0, 1, 2 ... as JSON lines."""
        self.write_rows(name, [{"index": at, "prediction": reply} for at, reply in enumerate(replies)])

    def serve(self, answer: Callable[[dict[str, Any]], str]) -> str:
        """Start a model server that speaks OpenAI's chat completions; `answer` gets the body of a
        request and returns the reply. Returns the address. It ends with the test."""

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._send({"data": [{"id": "tiny"}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                message = {"role": "assistant", "content": answer(body)}
                usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
                self._send({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})

            def _send(self, value: object) -> None:
                data = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Write no line of each request."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}/v1"

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(_PATIENCE)


def _typed(command: str, words: Mapping[str, object]) -> list[str]:
    """The words of a command line, with `words` in place of those in capitals."""
    typed = shlex.split(command)
    for name, value in words.items():
        typed = [word.replace(name, str(value)) for word in typed]
    assert typed[0] == "snellen", command
    return typed


def encoded_image(number: int, size: tuple[int, int] = (16, 16)) -> str:
    """A PNG of one colour that is its own for each number, in base64."""
    stream = io.BytesIO()
    Image.new("RGB", size, (number * 37 % 256, number * 91 % 256, number % 256)).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def words_of(body: dict[str, Any]) -> str:
    """The words of the last message of a request of chat completions."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def images_of(body: dict[str, Any]) -> list[str]:
    """The data URLs of the images in the last message of a request."""
    content = body["messages"][-1]["content"]
    return [part["image_url"]["url"] for part in content if isinstance(part, dict) and part["type"] == "image_url"]


def wilson(right: int, count: int, z: float = 1.959963984540054) -> list[float]:
    """The 95 % interval of a share by Wilson's formula, in percent."""
    share, root = right / count, z * z / count
    middle = (share + root / 2) / (1 + root)
    half = z * (share * (1 - share) / count + z * z / (4 * count * count)) ** 0.5 / (1 + root)
    return [100 * (middle - half), 100 * (middle + half)]
