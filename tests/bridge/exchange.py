"""A worker of the bridge as a process of its own, spoken to over its two pipes."""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

WORKER = Path(__file__).parents[2] / "src/snellen/bridge/worker/main.py"

Judge = Callable[[Sequence[dict[str, Any]]], str]


class PeerError(Exception):
    """A reply with an error; `kind` is that of the exchange."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['kind']}: {error['message']}\n{error.get('trace', '')}")
        self.kind, self.message = error["kind"], error["message"]


class Worker:
    """A started worker. `judge` answers what it asks; what it was asked is in `judged`."""

    def __init__(
        self,
        python: Path,
        peer: str,
        log: Path,
        judge: Judge | None = None,
        environment: dict[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self._judge = judge
        self.judged: list[list[dict[str, Any]]] = []
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        told = {"peer": peer, "requests": theirs_in, "replies": theirs_out, **settings}
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                [python, "-I", WORKER, json.dumps(told)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs_in, theirs_out),
                env={**os.environ, **(environment or {})},
                cwd=log.parent,
            )
        os.close(theirs_in)
        os.close(theirs_out)
        self._out, self._in = os.fdopen(ours_out, "wb"), os.fdopen(ours_in, "rb")
        self._sent = 0

    def call(self, name: str, **fields: Any) -> Any:
        """The result of a call. Raises PeerError."""
        self._sent += 1
        self._send({"id": self._sent, "call": name, **fields})
        while True:
            line = self._in.readline()
            if not line:
                raise EOFError(f"the worker ended with {self._process.wait()}")
            message = json.loads(line)
            if "ask" in message:
                self.judged.append(message["messages"])
                assert self._judge is not None, message
                self._send({"answer": message["ask"], "text": self._judge(message["messages"])})
                continue
            assert message["id"] == self._sent
            if "error" in message:
                raise PeerError(message["error"])
            return message["result"]

    def _send(self, message: dict[str, Any]) -> None:
        self._out.write(json.dumps(message).encode() + b"\n")
        self._out.flush()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()
        self._process.wait(60)
        self._in.close()
