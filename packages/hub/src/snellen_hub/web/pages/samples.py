"""Pages of single questions of public splits, of flags about them, and their owner's list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from snellen.core.errors import UsageError
from snellen_hub.database.tables import HostedBenchmark, HostedMedium, WrongLabelFlag
from snellen_hub.hosting import find_hosted_benchmark
from snellen_hub.samples.browsing import ItemOnPage, ItemReplies, SampleQuery, count_categories, read_item, read_page
from snellen_hub.samples.flags import FLAG_KINDS, MAX_REASON, open_flag, read_flags, settle_flags
from snellen_hub.samples.replies import ReplyResult
from snellen_hub.web.access import note_request
from snellen_hub.web.browser import browser_of
from snellen_hub.web.pages.frame import redirect, render
from snellen_hub.web.parameters import BoardName, HubOf, OwnerBrowser, OwnerForm, ReaderForm
from snellen_hub.web.samples_api import Asked, NewFlag, Reader, item_path, store_flag

router = APIRouter(include_in_schema=False)

OUTCOME_TITLES = {
    "answered": "answered",
    "no_match": "matches no option",
    "unparsed": "no answer could be read",
    "refused": "refused",
    "truncated": "cut off before an answer",
    "empty": "empty reply",
    "failed": "failed",
    "missing": "no reply submitted",
    "unsupported": "not asked",
}
_VERDICTS: dict[ReplyResult, str] = {
    "right": "right",
    "wrong": "wrong",
    "partly": "partly",
    "unscored": "unscored",
    "none": "unscored",
}
_LONG = 600
"""Characters of a reply beyond which it is folded."""


@router.get("/benchmarks/{name}/samples")
def samples_page(
    request: Request,
    name: BoardName,
    hub: HubOf,
    reader: Reader,
    query: Asked,
    item: Annotated[str, Query(alias="id", max_length=200)] = "",
) -> Response:
    """A page of questions; with `id` the one that cannot stand in a path."""
    if item:
        return sample_page(request, name, item, hub, reader)
    with hub.database.reading() as session:
        benchmark = find_hosted_benchmark(session, name)
        page = read_page(session, reader, benchmark, query)
        categories = count_categories(session, benchmark)
        shown = {link.digest for each in page.items for link in each.content.media}
        types = _displayable(session, benchmark, shown)
    rows = [
        {
            "item": each,
            "url": item_path(name, each.name),
            "answer": _answer_text(each),
            "verdict": _VERDICTS[each.results.get(query.submission, "none")] if query.submission else "",
        }
        for each in page.items
    ]
    return render(
        request,
        "samples.html",
        benchmark=benchmark,
        page=page,
        rows=rows,
        categories=categories,
        types=types,
        query=page.query,
        first=_page_url(name, page.query, 1),
        previous=_page_url(name, page.query, page.query.page - 1) if page.query.page > 1 else "",
        following=_page_url(name, page.query, page.query.page + 1) if page.query.page < page.pages else "",
        is_filtered=page.query != SampleQuery(page=page.query.page),
    )


@router.get("/benchmarks/{name}/samples/{item:path}")
def sample_page(request: Request, name: BoardName, item: str, hub: HubOf, reader: Reader) -> Response:
    """One question, and how every published submission answered it."""
    browser = browser_of(request)
    with hub.database.reading() as session:
        benchmark = find_hosted_benchmark(session, name)
        read = read_item(session, reader, benchmark, item)
        own = None
        if browser is not None:
            own = open_flag(session, benchmark, browser.account_id, item)
        digests = {link.digest for link in read.item.content.media}
        digests |= set(read.item.content.option_images.values())
        types = _displayable(session, benchmark, digests)
    return render(
        request,
        "sample.html",
        **_sample_context(name, read, types),
        benchmark=benchmark,
        own_flag=own,
        flag_kinds=FLAG_KINDS,
        max_reason=MAX_REASON,
    )


@router.post("/benchmarks/{name}/flags")
def flag_item(
    request: Request,
    name: BoardName,
    hub: HubOf,
    browser: ReaderForm,
    item: Annotated[str, Form(min_length=1, max_length=200)],
    kind: Annotated[str, Form(max_length=40)] = "",
    reason: Annotated[str, Form(max_length=2 * MAX_REASON)] = "",
) -> Response:
    """Flag a question, and go back to it."""
    flag = NewFlag(item=item, kind=kind, reason=reason)
    with hub.database.writing() as session:
        benchmark = find_hosted_benchmark(session, name)
        store_flag(session, request, benchmark, browser.caller, flag)
    return redirect(item_path(name, item))


@router.get("/manage/flags")
def flags_page(request: Request, hub: HubOf, browser: OwnerBrowser) -> Response:
    """Every open flag by item, for the owner."""
    with hub.database.reading() as session:
        flagged = read_flags(session)
        closed = session.scalars(
            select(WrongLabelFlag)
            .where(WrongLabelFlag.settled.is_not(None))
            .options(joinedload(WrongLabelFlag.benchmark))
            .order_by(WrongLabelFlag.settled.desc())
            .limit(50)
        ).all()
    rows = [(each, item_path(each.benchmark, each.item)) for each in flagged]
    return render(
        request,
        "flags.html",
        title="Flagged questions",
        rows=rows,
        flag_kinds=FLAG_KINDS,
        closed=[(flag, item_path(flag.benchmark.name, flag.item)) for flag in closed],
        count=sum(len(each.flags) for each in flagged),
    )


@router.post("/manage/flags")
def close_flags(
    request: Request,
    hub: HubOf,
    browser: OwnerForm,
    benchmark: Annotated[str, Form(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")],
    item: Annotated[str, Form(min_length=1, max_length=200)],
) -> Response:
    """Close the flags of an item that needs no change."""
    with hub.database.writing() as session:
        row = find_hosted_benchmark(session, benchmark)
        outcome = "the hub's owner looked at it, and the item stays as it is"
        if not settle_flags(session, row.id, item, outcome):
            raise UsageError(f"the item {item[:80]!r} of {benchmark} has no open flag")
        note_request(session, request, "close-flags", browser.account_id, f"{benchmark} {item}")
    return redirect("/manage/flags")


def _sample_context(name: str, read: ItemReplies, types: Mapping[str, bool]) -> dict[str, Any]:
    content = read.item.content
    return {
        "item": read.item,
        "content": content,
        "here_url": item_path(name, read.item.name),
        "previous": "" if read.before is None else item_path(name, read.before),
        "following": "" if read.after is None else item_path(name, read.after),
        "types": types,
        "answer": _answer_text(read.item),
        "groups": {column: text for column, text in content.groups.items() if text},
        "replies": [
            (submission, reply, _VERDICTS[read.item.results[submission.public_id]])
            for submission, reply in read.replies
        ],
        "outcomes": OUTCOME_TITLES,
        "long": _LONG,
        "left_out": read.left_out,
    }


def _answer_text(item: ItemOnPage) -> str:
    content = item.content
    texts = [f"{gold}. {content.options[gold]}" if content.options.get(gold) else gold for gold in content.gold]
    return " / ".join(texts)


def _displayable(session: Session, benchmark: HostedBenchmark, digests: set[str]) -> dict[str, bool]:
    """Whether browsers may show a medium, by digest."""
    query = select(HostedMedium.digest, HostedMedium.content_type).where(
        HostedMedium.benchmark_id == benchmark.id, HostedMedium.digest.in_(digests)
    )
    return {row[0]: bool(row[1]) for row in session.execute(query)}


def _page_url(name: str, query: SampleQuery, page: int) -> str:
    values = {
        "q": query.search,
        "category": query.category,
        "submission": query.submission,
        "result": query.result,
        "page": str(page),
    }
    asked = {key: value for key, value in values.items() if value and (key, value) != ("page", "1")}
    path = f"/benchmarks/{name}/samples"
    return f"{path}?{urlencode(asked)}" if asked else path
