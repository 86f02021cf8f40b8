"""The pages of one's own account: sign-ins, password, tokens, submissions, deletion."""

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
from snellen_hub.accounts.access import token_caller
from snellen_hub.database.tables import AccessToken, Account, AuditEntry, Submission, SubmissionScore
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.hub import Hub, create_hub
from snellen_hub.jobs.worker import Worker
from snellen_hub.storage import Storage
from snellen_hub.web.app import create_app

NEW = "another long password"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    made = create_hub(tmp_path / "hub")
    storage = Storage(str(tmp_path / "hub" / "storage"), Secret("a key of the tests"))
    opened = Hub(made.folder, made.config, made.database, storage)
    add_accounts(opened, olga="owner", ann="submitter", bob="submitter", vera="viewer")
    data = write_data(tmp_path / "signs.tsv")
    with opened.database.writing() as session:
        for name, is_hidden in (("signs", False), ("hidden-signs", True)):
            add_benchmark(session, storage, NewBenchmark(name=name, title=name.title(), data=data, is_hidden=is_hidden))
    yield opened
    opened.close()


@pytest.fixture
def app(hub: Hub) -> FastAPI:
    return create_app(hub)


@pytest.fixture
def ann(app: FastAPI) -> HubBrowser:
    return HubBrowser(app).sign_in("ann")


def upload(content: bytes, name: str = "p.jsonl") -> dict[str, tuple[str, bytes]]:
    return {"predictions": (name, content)}


def submit(browser: HubBrowser, content: bytes, benchmark: str = "signs", **fields: str) -> str:
    """Submit and return the address of the submission's page."""
    path = f"/benchmarks/{benchmark}/submit"
    sent = browser.send(path, {"model": "my-model", **fields}, files=upload(content))
    assert sent.status_code == 303, sent.text
    return str(sent.headers["location"]).partition("?")[0]


def work(hub: Hub) -> None:
    Worker(hub, print).work(until_empty=True)


def test_the_account_page_lists_the_browsers(app: FastAPI, ann: HubBrowser) -> None:
    other = HubBrowser(app)
    other.client.headers["User-Agent"] = "Phone <b>7</b>"
    other.sign_in("ann")
    page = ann.get("/account").text
    assert "Phone &lt;b&gt;7&lt;/b&gt;" in page
    assert page.count("this browser") == 1
    assert "/settings?language=zh&amp;next=%2Faccount" in page, "the frame's links lead back to this page"
    row = page[page.index("Phone") :]
    handle = re.findall(r"/account/sign-ins/([0-9a-f]{16})/end", row)[0]
    assert ann.send(f"/account/sign-ins/{handle}/end", page="/account").status_code == 303
    assert other.get("/account").headers["location"].startswith("/sign-in?next=")
    assert ann.get("/account").status_code == 200


def test_signing_out_everywhere(app: FastAPI, ann: HubBrowser) -> None:
    other = HubBrowser(app).sign_in("ann")
    assert ann.send("/account/sign-out-everywhere", page="/account").status_code == 303
    assert [one.get("/account").status_code for one in (ann, other)] == [303, 303]


def test_a_new_password_needs_the_old_one(app: FastAPI, ann: HubBrowser) -> None:
    other = HubBrowser(app).sign_in("ann")
    wrong = ann.send("/account/password", {"old": "x", "password": NEW, "again": NEW})
    assert (wrong.status_code, "not your present password" in wrong.text) == (422, True)
    before = ann.cookie()
    done = ann.send("/account/password", {"old": PASSWORD, "password": NEW, "again": NEW})
    assert done.headers["location"] == "/account?done=password"
    assert ann.cookie() != before
    assert "The password is changed" in ann.get("/account?done=password").text
    assert other.get("/account").status_code == 303
    HubBrowser(app).sign_in("ann", NEW)


