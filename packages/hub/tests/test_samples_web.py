"""Samples, media, downloads and flags over HTTP, and what attackers try with them."""

from __future__ import annotations

import hashlib
import io
import json
import re
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import uvicorn
from PIL import Image
from sqlalchemy import select
from test_api import free_port
from test_scoring import LIMITS

from snellen.core.secret import Secret
from snellen_hub.accounts.access import create_account, create_token, start_sign_in
from snellen_hub.config import HubConfig, SessionLimits
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import Account, HostedBenchmark, HostedMedium, Submission, SubmissionScore
from snellen_hub.hosting import NewBenchmark, add_benchmark, replace_data
from snellen_hub.hub import Hub
from snellen_hub.intake import NewSubmission, take_submission
from snellen_hub.jobs.queue import take_job
from snellen_hub.jobs.scoring import score_submission
from snellen_hub.samples.flags import FLAG_KINDS
from snellen_hub.samples.media import displayable_type
from snellen_hub.storage import Storage
from snellen_hub.web import pages
from snellen_hub.web.app import create_app
from snellen_hub.web.pages.frame import translate
from snellen_hub.web.pages.samples import OUTCOME_TITLES

SCRIPT = "<script>alert(1)</script>"
HTML = f"<!doctype html><html><body>{SCRIPT}</body></html>".encode()
SVG = f'<svg xmlns="http://www.w3.org/2000/svg">{SCRIPT}</svg>'.encode()
BAD_IDS = ["../../etc/passwd", "..", "a/b?c#d", 'x" onmouseover="y', "ünï %2e%2e", SCRIPT]


def picture(color: str, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (24, 24), color).save(file, kind)
    return file.getvalue()


VIDEO = b"\x00\x00\x00\x18ftypmp42" + bytes(range(256)) * 40
FILES = {
    "red.png": picture("red"),
    "page.png": HTML,
    "drawing.png": SVG,
    "photo.jpg": picture("blue", "GIF"),
    "clip.mp4": VIDEO,
}


def write_data(folder: Path, color: str = "red") -> Path:
    """Questions with hostile texts, ids and media."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    rows: list[dict[str, Any]] = [
        {
            "index": name,
            "question": f"What colour? {SCRIPT} {{{{ 7 * 7 }}}}",
            "A": color,
            "B": f"blue {SCRIPT}",
            "answer": "A",
            "category": f'"><img src=x onerror=alert(1)> {number % 2}',
            "image_path": list(FILES)[number % 4],
        }
        for number, name in enumerate([*BAD_IDS, *map(str, range(20))])
    ]
    rows.append({"index": "video", "question": "What moves?", "answer": "a cat", "video_path": "clip.mp4"})
    path = folder / "hostile.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    database = Database(f"sqlite:///{tmp_path / 'hub.sqlite'}")
    database.upgrade()
    storage = Storage(str(tmp_path / "storage"), Secret("a key of the tests"))
    config = HubConfig(url=f"http://127.0.0.1:{free_port()}", submissions=LIMITS)
    opened = Hub(tmp_path, config, database, storage)
    path = write_data(tmp_path / "data")
    with database.writing() as session:
        for name, role in (("olga", "owner"), ("ann", "submitter"), ("vic", "viewer")):
            create_account(session, name, role, None)
        for name, hidden in (("open", False), ("hidden", True)):
            new = NewBenchmark(name=name, title=f"T {SCRIPT}", data=path, is_hidden=hidden)
            add_benchmark(session, storage, new)
    yield opened
    database.close()


@pytest.fixture
def client(hub: Hub) -> Iterator[httpx.Client]:
    """A client of the hub's server, which runs in a thread."""
    port = int(hub.config.url.rpartition(":")[2])
    server = uvicorn.Server(uvicorn.Config(create_app(hub), port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    with httpx.Client(base_url=hub.config.url, follow_redirects=True, timeout=60) as opened:
        yield opened
    server.should_exit = True
    thread.join()


def submit(hub: Hub, benchmark: str = "open") -> str:
    """A published submission with hostile replies; returns its public id."""
    names = [*BAD_IDS, *map(str, range(20)), "video"]
    rows = [{"index": name, "prediction": f"{SCRIPT} (A)"} for name in names]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    with hub.database.writing() as session:
        row = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == benchmark)).one()
        ann = session.scalars(select(Account).where(Account.name == "ann")).one()
        new = NewSubmission(model=f"m {SCRIPT}", file_name="p.jsonl", content=content)
        submission = take_submission(session, hub.storage, row, ann.id, new, LIMITS)
    score_all(hub)
    with hub.database.writing() as session:
        row = session.get_one(Submission, submission.id)
        row.visibility = "published"
        return row.public_id


