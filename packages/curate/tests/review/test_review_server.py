"""What the review's server says, to whom, and what it never does."""

from __future__ import annotations

import html
import http.client
import json
import stat
from urllib.parse import urlsplit

import pytest
from drawn_scenes import draw_scene, jpeg
from reviewing import ATTACK, ROWS, ask, decide, link_of, opened, serving, write_data

from snellen.cli import main
from snellen.view.local_server import HOST, MAX_BODY
from snellen_curate.review.entries import REVIEWS_FILE
from snellen_curate.review.opening import open_review
from snellen_curate.review.server import LINKS_FILE, read_links

KEEP = {"item": "c1", "action": "keep"}


@pytest.fixture
def review(tmp_path):
    return opened(tmp_path, annotators=2)


@pytest.fixture
def server(review):
    with serving(review) as server:
        yield server


def test_a_decision_goes_to_the_log_and_the_next_item_comes(server, review):
    assert ask(server, "/api/next", by="ann").json["item"]["id"] == "c1"
    stored = ask(server, "/api/decide", body=KEEP, by="ann")
    assert (stored.status, stored.json["state"]["own"]) == (200, 1)
    assert ask(server, "/api/next", by="ann", after="c1").json["item"]["id"] == "c2"
    (line,) = (review.folder / REVIEWS_FILE).read_text().splitlines()
    assert json.loads(line)["by"] == "ann"
    assert ask(server, "/api/undo", body={}, by="ann").json["item"]["id"] == "c1"
    assert ask(server, "/api/state", by="ann").json["own"] == 0


@pytest.mark.attack(
    "a review is asked without the token of a link, or written by another site's page", "nothing is answered or stored"
)
@pytest.mark.parametrize(
    "headers",
    [
        {"X-Snellen-Token": None},
        {"X-Snellen-Token": ""},
        {"X-Snellen-Token": "guessed"},
        {"Cookie": None},
        {"Cookie": "snellen-1=guessed"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example:80"},
        {"Host": ""},
    ],
)
def test_only_its_own_pages_may_write(server, review, headers):
    stored = ask(server, "/api/decide", body=KEEP, headers=headers, by="ann")
    assert (stored.status, set(stored.json)) == (403, {"error"})
    assert not (review.folder / REVIEWS_FILE).exists()
    if "Origin" not in headers:
        for path in ("/api/state", "/api/next", "/api/item", "/api/rows", "/api/agreement"):
            answer = ask(server, path, headers=headers, by="ann", id="c1")
            assert (answer.status in (403, 422), set(answer.json)) == (True, {"error"})


def test_a_link_for_one_person_is_valid_for_that_person_alone(review):
    with serving(review, ["Ann Lee", "ben"]) as server:
        assert [link.name for link in server.links] == ["Ann Lee", "ben", ""]
        assert server.address(server.links[0]).endswith("&as=Ann%20Lee")
        ask(server, "/api/decide", body=KEEP, by="somebody else")
        assert list(review.board.reviews("c1").decisions()) == ["Ann Lee"]


def test_links_outlast_the_server_and_are_for_their_owner(review):
    before = read_links(review.folder)
    assert read_links(review.folder) == before
    named = read_links(review.folder, ["ann"])
    assert named[-1] == before[-1]
    assert len({link.token for link in [*before, *named]}) == 3
    mode = (review.folder / LINKS_FILE).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


@pytest.mark.attack(
    "an annotator of a blind review asks for keys, replies, agreement and others' decisions",
    "none is sent: the server holds them back, not the page",
)
def test_an_annotator_of_a_blind_review_is_sent_no_key(tmp_path):
    review = opened(tmp_path, blind=True, annotators=2)
    decide(review, "c1", "ben", "answer", answer="B", ability="colour", comment="secret")
    with serving(review) as server:
        every = [ask(server, "/api/item", by="ann", id=row["index"]).body for row in ROWS]
        every.append(ask(server, "/api/rows", by="ann", show="all").body)
        item = json.loads(every[0])["item"]
        hidden = {"gold", "groups", "cells", "fields", "flags", "replies", "problem", "decisions"}
        assert not hidden & set(item)
        assert (item["own"], item["comments"]) == (None, [])
        assert b"secret" not in b"".join(every)
        assert b"drawn" not in b"".join(every)
        assert ask(server, "/api/agreement", by="ann").status == 422
        judged = ask(server, "/api/item", "adjudicator", by="judy", id="c1").json["item"]
        assert (judged["gold"], judged["decisions"][0]["comment"]) == (["A"], "secret")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"not json", "this is no decision"),
        (b"[]", "this is no decision"),
        ({**KEEP, "role": "adjudicator"}, "this is no decision"),
        ({**KEEP, "by": "ben"}, "this is no decision"),
        ({"item": "c1", "action": "burn"}, "this is no decision"),
        ({"item": "nope", "action": "keep"}, "the queue has no item 'nope'"),
        ({"item": "c1", "action": "fix", "changes": {"answer": "D"}}, "has no option 'D'"),
        ({"item": "c1", "action": "fix", "changes": {"B": "Red"}}, "would be the same"),
        ({"item": "c1", "action": "fix", "changes": {"A": "x" * 20_000}}, "this is no decision"),
        (b"\xff\xfe", "this is no decision"),
    ],
)
def test_refuses_invalid_decision_in_one_sentence(server, review, body, reason):
    answer = ask(server, "/api/decide", body=body, by="ann")
    assert answer.status == 422
    assert reason in answer.json["error"]
    assert "\n" not in answer.json["error"]
    assert not (review.folder / REVIEWS_FILE).exists()


