"""The endpoints of the API, under /api/v1."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Body, File, Form, Request, Response, UploadFile
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen_hub.accounts.access import one_line
from snellen_hub.boards.finals import read_finals
from snellen_hub.boards.published import latest_scores
from snellen_hub.database.tables import HostedBenchmark, HostedMedium, Submission
from snellen_hub.hosting import find_hosted_benchmark
from snellen_hub.hosts import host_phases
from snellen_hub.intake import ModelFacts, NewSubmission
from snellen_hub.phase_text import MOST_PHASES, convert_phases
from snellen_hub.public_scores import public_score
from snellen_hub.question_parts import describe_parts
from snellen_hub.reported_numbers.numbers import clean_model_name
from snellen_hub.reported_numbers.other_numbers import read_other_numbers
from snellen_hub.samples.versions import score_history
from snellen_hub.web.access import client_address
from snellen_hub.web.downloads import send_data
from snellen_hub.web.own_submissions import Change, change_own, find_own, find_visible, own_submissions, submit_replies
from snellen_hub.web.parameters import AnyToken, BoardName, HubOf, PublicId, SubmitToken

router = APIRouter(prefix="/api/v1")

_RUN_BYTES = 1_000_000


@router.get("/benchmarks")
def list_benchmarks(hub: HubOf) -> list[dict[str, Any]]:
    """Every benchmark of the hub."""
    with hub.database.reading() as session:
        rows = session.scalars(select(HostedBenchmark).order_by(HostedBenchmark.name)).all()
    return [_describe(row) for row in rows]


@router.get("/benchmarks/{name}")
def show_benchmark(name: BoardName, hub: HubOf) -> dict[str, Any]:
    """One benchmark."""
    with hub.database.reading() as session:
        return _describe(find_hosted_benchmark(session, name))


@router.put("/benchmarks/{name}/phases")
def change_phases(
    request: Request,
    name: BoardName,
    hub: HubOf,
    identity: SubmitToken,
    phases: Annotated[list[dict[str, Any]], Body(max_length=MOST_PHASES)],
) -> list[dict[str, Any]]:
    """Give a benchmark other phases: `name`, `opens`, `closes`, `submissions` and `final` of each.
    Only its hosts may."""
    with hub.database.writing() as session:
        row = find_hosted_benchmark(session, name, lock=True)
        host_phases(session, row, identity, convert_phases(phases), client_address(request))
        return row.phases


@router.get("/benchmarks/{name}/data")
def download_data(name: BoardName, hub: HubOf) -> Response:
    """The data without answers, if they are offered; the complete data of an open benchmark. With
    the pictures beside them, if there are any, as a zip."""
    with hub.database.reading() as session:
        row = find_hosted_benchmark(session, name)
        query = select(HostedMedium).where(HostedMedium.benchmark_id == row.id)
        media = session.scalars(query.order_by(HostedMedium.id)).all()
    return send_data(hub.storage, row, media)


@router.post("/benchmarks/{name}/submissions", status_code=201)
def submit(
    request: Request,
    name: BoardName,
    hub: HubOf,
    identity: SubmitToken,
    model: Annotated[str, Form(min_length=1, max_length=200)],
    predictions: Annotated[UploadFile, File()],
    facts: Annotated[str, Form(max_length=10_000)] = "{}",
    run: Annotated[str, Form(max_length=_RUN_BYTES)] = "{}",
    replaces: Annotated[str, Form(pattern=r"^([0-9a-f]{16})?$")] = "",
    allow_missing: Annotated[bool, Form()] = False,
) -> dict[str, Any]:
    """Submit a file of predictions. It stays private until it is published. With `allow_missing`,
    questions may have no reply, and count as wrong."""
    limit = hub.config.submissions.megabytes * 1_000_000
    new = NewSubmission(
        model=clean_model_name(model, "the field model"),
        file_name=one_line(predictions.filename or "", 200) or "predictions",
        content=predictions.file.read(limit + 1),
        facts=_decode(facts, ModelFacts, "facts"),
        run=_decode(run, dict[str, Any], "run"),
        allow_missing=allow_missing,
    )
    row = submit_replies(request, hub, identity, name, new, replaces)
    with hub.database.reading() as session:
        return _submission(session, find_own(session, row.public_id, identity))


@router.get("/submissions")
def list_submissions(hub: HubOf, identity: SubmitToken) -> list[dict[str, Any]]:
    """The submissions of the account and its teams, the latest first."""
    with hub.database.reading() as session:
        rows = session.scalars(own_submissions(identity).limit(500))
        return [_submission(session, row) for row in rows]


@router.get("/submissions/{public_id}")
def show_submission(public_id: PublicId, hub: HubOf, identity: AnyToken) -> dict[str, Any]:
    """A submission that is published, or of the account or its team, with its numbers on every
    version of the benchmark and what changed between them."""
    with hub.database.reading() as session:
        row = find_visible(session, public_id, identity and identity.account_id)
        scores = msgspec.to_builtins(score_history(session, row))
        return {**_submission(session, row), "scores": scores}


@router.post("/submissions/{public_id}/{change}")
def change_submission(
    request: Request, public_id: PublicId, change: Change, hub: HubOf, identity: SubmitToken
) -> dict[str, Any]:
    """Publish a scored submission on the board; choose a published one for the next reveal of
    private questions, without which it is the one of the highest public score; or withdraw one,
    whose history is kept, and which counts for the limits."""
    with hub.database.writing() as session:
        return _submission(session, change_own(session, request, identity, public_id, change))


def _describe(row: HostedBenchmark) -> dict[str, Any]:
    return {
        "name": row.name,
        "title": row.title,
        "description": row.description,
        "samples": row.rows,
        "version": row.version,
        "hidden": row.is_hidden,
        "parts": describe_parts(row),
        "phases": row.phases,
        "protocol": row.protocol,
        "spec": row.spec,
    }


def _submission(session: Session, row: Submission) -> dict[str, Any]:
    """A submission as JSON, with its score as readers may see it."""
    benchmark = row.benchmark
    value: dict[str, Any] = {
        "id": row.public_id,
        "benchmark": benchmark.name,
        "model": row.model,
        "team": row.team,
        "facts": row.facts,
        "status": row.status,
        "visibility": row.visibility,
        "problem": row.problem,
        "evidence": row.kind,
        "source": row.source,
        "other_protocol": row.other_protocol,
        "created": row.created.isoformat(timespec="seconds"),
    }
    score = latest_scores(session, [row.id]).get(row.id)
    if score is not None:
        value["score"] = msgspec.to_builtins(public_score(score))
        value["finals"] = msgspec.to_builtins(read_finals(session, row.benchmark, row))
        others = read_other_numbers(session, row)
        value["other_numbers"] = msgspec.to_builtins(others)
    return value


def _decode(text: str, kind: Any, field: str) -> Any:
    try:
        return msgspec.json.decode(text.encode(), type=kind)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise UsageError(f"the field {field} cannot be read: {error}") from error