def score_all(hub: Hub) -> None:
    while (job := take_job(hub.database, "test")) is not None:
        score_submission(hub, job)


def sign_in(hub: Hub, client: httpx.Client, name: str) -> str:
    """Sign a browser in; returns the secret of its forms."""
    with hub.database.writing() as session:
        account = session.scalars(select(Account).where(Account.name == name)).one()
        created = start_sign_in(session, account, SessionLimits())
    client.cookies.set("snellen_hub", created.secret, domain="127.0.0.1")
    return created.csrf


def token(hub: Hub, name: str, *scopes: str) -> dict[str, str]:
    with hub.database.writing() as session:
        account = session.scalars(select(Account).where(Account.name == name)).one()
        secret = create_token(session, account, "", frozenset(scopes), SessionLimits())
    return {"Authorization": f"Bearer {secret}"}


def digest(name: str) -> str:
    return hashlib.sha256(FILES[name]).hexdigest()


def test_the_api_gives_pages_of_questions(hub: Hub, client: httpx.Client) -> None:
    submission = submit(hub)
    page = client.get("/api/v1/benchmarks/open/samples?replies=true").json()
    assert (page["samples"], page["page"], page["pages"]) == (27, 1, 1)
    first = page["items"][0]
    assert (first["id"], first["answer"], first["right"]) == (BAD_IDS[0], ["A"], 1)
    assert first["results"] == {submission: "right"}
    reply = first["replies"][submission]
    assert (reply["outcome"], reply["answer"], reply["score"]) == ("answered", "A", 1.0)
    assert reply["passes"][0]["reply"] == f"{SCRIPT} (A)"
    found = client.get("/api/v1/benchmarks/open/samples", params={"q": "moves"}).json()
    assert [item["id"] for item in found["items"]] == ["video"]
    wrong = {"submission": submission, "result": "wrong"}
    found = client.get("/api/v1/benchmarks/open/samples", params=wrong).json()
    assert [item["id"] for item in found["items"]] == ["video"]
    for asked, code in (
        ({"page": 0}, 422),
        ({"result": "maybe"}, 422),
        ({"submission": "0" * 16, "result": "right"}, 404),
    ):
        assert client.get("/api/v1/benchmarks/open/samples", params=asked).status_code == code


def test_the_api_gives_the_numbers_of_every_version(hub: Hub, client: httpx.Client, tmp_path: Path) -> None:
    submission = submit(hub)
    path = write_data(tmp_path / "new", "crimson")
    with hub.database.writing() as session:
        row = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == "open")).one()
        replace_data(session, hub.storage, row, NewBenchmark(name="open", title="T", data=path))
    score_all(hub)
    scores = client.get(f"/api/v1/submissions/{submission}").json()["scores"]
    assert [each["version"] for each in scores] == [2, 1]
    assert scores[0]["changes"]["changed"] == 26
    assert scores[0]["changes"]["changed_items"]["0"] == ["options"]
    assert all(each["score"]["headline"]["n"] == 27 for each in scores)


def test_data_keep_their_name_and_bring_their_pictures(hub: Hub, client: httpx.Client) -> None:
    response = client.get("/api/v1/benchmarks/open/data")
    assert response.headers["content-type"] == "application/zip"
    assert 'filename="open.zip"' in response.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert sorted(archive.namelist()) == sorted(["hostile.jsonl", *FILES])
        assert archive.read("red.png") == FILES["red.png"]
        assert archive.testzip() is None
    text = hub.folder / "signes – été.tsv"
    text.write_text("index\tquestion\tanswer\n1\tWhat?\tred\n")
    with hub.database.writing() as session:
        add_benchmark(session, hub.storage, NewBenchmark(name="text", title="T", data=text))
    named = client.get("/api/v1/benchmarks/text/data").headers["content-disposition"]
    assert named == (
        "attachment; filename=\"signes____t_.tsv\"; filename*=UTF-8''signes%20%E2%80%93%20%C3%A9t%C3%A9.tsv"
    )
    assert client.get("/api/v1/benchmarks/hidden/data").status_code == 404


