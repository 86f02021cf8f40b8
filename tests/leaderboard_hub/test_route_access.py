"""Who may do what: every route of the hub for every kind of caller, as one table.

A route that is not in the table fails `test_every_route_is_in_the_table`: add a line for it.
Objects in paths (submissions, tokens, sign-ins) are those of ann; bob is a submitter too.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from hub_browsers import ORIGIN, PASSWORD, add_accounts
from sqlalchemy import select
from test_scoring import predictions, write_data

from snellen.core.secret import Secret
from snellen.leaderboard_hub.accounts.access import create_token, invite, start_sign_in
from snellen.leaderboard_hub.accounts.password_resets import create_reset
from snellen.leaderboard_hub.accounts.random_secrets import secret_digest
from snellen.leaderboard_hub.config import SubmissionLimits
from snellen.leaderboard_hub.database.tables import (
    AccessToken,
    Account,
    HostedBenchmark,
    ScoringJob,
    Submission,
)
from snellen.leaderboard_hub.hosting import NewBenchmark, add_benchmark
from snellen.leaderboard_hub.hub import Hub, create_hub, open_hub
from snellen.leaderboard_hub.intake import NewSubmission, take_submission
from snellen.leaderboard_hub.jobs.worker import Worker
from snellen.leaderboard_hub.storage import Storage
from snellen.leaderboard_hub.web.app import create_app

IN = -303
"""Sent to the sign-in page."""
CALLERS = ("anonymous", "vera", "bob", "ann", "olga")
NAMES = {"vera": "viewer", "bob": "submitter", "ann": "submitter", "olga": "owner"}


class Access(NamedTuple):
    """The status for each caller, in the order in which they ask: anonymous, a viewer, another
    submitter, the submitter whose objects these are, an owner."""

    anonymous: int
    viewer: int
    other: int
    own: int
    owner: int


def everyone(status: int = 200) -> Access:
    return Access(*[status] * 5)


SIGNED_IN = Access(IN, 200, 200, 200, 200)
SUBMITTERS = Access(IN, 403, 200, 200, 200)
OWN_OBJECT = Access(IN, 403, 404, 200, 404)
OWNERS = Access(IN, 403, 403, 403, 200)
VISITORS = Access(422, 422, 422, 422, 422)

TABLE: dict[str, Access] = {
    # The API, by token.
    "GET /api/v1/openapi.json": everyone(),
    "GET /api/v1/benchmarks": everyone(),
    "GET /api/v1/benchmarks/{name}": everyone(),
    "GET /api/v1/benchmarks/{name}/data": everyone(),
    "GET /api/v1/benchmarks/{name}/board": everyone(),
    "GET /api/v1/benchmarks/{name}/samples": everyone(),
    "GET /api/v1/benchmarks/{name}/samples/{item:path}": everyone(),
    "GET /benchmarks/{name}/media/{digest}": everyone(404),
    "POST /api/v1/benchmarks/{name}/submissions": Access(401, 403, 201, 201, 201),
    "POST /api/v1/benchmarks/{name}/flags": Access(401, 403, 201, 201, 201),
    "GET /api/v1/benchmarks/{name}/flags": Access(401, 403, 200, 200, 200),
    "GET /api/v1/submissions": Access(401, 403, 200, 200, 200),
    "GET /api/v1/submissions/{public_id}": Access(404, 404, 404, 200, 404),
    "POST /api/v1/submissions/{public_id}/publish": Access(401, 403, 404, 200, 404),
    "POST /api/v1/submissions/{public_id}/withdraw": Access(401, 403, 404, 200, 404),
    "GET /api/v1/tokens": Access(401, 200, 200, 200, 200),
    "DELETE /api/v1/tokens/{number}": Access(401, 404, 404, 204, 404),
    # Pages, by cookie.
    "GET /": everyone(),
    "GET /settings": everyone(303),
    "GET /static/{name}": everyone(),
    "GET /health": everyone(),
    "GET /metrics": everyone(),
    "GET /sign-in": Access(200, 303, 303, 303, 303),
    "POST /sign-in": VISITORS,
    "POST /sign-out": Access(IN, 303, 303, 303, 303),
    "GET /sign-up": everyone(404),
    "POST /sign-up": everyone(404),
    "GET /invitations/{secret}": everyone(),
    "POST /invitations/{secret}": VISITORS,
    "GET /password-resets/{secret}": everyone(),
    "POST /password-resets/{secret}": VISITORS,
    "GET /oidc/start": everyone(404),
    "GET /oidc/callback": everyone(404),
    "GET /account": SIGNED_IN,
    "POST /account/sign-ins/{handle}/end": Access(IN, 404, 404, 303, 404),
    "POST /account/sign-out-everywhere": Access(IN, 303, 303, 303, 303),
    "GET /account/password": SIGNED_IN,
    "POST /account/password": Access(IN, 422, 422, 422, 422),
    "GET /account/delete": SIGNED_IN,
    "POST /account/delete": Access(IN, 422, 422, 422, 422),
    "GET /account/tokens": SIGNED_IN,
    "POST /account/tokens": Access(IN, 422, 200, 200, 200),
    "POST /account/tokens/{number}/revoke": Access(IN, 404, 404, 303, 404),
    "GET /account/submissions": SUBMITTERS,
    "GET /account/submissions/{public_id}": OWN_OBJECT,
    "GET /account/submissions/{public_id}/status": OWN_OBJECT,
    "POST /account/submissions/{public_id}/publish": Access(IN, 403, 404, 303, 404),
    "POST /account/submissions/{public_id}/withdraw": Access(IN, 403, 404, 303, 404),
    "GET /benchmarks/{name}/submit": SUBMITTERS,
    "POST /benchmarks/{name}/submit": Access(IN, 403, 303, 303, 303),
    "GET /manage": OWNERS,
    "GET /manage/benchmarks": OWNERS,
    "GET /manage/jobs": OWNERS,
    "POST /manage/jobs/{number}/retry": Access(IN, 403, 403, 403, 409),
    "GET /manage/audit": OWNERS,
    "GET /manage/accounts": OWNERS,
    "GET /manage/accounts/{number}": OWNERS,
    "POST /manage/accounts/{number}": Access(IN, 403, 403, 403, 303),
    "GET /manage/invitations": OWNERS,
    "POST /manage/invitations": OWNERS,
    "POST /manage/invitations/{handle}/withdraw": Access(IN, 403, 403, 403, 303),
}

FORMS: dict[str, dict[str, Any]] = {
    "POST /api/v1/benchmarks/{name}/submissions": {"model": "m"},
    "POST /benchmarks/{name}/submit": {"model": "m"},
    "POST /sign-in": {"name": "ann", "password": "a wrong password"},
    "POST /account/password": {"old": "x", "password": PASSWORD, "again": PASSWORD},
    "POST /account/delete": {"name": "ann", "old": "a wrong password"},
    "POST /account/tokens": {"label": "new", "scope-submit": "1", "days": "5"},
    "POST /manage/accounts/{number}": {"action": "disabled"},
    "POST /manage/invitations": {"role": "owner"},
}
"""What is sent; the other forms are sent empty."""
BODIES = {
    "POST /api/v1/benchmarks/{name}/flags": {
        "item": "1",
        "kind": "wrong-answer",
        "reason": "the answer is B, not A",
    },
}


class Prepared(NamedTuple):
    """A hub with an object of each kind, to be copied for each route."""

    folder: Path
    cookies: Mapping[str, str]
    csrf: Mapping[str, str]
    tokens: Mapping[str, str]
    values: Mapping[str, str]
    """Values of path parameters, by the beginning of the route or the parameter alone."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("access") / "hub"
    hub = create_hub(folder)
    hub = Hub(hub.folder, hub.config, hub.database,
              Storage(str(folder / "storage"), Secret("a key of the tests")))  # fmt: skip
    add_accounts(hub, **NAMES)
    cookies, csrf, tokens = {}, {}, {}
    data = write_data(folder / "signs.tsv")
    with hub.database.writing() as session:
        benchmark = add_benchmark(session, hub.storage,
                                  NewBenchmark(name="signs", title="Signs", data=data))  # fmt: skip
        for account in session.scalars(select(Account)).all():
            name = account.name
            created = start_sign_in(session, account, hub.config.sessions)
            cookies[name], csrf[name] = created.secret, created.csrf
            scopes = frozenset({"read"} if name == "vera" else {"read", "submit"})
            tokens[name] = create_token(session, account, "", scopes, hub.config.sessions)
        ann = session.scalars(select(Account).where(Account.name == "ann")).one()
        vera = session.scalars(select(Account).where(Account.name == "vera")).one()
        new = NewSubmission(model="m", file_name="p.jsonl", content=predictions(30))
        row = take_submission(session, hub.storage, benchmark, ann.id, new, SubmissionLimits())
        token = session.scalars(
            select(AccessToken.id).where(AccessToken.digest == secret_digest(tokens["ann"]))
        ).one()
        invitation = invite(session, "viewer", ann.id, hub.config.sessions)
        values = {
            "name": "signs",
            "GET /static/{name}": "page.css",
            "public_id": row.public_id,
            "item": "1",
            "digest": "0" * 64,
            "DELETE /api/v1/tokens/{number}": str(token),
            "POST /account/tokens/{number}/revoke": str(token),
            "POST /account/sign-ins/{handle}/end": secret_digest(cookies["ann"]).hex()[:16],
            "POST /manage/invitations/{handle}/withdraw": secret_digest(invitation).hex()[:16],
            "GET /manage/accounts/{number}": str(vera.id),
            "POST /manage/accounts/{number}": str(vera.id),
            "GET /invitations/{secret}": invitation,
            "POST /invitations/{secret}": invitation,
            "GET /password-resets/{secret}": create_reset(session, vera, ann.id),
        }
        values["POST /password-resets/{secret}"] = values["GET /password-resets/{secret}"]
    Worker(hub, print).work(until_empty=True)
    with hub.database.reading() as session:
        values["number"] = str(session.scalars(select(ScoringJob.id)).one())
        assert session.scalars(select(Submission.status)).one() == "scored"
        assert session.scalars(select(HostedBenchmark.version)).one() == 1
    hub.close()
    return Prepared(folder, cookies, csrf, tokens, values)