def test_bodies_that_are_too_large_are_refused(server):
    assert ask(server, "/api/decide", body=b"x" * (MAX_BODY + 1), by="ann").status == 413


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/api/item", {"by": "ann", "id": "../../etc/passwd"}, 422),
        ("/api/item", {"by": "ann"}, 422),
        ("/api/item", {"by": "ann", "id": "c1", "step": "x"}, 422),
        ("/api/next", {}, 422),
        ("/api/next", {"by": "\x00"}, 422),
        ("/media/../../data.jsonl", {"item": "c1"}, 404),
        ("/media/" + "0" * 64, {"item": "c1"}, 404),
        ("/video/" + "0" * 64, {"item": "c1"}, 404),
        ("/media/x", {}, 404),
        ("/nothing", {}, 404),
    ],
)
def test_refuses_paths_outside_the_review(server, path, query, status):
    answer = ask(server, path, **query)
    assert (answer.status, set(answer.json)) == (status, {"error"})


def test_images_are_sent_as_what_they_are(server):
    item = ask(server, "/api/item", by="ann", id="c1").json["item"]
    answer = ask(server, f"/media/{item['media'][0]['digest']}", item="c1")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "image/png")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    wrong = ask(server, f"/media/{item['media'][0]['digest']}", item="c2")
    assert wrong.status == 404


@pytest.mark.attack(
    "another user of the machine asks for the page and the pictures of a review",
    "nothing is sent without the token of its address",
)
def test_page_and_images_need_the_address(server):
    item = ask(server, "/api/item", by="ann", id="c1").json["item"]
    image = f"/media/{item['media'][0]['digest']}"
    for path in ("/", image, "/api/item"):
        for cookie in (None, f"snellen-{server.server_port}=guessed"):
            answer = ask(server, path, headers={"Cookie": cookie}, item="c1", by="ann", id="c1")
            assert (answer.status, set(answer.json)) == (403, {"error"})
    query = urlsplit(server.address(link_of(server))).query
    opened = ask(server, "/", headers={"Cookie": None}, **dict([query.split("=")]))
    assert (opened.status, opened.headers["Location"]) == (303, "/")
    cookie = opened.headers["Set-Cookie"].partition(";")[0]
    assert ask(server, image, headers={"Cookie": cookie}, item="c1").status == 200
    # It is no link's token: who has it may look, and decides nothing.
    assert query.partition("=")[2] not in server.tokens()


def test_file_that_is_not_an_image_is_not_sent(tmp_path):
    data = write_data(tmp_path / "data")
    (tmp_path / "data" / "0.png").write_text(ATTACK)
    review = open_review(data, tmp_path / "out", {"queue": "all"})
    with serving(review) as server:
        item = ask(server, "/api/item", by="ann", id="c1").json["item"]
        assert ask(server, f"/media/{item['media'][0]['digest']}", item="c1").status == 404