@pytest.mark.attack(
    "asking for pictures of a hidden split of which only some questions are public",
    "the download holds those of the public data; the others are not in the storage at all",
)
def test_only_pictures_of_public_data_leave(hub: Hub, client: httpx.Client) -> None:
    folder = hub.folder / "split"
    folder.mkdir()
    for name in ("public.png", "secret.png"):
        (folder / name).write_bytes(picture("pink" if name == "public.png" else "gold"))
    rows = [
        {"index": n, "question": "Which?", "A": "x", "B": "y", "answer": "A", "image_path": name}
        for n, name in enumerate(["public.png", "secret.png"])
    ]
    complete, public = folder / "complete.jsonl", folder / "questions.jsonl"
    complete.write_text("".join(json.dumps(row) + "\n" for row in rows))
    public.write_text(json.dumps({**rows[0], "answer": ""}) + "\n")
    new = NewBenchmark(name="split", title="S", data=complete, public_data=public, is_hidden=True)
    with hub.database.writing() as session:
        add_benchmark(session, hub.storage, new)
    response = client.get("/api/v1/benchmarks/split/data")
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert sorted(archive.namelist()) == ["public.png", "questions.jsonl"]
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("public.png", "secret.png")}
    stored = {file.key for file in hub.storage.list_files()}
    assert digests["public.png"] in stored
    assert digests["secret.png"] not in stored
    for digest_of in digests.values():
        refused = client.get(f"/benchmarks/split/media/{digest_of}")
        assert (refused.status_code, "hidden" in refused.json()["detail"]) == (404, True)


@pytest.mark.parametrize(
    ("asked", "status", "part", "given"),
    [
        ("", 200, VIDEO, ""),
        ("bytes=0-", 206, VIDEO, f"bytes 0-{len(VIDEO) - 1}/{len(VIDEO)}"),
        ("bytes=4-11", 206, VIDEO[4:12], f"bytes 4-11/{len(VIDEO)}"),
        ("bytes=-5", 206, VIDEO[-5:], f"bytes {len(VIDEO) - 5}-{len(VIDEO) - 1}/{len(VIDEO)}"),
        ("bytes=10-99999999", 206, VIDEO[10:], f"bytes 10-{len(VIDEO) - 1}/{len(VIDEO)}"),
        ("bytes=99999999-", 416, None, f"bytes */{len(VIDEO)}"),
        ("bytes=5-4", 416, None, f"bytes */{len(VIDEO)}"),
        ("bytes=-", 200, VIDEO, ""),
        ("bytes=0-1,3-4", 200, VIDEO, ""),
        ("lines=1-2", 200, VIDEO, ""),
        ("bytes=" + "9" * 400 + "-", 200, VIDEO, ""),
    ],
)
def test_videos_are_read_in_parts(
    client: httpx.Client, asked: str, status: int, part: bytes | None, given: str
) -> None:
    headers = {"Range": asked} if asked else {}
    response = client.get(f"/benchmarks/open/media/{digest('clip.mp4')}", headers=headers)
    assert response.status_code == status
    assert response.headers.get("content-range", "") == given
    if part is not None:
        assert response.content == part
        assert response.headers["content-type"] == "video/mp4"
        assert response.headers["content-length"] == str(len(part))


@pytest.mark.attack(
    "pictures of a hosted benchmark that are SVG, HTML under the name of a PNG, or another format",
    "the content decides: only formats that run nothing are shown, all else is a download",
)
@pytest.mark.parametrize(
    ("name", "content_type"),
    [("red.png", "image/png"), ("photo.jpg", "image/gif"), ("page.png", ""), ("drawing.png", "")],
)
def test_media_are_what_they_hold(client: httpx.Client, name: str, content_type: str) -> None:
    response = client.get(f"/benchmarks/open/media/{digest(name)}")
    assert response.content == FILES[name]
    assert response.headers["content-type"] == (content_type or "application/octet-stream")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in response.headers["content-security-policy"]
    assert ("content-disposition" in response.headers) == (not content_type)
    assert response.headers["content-type"] not in ("image/svg+xml", "text/html")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg",
        HTML,
        SVG,
        b"%PDF-1.4",
        b"GIF",
        b"\x89PN",
        b"PK\x03\x04",
        b"\xff\xfe<\x00s\x00",
        b"RIFF    AVI ",
        b"II*\x00",
        b"ID3",
    ],
)
def test_only_known_pictures_and_videos_are_displayable(data: bytes) -> None:
    assert displayable_type(data) == ""