def test_a_token_is_displayed_once(hub: Hub, ann: HubBrowser) -> None:
    sent = ann.send("/account/tokens", {"label": "my <laptop>", "scope-submit": "1", "days": "30"})
    (secret,) = re.findall(r"snl_[\w-]+", sent.text)
    assert sent.headers["cache-control"] == "no-store"
    with hub.database.reading() as session:
        caller = token_caller(session, secret)
        assert caller is not None
        assert (caller.name, caller.scopes) == ("ann", {"submit"})
    page = ann.get("/account/tokens").text
    assert secret not in page
    assert "my &lt;laptop&gt;" in page
    number = re.findall(r"/account/tokens/(\d+)/revoke", page)[0]
    ann.send(f"/account/tokens/{number}/revoke", page="/account/tokens")
    assert "You have no tokens." in ann.get("/account/tokens").text
    with hub.database.reading() as session:
        assert token_caller(session, secret) is None
        assert list(session.scalars(select(AuditEntry.action))) == ["token", "token revoked"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"label": ""}, "say what the token is for"),
        ({"scope-submit": ""}, "at least one thing"),
        ({"scope-admin": "1"}, "your role may not do that"),
        ({"days": "0"}, "a number of days, at most 365"),
        ({"days": "nan"}, "a number of days"),
        ({"days": "366"}, "a number of days"),
    ],
)
def test_mistakes_in_a_token_form_are_reported(ann: HubBrowser, fields: dict[str, str], sentence: str) -> None:
    given = {"label": "kept", "scope-submit": "1", "days": "30", **fields}
    page = ann.send("/account/tokens", given)
    assert (page.status_code, sentence in page.text) == (422, True)
    assert "label" in fields or 'value="kept"' in page.text


def test_from_the_form_to_a_published_score(hub: Hub, app: FastAPI, ann: HubBrowser) -> None:
    page = submit(ann, predictions(45), parameters="7", weights="open", notes="a <note>")
    waiting = ann.get(page)
    assert "waiting for its score" in waiting.text
    assert '<noscript><meta http-equiv="refresh"' in waiting.text
    assert ann.get(f"{page}/status").json() == {"status": "queued"}
    work(hub)
    assert ann.get(f"{page}/status").json() == {"status": "scored"}
    scored = ann.get(page).text
    assert "75.0 %" in scored
    assert "a &lt;note&gt;" in scored
    assert "refresh" not in scored
    assert "75.0 %" in ann.get("/account/submissions").text
    published = ann.send(f"{page}/publish", page=page)
    assert published.headers["location"] == f"{page}?done=published"
    assert "my-model" in HubBrowser(app).get("/api/v1/benchmarks/signs/board").text
    replacement = submit(ann, predictions(60), replaces=page.rpartition("/")[2])
    assert "withdrawn" in ann.get(page).text
    assert "Replaced by" in ann.get(page).text
    assert "Replaces" in ann.get(replacement).text
    assert ann.send(f"{replacement}/withdraw", page=replacement).status_code == 303
    assert ann.send(f"{replacement}/publish", page="/account").status_code == 409


def test_replacement_form_is_prefilled(ann: HubBrowser) -> None:
    page = submit(ann, predictions(45), parameters="0.5", organisation="Us", weights="closed")
    form = ann.get(f"/benchmarks/signs/submit?replaces={page.rpartition('/')[2]}").text
    for text in ('value="my-model"', 'value="0.5"', 'value="Us"', "This replaces your submission"):
        assert text in form
    assert re.search(r'value="closed" selected', form)


def test_a_hidden_score_is_of_the_public_part(hub: Hub, ann: HubBrowser) -> None:
    page = submit(ann, predictions(60), "hidden-signs")
    work(hub)
    text = ann.get(page).text
    assert '<td class="n">18</td>' in text
    assert "Choose for the reveal" not in text
    ann.send(f"{page}/publish", page=page)
    assert "Choose for the reveal" in ann.get(page).text
    assert ann.send(f"{page}/choose", page=page).headers["location"] == f"{page}?done=chosen"
    text = ann.get(page).text
    assert "It is chosen for the next reveal" in text
    assert "Choose for the reveal" not in text