def test_videos_are_sent_in_parts(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    content = bytes(range(256)) * 40
    (folder / "clip.mp4").write_bytes(content)
    row = {"index": "v", "question": "What moves?", "A": "a", "B": "b", "answer": "A", "video_path": "clip.mp4"}
    (folder / "data.jsonl").write_text(json.dumps(row) + "\n")
    review = open_review(folder / "data.jsonl", tmp_path / "out", {"queue": "all"})
    with serving(review) as server:
        item = ask(server, "/api/item", by="ann", id="v").json["item"]
        (video,) = item["source"]["videos"]
        assert video["has_file"] is True
        address = f"/video/{video['digest']}"
        part = ask(server, address, headers={"Range": "bytes=1000-"}, item="v")
        assert (part.status, part.body) == (206, content[1000:])
        assert part.headers["Content-Range"] == f"bytes 1000-{len(content) - 1}/{len(content)}"
        assert part.headers["Content-Type"] == "video/mp4"
        assert ask(server, f"{address}", item="v", subtitles=1).status == 404


def test_the_page_itself_holds_nothing_of_the_data(server):
    answer = ask(server, "/", headers={"X-Snellen-Token": None})
    assert answer.status == 200
    page = html.unescape(answer.body.decode())
    assert "Which colour?" not in page
    assert link_of(server).token not in page
    assert "default-src 'none'" in page
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_the_adjudicator_sees_agreement_as_numbers(server, review):
    for by in ("ann", "ben"):
        decide(review, "c1", by, "keep")
        decide(review, "c2", by, "drop")
    (field,) = ask(server, "/api/agreement", "adjudicator", by="judy").json["fields"]
    assert (field["alpha"]["value"], field["pairs"][0]["kappa"]["items"]) == (1.0, 2)


def test_the_list_is_searched_and_filtered(server, review):
    decide(review, "c1", "ann", "keep")
    decide(review, "c1", "ben", "drop")
    assert ask(server, "/api/rows", by="ann", show="mine").json["found"] == 1
    assert ask(server, "/api/rows", by="ann", show="todo").json["found"] == 5
    found = ask(server, "/api/rows", by="ann", show="all", text="HOW MANY").json["rows"]
    assert [row["id"] for row in found] == ["c2"]
    assert "status" not in found[0]
    judged = ask(server, "/api/rows", "adjudicator", by="judy", show="conflict").json["rows"]
    assert [(row["id"], row["status"]) for row in judged] == [("c1", "conflict")]


def test_the_server_is_bound_to_this_machine(server):
    assert server.server_address[0] == HOST == "127.0.0.1"
    connection = http.client.HTTPConnection(HOST, server.server_port, timeout=10)
    connection.request("PUT", "/api/decide", b"{}")
    assert connection.getresponse().status == 405
    connection.close()


@pytest.fixture
def flagged(tmp_path, monkeypatch):
    """Two items that contradict each other about one image, and a third without a pair."""
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.jpg").write_bytes(jpeg(draw_scene(1)))
    rows = [
        {"index": name, "question": question, "answer": key, "type": "yes_no", "image": "a.jpg"}
        for name, question, key in (
            ("one", "Is it a cat?", "yes"),
            ("two", "Is it a cat?", "no"),
            ("three", "Is it?", "no"),
        )
    ]
    (tmp_path / "cats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["curate", "duplicates", str(tmp_path / "cats.jsonl"), "--out", str(tmp_path / "checked")]) == 1
    return tmp_path / "checked"


def test_the_other_item_of_a_pair_is_beside_it(flagged, tmp_path, capsys):
    with serving(open_review(flagged, tmp_path / "reviewed")) as server:
        item = ask(server, "/api/item", id="one", by="ann").json["item"]
        [pair] = item["pairs"]
        assert (pair["id"], pair["question"], pair["gold"]) == ("two", "Is it a cat?", ["No"])
        assert len(pair["pictures"]) == 1
        assert ask(server, f"/media/{pair['pictures'][0]}", item="one").status == 200
    [line] = [line for line in (tmp_path / "reviewed" / "queue.jsonl").read_text().splitlines() if '"one"' in line[:20]]
    assert json.loads(line)["flags"][0]["evidence"][0]["reply"] == "two"


def test_a_blind_review_says_nothing_of_pairs(flagged, tmp_path):
    with serving(open_review(flagged, tmp_path / "reviewed", {"blind": True})) as server:
        assert "pairs" not in ask(server, "/api/item", id="one", by="ann").json["item"]
