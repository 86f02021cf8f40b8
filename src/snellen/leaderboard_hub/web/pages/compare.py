"""The page that compares submissions: a radar, the numbers, and tested differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from snellen.leaderboard_hub.boards.paired_scores import paired_tests
from snellen.leaderboard_hub.boards.published import PublishedScore, read_published
from snellen.leaderboard_hub.database.tables import HostedBenchmark, Submission
from snellen.leaderboard_hub.hub import Hub
from snellen.leaderboard_hub.public_scores import PublicNumber
from snellen.leaderboard_hub.web.access import hub_of
from snellen.leaderboard_hub.web.pages.frame import render
from snellen.leaderboard_hub.web.pages.page_cache import public_page
from snellen.leaderboard_hub.web.pages.radar import Radar, draw_radar
from snellen.leaderboard_hub.web.pages.score_view import NumberRow, number_row
from snellen.report import format as fmt

router = APIRouter(include_in_schema=False)

MOST = 6
"""Submissions that are compared at once: so many can be told apart in a radar."""
_LEVEL = 0.95
_AXES = range(3, 25)
"""Labels of a grouping that make a radar."""


class ComparedModel(NamedTuple):
    """A submission that is compared."""

    submission: str
    model: str
    about: str
    evidence: str
    headline: NumberRow
    without: str
    """Address of the comparison without it."""
    mark: str
    """Why its number is not like the others', if it is not."""


class ComparisonRow(NamedTuple):
    """A line of the table: a name and the number of each model, None where it has none."""

    label: str
    numbers: tuple[NumberRow | None, ...]


class DifferenceRow(NamedTuple):
    """A model against the first one."""

    model: str
    text: str
    interval: str
    p: str
    reason: str
    """Why there is no interval; empty if there is one."""


class GroupingLink(NamedTuple):
    column: str
    address: str
    is_current: bool


class ComparedBenchmark(NamedTuple):
    """Submissions to one benchmark side by side."""

    benchmark: HostedBenchmark
    models: tuple[ComparedModel, ...]
    column: str
    rows: tuple[ComparisonRow, ...]
    radar: Radar | None
    differences: tuple[DifferenceRow, ...]
    groupings: tuple[GroupingLink, ...]
    others: tuple[tuple[str, str], ...]
    """Submissions that can be added: id and model."""


