"""A ModelScope on this machine, as its public client knows it (modelscope_hub 0.5): the files of a
data set by pages, and each file, by revision."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


class ModelScope(http.server.ThreadingHTTPServer):
    """Use as a context manager. `data` has the folder of each data set by name; `asked` has the
    path of each request; `page_size` limits a page, whatever is asked for."""

    daemon_threads = True

    def __init__(self, data: dict[str, Path]) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.data = data
        self.asked: list[str] = []
        self.listing: object = None
        """A listing to answer with instead."""
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> ModelScope:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


def _entry(folder: Path, path: Path) -> dict[str, object]:
    if path.is_dir():
        return {"Path": path.relative_to(folder).as_posix(), "Type": "tree"}
    data = path.read_bytes()
    return {
        "Path": path.relative_to(folder).as_posix(),
        "Name": path.name,
        "Type": "blob",
        "Size": len(data),
        "Sha256": hashlib.sha256(data).hexdigest(),
    }


class _Answers(http.server.BaseHTTPRequestHandler):
    server: ModelScope
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """The requests are in `ModelScope.asked`."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.server.asked.append(parts.path)
        steps = parts.path.strip("/").split("/")
        folder = self.server.data.get("/".join(steps[3:5]))
        if steps[:3] != ["api", "v1", "datasets"] or folder is None:
            return self._json({"Code": 404, "Message": "not found", "Success": False}, 404)
        if query.get("Revision") != "master":
            return self._json({"Code": 404, "Message": "no such revision", "Success": False}, 404)
        if steps[5:] == ["repo", "tree"]:
            return self._tree(folder, query)
        path = folder / query["FilePath"]
        return self._send(path.read_bytes(), "application/octet-stream")

    def _tree(self, folder: Path, query: dict[str, str]) -> None:
        if self.server.listing is not None:
            return self._json(self.server.listing)
        entries = [_entry(folder, path) for path in sorted(folder.rglob("*"))]
        size, page = int(query["PageSize"]), int(query["PageNumber"])
        files = entries[(page - 1) * size : page * size]
        return self._json({"Code": 200, "Data": {"Files": files}, "Success": True})

    def _json(self, value: object, status: int = HTTPStatus.OK) -> None:
        self._send(json.dumps(value).encode(), "application/json", status)

    def _send(self, data: bytes, kind: str, status: int = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
