"""Before the reveal nothing that a hub answers depends on a private answer: two hubs whose private
answers differ give the same bytes to the same submissions, on every page, route and file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from fastapi.testclient import TestClient
from hub_browsers import HubBrowser, add_accounts
from sqlalchemy import select
from test_scoring import write_data

from snellen.core.secret import Secret
from snellen_hub.accounts.access import create_token, start_sign_in
from snellen_hub.boards.suite_members import MemberColumn, NewSuite, create_suite
from snellen_hub.config import SubmissionLimits
from snellen_hub.database.tables import Account, FinalScore, HostedBenchmark, Submission
from snellen_hub.hosting import NewBenchmark, add_benchmark, find_hosted_benchmark
from snellen_hub.hosts import set_host
from snellen_hub.hub import Hub, create_hub, open_hub
from snellen_hub.intake import NewSubmission, take_submission
from snellen_hub.jobs.worker import Worker
from snellen_hub.publishing import publish_submission
from snellen_hub.reveals import choose_final, reveal_part
from snellen_hub.storage import Storage
from snellen_hub.uploaded_replies import decode_questions
from snellen_hub.web.app import create_app

KEY = Secret("a key of the tests")
THEN = datetime(2026, 11, 24, 12, tzinfo=UTC)
CLOCKS = ("database.tables", "jobs.scoring", "publishing", "reveals")
"""Modules whose times readers see."""
PATHS = (
    "/",
    "/benchmarks/hidden?columns=all",
    "/benchmarks/hidden/history",
    "/benchmarks/hidden/protocol",
    "/suites/both?columns=all",
    "/feed.xml",
    "/benchmarks/hidden/feed.xml",
    "/suites/both/feed.xml",
    "/api/v1/benchmarks/hidden",
    "/api/v1/benchmarks/hidden/board?columns=all",
    "/api/v1/benchmarks/hidden/board?form=csv&columns=all",
    "/api/v1/benchmarks/hidden/board?form=parquet&columns=all",
    "/api/v1/benchmarks/hidden/board?as-of=@4",
    "/api/v1/benchmarks/hidden/board?sort=score&order=up&evidence=submitted",
    "/api/v1/benchmarks/hidden/history",
    "/api/v1/suites/both/board?columns=all",
    "/api/v1/suites/both/board?form=csv&columns=all",
    "/api/v1/suites/both/radar?models=m0&models=m1",
    "/api/v1/models?name=m0",
    "/api/v1/changes",
    "/api/v1/benchmarks/hidden/samples",
    "/api/v1/benchmarks/hidden/data",
    "/account/submissions",
    "/api/v1/submissions",
    "/manage/benchmarks/hidden",
)


class TwoHubs(NamedTuple):
    """A hub whose submissions are not scored yet, to be copied."""

    folder: Path
    ids: Sequence[str]
    """Of the submissions."""
    cookie: str
    token: str


def opened(folder: Path) -> Hub:
    hub = open_hub(folder)
    return Hub(hub.folder, hub.config, hub.database, Storage(str(folder / "storage"), KEY))


def replies(seed: int) -> bytes:
    rows = [{"index": n, "prediction": "ABCD"[(n * 7 + seed * n // 9) % 4]} for n in range(60)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture(scope="module")
def unscored(tmp_path_factory: pytest.TempPathFactory) -> TwoHubs:
    folder = tmp_path_factory.mktemp("hubs") / "first"
    made = create_hub(folder)
    hub = Hub(made.folder, made.config, made.database, Storage(str(folder / "storage"), KEY))
    accounts = add_accounts(hub, ann="submitter", bob="submitter", eve="submitter")
    data = write_data(folder / "signs.tsv")
    ids = []
    with hub.database.writing() as session:
        for name in ("hidden", "open"):
            new = NewBenchmark(name=name, title=name, data=data, is_hidden=name == "hidden")
            board = add_benchmark(session, hub.storage, new)
            for number, account in enumerate([*accounts.values()] * 2):
                sent = NewSubmission(model=f"m{number}", file_name="p.jsonl", content=replies(number))
                row = take_submission(session, hub.storage, board, account, sent, SubmissionLimits())
                ids.append(row.public_id)
        create_suite(session, NewSuite(name="both", members=(MemberColumn("hidden"), MemberColumn("open"))))
        ann = session.get_one(Account, accounts["ann"])
        set_host(session, find_hosted_benchmark(session, "hidden"), "ann", "owner")
        cookie = start_sign_in(session, ann, hub.config.sessions).secret
        scopes = frozenset({"read", "submit"})
        token = create_token(session, ann, "", scopes, hub.config.sessions)
    hub.close()
    return TwoHubs(folder, ids, cookie, token)


@pytest.fixture
def same_times(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in CLOCKS:
        monkeypatch.setattr(f"snellen_hub.{module}.now", lambda: THEN)


def copy_with_golds(made: TwoHubs, folder: Path, changes: Callable[[int], bool]) -> Hub:
    """A copy of the hub in which the answers to the questions of some parts are others."""
    shutil.copytree(made.folder, folder)
    hub = opened(folder)
    with hub.database.writing() as session:
        row = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == "hidden")).one()
        part_of = {each.name: each.part for each in decode_questions(hub.storage.get(row.ids))}
        head, *lines = hub.storage.get(row.data).decode().splitlines()
        cells = [line.split("\t") for line in lines]
        for each in cells:
            if changes(part_of[each[0]]):
                each[6] = "ABCD"[("ABCD".index(each[6]) + 1) % 4]
        text = "\n".join([head, *("\t".join(each) for each in cells)]) + "\n"
        row.data = hub.storage.put(text.encode(), seal=True)
    work(hub)
    with hub.database.writing() as session:
        for row in session.scalars(select(Submission).where(Submission.model != "m5")):
            publish_submission(session, row)
    return hub


def work(hub: Hub) -> None:
    Worker(hub, print).work(until_empty=True)
    with hub.database.reading() as session:
        assert set(session.scalars(select(Submission.status))) == {"scored"}


def answers(hub: Hub, made: TwoHubs) -> dict[str, tuple[int, bytes]]:
    """What every page, route and file says to ann."""
    paths = [*PATHS, f"/compare?s={made.ids[0]}&s={made.ids[1]}&s={made.ids[2]}"]
    for name in made.ids:
        paths += [f"/submissions/{name}", f"/api/v1/submissions/{name}", f"/account/submissions/{name}"]
    said = {}
    app = create_app(hub)
    browser = HubBrowser(app)
    browser.client.cookies.set("snellen_hub", made.cookie, domain="testserver.local")
    with TestClient(app) as client:
        for path in paths:
            if path.startswith("/api"):
                answer = client.get(path, headers={"Authorization": f"Bearer {made.token}"})
            else:
                answer = browser.get(path)
            said[path] = (answer.status_code, answer.content)
    return said


def differing(one: dict[str, tuple[int, bytes]], other: dict[str, tuple[int, bytes]]) -> set[str]:
    assert one.keys() == other.keys()
    return {path for path in one if one[path] != other[path]}


@pytest.mark.attack(
    "every page, route and file of two hubs that differ in their private answers, before a reveal",
    "no byte differs; where public answers differ, boards do",
)
@pytest.mark.usefixtures("same_times")
def test_private_answers_change_no_byte(unscored: TwoHubs, tmp_path: Path) -> None:
    one = copy_with_golds(unscored, tmp_path / "one", lambda part: False)
    other = copy_with_golds(unscored, tmp_path / "other", lambda part: part > 0)
    control = copy_with_golds(unscored, tmp_path / "control", lambda part: part == 0)
    said = answers(one, unscored)
    assert [path for path in PATHS if said[path][0] != 200] == [
        "/api/v1/benchmarks/hidden/samples",
        "/api/v1/benchmarks/hidden/data",
    ]
    assert sum(code == 200 for code, _ in said.values()) > 40
    assert differing(said, answers(other, unscored)) == set()
    changed = differing(said, answers(control, unscored))
    assert {
        "/",
        "/benchmarks/hidden?columns=all",
        "/api/v1/submissions",
        "/feed.xml",
        "/api/v1/benchmarks/hidden/board?form=csv&columns=all",
        "/account/submissions",
        "/suites/both?columns=all",
    } <= changed
    # The reveal scores for real: there the private answers count.
    for hub in (one, other):
        with hub.database.writing() as session:
            board = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == "hidden")).one()
            reveal_part(session, board, datetime.now(UTC))
        work(hub)
    assert "/benchmarks/hidden?columns=all" in differing(answers(one, unscored), answers(other, unscored))
    for hub in (one, other, control):
        hub.close()


@pytest.mark.attack(
    "a submission that is not published is looked for in every answer to strangers", "none names its model"
)
def test_a_private_score_is_on_no_board(unscored: TwoHubs, tmp_path: Path) -> None:
    hub = copy_with_golds(unscored, tmp_path / "one", lambda part: False)
    with TestClient(create_app(hub)) as client:
        for path in PATHS:
            assert b"m5" not in client.get(path, headers={"Accept": "text/html"}).content
    hub.close()


def test_finals_are_of_one_submission_of_each_account(unscored: TwoHubs, tmp_path: Path) -> None:
    """Bob chooses the worse of his two; of ann and eve the one with the highest public score
    counts. Eve's other one is private."""
    hub = copy_with_golds(unscored, tmp_path / "one", lambda part: False)
    with hub.database.writing() as session:
        board = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == "hidden")).one()
        rows = {
            row.model: row for row in session.scalars(select(Submission).where(Submission.benchmark_id == board.id))
        }
        public = {model: row.scores[0].headline or 0.0 for model, row in rows.items()}
        worse = min("m1", "m4", key=public.__getitem__)
        for model in ("m1", "m4", worse):
            choose_final(session, rows[model])
        best = max("m0", "m3", key=lambda model: (public[model], -int(model[1])))
        done = reveal_part(session, board, datetime.now(UTC))
        assert (done.part, done.finals, board.revealed, board.version) == (1, 3, 1, 2)
    work(hub)
    private = [int(each.name) for each in decode_questions(hub.storage.get(board.ids)) if each.part == 1]
    with TestClient(create_app(hub)) as client:
        tables = client.get("/api/v1/benchmarks/hidden/board").json()["tables"]
        finals = next(table for table in tables if table["name"] == "final-1")
        text = client.get("/benchmarks/hidden?table=final-1", headers={"Accept": "text/html"}).text
    assert "No question is private any more" in text
    assert {row["model"] for row in finals["rows"]} == {best, worse, "m2"}
    for row in finals["rows"]:
        sent = [json.loads(line)["prediction"] for line in replies(int(row["model"][1])).splitlines()]
        right = sum(sent[number] == "ABCD"[number * 7 % 4] for number in private)
        cell = row["cells"]["score"]
        assert cell["value"] == pytest.approx(100 * right / len(private))
        assert cell["low"] < cell["value"] < cell["high"] or cell["value"] in (0, 100)
        assert row["cells"]["n"]["value"] == len(private) == 42
    with hub.database.reading() as session:
        assert all(row.summary for row in session.scalars(select(FinalScore)))
        # What was private is public now, and every submission was scored on all of it.
        again = session.scalars(select(Submission).where(Submission.benchmark_id == board.id)).all()
        assert {row.scores[-1].samples for row in again} == {60}
    hub.close()
