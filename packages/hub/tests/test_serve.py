"""The server as operators and clients meet it: ports, stops, slow clients, health, metrics, log."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_api import HUB, command, environment
from test_scoring import predictions, write_data

SERVE = (
    "from snellen_hub.web import limits, server\n"
    "limits._PATIENCE = server._HEADER_SECONDS = 1.0\n"
    "limits._SLOWEST = 500.0\n"
    "server._CONNECTIONS, server._WAITING = 20, 15\n"
    "import sys\n"
    "from snellen.cli.main import main\n"
    "sys.exit(main(['hub', 'serve', sys.argv[1], '--port', '0']))\n"
)
"""A server that is less patient than usual."""


class RunningServer:
    """A server of a hub as a process, on a free port."""

    def __init__(self, folder: Path, log: Path, code: str = SERVE) -> None:
        self._log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code, str(folder)],
                env=environment(),
                text=True,
                stdout=subprocess.PIPE,
                stderr=file,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        match = re.fullmatch(r"serving Leaderboards at (http://127\.0\.0\.1:(\d+))\n", line)
        assert match, line + log.read_text()
        self.url, self.port = match[1], int(match[2])

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=30) as response:
            return str(response.read().decode())

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 30, (source, 0))

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    def wait_until_closed(self) -> None:
        """Wait until it takes no further connections: it has begun to stop."""
        end = time.monotonic() + 60
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < end:
                self.connect().close()
                time.sleep(0.05)
            pytest.fail("the server goes on")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.process.communicate()
        return code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("serve")
    command("hub", "init", place / "hub", "--owner", "olga", stdin="a long password\n")
    data = write_data(place / "signs.tsv")
    command("hub", "benchmark", place / "hub", "signs", "--data", data)
    return place / "hub"


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    running = RunningServer(folder, folder.parent / "log")
    yield running
    assert running.stop() == 0


def test_health_and_metrics(server: RunningServer, folder: Path) -> None:
    for path in ("/health", "/health/live", "/health/ready"):
        assert json.loads(server.get(path))["status"] == "ok"
    metrics = server.get("/metrics")
    for line in (
        'snellen_hub_jobs{status="queued"} 0.0',
        "snellen_hub_oldest_job_seconds 0.0",
        "snellen_hub_workers 0.0",
        'snellen_hub_submissions{status="scored"} 0.0',
        "snellen_hub_uploaded_bytes 0.0",
        'snellen_hub_requests_total{method="GET",route="/health",status="200"} 1.0',
        "snellen_hub_requests_going_on 1.0",
    ):
        assert line in metrics
    stored = re.search(r"^snellen_hub_storage_bytes (\S+)$", metrics, re.MULTILINE)
    assert stored
    size = sum(path.stat().st_size for path in (folder / "storage").rglob("*") if path.is_file())
    assert float(stored[1]) == size
    assert re.search(r"^snellen_hub_storage_free_bytes [1-9]", metrics, re.MULTILINE)


def test_unknown_method_adds_no_counter(server: RunningServer) -> None:
    with server.connect() as client:
        client.sendall(b"BREW /pot HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        while client.recv(4096):
            pass
    assert "BREW" not in server.get("/metrics")


def test_the_log_is_json_without_secrets(server: RunningServer) -> None:
    secret = "snl_" + "x" * 40
    request = urllib.request.Request(
        f"{server.url}/api/v1/submissions?token={secret}", headers={"Authorization": f"Bearer {secret}"}
    )
    for target in (request, f"{server.url}/invitations/{secret}x"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(target, timeout=30)
        refused.value.close()
    lines = [line for line in server.log() if line.get("route") == "/api/v1/submissions"]
    assert [line["status"] for line in lines] == [401]
    assert set(lines[0]) == {"at", "level", "event", "request", "method", "route", "status", "ms", "address"}
    assert secret not in json.dumps(server.log())


@pytest.mark.attack("a client of a hub sends its headers a byte at a time", "its connection is closed")
@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\nGET /health/live HTTP/1.1\r\n",
    ],
    ids=["nothing", "half of the headers", "half of a second request"],
)
def test_a_client_that_sends_headers_slowly_is_put_off(server: RunningServer, start: bytes) -> None:
    """Also one that sends a byte now and then."""
    with server.connect() as client:
        client.sendall(start)
        started = time.monotonic()
        closed = False
        while not closed and time.monotonic() - started < 15:
            time.sleep(0.3)
            try:
                if start:
                    client.sendall(b"X")
                client.settimeout(0.05)
                closed = client.recv(4096) == b""
            except TimeoutError:
                continue
            except OSError:
                closed = True
        assert closed
        assert time.monotonic() - started < 10


@pytest.mark.attack("an upload to a hub that hardly moves", "408, a sentence")
@pytest.mark.parametrize("pace", [0, 20])
def test_a_client_that_sends_a_body_slowly_is_put_off(server: RunningServer, pace: int) -> None:
    head = (
        "POST /api/v1/benchmarks/signs/submissions HTTP/1.1\r\nHost: x\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000\r\n\r\n--b\r\n"
    )
    with server.connect() as client:
        client.sendall(head.encode())
        client.settimeout(0.2)
        started, answer = time.monotonic(), b""
        while not answer and time.monotonic() - started < 20:
            try:
                if pace:
                    client.sendall(b"x" * pace)
                answer = client.recv(4096)
            except TimeoutError:
                continue
        assert answer.startswith((b"HTTP/1.1 408", b"HTTP/1.1 401")), answer
        assert time.monotonic() - started < 15


@pytest.mark.attack("more connections to a hub than it takes", "503, and it serves again once they are gone")
def test_too_many_connections_are_refused_and_others_served_again(server: RunningServer) -> None:
    clients = [server.connect(f"127.0.0.{2 + n % 4}") for n in range(40)]
    try:
        with pytest.raises((urllib.error.HTTPError, OSError)) as refused:
            server.get("/health/live")
        if isinstance(refused.value, urllib.error.HTTPError):
            refused.value.close()
    finally:
        for client in clients:
            client.close()
    end = time.monotonic() + 20
    while True:
        try:
            assert "ok" in server.get("/health/live")
            break
        except urllib.error.HTTPError as error:
            error.close()
            assert time.monotonic() < end
            time.sleep(0.2)


@pytest.mark.attack("more half-open connections of one address than a hub takes", "others are served meanwhile")
def test_connections_of_an_address_are_limited(folder: Path, tmp_path: Path) -> None:
    patient = SERVE.replace("_SECONDS = 1.0", "_SECONDS = 100.0")
    server = RunningServer(folder, tmp_path / "log", patient)
    clients = [server.connect("127.0.0.9") for _ in range(40)]
    try:
        assert "ok" in server.get("/health/live")
        for client in clients[15:]:
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""
        # Once they have ended, the address may come again.
        for client in clients:
            client.close()
        end, answer = time.monotonic() + 60, b""
        while answer != b"HTTP/1.1 200" and time.monotonic() < end:
            with contextlib.suppress(ConnectionError), server.connect("127.0.0.9") as again:
                again.sendall(b"GET /health/live HTTP/1.1\r\nHost: hub\r\n\r\n")
                answer = again.recv(12)
        assert answer == b"HTTP/1.1 200"
    finally:
        for client in clients:
            client.close()
        assert server.stop() == 0


def test_stopping_completes_open_requests(folder: Path, tmp_path: Path) -> None:
    running = RunningServer(folder, tmp_path / "log")
    token = command("hub", "account", folder, "olga", "--token").strip()
    body = (
        b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n'
        b'--b\r\nContent-Disposition: form-data; name="predictions"; filename="p.jsonl"\r\n\r\n'
        + predictions(30)
        + b"\r\n--b--\r\n"
    )
    head = (
        f"POST /api/v1/benchmarks/signs/submissions HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    # The first upload starts the process that reads files, which on a busy machine takes longer
    # than a stop waits.
    with running.connect() as client:
        client.settimeout(120)
        client.sendall(head + body)
        assert client.recv(4096).startswith(b"HTTP/1.1 201")
    with running.connect() as client:
        client.sendall(head + body[:-100])
        end = time.monotonic() + 60
        # The one that asks is one of the two.
        while "snellen_hub_requests_going_on 2.0" not in running.get("/metrics"):
            assert time.monotonic() < end, "the request has not begun"
            time.sleep(0.05)
        running.process.send_signal(signal.SIGTERM)
        running.wait_until_closed()
        client.sendall(body[-100:])
        assert client.recv(4096).startswith(b"HTTP/1.1 201")
    assert running.process.wait(60) == 0
    running.process.communicate()


def test_a_port_in_use_is_one_sentence(server: RunningServer, folder: Path) -> None:
    said = command("hub", "serve", folder, "--port", str(server.port), code=2)
    assert f"port {server.port} of 127.0.0.1 is in use by another program" in said
    assert "serving" not in said


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--port", "70000"), "expected a number from 0 to 65535"),
        pytest.param(("--host", "no such host"), "--host no such host", marks=pytest.mark.release),
        pytest.param(("--host", "192.0.2.1"), "is no address of this machine", marks=pytest.mark.release),
    ],
)
def test_addresses_that_cannot_be(folder: Path, flags: tuple[str, ...], sentence: str) -> None:
    assert sentence in command("hub", "serve", folder, *flags, code=2)


def test_ctrl_c_ends_the_server(folder: Path, tmp_path: Path) -> None:
    started = subprocess.Popen(
        [*HUB, "serve", str(folder), "--port", "0"],
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert started.stdout is not None
    assert "serving" in started.stdout.readline()
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 0
    assert (out, err) == ("", "")