@router.get("/compare")
def compare_page(
    request: Request,
    hub: Annotated[Hub, Depends(hub_of)],
    s: Annotated[list[str] | None, Query(max_length=60)] = None,
    by: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Published submissions side by side."""
    chosen = list(dict.fromkeys(one for one in s or [] if one))

    def draw(session: Session) -> Response:
        return render(
            request,
            "compare.html",
            comparisons=_comparisons(session, hub, chosen[:MOST], by),
            chosen=chosen[:MOST],
            left_out=len(chosen[MOST:]),
            most=MOST,
        )

    return public_page(request, draw)


def _comparisons(
    session: Session, hub: Hub, chosen: Sequence[str], by: str
) -> list[ComparedBenchmark]:
    """One comparison for each benchmark, in the order of the submissions. Raises 404."""
    query = (
        select(Submission)
        .where(Submission.public_id.in_(chosen), Submission.visibility == "published")
        .options(joinedload(Submission.benchmark))
    )
    known = {row.public_id: row for row in session.scalars(query)}
    benchmarks: dict[int, HostedBenchmark] = {}
    for public_id in chosen:
        if public_id not in known:
            raise HTTPException(404, f"there is no submission {public_id}")
        benchmark = known[public_id].benchmark
        benchmarks[benchmark.id] = benchmark
    return [_comparison(session, hub, benchmark, chosen, by) for benchmark in benchmarks.values()]


def _comparison(
    session: Session, hub: Hub, benchmark: HostedBenchmark, chosen: Sequence[str], by: str
) -> ComparedBenchmark:
    published = read_published(session, benchmark, hub.config.hidden)
    by_id = {one.row.submission: one for one in published}
    members = [by_id[public_id] for public_id in chosen if public_id in by_id]
    columns = _columns(members)
    column = by if by in columns else _first_column(members, columns)
    labels = _labels(members, column)
    numbers = [one.row.score.groups.get(column, {}) for one in members]
    radar = None
    if len(labels) in _AXES:
        shares = [[_share(each.get(label)) for label in labels] for each in numbers]
        radar = draw_radar([fmt.display_name(label) for label in labels], shares)
    return ComparedBenchmark(
        benchmark=benchmark,
        models=tuple(_compared_model(one, chosen, by) for one in members),
        column=column,
        rows=tuple(_rows(members, numbers, labels)),
        radar=radar,
        differences=tuple(_differences(hub, benchmark, members)),
        groupings=tuple(
            GroupingLink(each, _address(chosen, each), each == column) for each in columns
        ),
        others=tuple(
            (one.row.submission, one.row.model)
            for one in published
            if one.row.submission not in chosen
        ),
    )


def _compared_model(one: PublishedScore, chosen: Sequence[str], by: str) -> ComparedModel:
    row = one.row
    left = [public_id for public_id in chosen if public_id != row.submission]
    mark = row.other_protocol or (f"version {row.score.version} of the benchmark"
                                  if row.is_outdated else "")  # fmt: skip
    return ComparedModel(
        submission=row.submission,
        model=row.model,
        about=str(row.facts.get("organisation") or ""),
        evidence=row.evidence,
        headline=number_row(fmt.metric_label(row.score.name), row.score.headline),
        without=_address(left, by),
        mark=mark,
    )


def _columns(members: Sequence[PublishedScore]) -> list[str]:
    """Groupings that any of the submissions has."""
    return list(dict.fromkeys(column for one in members for column in one.row.score.groups))


def _first_column(members: Sequence[PublishedScore], columns: Sequence[str]) -> str:
    """The first grouping that makes a radar, or else the first one."""
    fitting = (column for column in columns if len(_labels(members, column)) in _AXES)
    return next(fitting, columns[0] if columns else "")


def _labels(members: Sequence[PublishedScore], column: str) -> list[str]:
    return list(
        dict.fromkeys(label for one in members for label in one.row.score.groups.get(column, {}))
    )


def _share(number: PublicNumber | None) -> float | None:
    """A number in percent of the highest possible value."""
    if number is None or number.value is None:
        return None
    return 100 * number.value / number.top


def _rows(
    members: Sequence[PublishedScore],
    numbers: Sequence[Mapping[str, PublicNumber]],
    labels: Sequence[str],
) -> list[ComparisonRow]:
    metrics = dict.fromkeys(
        name for one in members for name in one.row.score.metrics if name != one.row.score.name
    )
    rows = [
        ComparisonRow(
            fmt.metric_label(name), tuple(_number(one.row.score.metrics, name) for one in members)
        )
        for name in metrics
    ]
    return rows + [
        ComparisonRow(fmt.display_name(label), tuple(_number(each, label) for each in numbers))
        for label in labels
    ]


def _number(numbers: Mapping[str, PublicNumber], name: str) -> NumberRow | None:
    return number_row(name, numbers[name]) if name in numbers else None


def _differences(
    hub: Hub, benchmark: HostedBenchmark, members: Sequence[PublishedScore]
) -> list[DifferenceRow]:
    """Each submission minus the first, tested sample by sample where that is public."""
    if len(members) < 2:
        return []
    tests = {} if benchmark.is_hidden else paired_tests(hub.storage, members, _LEVEL)
    first = members[0].row.score.headline
    rows = []
    for position, one in enumerate(members[1:], 1):
        headline = one.row.score.headline
        text = interval = p = ""
        if headline.value is not None and first.value is not None:
            text = fmt.difference_text(headline.value - first.value)
        test = tests.get((0, position))
        if test is not None and test.interval is not None:
            low, high = (headline.top * end for end in (test.interval.low, test.interval.high))
            interval = f"{fmt.difference_text(low)} to {fmt.difference_text(high)}"
            p = fmt.p_text(test.p)
        reason = _reason(benchmark, one, bool(interval))
        rows.append(DifferenceRow(one.row.model, text, interval, p, reason))
    return rows


def _reason(benchmark: HostedBenchmark, one: PublishedScore, is_tested: bool) -> str:
    if is_tested:
        return ""
    if benchmark.is_hidden:
        return "the answers are hidden: scores of single samples are not compared"
    if one.row.evidence == "reported":
        return "reported: there are no replies to compare"
    return "not scored over the same samples"


def _address(chosen: Sequence[str], by: str) -> str:
    pairs = [("s", public_id) for public_id in chosen] + ([("by", by)] if by else [])
    return f"/compare?{urlencode(pairs)}" if pairs else "/compare"
