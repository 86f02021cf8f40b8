"""Behaves like `vllm serve MODEL --host HOST --port PORT [--tensor-parallel-size N]`.

Each start is noted in the folder STAND_IN_NOTES: its arguments and the GPUs it sees. The first
question that holds the word `fatal` ends the server as a crash would.
"""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NOTES = Path(os.environ["STAND_IN_NOTES"])


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send(200 if self.path == "/health" else 404, {})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = asked["messages"][-1]["content"]
        text = content if isinstance(content, str) else content[-1]["text"]
        if "fatal" in text and not (NOTES / "crashed").exists():
            (NOTES / "crashed").touch()
            os._exit(3)
        message = {"role": "assistant", "content": text.upper()}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 5, "completion_tokens": 1}
        self._send(200, {"id": "1", "choices": [choice], "usage": usage})

    def _send(self, status: int, body: dict[str, object]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    note = {
        "arguments": sys.argv[1:],
        "gpus": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        "pid": os.getpid(),
        "parent": os.getppid(),
    }
    (NOTES / f"{os.getpid()}.json").write_text(json.dumps(note))
    port = int(sys.argv[sys.argv.index("--port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
