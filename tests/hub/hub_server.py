"""A hub of models and data sets on this machine, speaking as much of the Hugging Face hub's
protocol as its client libraries ask for: files by revision (HEAD, GET, byte ranges, a redirect
for large ones), repository facts, listings, and the hub's own error codes."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

_LARGE = (".safetensors", ".parquet")


@dataclass(frozen=True)
class Repository:
    """One repository at one commit. `refusal` is the status a gated one answers with."""

    kind: str
    name: str
    folder: Path
    refusal: HTTPStatus | None = None

    @property
    def commit(self) -> str:
        return hashlib.sha1(self.name.encode()).hexdigest()

    def files(self) -> list[str]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return sorted(path.relative_to(self.folder).as_posix() for path in found)

    def entry(self, file: str) -> dict[str, object]:
        data = (self.folder / file).read_bytes()
        entry: dict[str, object] = {
            "type": "file",
            "path": file,
            "size": len(data),
            "oid": hashlib.sha1(data).hexdigest(),
        }
        if file.endswith(_LARGE):
            digest = hashlib.sha256(data).hexdigest()
            entry["lfs"] = {"oid": digest, "size": len(data), "pointerSize": 134}
        return entry

    def folders(self) -> list[str]:
        parents = {Path(file).parent.as_posix() for file in self.files()}
        return sorted(parents - {"."})


class Hub(http.server.ThreadingHTTPServer):
    """Use as a context manager; `asked` holds every request as `METHOD path`."""

    daemon_threads = True

    def __init__(self, *repositories: Repository) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.repositories = {(one.kind, one.name): one for one in repositories}
        self.asked: list[str] = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Hub:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Answers(http.server.BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """The requests are in `Hub.asked`."""

    def do_HEAD(self) -> None:
        self._route()

    def do_GET(self) -> None:
        self._route()

    def do_POST(self) -> None:
        self._route()

    def _route(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        if parts[0] == "api" and len(parts) >= 4:
            return self._facts(parts[1], "/".join(parts[2:4]), parts[4:], body)
        kind, rest = ("datasets", parts[1:]) if parts[0] == "datasets" else ("models", parts)
        if len(rest) >= 5 and rest[2] in ("resolve", "bytes"):
            return self._file(kind, "/".join(rest[:2]), rest[2:])
        return self._refuse(HTTPStatus.NOT_FOUND, "NotFound", "no such page")

    def _repository(self, kind: str, name: str) -> Repository | None:
        """The repository, or None after saying why not, as the hub does to a visitor."""
        found = self.server.repositories.get((kind, name))
        if found is None:
            self._refuse(HTTPStatus.UNAUTHORIZED, "RepoNotFound", "Repository not found")
        return found

    def _facts(self, kind: str, name: str, rest: list[str], body: bytes) -> None:
        repository = self._repository(kind, name)
        if repository is None:
            return
        what, revision, *path = rest if len(rest) > 1 else ("revision", "main")
        if not self._known(repository, revision):
            return
        entries = [repository.entry(file) for file in repository.files()]
        folders = [{"type": "directory", "path": one, "size": 0, "oid": "0" * 40} for one in repository.folders()]
        if what == "revision":
            facts = {
                "id": name,
                "sha": repository.commit,
                "private": False,
                "gated": "auto" if repository.refusal else False,
                "tags": [],
                "downloads": 0,
                "likes": 0,
                "siblings": [{"rfilename": entry["path"]} for entry in entries],
            }
            self._json(facts)
        elif what == "tree":
            under = "/".join(path)
            inside = [e for e in folders + entries if f"{e['path']}".startswith(under)]
            self._json([e for e in inside if e["path"] != under])
        elif what == "paths-info":
            given = parse_qs(body.decode())
            wanted = given.get("paths") or json.loads(body)["paths"]
            self._json([e for e in folders + entries if e["path"] in wanted])
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "NotFound", f"no such page: {what}")

    def _known(self, repository: Repository, revision: str) -> bool:
        if revision in ("main", repository.commit):
            return True
        self._refuse(HTTPStatus.NOT_FOUND, "RevisionNotFound", f"Invalid rev id: {revision}")
        return False

    def _file(self, kind: str, name: str, rest: list[str]) -> None:
        repository = self._repository(kind, name)
        if repository is None or not self._known(repository, rest[1]):
            return
        if repository.refusal is not None:
            message = f"Access to {kind[:-1]} {name} is restricted."
            self._refuse(repository.refusal, "GatedRepo", message)
            return
        file = "/".join(rest[2:])
        if file not in repository.files():
            self._refuse(HTTPStatus.NOT_FOUND, "EntryNotFound", "Entry not found", {"X-Repo-Commit": repository.commit})
            return
        data = (repository.folder / file).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        headers = {"X-Repo-Commit": repository.commit, "ETag": f'"{digest}"'}
        if file.endswith(_LARGE):
            headers |= {"X-Linked-Size": str(len(data)), "X-Linked-Etag": f'"{digest}"'}
            if rest[0] == "resolve":
                target = self.path.replace("/resolve/", "/bytes/")
                self._send(HTTPStatus.FOUND, b"", headers | {"Location": target})
                return
        self._bytes(data, headers)

    def _bytes(self, data: bytes, headers: dict[str, str]) -> None:
        wanted = self.headers.get("Range")
        if not wanted:
            self._send(HTTPStatus.OK, data, headers)
            return
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        start, end = int(first), min(int(last or len(data)), len(data) - 1)
        headers["Content-Range"] = f"bytes {start}-{end}/{len(data)}"
        self._send(HTTPStatus.PARTIAL_CONTENT, data[start : end + 1], headers)

    def _refuse(self, status: HTTPStatus, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        told = {"X-Error-Code": code, "X-Error-Message": message} | (headers or {})
        self._send(status, json.dumps({"error": message}).encode(), told)

    def _json(self, value: object) -> None:
        self._send(HTTPStatus.OK, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: HTTPStatus, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
