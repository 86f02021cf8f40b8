"""Data to review, reviews of it, and the review's page as a process of its own."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import urlencode

from PIL import Image, ImageDraw

from snellen.core.media import FileSource
from snellen.view.local_server import HOST
from snellen_curate.review.entries import ReviewEntry
from snellen_curate.review.opening import Review, open_review
from snellen_curate.review.server import ReviewLink, ReviewServer, read_links

ATTACK = "</script><script>window.hurt=1</script><img src=x onerror='window.hurt=1'><!--"
ROWS: tuple[dict[str, Any], ...] = (
    {
        "index": "c1",
        "question": "Which colour?",
        "A": "red",
        "B": "blue",
        "answer": "A",
        "category": "colour",
        "l2-category": "perception",
        "source": "drawn",
    },
    {
        "index": "c2",
        "question": "How many?",
        "hint": "count",
        "A": "one",
        "B": "two",
        "C": "three",
        "answer": "C",
        "category": "counting",
        "l2-category": "reasoning",
    },
    {"index": "y1", "question": "Is it red?", "answer": "yes", "category": "colour", "l2-category": "perception"},
    {
        "index": "o1",
        "question": "What is written?",
        "answers": ["Stop", "STOP sign"],
        "category": "text",
        "l2-category": "perception",
    },
    {
        "index": "m1",
        "question": "Which are round?",
        "A": "ball",
        "B": "box",
        "C": "coin",
        "answer": "A, C",
        "type": "multi",
        "category": "colour",
        "l2-category": "perception",
    },
    {
        "index": "bad",
        "question": "Which key is none?",
        "A": "x",
        "B": "y",
        "answer": "E",
        "category": "colour",
        "l2-category": "perception",
    },
)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def write_data(folder: Path, rows: Sequence[Mapping[str, Any]] = ROWS) -> Path:
    """A data file with a picture for each row."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, row in enumerate(rows):
        name = f"{number}.png"
        image = Image.new("RGB", (96, 64), (240, 240, 235))
        ImageDraw.Draw(image).ellipse((10 + 5 * number, 10, 50 + 5 * number, 50), "#c02020")
        image.save(folder / name)
        lines.append(json.dumps({**row, "image": name}) + "\n")
    data = folder / "data.jsonl"
    data.write_text("".join(lines), encoding="utf-8")
    return data


def opened(tmp_path: Path, **options: Any) -> Review:
    """A review of `ROWS`, of all items unless `options` say otherwise."""
    data = tmp_path / "data" / "data.jsonl"
    if not data.exists():
        write_data(data.parent)
    return open_review(data, tmp_path / "out", {"queue": "all", **options})


def decide(review: Review, item: str, by: str, action: str, **values: Any) -> ReviewEntry:
    return review.board.decide(ReviewEntry(item, by, action, **values))  # type: ignore[arg-type]


@contextmanager
def serving(review: Review, names: Sequence[str] = ()) -> Iterator[ReviewServer]:
    links = read_links(review.folder, names)
    with ReviewServer(review.board, links, 0) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def link_of(server: ReviewServer, role: str = "annotator") -> ReviewLink:
    return next(link for link in server.links if link.role == role)


def ask(
    server: ReviewServer,
    path: str,
    role: str = "annotator",
    body: object = None,
    headers: Mapping[str, str | None] | None = None,
    host: str | None = None,
    **query: object,
) -> Answer:
    """One request as the page sends it, but for `headers`; None leaves one out."""
    connection = http.client.HTTPConnection(HOST, server.server_port, timeout=30)
    sent: dict[str, str | None] = {
        "Host": host or f"{HOST}:{server.server_port}",
        "X-Snellen-Token": link_of(server, role).token,
        "Cookie": server.cookie,
        **(headers or {}),
    }
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(
        "GET" if data is None else "POST",
        f"{path}?{urlencode(query)}",
        data,
        {name: value for name, value in sent.items() if value is not None},
    )
    answer = connection.getresponse()
    found = Answer(answer.status, dict(answer.getheaders()), answer.read())
    connection.close()
    return found


def command(*words: str, **options: Any) -> subprocess.Popen[str]:
    """`snellen curate review` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "snellen", "curate", "review", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


class Served(NamedTuple):
    process: subprocess.Popen[str]
    links: dict[str, str]
    """Name or role to address."""


def start_serving(*words: str) -> Served:
    """The command once it serves; the caller ends it."""
    process = command(*words)
    assert process.stdout is not None
    links: dict[str, str] = {}
    for line in process.stdout:
        found = re.match(r"(.+?)\s+(http://\S+)", line)
        if found:
            links[found[1]] = found[2]
        if "Ctrl-C" in line:
            return Served(process, links)
    raise AssertionError(process.communicate()[1])


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def image_file(review: Review, item: str) -> str:
    source = review.board.queue.items[item].item.sample.media[0].source
    assert isinstance(source, FileSource)
    return str(source.path)
