"""A hub with accounts and objects of every kind, for tests that ask every route."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, get_args

from fastapi import FastAPI
from fastapi.routing import APIRoute
from hub_browsers import PASSWORD, add_accounts
from sqlalchemy import select
from test_scoring import predictions, write_data

from snellen.core.secret import Secret
from snellen_hub.accounts.access import create_token, invite, start_sign_in
from snellen_hub.accounts.changes import create_reset
from snellen_hub.accounts.email_links import create_email_link
from snellen_hub.accounts.random_secrets import secret_digest
from snellen_hub.boards.suite_members import MemberColumn, NewSuite, create_suite
from snellen_hub.config import SubmissionLimits
from snellen_hub.database.tables import AccessToken, Account, HostedBenchmark, ScoringJob, Submission
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.hosts import set_host
from snellen_hub.hub import Hub, create_hub, open_hub
from snellen_hub.intake import NewSubmission, take_submission
from snellen_hub.jobs.worker import Worker
from snellen_hub.storage import Storage
from snellen_hub.teams import create_team, invite_member
from snellen_hub.web.app import create_app
from snellen_hub.web.own_submissions import Change

NAMES = {"vera": "viewer", "bob": "submitter", "ann": "submitter", "olga": "owner"}


FORMS: dict[str, dict[str, Any]] = {
    "POST /api/v1/benchmarks/{name}/submissions": {"model": "m"},
    "POST /benchmarks/{name}/submit": {"model": "m"},
    "POST /sign-in": {"name": "ann", "password": "a wrong password"},
    "POST /account/password": {"old": "x", "password": PASSWORD, "again": PASSWORD},
    "POST /account/delete": {"name": "ann", "old": "a wrong password"},
    "POST /account/tokens": {"label": "new", "scope-submit": "1", "days": "5"},
    "POST /manage/accounts/{number}": {"action": "disabled"},
    "POST /benchmarks/{name}/flags": {"item": "1", "kind": "wrong-answer", "reason": "it is B"},
    "POST /manage/flags": {"benchmark": "signs", "item": "1"},
    "POST /manage/invitations": {"role": "owner"},
    "POST /manage/benchmarks/{name}": {"action": "phases"},
    "POST /benchmarks/{name}/team": {"action": "invite"},
}
"""What is sent; the other forms are sent empty."""
BODIES: dict[str, Any] = {
    "PUT /api/v1/benchmarks/{name}/phases": [],
    "POST /api/v1/benchmarks/{name}/flags": {"item": "1", "kind": "wrong-answer", "reason": "the answer is B, not A"},
}


class Prepared(NamedTuple):
    """A hub with an object of each kind, to be copied for each route."""

    folder: Path
    cookies: Mapping[str, str]
    csrf: Mapping[str, str]
    tokens: Mapping[str, str]
    values: Mapping[str, str]
    """Values of path parameters, by the route or the parameter alone."""

    def fill(self, route: str) -> str:
        """The path of a route, with values for its parameters."""

        def value(match: re.Match[str]) -> str:
            return self.values.get(route) or self.values[match[1].partition(":")[0]]

        return re.sub(r"\{([^}]+)\}", value, route.partition(" ")[2])


def prepare_hub(folder: Path) -> Prepared:
    """Make a hub in a folder, with accounts and an object of each kind, most of them of ann."""
    hub = create_hub(folder)
    hub = Hub(hub.folder, hub.config, hub.database, Storage(str(folder / "storage"), Secret("a key of the tests")))
    add_accounts(hub, **NAMES)
    cookies, csrf, tokens = {}, {}, {}
    data = write_data(folder / "signs.tsv")
    with hub.database.writing() as session:
        benchmark = add_benchmark(session, hub.storage, NewBenchmark(name="signs", title="Signs", data=data))
        create_suite(session, NewSuite(name="signs", members=(MemberColumn("signs", weight=2.0),)))
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
        token = session.scalars(select(AccessToken.id).where(AccessToken.digest == secret_digest(tokens["ann"]))).one()
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
            "GET /teams/{secret}": invite_member(
                create_team(session, benchmark, ann.id, "Ann and others"), hub.config.sessions
            ),
            "GET /emails/{secret}": create_email_link(session, vera, "vera@example.org"),
        }
        for route in ("password-resets", "teams", "emails"):
            values[f"POST /{route}/{{secret}}"] = values[f"GET /{route}/{{secret}}"]
        set_host(session, benchmark, "ann", "owner")
    Worker(hub, print).work(until_empty=True)
    with hub.database.reading() as session:
        values["number"] = str(session.scalars(select(ScoringJob.id)).one())
        assert session.scalars(select(Submission.status)).one() == "scored"
        assert session.scalars(select(HostedBenchmark.version)).one() == 1
    hub.close()
    return Prepared(folder, cookies, csrf, tokens, values)


@contextmanager
def open_copy(prepared: Prepared, folder: Path) -> Iterator[FastAPI]:
    """The application of a copy of the hub, which a test may change."""
    shutil.copytree(prepared.folder, folder)
    hub = open_hub(folder)
    storage = Storage(str(folder / "storage"), Secret("a key of the tests"))
    try:
        yield create_app(Hub(hub.folder, hub.config, hub.database, storage))
    finally:
        hub.close()


def routes_of(app: FastAPI) -> set[str]:
    """Every route of an application, such as `GET /account`; one of each change of a submission."""
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
        for change in get_args(Change) if "{change}" in route.path else ("",):
            path = route.path.replace("{change}", change)
            found |= {f"{method} {path}" for method in methods}
    return found