@pytest.mark.attack(
    "script in questions, options, categories, ids, replies and names of models and benchmarks",
    "every page shows it as text, and the policy of the page runs no script of it",
)
def test_no_script_runs_on_pages(hub: Hub, client: httpx.Client) -> None:
    submission = submit(hub)
    csrf = sign_in(hub, client, "olga")
    form = {"csrf": csrf, "item": "0", "kind": "ambiguous", "reason": f"{SCRIPT} <b>"}
    assert client.post("/benchmarks/open/flags", data=form).status_code == 200
    paths = [
        "/benchmarks/open/samples",
        f"/benchmarks/open/samples?q={quote(SCRIPT)}&submission={submission}&result=right",
        "/benchmarks/open/samples?category=%22%3E%3Cscript%3E",
        "/benchmarks/open/samples/0",
        f"/benchmarks/open/samples/{quote(SCRIPT, safe='')}",
        "/manage/flags",
    ]
    for path in paths:
        response = client.get(path, headers={"Accept": "text/html"})
        assert response.status_code == 200, path
        assert "<script" not in response.text
        assert "<img src=x" not in response.text
        assert 'onmouseover="' not in response.text
        assert "script-src 'self'" in response.headers["content-security-policy"]
    assert "{{ 7 * 7 }}" in client.get("/benchmarks/open/samples/0").text


@pytest.mark.attack(
    "ids of questions that are paths, queries and markup",
    "each has its page, by the id in the data alone, and no file is read for it",
)
@pytest.mark.parametrize("name", BAD_IDS)
def test_every_id_has_its_page(hub: Hub, client: httpx.Client, name: str) -> None:
    items = client.get("/api/v1/benchmarks/open/samples").json()["items"]
    address = next(item["url"] for item in items if item["id"] == name)
    page = client.get(address)
    assert page.status_code == 200
    assert "What colour?" in page.text
    assert client.get(f"/api/v1{address}").status_code == 200 or "?id=" in address


@pytest.mark.attack(
    "guessing ids of samples and digests of pictures of a hidden split",
    "the same sentence for those that are there and those that are not, and no bytes",
)
def test_hidden_samples_and_pictures_cannot_be_guessed(hub: Hub, client: httpx.Client) -> None:
    submit(hub, "hidden")
    csrf = sign_in(hub, client, "olga")
    answers = set()
    for path in (
        "/api/v1/benchmarks/hidden/samples",
        "/api/v1/benchmarks/hidden/samples?q=colour",
        "/api/v1/benchmarks/hidden/samples/0",
        "/api/v1/benchmarks/hidden/samples/not-there",
        f"/benchmarks/hidden/media/{digest('red.png')}",
        f"/benchmarks/hidden/media/{'0' * 64}",
        "/benchmarks/hidden/media/hub.sqlite",
        "/benchmarks/hidden/samples",
        "/benchmarks/hidden/samples/0",
    ):
        response = client.get(path)
        answers.add((response.status_code, response.json()["detail"]))
    for item in ("0", "not-there"):
        sent = {"item": item, "kind": "ambiguous", "reason": "why"}
        form = client.post("/benchmarks/hidden/flags", data={"csrf": csrf, **sent})
        api = client.post("/api/v1/benchmarks/hidden/flags", json=sent, headers=token(hub, "ann", "submit"))
        answers |= {(each.status_code, each.json()["detail"]) for each in (form, api)}
    # The owner too sees nothing of them over the web.
    assert answers == {(404, "the answers of hidden are hidden, and so are its samples")}
    with hub.database.reading() as session:
        hidden = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == "hidden")).one()
        media = select(HostedMedium).where(HostedMedium.benchmark_id == hidden.id)
        assert session.scalars(media).all() == []
        assert [score.replies for score in session.scalars(select(SubmissionScore))] == [None]


