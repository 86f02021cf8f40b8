"""Every endpoint of the API with whatever its schema allows, and what it does not: never a 5xx.

The requests are made by schemathesis from `/api/v1/openapi.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.schemas import OpenApiSchema
from sqlalchemy import select
from test_route_access import routes_of
from test_scoring import predictions, write_data

from snellen_hub.accounts.access import create_account, create_token
from snellen_hub.benchmark_data import NewBenchmark
from snellen_hub.database.tables import Submission
from snellen_hub.hosting import add_benchmark
from snellen_hub.hub import create_hub
from snellen_hub.intake import NewSubmission, take_submission
from snellen_hub.jobs.queue import take_job
from snellen_hub.jobs.scoring import score_submission
from snellen_hub.publishing import publish_submission
from snellen_hub.web.app import create_app
from snellen_hub.web.own_submissions import Change

EXAMPLES = 25


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenApiSchema]:
    """The API of a hub with an open and a hidden benchmark, a submission to each, and an owner."""
    place = tmp_path_factory.mktemp("schema")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNELLEN_HUB_KEY", "a key of the tests, and long enough")
        hub = create_hub(place / "hub")
        data = write_data(place / "signs.tsv")
        with hub.database.writing() as session:
            owner = create_account(session, "olga", "owner", "a long password")
            token = create_token(session, owner, "schema", frozenset({"read", "submit", "admin"}), hub.config.sessions)
            for name, is_hidden in (("signs", False), ("hidden-signs", True)):
                new = NewBenchmark(name=name, title=name, data=data, is_hidden=is_hidden)
                row = add_benchmark(session, hub.storage, new)
                sent = NewSubmission(model="m", file_name="p.jsonl", content=predictions(20))
                take_submission(session, hub.storage, row, owner.id, sent, hub.config.submissions)
        while (job := take_job(hub.database, "tests")) is not None:
            score_submission(hub, job)
        with hub.database.writing() as session:
            for each in session.scalars(select(Submission)):
                publish_submission(session, each)
        app = create_app(hub)
        schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
        schema.config.update(headers={"Authorization": f"Bearer {token}"})
        yield schema
        hub.close()


@pytest.mark.release
@pytest.mark.attack("requests of every kind that the API's schema allows", "a status below 500")
def test_no_request_is_a_mistake_of_the_hub(api: OpenApiSchema) -> None:
    """Refuse what makes no sense, with a status below 500."""
    statuses: dict[str, set[int]] = {}
    for found in api.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            database=None,
        )
        def ask(case: schemathesis.Case) -> None:
            answer = case.call()
            assert answer.status_code < 500, f"{case.as_curl_command()}: {answer.text[:300]}"
            statuses.setdefault(case.operation.label, set()).add(answer.status_code)

        ask()
    assert len(statuses) > 15
    # The owner's token got through: what was refused was refused for what it asked.
    assert 200 in statuses["GET /api/v1/submissions"]


def test_every_endpoint_is_in_the_schema(api: OpenApiSchema) -> None:
    with TestClient(api.app) as client:
        paths = set(client.get("/api/v1/openapi.json").json()["paths"])
    named = {route.partition(" ")[2].replace(":path}", "}") for route in routes_of(api.app)}
    routes = {path for path in named if path.startswith("/api/v1/")}
    paths |= {path.replace("{change}", change) for path in paths for change in get_args(Change)}
    assert routes - {"/api/v1/openapi.json"} <= paths
