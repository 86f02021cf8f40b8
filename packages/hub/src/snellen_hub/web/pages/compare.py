"""The page that compares submissions: a radar, the numbers, and tested differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from fastapi import APIRouter, HTTPException, Query, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from snellen.report import format as fmt
from snellen_hub.boards.paired_scores import paired_tests
from snellen_hub.boards.published import PublishedScore, read_published
from snellen_hub.boards.radar import AxisValue, ComparedAxis, group_keys, radar_chart
from snellen_hub.boards.tables import BoardPage
from snellen_hub.database.tables import HostedBenchmark, Submission
from snellen_hub.hub import Hub
from snellen_hub.web.pages.frame import render
from snellen_hub.web.pages.page_cache import public_page, read_board_page
from snellen_hub.web.pages.radar_picture import RadarPicture, draw_radar
from snellen_hub.web.parameters import HubOf

router = APIRouter(include_in_schema=False)

MOST = 6
"""Submissions that are compared at once: so many can be told apart in a radar."""
_FEWEST_AXES = 3
_MOST_AXES = 40


class DifferenceRow(NamedTuple):
    """A model against the first one."""

    model: str
    text: str
    interval: str
    p: str
    reason: str
    """Why there is no interval; empty if there is one."""


class ComparedBenchmark(NamedTuple):
    """Submissions to one benchmark side by side."""

    benchmark: HostedBenchmark
    models: Sequence[PublishedScore]
    axes: Sequence[ComparedAxis]
    points: Sequence[Mapping[str, AxisValue]]
    """The numbers of each model, by the key of the axis."""
    radar: RadarPicture | None
    differences: Sequence[DifferenceRow]
    groupings: Mapping[str, bool]
    """Groupings that can be the axes, and whether they are."""
    others: Sequence[PublishedScore]
    """Submissions that can be added."""


@router.get("/compare")
def compare_page(
    request: Request,
    hub: HubOf,
    s: Annotated[list[str] | None, Query(max_length=60)] = None,
    by: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Published submissions side by side."""
    chosen = list(dict.fromkeys(one for one in s or [] if one))

    def draw(session: Session) -> Response:
        return render(
            request,
            "compare.html",
            comparisons=_comparisons(request, session, hub, chosen[:MOST], by),
            chosen=chosen[:MOST],
            left_out=len(chosen[MOST:]),
            most=MOST,
            by=by,
        )

    return public_page(request, draw)


def _comparisons(
    request: Request, session: Session, hub: Hub, chosen: Sequence[str], by: str
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
    return [
        _comparison(session, hub, benchmark, chosen, by, read_board_page(request, session, hub, benchmark))
        for benchmark in benchmarks.values()
    ]


def _comparison(
    session: Session, hub: Hub, benchmark: HostedBenchmark, chosen: Sequence[str], by: str, page: BoardPage
) -> ComparedBenchmark:
    published = read_published(session, benchmark)
    by_id = {one.row.submission: one for one in published}
    members = [by_id[public_id] for public_id in chosen if public_id in by_id]
    names = [one.row.submission for one in members]
    chart = radar_chart(page, names)
    groupings = group_keys(chart.choices)
    if by in groupings:
        chart = radar_chart(page, names, groupings[by][:_MOST_AXES])
    points = [{point.key: point for point in one.points} for one in chart.models]
    radar = None
    if len(chart.axes) >= _FEWEST_AXES:
        radar = draw_radar(
            [fmt.display_name(axis.label) for axis in chart.axes],
            [[100 * own[axis.key].share if axis.key in own else None for axis in chart.axes] for own in points],
        )
    keys = [axis.key for axis in chart.axes]
    return ComparedBenchmark(
        benchmark=benchmark,
        models=members,
        axes=chart.axes,
        points=points,
        radar=radar,
        differences=_differences(hub, members),
        groupings={name: own[:_MOST_AXES] == keys for name, own in groupings.items()},
        others=[one for one in published if one.row.submission not in chosen],
    )


def _differences(hub: Hub, members: Sequence[PublishedScore]) -> list[DifferenceRow]:
    """Each submission minus the first, tested sample by sample."""
    if len(members) < 2:
        return []
    tests = paired_tests(hub.storage, members)
    first = members[0].score.headline
    rows = []
    for position, one in enumerate(members[1:], 1):
        headline = one.score.headline
        text = interval = p = ""
        if headline.value is not None and first.value is not None:
            text = fmt.difference_text(headline.value - first.value)
        test = tests.get((0, position))
        if test is not None and test.interval is not None:
            low, high = (headline.top * end for end in (test.interval.low, test.interval.high))
            interval = f"{fmt.difference_text(low)} to {fmt.difference_text(high)}"
            p = fmt.p_text(test.p)
        reason = ""
        if not interval:
            reason = "not scored over the same samples"
            if one.row.evidence == "reported":
                reason = "reported: there are no replies to compare"
        rows.append(DifferenceRow(one.row.model, text, interval, p, reason))
    return rows