@pytest.mark.parametrize(
    "path",
    [
        "/benchmarks/open/media/..%2f..%2fhub.sqlite",
        "/benchmarks/open/media/%2e%2e",
        f"/benchmarks/open/media/{'0' * 64}",
        "/benchmarks/open/samples/not-there",
        "/benchmarks/open/samples/..%2f..%2f..%2fetc%2fshadow",
        "/benchmarks/open/samples/%00",
        "/api/v1/benchmarks/none/samples",
    ],
)
def test_missing_pages_give_404(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert "passwd" not in response.text
    as_page = client.get(path, headers={"Accept": "text/html"})
    assert as_page.status_code == 404


@pytest.mark.attack(
    "flags without signing in, from another site's form, twice, and of another's account",
    "refused in a sentence; a second flag of an account about an item is not stored",
)
def test_flags_need_the_reader(hub: Hub, client: httpx.Client) -> None:
    good = {"item": "0", "kind": "wrong-answer", "reason": "it is blue"}
    # Without signing in the browser is sent to the page for that.
    sent = client.post("/benchmarks/open/flags", data=good, follow_redirects=False)
    assert (sent.status_code, sent.headers["location"].split("?")[0]) == (303, "/sign-in")
    assert client.post("/api/v1/benchmarks/open/flags", json=good).status_code == 401
    csrf = sign_in(hub, client, "vic")
    assert client.post("/benchmarks/open/flags", data=good).status_code == 403
    other_site = {"Origin": "https://evil.example"}
    form = {"csrf": csrf, **good}
    assert client.post("/benchmarks/open/flags", data=form, headers=other_site).status_code == 403
    assert client.post("/benchmarks/open/flags", data=form).status_code == 200
    twice = client.post("/benchmarks/open/flags", data=form)
    assert (twice.status_code, "already" in twice.text) == (422, True)
    assert "You flagged it:" in client.get("/benchmarks/open/samples/0").text
    # A viewer sees no list of flags; the owner does, and closes them.
    assert client.get("/manage/flags").status_code == 403
    reader = token(hub, "ann", "read")
    assert client.post("/api/v1/benchmarks/open/flags", json=good, headers=reader).status_code == 403
    ann = token(hub, "ann", "submit")
    assert client.post("/api/v1/benchmarks/open/flags", json=good, headers=ann).status_code == 201
    extra = {**good, "settled": "now", "account_id": 1}
    assert client.post("/api/v1/benchmarks/open/flags", json=extra, headers=ann).status_code == 422
    own = client.get("/api/v1/benchmarks/open/flags", headers=ann).json()
    assert [flag["reason"] for flag in own] == ["it is blue"]
    assert "vic" not in json.dumps(own)
    csrf = sign_in(hub, client, "olga")
    listed = client.get("/manage/flags").text
    assert "vic" in listed
    assert "2 open flags on 1 questions" in listed
    close = {"csrf": csrf, "benchmark": "open", "item": "0"}
    assert client.post("/manage/flags", data=close).status_code == 200
    assert "0 open flags" in client.get("/manage/flags").text
    assert client.post("/manage/flags", data=close).status_code == 422
    everything = client.get("/api/v1/benchmarks/open/flags", headers=token(hub, "olga", "admin", "submit"))
    assert everything.json() == []


@pytest.mark.release
@pytest.mark.attack(
    "replies of millions of characters to every question, to make each view of a page costly",
    "a page reads the first 20,000 characters of each",
)
def test_long_replies_do_not_make_pages_long(hub: Hub, client: httpx.Client) -> None:
    names = [*BAD_IDS, *map(str, range(20)), "video"]
    rows = [{"index": name, "prediction": "A" * 2_000_000} for name in names]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    with hub.database.writing() as session:
        row = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == "open")).one()
        new = NewSubmission(model="m", file_name="p.jsonl", content=content)
        submission = take_submission(session, hub.storage, row, 2, new, LIMITS)
    score_all(hub)
    with hub.database.writing() as session:
        session.get_one(Submission, submission.id).visibility = "published"
        key = session.get_one(Submission, submission.id).scores[0].replies
    assert len(hub.storage.get(str(key))) < 10_000
    assert len(client.get("/api/v1/benchmarks/open/samples?replies=true").content) < 100_000
    assert len(client.get("/benchmarks/open/samples/0").content) < 40_000


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pages_read_in_both_languages(hub: Hub, client: httpx.Client, language: str) -> None:
    submit(hub)
    client.cookies.set("snellen_language", language)
    text = client.get("/benchmarks/open/samples/video").text
    assert ("Replies" in text) == (language == "en")
    assert ("回答" in text) == (language == "zh")
    assert "<video controls" in text


def test_every_text_of_the_pages_has_its_chinese() -> None:
    folder = Path(str(pages.__file__)).parent / "templates"
    texts = {*FLAG_KINDS.values(), *OUTCOME_TITLES.values()}
    for name in ("samples", "sample", "flags"):
        source = (folder / f"{name}.html").read_text()
        written = re.findall(r"""\bt\((?:"([^"]*)"|'([^']*)')""", source)
        texts |= {one or two for one, two in written}
    assert len(texts) > 60
    assert [text for text in sorted(texts) if translate("zh", text) == text] == []
