"""Endpoints of the API for single samples of public splits, and for flags about them."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote, urlencode

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.datastructures import State

from snellen_hub.accounts.roles import Caller
from snellen_hub.database.tables import HostedBenchmark, WrongLabelFlag
from snellen_hub.hosting import find_hosted_benchmark
from snellen_hub.samples.browsing import (
    Ask,
    ComparedSubmission,
    ItemOnPage,
    SampleQuery,
    count_categories,
    find_medium,
    read_item,
    read_page,
    read_replies,
)
from snellen_hub.samples.flags import MAX_REASON, flag_json, raise_flag, read_flags
from snellen_hub.samples.replies import RepliesReader, StoredReply
from snellen_hub.web.access import note_request
from snellen_hub.web.board_api import json_response
from snellen_hub.web.downloads import send_medium
from snellen_hub.web.parameters import BoardName, HubOf, SubmitToken

samples_router = APIRouter()


class NewFlag(BaseModel):
    """A flag as a reader sends it."""

    model_config = ConfigDict(extra="forbid")

    item: str = Field(min_length=1, max_length=200)
    kind: str = Field(max_length=40)
    reason: str = Field(max_length=2 * MAX_REASON)


def replies_reader(request: Request) -> RepliesReader:
    """The reader of files of replies, one for the server."""
    state: State = request.app.state
    if not hasattr(state, "replies_reader"):
        state.replies_reader = RepliesReader(state.hub.storage)
    reader: RepliesReader = state.replies_reader
    return reader


Reader = Annotated[RepliesReader, Depends(replies_reader)]


def sample_query(
    q: Annotated[str, Query(max_length=200)] = "",
    category: Annotated[str, Query(max_length=200)] = "",
    submission: Annotated[str, Query(pattern=r"^([0-9a-f]{16})?$")] = "",
    result: Annotated[Ask, Query()] = "",
    page: Annotated[int, Query(ge=1, le=10_000_000)] = 1,
) -> SampleQuery:
    """The questions that a query string asks for."""
    return SampleQuery(q.replace("\x00", ""), category.replace("\x00", ""), submission, result, page)


Asked = Annotated[SampleQuery, Depends(sample_query)]


@samples_router.get("/api/v1/benchmarks/{name}/samples")
def list_samples(name: BoardName, hub: HubOf, reader: Reader, query: Asked, replies: bool = False) -> Response:
    """Questions of a public split, 50 a page, each with what the published submissions made of it;
    with `replies` also how the replies of the best 20 begin. `q` searches, `category` selects,
    `submission` and `result` (right or wrong) select by how one submission did."""
    with hub.database.reading() as session:
        benchmark = find_hosted_benchmark(session, name)
        page = read_page(session, reader, benchmark, query)
        categories = count_categories(session, benchmark)
    texts = read_replies(reader, page) if replies else {}
    items = []
    for item in page.items:
        value = item_json(name, item)
        if replies:
            value["replies"] = {name: reply_json(read.get(item.position)) for name, read in texts.items()}
        items.append(value)
    return json_response(
        {
            "benchmark": name,
            "version": benchmark.version,
            "samples": page.total,
            "page": page.query.page,
            "pages": page.pages,
            "categories": categories,
            "submissions": list(map(_submission_json, page.submissions)),
            "left_out": page.left_out,
            "items": items,
        }
    )


@samples_router.get("/api/v1/benchmarks/{name}/samples/{item:path}")
def show_sample(name: BoardName, item: str, hub: HubOf, reader: Reader) -> Response:
    """One question with the reply of every published submission."""
    with hub.database.reading() as session:
        benchmark = find_hosted_benchmark(session, name)
        read = read_item(session, reader, benchmark, item)
    value = item_json(name, read.item)
    value["replies"] = [
        {**_submission_json(submission), "reply": reply_json(reply)} for submission, reply in read.replies
    ]
    about = {"benchmark": name, "version": benchmark.version, "left_out": read.left_out}
    return json_response(about | value)


@samples_router.get("/benchmarks/{name}/media/{digest}", include_in_schema=False)
def show_medium(request: Request, name: BoardName, digest: str, hub: HubOf) -> Response:
    """A picture or video of a public split."""
    with hub.database.reading() as session:
        medium = find_medium(session, find_hosted_benchmark(session, name), digest[:64])
    return send_medium(hub.storage, medium, request.headers.get("range"))


@samples_router.post("/api/v1/benchmarks/{name}/flags", status_code=201)
def add_flag(request: Request, name: BoardName, hub: HubOf, identity: SubmitToken, flag: NewFlag) -> dict[str, Any]:
    """Flag an item of a public split: `kind` is `wrong-answer`, `ambiguous`, `broken-image`,
    `text-only` or `duplicate`, `reason` a short sentence. Once per account and item."""
    with hub.database.writing() as session:
        benchmark = find_hosted_benchmark(session, name)
        row = store_flag(session, request, benchmark, identity, flag)
        return flag_json(row)


@samples_router.get("/api/v1/benchmarks/{name}/flags")
def list_flags(name: BoardName, hub: HubOf, identity: SubmitToken) -> Response:
    """The open flags by item for the hub's owner; for others those that they raised, with what
    became of them."""
    with hub.database.reading() as session:
        benchmark = find_hosted_benchmark(session, name)
        if identity.may("admin"):
            value: list[dict[str, Any]] = [
                {
                    "item": each.item,
                    "kinds": each.kinds(),
                    "flags": [{"account": flag.account.name, **flag_json(flag)} for flag in each.flags],
                }
                for each in read_flags(session, benchmark.id)
            ]
        else:
            query = select(WrongLabelFlag).where(
                WrongLabelFlag.benchmark_id == benchmark.id, WrongLabelFlag.account_id == identity.account_id
            )
            rows = session.scalars(query.order_by(WrongLabelFlag.id.desc()).limit(500))
            value = list(map(flag_json, rows))
    return json_response(value)


def store_flag(
    session: Session, request: Request, benchmark: HostedBenchmark, caller: Caller, flag: NewFlag
) -> WrongLabelFlag:
    """Raise a flag and note it in the audit log. Raises as `raise_flag`."""
    row = raise_flag(session, benchmark, caller.account_id, flag.item, flag.kind, flag.reason)
    note_request(session, request, "flag", caller.account_id, f"{benchmark.name} {flag.item}", kind=flag.kind)
    return row


def item_json(benchmark: str, item: ItemOnPage) -> dict[str, Any]:
    """A question as JSON."""
    content = item.content
    return {
        "id": item.name,
        "position": item.position,
        "category": item.category,
        "kind": content.kind,
        "question": content.question,
        "hint": content.hint,
        "options": content.options,
        "answer": list(content.gold),
        "groups": content.groups,
        "media": [
            {**msgspec.to_builtins(link), "url": f"/benchmarks/{benchmark}/media/{link.digest}"}
            for link in content.media
            if link.digest
        ],
        "right": item.right,
        "wrong": item.wrong,
        "results": dict(item.results),
        "url": item_path(benchmark, item.name),
    }


def item_path(benchmark: str, item: str) -> str:
    """The page of a question. Browsers change paths with dots or empty parts, so that such an id
    stands in the query."""
    base = f"/benchmarks/{benchmark}/samples"
    if {"", ".", ".."} & set(item.replace("\\", "/").split("/")):
        return f"{base}?{urlencode({'id': item})}"
    return f"{base}/{quote(item, safe='')}"


def reply_json(reply: StoredReply | None) -> dict[str, Any] | None:
    """A reply as JSON, with the names of its fields."""
    if reply is None:
        return None
    return {
        "outcome": reply.outcome,
        "score": reply.score,
        "answer": reply.answer,
        "passes": [msgspec.structs.asdict(each) for each in reply.passes],
    }


def _submission_json(each: ComparedSubmission) -> dict[str, Any]:
    return {"id": each.public_id, "model": each.model, "score": each.score}
