"""Limits hold where requests come at the same moment, on both databases. Of uploads:
test_scoring.py."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi import FastAPI
from hub_browsers import PASSWORD, HubBrowser
from test_scoring import write_data

from snellen.core.secret import Secret
from snellen_hub.accounts import access
from snellen_hub.accounts.access import AccessDenied, create_account, sign_in
from snellen_hub.accounts.attempts import MAX_FAILURES, AttemptLimit, count_attempt
from snellen_hub.config import HubConfig, SessionLimits
from snellen_hub.database.connection import Database
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.hub import Hub
from snellen_hub.samples import flags
from snellen_hub.storage import Storage
from snellen_hub.web import access as web_access
from snellen_hub.web.app import create_app
from snellen_hub.web.pages import sign_in as sign_in_pages

TRIES = 16


@pytest.fixture
def app(database: Database, tmp_path: Path) -> FastAPI:
    storage = Storage(str(tmp_path / "storage"), Secret("a key of the tests"))
    hub = Hub(tmp_path, HubConfig(sign_up=True), database, storage)
    with database.writing() as session:
        create_account(session, "ann", "submitter", PASSWORD)
        data = write_data(tmp_path / "signs.tsv")
        add_benchmark(session, storage, NewBenchmark(name="signs", title="Signs", data=data))
    return create_app(hub)


def at_once(ask: Callable[[int], object]) -> Counter[object]:
    """The answers of all tries, which begin at the same moment."""
    begin = threading.Barrier(TRIES)

    def start(number: int) -> object:
        begin.wait()
        return ask(number)

    with ThreadPoolExecutor(TRIES) as threads:
        return Counter(threads.map(start, range(TRIES)))


@pytest.mark.parametrize("keys", [("one",), ("one", "two"), ("two", "one")])
def test_concurrent_attempts_are_counted_exactly(database: Database, keys: tuple[str, ...]) -> None:
    def ask(_: int) -> bool:
        with database.writing() as session:
            return count_attempt(session, *(AttemptLimit(key, 5) for key in keys)) is not None

    assert at_once(ask) == {True: 5, False: TRIES - 5}


@pytest.mark.parametrize("addresses", [1, TRIES])
def test_failed_sign_ins(app: FastAPI, database: Database, monkeypatch: pytest.MonkeyPatch, addresses: int) -> None:
    """From one address, and from as many as there are tries."""
    monkeypatch.setattr(access, "MAX_FAILURES_OF_ACCOUNT", MAX_FAILURES + 2)
    most = MAX_FAILURES if addresses == 1 else MAX_FAILURES + 2

    def ask(number: int) -> object:
        address = f"10.0.0.{number % addresses}"
        try:
            return sign_in(database, "ann", "a wrong one", address, SessionLimits())
        except AccessDenied:
            return "refused"

    assert at_once(ask) == {None: most, "refused": TRIES - most}


def test_new_accounts_of_an_address(app: FastAPI) -> None:
    browsers = [HubBrowser(app, "10.0.0.1") for _ in range(TRIES)]
    secrets = [browser.csrf("/sign-up") for browser in browsers]

    def ask(number: int) -> object:
        form = {"name": f"eve{number}", "password": PASSWORD, "again": PASSWORD, "csrf": secrets[number]}
        return browsers[number].client.post("/sign-up", data=form).status_code

    made = sign_in_pages._SIGN_UPS
    assert at_once(ask) == {303: made, 429: TRIES - made}


def test_unknown_tokens_of_an_address(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_access, "_MAX_BAD_TOKENS", 5)
    browsers = [HubBrowser(app, "10.0.0.1") for _ in range(TRIES)]

    def ask(number: int) -> object:
        headers = {"Authorization": "Bearer unknown"}
        return browsers[number].client.get("/api/v1/submissions", headers=headers).status_code

    assert at_once(ask) == {401: 5, 429: TRIES - 5}


def test_flags_of_an_account(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "FLAGS_PER_DAY", 5)
    ann = HubBrowser(app).sign_in("ann", PASSWORD)
    with app.state.hub.database.writing() as session:
        account = access.account_called(session, "ann")
        assert account is not None
        token = access.create_token(session, account, "", frozenset({"submit"}), SessionLimits())

    def ask(number: int) -> object:
        flag = {"item": str(number), "kind": "wrong-answer", "reason": "it is B"}
        headers = {"Authorization": f"Bearer {token}"}
        path = "/api/v1/benchmarks/signs/flags"
        return ann.client.post(path, json=flag, headers=headers).status_code

    assert at_once(ask) == {201: 5, 429: TRIES - 5}
