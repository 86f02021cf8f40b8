"""A chat server that answers every request after a fixed time: `python -m ... CORE DELAY_MS`.

It prints its port and serves until its standard input closes. Bodies are read to their end and
not looked at, over a bare protocol, so that the server is not what is measured.
"""

from __future__ import annotations

import asyncio
import os
import sys

_CONTENT = (
    b'{"id":"1","object":"chat.completion","created":1,"model":"perf","choices":[{"index":0,"message":{"role":"assistant",'
    b'"content":"B"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":300,"completion_tokens":1,"total_tokens":301}}'
)
_REPLY = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_CONTENT)) + _CONTENT


class Answering(asyncio.Protocol):
    """One connection. Requests on it come one after the other."""

    delay = 0.05

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._head = b""
        self._missing = 0

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        else:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            length = 0
            for line in self._head[:end].lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            self._missing = length - (len(self._head) - end - 4)
            self._head = b""
        if self._missing <= 0:
            self._missing = 0
            asyncio.get_running_loop().call_later(self.delay, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(_REPLY)


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answering, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def main() -> None:
    core, delay = int(sys.argv[1]), float(sys.argv[2])
    if hasattr(os, "sched_setaffinity") and core >= 0:
        os.sched_setaffinity(0, {core})
    Answering.delay = delay / 1000
    asyncio.run(serve())


if __name__ == "__main__":
    main()
