"""Downloads from a real server on this machine that cuts, refuses and lies."""

from __future__ import annotations

import hashlib
import http.server
import multiprocessing
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from snellen.core.errors import DataError
from snellen.data.download import DownloadRetries, RemoteFile, download
from snellen.data.locate import locate_data_file
from snellen.settings import Settings

DATA = bytes(range(256)) * 2000
MD5 = hashlib.md5(DATA).hexdigest()
QUICK = DownloadRetries(attempts=4, first_wait=0.01, timeout=5)


class Server(http.server.ThreadingHTTPServer):
    """Serves DATA; the path says how it misbehaves."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str | None]] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        wanted = self.headers["Range"]
        self.server.asked.append((self.path, wanted))
        count = sum(path == self.path for path, _ in self.server.asked)
        if self.path == "/missing":
            return self.send_error(404)
        if self.path == "/chunked":
            return self._chunks(cut=count == 1)
        if self.path == "/busy" and count < 3:
            return self.send_error(503)
        changed = self.path == "/changed" and count > 1
        data = DATA[::-1] if changed else DATA
        start = 0
        current = self.headers["If-Range"] in (None, self._etag(changed))
        if wanted and self.path != "/no-range" and current:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                return self.send_error(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("ETag", self._etag(changed))
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        cut = self.path in ("/cut", "/no-range", "/changed") and count == 1
        self.wfile.write(data[start : len(data) // 2] if cut else data[start:])
        return None

    def _chunks(self, cut: bool) -> None:
        self.protocol_version = "HTTP/1.1"
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        size = f"{len(DATA):x}\r\n".encode()
        self.wfile.write(size + DATA[:1000] if cut else size + DATA + b"\r\n0\r\n\r\n")
        self.close_connection = True

    def _etag(self, changed: bool) -> str:
        return '"two"' if changed else '"one"'


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def fetch(server: Server, tmp_path: Path, *paths: str, md5: str | None = MD5) -> bytes:
    remote = RemoteFile(urls=tuple(map(server.url, paths)), md5=md5)
    target = tmp_path / "data" / "file.tsv"
    return download(remote, target, cache=tmp_path / "cache", retries=QUICK).read_bytes()


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/plain", [None]),
        ("/cut", [None, f"bytes={len(DATA) // 2}-"]),
        ("/no-range", [None, f"bytes={len(DATA) // 2}-"]),
        ("/busy", [None, None, None]),
    ],
)
def test_a_download_ends_well(server, tmp_path, path: str, asked: list[str | None]) -> None:
    assert fetch(server, tmp_path, path) == DATA
    assert server.asked == [(path, wanted) for wanted in asked]
    assert sorted(f.name for f in (tmp_path / "data").iterdir() if f.suffix != ".lock") == ["file.tsv"]
    assert fetch(server, tmp_path, path) == DATA
    assert len(server.asked) == len(asked)


def test_a_file_that_changed_between_two_attempts_is_fetched_anew(server, tmp_path) -> None:
    assert fetch(server, tmp_path, "/changed", md5=None) == DATA[::-1]


def test_a_stale_part_is_dropped_when_the_checksum_is_wrong(server, tmp_path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file.tsv.part").write_bytes(b"not the beginning")
    assert fetch(server, tmp_path, "/plain") == DATA
    (tmp_path / "data" / "file.tsv").unlink()
    (tmp_path / "data" / "file.tsv.part").write_bytes(DATA * 2)
    (tmp_path / "data" / "file.tsv.part.etag").write_text('"one"')
    assert fetch(server, tmp_path, "/plain") == DATA


def test_a_wrong_checksum_is_not_kept(server, tmp_path) -> None:
    with pytest.raises(DataError) as caught:
        fetch(server, tmp_path, "/plain", md5="0" * 32)
    assert f"has the md5 {MD5}, but {'0' * 32} was expected" in str(caught.value)
    assert not list((tmp_path / "data").glob("file.tsv*[!k]"))


def test_a_mirror_is_tried(server, tmp_path) -> None:
    assert fetch(server, tmp_path, "/missing", "/plain") == DATA
    remote = RemoteFile(urls=("http://127.0.0.1:9/x", "ftp://a.org/x", server.url("/plain")), md5=MD5)
    found = download(remote, tmp_path / "other", cache=tmp_path, retries=QUICK)
    assert found.read_bytes() == DATA


def test_a_chunked_reply_that_is_cut_is_not_taken_for_whole(server, tmp_path) -> None:
    assert fetch(server, tmp_path, "/chunked", md5=None) == DATA
    assert len(server.asked) == 2


def test_a_part_longer_than_the_file_is_dropped(server, tmp_path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file.tsv.part").write_bytes(DATA + b"more")
    assert fetch(server, tmp_path, "/plain", md5=None) == DATA


def test_failed_download_names_the_local_path(server, tmp_path) -> None:
    with pytest.raises(DataError) as caught:
        fetch(server, tmp_path, "/missing")
    sentence = str(caught.value)
    assert "the server answered 404" in sentence
    assert f"and put it at {tmp_path / 'data' / 'file.tsv'}" in sentence
    assert MD5 in sentence
    assert len(server.asked) == 1


def test_download_reports_missing_connection(tmp_path) -> None:
    remote = RemoteFile(urls=("http://127.0.0.1:9/x",))
    with pytest.raises(DataError, match="no connection"):
        download(remote, tmp_path / "x", cache=tmp_path, retries=DownloadRetries(attempts=1))


def test_progress_and_file_addresses(tmp_path) -> None:
    (tmp_path / "source").write_bytes(DATA)
    seen: list[tuple[int, int | None]] = []
    remote = RemoteFile(urls=((tmp_path / "source").as_uri(),), sha256=hashlib.sha256(DATA).hexdigest())
    path = download(remote, tmp_path / "copy", cache=tmp_path, progress=lambda *at: seen.append(at))
    assert path.read_bytes() == DATA
    assert seen[-1] == (len(DATA), len(DATA))
    with pytest.raises(DataError, match="there is no such file"):
        download(RemoteFile(urls=("file:///no/such",)), tmp_path / "y", cache=tmp_path)


def _fetch_and_report(url: str, folder: str, results) -> None:
    path = Path(folder, "file.tsv")
    remote = RemoteFile(urls=(url,), md5=MD5)
    results.put(download(remote, path, cache=Path(folder), retries=QUICK).stat().st_size)


def test_a_second_process_waits_for_the_first(server, tmp_path) -> None:
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    args = (server.url("/plain"), str(tmp_path), results)
    both = [context.Process(target=_fetch_and_report, args=args) for _ in "ab"]
    for process in both:
        process.start()
    assert [results.get(timeout=30) for _ in both] == [len(DATA)] * 2
    for process in both:
        process.join()
    assert len(server.asked) == 1


def test_offline_says_what_to_do(tmp_path) -> None:
    settings = Settings(cache=tmp_path, offline=True)
    remote = RemoteFile(urls=("https://a.org/x.tsv",), md5=MD5)
    with pytest.raises(DataError, match=r"offline; fetch https://a.org/x.tsv") as caught:
        locate_data_file("x.tsv", settings, remote=remote)
    assert str(tmp_path / "datasets" / "x.tsv") in str(caught.value)
    (tmp_path / "datasets" / "x.tsv").write_bytes(DATA)
    assert locate_data_file("x.tsv", settings, remote=remote).read_bytes() == DATA


def test_files_are_found_in_order(tmp_path, server) -> None:
    lmu = tmp_path / "LMUData"
    lmu.mkdir()
    settings = Settings(cache=tmp_path / "cache", lmu_data=lmu)
    with pytest.raises(DataError, match=r"no address is known; put it in .* or .*LMUData"):
        locate_data_file("x.tsv", settings)
    (lmu / "x.tsv").write_bytes(DATA)
    remote = RemoteFile(urls=(server.url("/plain"),), md5=MD5)
    assert locate_data_file("x.tsv", settings, remote=remote) == lmu / "x.tsv"
    assert locate_data_file(str(lmu / "x.tsv"), settings) == lmu / "x.tsv"
    (lmu / "x.tsv").write_bytes(b"an older release")
    assert locate_data_file("x.tsv", settings, remote=remote) == tmp_path / "cache" / "datasets" / "x.tsv"