@pytest.fixture
def app(prepared: Prepared, tmp_path: Path) -> Iterator[FastAPI]:
    copied = tmp_path / "hub"
    shutil.copytree(prepared.folder, copied)
    hub = open_hub(copied)
    storage = Storage(str(copied / "storage"), Secret("a key of the tests"))
    yield create_app(Hub(hub.folder, hub.config, hub.database, storage))
    hub.close()


def routes_of(app: FastAPI) -> set[str]:
    """Every route of an application, such as `GET /account`."""
    found = set()
    pending: list[Any] = list(app.routes)
    while pending:
        route = pending.pop()
        included = getattr(route, "original_router", None)
        if included is not None:
            assert not included.prefix or included.routes[0].path.startswith(included.prefix)
            pending += included.routes
            continue
        methods = set(route.methods) - ({"HEAD"} if not isinstance(route, APIRoute) else set())
        found |= {f"{method} {route.path}" for method in methods}
    return found


def test_every_route_is_in_the_table(app: FastAPI) -> None:
    assert routes_of(app) - TABLE.keys() == set(), (
        "add these routes to TABLE, with who may use them"
    )
    assert TABLE.keys() - routes_of(app) == set(), "these routes are gone; delete their lines"


@pytest.mark.attack
@pytest.mark.parametrize("route", sorted(TABLE))
def test_who_may_use_a_route(app: FastAPI, prepared: Prepared, route: str) -> None:
    method, _, pattern = route.partition(" ")

    def fill(match: re.Match[str]) -> str:
        return prepared.values.get(route) or prepared.values[match[1].partition(":")[0]]

    path = re.sub(r"\{([^}]+)\}", fill, pattern)
    is_api = pattern.startswith("/api/")
    got = []
    for name in CALLERS:
        client = TestClient(app, base_url=ORIGIN, follow_redirects=False,
                            headers={"Accept": "text/html"})  # fmt: skip
        headers, form = {}, dict(FORMS.get(route, {}))
        if is_api and name != "anonymous":
            headers["Authorization"] = f"Bearer {prepared.tokens[name]}"
        elif not is_api and name != "anonymous":
            client.cookies.set("snellen_hub", prepared.cookies[name])
        if method == "POST" and not is_api:
            headers["Origin"] = ORIGIN
            form["csrf"] = prepared.csrf.get(name) or visitor_csrf(client)
        options: dict[str, Any] = {"data": form} if form else {}
        if route in BODIES:
            options = {"json": BODIES[route]}
        if "model" in form:
            options["files"] = {"predictions": ("p.jsonl", predictions(1))}
        answer = client.request(method, path, headers=headers, **options)
        is_sign_in = answer.headers.get("location", "").startswith("/sign-in?next=")
        got.append(IN if is_sign_in else answer.status_code)
    assert Access(*got) == TABLE[route]


def visitor_csrf(client: TestClient) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', client.get("/sign-in").text)
    assert found is not None
    return found[1]
