"""The owner pages: accounts, invitations, benchmarks, jobs that failed, audit log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from hub_browsers import PASSWORD, HubBrowser, add_accounts
from sqlalchemy import select
from test_scoring import predictions, write_data

from snellen.core.secret import Secret
from snellen_hub.accounts.access import create_token, token_caller
from snellen_hub.accounts.audit import note_action
from snellen_hub.database.tables import Account, ScoringJob, Submission
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.hub import Hub, create_hub
from snellen_hub.intake import NewSubmission, take_submission
from snellen_hub.jobs.worker import Worker
from snellen_hub.storage import Storage
from snellen_hub.web.app import create_app


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    made = create_hub(tmp_path / "hub")
    storage = Storage(str(tmp_path / "hub" / "storage"), Secret("a key of the tests"))
    opened = Hub(made.folder, made.config, made.database, storage)
    add_accounts(opened, olga="owner", ann="submitter", vera="viewer")
    yield opened
    opened.close()


@pytest.fixture
def app(hub: Hub) -> FastAPI:
    return create_app(hub)


@pytest.fixture
def olga(app: FastAPI) -> HubBrowser:
    return HubBrowser(app).sign_in("olga")


def change(browser: HubBrowser, number: int, **fields: str) -> str:
    path = f"/manage/accounts/{number}"
    sent = browser.send(path, fields)
    return str(sent.headers["location"]) if sent.status_code == 303 else sent.text


def test_an_invitation_of_an_owner_makes_an_account(app: FastAPI, olga: HubBrowser) -> None:
    page = olga.send("/manage/invitations", {"role": "viewer", "note": "Zoë <z>"}).text
    assert "Zoë &lt;z&gt;" in page
    (link,) = re.findall(r"http://127.0.0.1:8440(/invitations/[\w-]+)", page)
    assert link not in olga.get("/manage/invitations").text
    zoe = HubBrowser(app)
    fields = {"name": "zoe", "password": PASSWORD, "again": PASSWORD}
    assert zoe.send(link, fields).status_code == 303
    assert "There are no open invitations." in olga.get("/manage/invitations").text
    olga.send("/manage/invitations", {"role": "owner"})
    (handle,) = re.findall(r"/manage/invitations/([0-9a-f]{16})/withdraw", olga.get("/manage/invitations").text)
    path = f"/manage/invitations/{handle}/withdraw"
    assert olga.send(path, page="/manage/invitations").status_code == 303
    assert olga.send(path, page="/manage/invitations").status_code == 404
    assert "choose a role" in olga.send("/manage/invitations", {"role": "king"}).text


def test_an_owner_changes_accounts(hub: Hub, app: FastAPI, olga: HubBrowser) -> None:
    ann = HubBrowser(app).sign_in("ann")
    with hub.database.writing() as session:
        account = session.get_one(Account, 2)
        token = create_token(session, account, "", frozenset({"submit"}), hub.config.sessions)
    assert change(olga, 2, action="role", role="viewer").endswith("done=role")
    assert ann.get("/account").status_code == 303
    with hub.database.reading() as session:
        caller = token_caller(session, token)
        assert caller is not None
        assert caller.scopes == frozenset()
    assert change(olga, 2, action="disabled").endswith("done=disabled")
    assert HubBrowser(app).send("/sign-in", {"name": "ann", "password": PASSWORD}).status_code == (422)
    assert "enable the account first" in change(olga, 2, action="reset")
    assert change(olga, 2, action="enabled").endswith("done=enabled")
    with hub.database.reading() as session:
        assert token_caller(session, token) is None
    HubBrowser(app).sign_in("ann")
    assert "the role is &#39;king&#39;" in change(olga, 2, action="role", role="king")
    assert "asks for nothing that is known" in change(olga, 2, action="fly")
    assert "olga is the only owner" in change(olga, 1, action="role", role="viewer")
    assert "olga is the only owner" in change(olga, 1, action="disabled")
    assert "type the name of the account, ann" in change(olga, 2, action="deleted", name="x")
    assert change(olga, 2, action="deleted", name="ann") == "/manage/accounts?done=deleted"
    assert "ann" not in re.findall(r"<tbody>.*</tbody>", olga.get("/manage/accounts").text, re.S)[0]
    assert olga.get("/manage/accounts/2").status_code == 404
    assert olga.get(f"/manage/accounts/{2**40}").status_code == 404


def test_a_link_for_a_new_password(app: FastAPI, olga: HubBrowser) -> None:
    (link,) = re.findall(r"http://127.0.0.1:8440(/password-resets/[\w-]+)", change(olga, 2, action="reset"))
    new = "another long password"
    assert HubBrowser(app).send(link, {"password": new, "again": new}).status_code == 303
    HubBrowser(app).sign_in("ann", new)


def test_accounts_are_found_by_name(olga: HubBrowser) -> None:
    page = olga.get("/manage/accounts?name=VER").text
    assert ("vera" in page, ">ann<" in page) == (True, False)
    assert "There is no such account." in olga.get("/manage/accounts?name=%25").text
    assert olga.get("/manage/accounts?name=%00").status_code == 200


def test_only_owners_see_why_a_hidden_submission_failed(
    hub: Hub, app: FastAPI, olga: HubBrowser, tmp_path: Path
) -> None:
    data = write_data(tmp_path / "signs.tsv")
    with hub.database.writing() as session:
        new = NewBenchmark(name="signs", title="Signs", data=data, is_hidden=True)
        benchmark = add_benchmark(session, hub.storage, new)
        sent = NewSubmission(model="m", file_name="p.jsonl", content=predictions(45))
        row = take_submission(session, hub.storage, benchmark, 2, sent, hub.config.submissions)
        page = f"/account/submissions/{row.public_id}"
        # The data are gone, as if a disk had failed.
        benchmark.data = "0" * 64
    Worker(hub, print).work(until_empty=True)
    problem = "the storage has no file"
    assert problem in olga.get("/manage/jobs").text
    ann = HubBrowser(app).sign_in("ann")
    assert problem not in ann.get(page).text
    assert "the owner of the hub can see why" in ann.get(page).text
    number = re.findall(r"/manage/jobs/(\d+)/retry", olga.get("/manage/jobs").text)[0]
    assert olga.send(f"/manage/jobs/{number}/retry", page="/manage/jobs").status_code == 303
    with hub.database.reading() as session:
        assert session.scalars(select(ScoringJob.status)).one() == "queued"
        assert session.scalars(select(Submission.status)).one() == "queued"
    assert olga.send(f"/manage/jobs/{number}/retry", page="/manage/jobs").status_code == 409
    assert 'data-label="private">1</td>' in olga.get("/manage/benchmarks").text


def test_the_audit_log_has_filters_and_pages(hub: Hub, olga: HubBrowser) -> None:
    with hub.database.writing() as session:
        for number in range(150):
            note_action(session, "test", account_id=2, subject=f"<s{number}>", address="1.2.3.4")
    page = olga.get("/manage/audit?action=test&account=ANN").text
    assert ("&lt;s149&gt;" in page, "&lt;s49&gt;" in page) == (True, False)
    older = re.findall(r'rel="next" href="(\?[^"]+)"', page)[0].replace("&amp;", "&")
    page = olga.get(f"/manage/audit{older}").text
    assert ("&lt;s49&gt;" in page, "&lt;s0&gt;" in page) == (True, True)
    olga.send("/manage/accounts/2", {"action": "disabled"})
    assert "account disabled" in olga.get("/manage/audit?account=olga").text
    assert "There are no such entries." in olga.get("/manage/audit?subject=%25").text
    assert olga.get("/manage/audit?subject=%00&action=%00").status_code == 200


def test_the_overview_counts(olga: HubBrowser) -> None:
    page = olga.get("/manage").text
    assert '<a href="/manage/accounts">3</a>' in page