@pytest.mark.parametrize(
    ("fields", "content", "sentences"),
    [
        ({"model": ""}, predictions(1), ["Model: type the name of the model", "choose the file again"]),
        ({"parameters": "many"}, predictions(1), ["the size is a number of billions"]),
        ({"released": "May"}, predictions(1), ["the date is a year, month or day"]),
        ({"link": "javascript:alert(1)"}, predictions(1), ["the link starts with https://"]),
        ({"weights": "ajar"}, predictions(1), ["the weights are open or closed"]),
        ({}, b"", ["the file is empty"]),
        ({}, b"no json\n", ["Predictions: "]),
        ({}, b'{"index": "x", "prediction": "A"}\n', ["1 of 1 ids are not of this benchmark"]),
        ({"model": "", "released": "x"}, None, ["type the name", "the date is", "choose a file"]),
    ],
)
def test_mistakes_in_a_submission_are_shown_at_the_field(
    ann: HubBrowser, fields: dict[str, str], content: bytes | None, sentences: list[str]
) -> None:
    given = {"model": "my-model", "organisation": "We <Us>", "notes": "two\nlines", **fields}
    files = upload(content) if content is not None else {"other": ("x", b"x")}
    page = ann.send("/benchmarks/signs/submit", given, files=files)
    assert page.status_code == 422
    for sentence in sentences:
        assert sentence in page.text
    for typed in ("We &lt;Us&gt;", "two\nlines"):
        assert typed in page.text
    for field in fields:
        assert f'href="#field-{field}"' in page.text
        assert f'id="mistake-{field}"' in page.text


def test_submissions_of_a_day_are_counted(hub: Hub, ann: HubBrowser) -> None:
    for _ in range(hub.config.submissions.per_day):
        submit(ann, predictions(1))
    page = ann.send("/benchmarks/signs/submit", {"model": "kept"}, files=upload(predictions(1)))
    assert page.status_code == 429
    assert "5 submissions to signs in 24 hours" in page.text
    assert 'value="kept"' in page.text


def test_a_viewer_does_not_submit(app: FastAPI) -> None:
    vera = HubBrowser(app).sign_in("vera")
    assert vera.get("/benchmarks/signs/submit").status_code == 403
    assert vera.get("/account/submissions").status_code == 403
    assert vera.get("/account").status_code == 200


def test_deleting_an_account_keeps_its_published_submissions(hub: Hub, app: FastAPI, ann: HubBrowser) -> None:
    published = submit(ann, predictions(45))
    private = submit(ann, predictions(30), model="secret-model")
    # The same file again, by somebody else: it must stay.
    bob = HubBrowser(app).sign_in("bob")
    submit(bob, predictions(30))
    work(hub)
    ann.send(f"{published}/publish", page=published)
    public = published.removeprefix("/account")
    assert "ann" in HubBrowser(app).get(public).text
    for fields, sentence in (
        ({"name": "bob", "old": PASSWORD}, "type the name of your account"),
        ({"name": "ann", "old": "wrong"}, "not your present password"),
    ):
        assert sentence in ann.send("/account/delete", fields).text
    assert ann.send("/account/delete", {"name": "ann", "old": PASSWORD}).status_code == 303
    assert ann.get("/account").status_code == 303
    for path in ("/api/v1/benchmarks/signs/board", public):
        board = HubBrowser(app).get(path).text
        assert "deleted account 2" in board
        assert "secret-model" not in board
    with hub.database.reading() as session:
        account = session.get_one(Account, 2)
        assert (account.name, account.password_hash) == ("deleted account 2", None)
        assert session.scalars(select(AccessToken)).all() == []
        rows = {row.public_id: row for row in session.scalars(select(Submission))}
        emptied = rows[private.rpartition("/")[2]]
        assert (emptied.model, emptied.file, emptied.visibility) == ("deleted", None, "withdrawn")
        kept = [row for row in rows.values() if row.file]
        assert len(kept) == 2
        assert all(hub.storage.get(row.file or "") for row in kept)
        assert len(session.scalars(select(SubmissionScore)).all()) == 2
    again = HubBrowser(app).send("/sign-in", {"name": "ann", "password": PASSWORD})
    assert again.status_code == 422


def test_the_last_owner_stays(app: FastAPI) -> None:
    olga = HubBrowser(app).sign_in("olga")
    page = olga.send("/account/delete", {"name": "olga", "old": PASSWORD})
    assert "olga is the only owner of this hub" in page.text
