"""Annotations through the server: who may write what, and what the pages are told."""

from __future__ import annotations

import http.client
import json
import re
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from viewing import Answer, ask, made_run, served, viewed

from snellen.store.annotations import (
    ANNOTATIONS_FILE,
    MAX_NOTE,
    AnnotationChange,
    append_change,
    merge_changes,
    read_changes,
)
from snellen.view.files import write_pages
from snellen.view.local_server import HOST, MAX_BODY
from snellen.view.run_view import RunLibrary
from snellen.view.server import PageServer


def annotate(server: PageServer, change: object, body: bytes | None = None, **headers: str | None) -> Answer:
    """A change as the page sends it, but for `headers`; None leaves one out."""
    connection = http.client.HTTPConnection(HOST, server.server_port, timeout=30)
    own = f"http://{HOST}:{server.server_port}"
    sent: dict[str, str | None] = {
        "Content-Type": "application/json",
        "X-Snellen-Token": server.token,
        "Origin": own,
        "Cookie": server.cookie,
    }
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(
        "POST",
        "/api/annotate",
        body if body is not None else json.dumps(change).encode(),
        {name: value for name, value in sent.items() if value is not None},
    )
    answer = connection.getresponse()
    found = Answer(answer.status, dict(answer.getheaders()), answer.read())
    connection.close()
    return found


@pytest.fixture
def run(tmp_path):
    return made_run(tmp_path, count=8)


@pytest.fixture
def server(run):
    with served(run.path.parent) as server:
        yield server


def test_a_change_is_stored_and_answered_with_the_new_state(server, run):
    told = annotate(server, {"run": run.name, "sample": "3", "flag": True}).json
    assert told["reply"]["3"]["flag"] is True
    told = annotate(server, {"run": run.name, "sample": "3", "about": "sample", "add": [" gold   wrong "]}).json
    assert told["sample"]["3"]["labels"] == ["gold wrong"]
    assert told["labels"] == ["gold wrong"]
    assert told == ask(server, "/api/annotations", run=run.name).json
    assert told["reply"]["3"]["by"] == server.annotator
    lines = (run.path / ANNOTATIONS_FILE).read_bytes().splitlines()
    assert [msgspec.json.decode(line)["sample"] for line in lines] == ["3", "3"]


def test_annotations_of_another_server_are_seen(server, run):
    with served(run.path.parent) as other:
        annotate(other, {"run": run.name, "sample": "1", "note": "theirs"})
        annotate(server, {"run": run.name, "sample": "1", "flag": True})
        for each in (server, other):
            told = ask(each, "/api/annotations", run=run.name).json["reply"]["1"]
            assert (told["note"], told["flag"]) == ("theirs", True)


def test_annotations_of_samples_hold_for_all_runs_of_the_same_data(tmp_path):
    runs = [made_run(tmp_path, model, count=4) for model in ("one", "two")]
    with served(tmp_path) as server:
        change = {"run": runs[0].name, "sample": "2", "about": "sample", "note": "gold is wrong"}
        annotate(server, change)
        annotate(server, {"run": runs[0].name, "sample": "2", "note": "of one"})
        told = ask(server, "/api/annotations", run=runs[1].name).json
    assert told["sample"]["2"]["note"] == "gold is wrong"
    assert told["reply"] == {}


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Snellen_Token": None},
        {"X_Snellen_Token": "guessed"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
    ],
)
@pytest.mark.attack("a foreign page that writes annotations", "403; nothing is written")
def test_no_other_page_may_write(server, run, headers):
    answer = annotate(server, {"run": run.name, "sample": "3", "flag": True}, **headers)
    assert answer.status == 403
    assert not (run.path / ANNOTATIONS_FILE).exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sample": "99", "flag": True}, "has no sample '99'"),
        ({"sample": "3"}, "changes nothing"),
        ({"sample": "3", "flag": "yes"}, "not an annotation"),
        ({"sample": "3", "flag": True, "path": "/etc/passwd"}, "not an annotation"),
        ({"sample": "3", "note": "x" * (MAX_NOTE + 1)}, "not an annotation"),
        ({"sample": "3", "add": ["x" * 81]}, "not an annotation"),
        ({"sample": "3", "add": [str(at) for at in range(21)]}, "not an annotation"),
        ({"run": "../other", "sample": "3", "flag": True}, "no run"),
    ],
)
def test_a_wrong_change_is_one_sentence(server, run, change, said):
    answer = annotate(server, {"run": run.name, **change})
    assert answer.status == 422
    assert said in answer.json["error"]
    assert not (run.path / ANNOTATIONS_FILE).exists()


@pytest.mark.attack("an annotation of many megabytes", "413; nothing is read of it")
def test_refuses_oversized_annotations(server, run):
    assert annotate(server, None, body=b"[" * (MAX_BODY + 1)).status == 413
    assert annotate(server, None, body=b"\xff\xfe{}").status == 422
    assert not (run.path / ANNOTATIONS_FILE).exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(server, run):
    (run.path / ANNOTATIONS_FILE).mkdir()
    answer = annotate(server, {"run": run.name, "sample": "3", "flag": True})
    assert answer.status == 422
    assert "annotations are kept in the run's folder" in answer.json["error"]


def test_names_lines_that_are_not_annotations(server, run):
    append_change(run.path, AnnotationChange("1", flag=True))
    with (run.path / ANNOTATIONS_FILE).open("a") as file:
        file.write("not json\n")
    told = ask(server, "/api/annotations", run=run.name).json
    assert told["reply"]["1"]["flag"] is True
    assert told["notices"] == [f"{run.name}/{ANNOTATIONS_FILE}: left out what is not an annotation (lines 2)"]


def test_a_killed_server_has_lost_nothing(run):
    with viewed(str(run.path), "--port", "0", "--name", "ann") as (process, url):
        parts = urlsplit(url)
        port, token = parts.port, parts.query.removeprefix("token=")
        cookie = {"Cookie": f"snellen-{port}={token}"}
        connection = http.client.HTTPConnection(HOST, port, timeout=30)
        connection.request("GET", "/", headers=cookie)
        token = re.search(rb'"token":"([\w-]+)"', connection.getresponse().read())
        assert token is not None
        for at in range(5):
            change = {"run": run.name, "sample": "3", "add": [f"label {at}"]}
            headers = {"X-Snellen-Token": token[1].decode(), **cookie}
            connection.request("POST", "/api/annotate", json.dumps(change), headers)
            assert connection.getresponse().read()
        connection.close()
        process.kill()
        process.wait(60)
    (found,) = merge_changes(read_changes(run.path).changes)
    assert found.labels == tuple(f"label {at}" for at in range(5))
    assert found.by == "ann"


def test_the_page_may_not_be_framed(server):
    assert ask(server, "/").headers["X-Frame-Options"] == "DENY"


def test_files_have_the_annotations(run, tmp_path):
    append_change(run.path, AnnotationChange("1", note="seen"))
    write_pages(RunLibrary([run.path]), tmp_path / "pages")
    text = (tmp_path / "pages" / "data" / run.name / "annotations.js").read_text()
    told: Any = json.loads(f"[{text.removeprefix('snellen.put(').removesuffix(')' + chr(10))}]")[1]
    assert told["reply"]["1"]["note"] == "seen"
