"""Who may do what: every route of the hub for every kind of caller, as one table.

A route that is not in the table fails `test_every_route_is_in_the_table`: add a line for it.
Objects in paths (submissions, tokens, sign-ins) are those of ann; bob is a submitter too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hub_browsers import ORIGIN
from prepared_hub import BODIES, FORMS, Prepared, open_copy, prepare_hub, routes_of
from test_scoring import predictions

IN = -303
"""Sent to the sign-in page."""
CALLERS = ("anonymous", "vera", "bob", "ann", "olga")


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
    "PUT /api/v1/benchmarks/{name}/phases": Access(401, 403, 403, 200, 403),
    "GET /api/v1/benchmarks/{name}/board": everyone(),
    "GET /api/v1/benchmarks/{name}/history": everyone(),
    "GET /api/v1/benchmarks/{name}/radar": everyone(422),
    "GET /api/v1/changes": everyone(),
    "GET /api/v1/models": everyone(422),
    "GET /api/v1/suites": everyone(),
    "GET /api/v1/suites/{name}": everyone(),
    "GET /api/v1/suites/{name}/board": everyone(),
    "GET /api/v1/suites/{name}/radar": everyone(422),
    "GET /api/v1/benchmarks/{name}/samples": everyone(),
    "GET /api/v1/benchmarks/{name}/samples/{item:path}": everyone(),
    "GET /benchmarks/{name}/media/{digest}": everyone(404),
    "GET /benchmarks/{name}/samples": everyone(),
    "GET /benchmarks/{name}/samples/{item:path}": everyone(),
    "POST /api/v1/benchmarks/{name}/submissions": Access(401, 403, 201, 201, 201),
    "POST /api/v1/benchmarks/{name}/flags": Access(401, 403, 201, 201, 201),
    "GET /api/v1/benchmarks/{name}/flags": Access(401, 403, 200, 200, 200),
    "GET /api/v1/submissions": Access(401, 403, 200, 200, 200),
    "GET /api/v1/submissions/{public_id}": Access(404, 404, 404, 200, 404),
    "POST /api/v1/submissions/{public_id}/publish": Access(401, 403, 404, 200, 404),
    "POST /api/v1/submissions/{public_id}/choose": Access(401, 403, 404, 409, 404),
    "POST /api/v1/submissions/{public_id}/withdraw": Access(401, 403, 404, 200, 404),
    "GET /api/v1/tokens": Access(401, 200, 200, 200, 200),
    "DELETE /api/v1/tokens/{number}": Access(401, 404, 404, 204, 404),
    # Pages, by cookie.
    "GET /": everyone(),
    "GET /benchmarks/{name}": everyone(),
    "GET /benchmarks/{name}/history": everyone(),
    "GET /benchmarks/{name}/protocol": everyone(),
    "GET /benchmarks/{name}/feed.xml": everyone(),
    "GET /feed.xml": everyone(),
    "GET /suites/{name}/feed.xml": everyone(),
    "GET /suites/{name}/history": everyone(),
    "GET /compare": everyone(),
    "GET /suites/{name}": everyone(),
    "GET /submissions/{public_id}": Access(404, 404, 404, 200, 404),
    "GET /settings": everyone(303),
    "GET /static/{name}": everyone(),
    "GET /health": everyone(),
    "GET /health/live": everyone(),
    "GET /health/ready": everyone(),
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
    "POST /account/email": Access(IN, 404, 404, 404, 404),
    "GET /emails/{secret}": everyone(),
    "POST /emails/{secret}": Access(303, 404, 404, 404, 404),
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
    "POST /account/submissions/{public_id}/choose": Access(IN, 403, 404, 409, 404),
    "POST /account/submissions/{public_id}/withdraw": Access(IN, 403, 404, 303, 404),
    "GET /benchmarks/{name}/submit": SUBMITTERS,
    "POST /benchmarks/{name}/flags": Access(IN, 303, 303, 303, 303),
    "POST /benchmarks/{name}/submit": Access(IN, 403, 303, 303, 303),
    "GET /benchmarks/{name}/team": SUBMITTERS,
    "POST /benchmarks/{name}/team": Access(IN, 403, 409, 200, 409),
    "GET /teams/{secret}": SUBMITTERS,
    "POST /teams/{secret}": Access(IN, 403, 303, 404, 404),
    # Ann hosts the benchmark.
    "GET /manage/benchmarks/{name}": Access(IN, 403, 403, 200, 200),
    "POST /manage/benchmarks/{name}": Access(IN, 403, 403, 303, 303),
    "GET /manage": OWNERS,
    "GET /manage/benchmarks": OWNERS,
    "GET /manage/jobs": OWNERS,
    "POST /manage/jobs/{number}/retry": Access(IN, 403, 403, 403, 409),
    "GET /manage/audit": OWNERS,
    "GET /manage/flags": OWNERS,
    "POST /manage/flags": Access(IN, 403, 403, 403, 422),
    "GET /manage/accounts": OWNERS,
    "GET /manage/accounts/{number}": OWNERS,
    "POST /manage/accounts/{number}": Access(IN, 403, 403, 403, 303),
    "GET /manage/invitations": OWNERS,
    "POST /manage/invitations": OWNERS,
    "POST /manage/invitations/{handle}/withdraw": Access(IN, 403, 403, 403, 303),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare_hub(tmp_path_factory.mktemp("access") / "hub")


@pytest.fixture
def app(prepared: Prepared, tmp_path: Path) -> Iterator[FastAPI]:
    with open_copy(prepared, tmp_path / "hub") as opened:
        yield opened


def test_every_route_is_in_the_table(app: FastAPI) -> None:
    assert routes_of(app) - TABLE.keys() == set(), "add these routes to TABLE, with who may use them"
    assert TABLE.keys() - routes_of(app) == set(), "these routes are gone; delete their lines"


@pytest.mark.attack(
    "each route, asked by everybody who may not use it", "refused, and what is private looks like nothing"
)
@pytest.mark.parametrize("route", sorted(TABLE))
def test_access_to_each_route(app: FastAPI, prepared: Prepared, route: str) -> None:
    method, _, pattern = route.partition(" ")

    path = prepared.fill(route)
    is_api = pattern.startswith("/api/")
    got = []
    for name in CALLERS:
        client = TestClient(app, base_url=ORIGIN, follow_redirects=False, headers={"Accept": "text/html"})
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
