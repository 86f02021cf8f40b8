"""Serve the pages over runs to this machine alone."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from snellen.api.run_images import content_type
from snellen.core.errors import UsageError
from snellen.settings import user_name
from snellen.view.files import render_shell
from snellen.view.local_server import HTML, JSON, LocalServer, NoSuchAddress, PageAnswer, PageRequest, Query
from snellen.view.run_annotations import decode_change
from snellen.view.run_catalog import FIRST_READ_SECONDS, LATER_READ_SECONDS, suites_json
from snellen.view.run_view import RunLibrary
from snellen.view.sample_source import describe_source, read_video, subtitles_vtt
from snellen.view.saved_views import SavedView

PORT = 8420
"""Used if no port is named and it is free."""
MAX_SAMPLES = 200
"""Samples in one answer at most."""
SUBTITLES = "text/vtt; charset=utf-8"


class PageServer(LocalServer):
    """Serves a library of runs."""

    def __init__(self, library: RunLibrary, port: int | None = None, annotator: str | None = None) -> None:
        """`annotator` is who is named in annotations; by default the user of this machine."""
        self.library = library
        self.annotator = user_name() if annotator is None else annotator
        self.token = secrets.token_urlsafe(16)
        self.read_token = secrets.token_urlsafe(16)
        self.shell = render_shell({"token": self.token}).encode()
        super().__init__(port, PORT)

    def tokens(self) -> tuple[str, ...]:
        return (self.token,)

    def find_action(self, path: str) -> Callable[[PageRequest], Any] | None:
        store = _POST_ROUTES.get(path)
        return None if store is None else lambda request: store(self, request.body)

    def read(self, request: PageRequest) -> PageAnswer:
        path, query = request.path, request.query
        if path == "/":
            return PageAnswer(HTML, self.shell)
        if path.startswith("/media/"):
            return self._image(path.split("/")[2:], query)
        if path.startswith("/video/"):
            return self._video(path.split("/")[2:], request)
        route = _ROUTES.get(path)
        if route is None:
            raise NoSuchAddress
        try:
            content = route(self.library, query)
            body = content if isinstance(content, bytes) else msgspec.json.encode(content)
            return PageAnswer(JSON, body)
        except (KeyError, ValueError, IndexError) as error:
            raise UsageError(f"the address {path} lacks something: {error}") from error

    def _image(self, parts: list[str], query: Query) -> PageAnswer:
        """`/media/RUN/DIGEST`: the thumbnail, or with `whole=1` the original."""
        if len(parts) != 2:
            raise NoSuchAddress
        images = self.library.view(parts[0]).images
        read = images.original if "whole" in query else images.thumbnail
        data = read(parts[1], query.get("sample", ""))
        if data is None:
            raise NoSuchAddress
        return PageAnswer(content_type(data), data)

    def _video(self, parts: list[str], request: PageRequest) -> PageAnswer:
        """`/video/RUN/DIGEST`: a part of a video file, from the byte on that the browser names; or
        with `subtitles=1` its subtitles."""
        if len(parts) != 2:
            raise NoSuchAddress
        images, sample = self.library.view(parts[0]).images, request.query.get("sample", "")
        if "subtitles" in request.query:
            text = subtitles_vtt(images, sample, parts[1])
            if text is None:
                raise NoSuchAddress
            return PageAnswer(SUBTITLES, text.encode())
        part = read_video(images, sample, parts[1], request.start)
        if part is None or not part.data:
            raise NoSuchAddress
        return PageAnswer(part.kind, part.data, (part.start, part.size))


def _samples(library: RunLibrary, query: Query) -> Any:
    numbers = [int(index) for index in query["rows"].split(",")][:MAX_SAMPLES]
    if min(numbers) < 0:
        raise IndexError(min(numbers))
    return library.view(query["run"]).samples(numbers)


_ROUTES: dict[str, Callable[[RunLibrary, Query], Any]] = {
    "/api/catalog": lambda library, query: _catalog(library, int(query.get("since", "0")), query.get("server", "")),
    "/api/suites": lambda shelf, _: suites_json(),
    "/api/views": lambda shelf, _: _saved_views(shelf),
    "/api/run": lambda shelf, query: shelf.view(query["run"]).head(),
    "/api/numbers": lambda shelf, query: shelf.numbers(query["run"]),
    "/api/columns": lambda shelf, query: shelf.view(query["run"]).columns(
        int(query.get("from", "0")), int(query.get("generation", "0"))
    ),
    "/api/samples": _samples,
    "/api/search": lambda shelf, query: shelf.view(query["run"]).search(query["text"], int(query.get("from", "0"))),
    "/api/annotations": lambda shelf, query: shelf.annotations(query["run"]),
    "/api/source": lambda shelf, query: describe_source(shelf.view(query["run"]).images, query["sample"]),
    "/api/compare": lambda shelf, query: shelf.comparison(query["first"], query["second"]),
}
"""What answers each address, as JSON."""


def _catalog(library: RunLibrary, since: int, server: str) -> bytes:
    seconds = LATER_READ_SECONDS if since else FIRST_READ_SECONDS
    return library.catalog.answer(since, server, seconds)


def _saved_views(library: RunLibrary) -> dict[str, Any]:
    views = library.saved_views
    return {"views": views.read(), "file": str(views.file), "writable": views.is_writable}


class _ViewChange(msgspec.Struct, forbid_unknown_fields=True):
    """A view to store, or with `remove` the name of one to remove."""

    name: str
    address: str = ""
    remove: bool = False


def _change_views(server: PageServer, body: bytes) -> dict[str, Any]:
    library = server.library
    try:
        change = msgspec.json.decode(body, type=_ViewChange)
    except msgspec.DecodeError as error:
        raise UsageError(f"no view to store: {error}") from error
    if change.remove:
        library.saved_views.remove(change.name)
    else:
        library.saved_views.put(SavedView(change.name, change.address))
    return _saved_views(library)


_POST_ROUTES: dict[str, Callable[[PageServer, bytes], Any]] = {
    "/api/views": _change_views,
    "/api/annotate": lambda server, body: server.library.annotate(decode_change(body), server.annotator),
}
"""What stores something, from the body of a request."""
