"""The page of a board: the tables of a benchmark or of a suite, by its layout."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen_hub.boards.finals import final_tables
from snellen_hub.boards.grouped import grouped_tables
from snellen_hub.boards.layouts import find_layout, layout_name
from snellen_hub.boards.moments import BoardMoment, find_moment, version_at
from snellen_hub.boards.plain import plain_table
from snellen_hub.boards.published import PublishedScore, read_published
from snellen_hub.boards.suite_members import suite_members
from snellen_hub.boards.suites import SuiteColumn, member_scale, suite_table
from snellen_hub.boards.tables import BoardPage, BoardTable
from snellen_hub.boards.tiers import headline_p_values, table_with_tiers
from snellen_hub.database.tables import BoardChange, HostedBenchmark, HostedSuite
from snellen_hub.hub import Hub
from snellen_hub.moment_text import iso_time
from snellen_hub.question_parts import describe_parts
from snellen_hub.storage import Storage

_NOT_HEADLINE = "samples are kept for headlines only"


def read_tables(session: Session, hub: Hub, board: HostedBenchmark | HostedSuite, as_of: str = "") -> BoardPage:
    """The tables of a benchmark's or a suite's board, complete: `apply_query_to_page` filters,
    sorts and chooses columns.

    `as_of` is a moment as `find_moment` reads it; raises UsageError if there is none.
    """
    moment = find_moment(session, as_of) if as_of else None
    if isinstance(board, HostedSuite):
        return _suite_page(session, hub, board, moment)
    return _benchmark_page(session, hub, board, moment)


def _benchmark_page(session: Session, hub: Hub, benchmark: HostedBenchmark, moment: BoardMoment | None) -> BoardPage:
    published = read_published(session, benchmark, moment)
    latest = _latest_change(session, [benchmark.id], moment)
    return BoardPage(
        name=benchmark.name,
        title=benchmark.title,
        kind="benchmark",
        layout=layout_name(benchmark.layout, benchmark.spec),
        tables=(
            *_benchmark_tables(benchmark, published, hub.storage),
            *final_tables(session, benchmark, published, moment),
        ),
        description=benchmark.description,
        protocol=benchmark.protocol,
        version=version_at(benchmark, moment),
        samples=benchmark.rows,
        is_hidden=benchmark.is_hidden,
        parts=describe_parts(benchmark),
        phases=tuple(benchmark.phases),
        offers_questions=benchmark.offers_questions,
        change=latest.id if latest else 0,
        changed=iso_time(latest.at) if latest else "",
        as_of=moment.text if moment else "",
    )


def _benchmark_tables(
    benchmark: HostedBenchmark, published: Sequence[PublishedScore], storage: Storage
) -> list[BoardTable]:
    """The tables by layout, with tiers: the first, which is of headlines, by paired tests."""
    layout = find_layout(layout_name(benchmark.layout, benchmark.spec))
    tables = (
        [plain_table(benchmark.title, published)]
        if layout is None
        else grouped_tables(benchmark.title, published, layout)
    )
    is_headline = layout is None or layout.whole is not None
    p_values = headline_p_values(storage, published) if is_headline else None
    scored_here = sum(one.row.evidence != "reported" for one in published)
    other_why = _NOT_HEADLINE if scored_here > 1 else ""
    return [
        table_with_tiers(
            table, p_values if position == 0 else None, why="" if position == 0 and is_headline else other_why
        )
        for position, table in enumerate(tables)
    ]


def _suite_page(session: Session, hub: Hub, suite: HostedSuite, moment: BoardMoment | None) -> BoardPage:
    members = suite_members(session, suite, moment)
    names = [member.benchmark for member in members]
    query = select(HostedBenchmark).where(HostedBenchmark.name.in_(names))
    benchmarks = {row.name: row for row in session.scalars(query)}
    published = {name: read_published(session, row, moment) for name, row in benchmarks.items()}
    columns = [
        SuiteColumn(member, benchmarks[member.benchmark], published[member.benchmark])
        for member in members
        if member.benchmark in benchmarks
    ]
    latest = _latest_change(session, [row.id for row in benchmarks.values()], moment)
    return BoardPage(
        name=suite.name,
        title=suite.title,
        kind="suite",
        layout="suite",
        tables=(suite_table(suite.title, columns, hub.storage),),
        description=suite.description,
        samples=sum(row.rows for row in benchmarks.values()),
        is_hidden=any(row.is_hidden for row in benchmarks.values()),
        members=tuple(
            {
                "benchmark": column.member.benchmark,
                "metric": column.member.metric,
                "weight": column.member.weight,
                "scale": member_scale(column),
                "title": column.benchmark.title,
                "column": column.member.key,
                "hidden": column.benchmark.is_hidden,
            }
            for column in columns
        ),
        change=latest.id if latest else 0,
        changed=iso_time(latest.at) if latest else "",
        as_of=moment.text if moment else "",
    )


def _latest_change(session: Session, benchmarks: Sequence[int], moment: BoardMoment | None) -> BoardChange | None:
    query = select(BoardChange).where(BoardChange.benchmark_id.in_(benchmarks))
    if moment is not None:
        query = query.where(BoardChange.id <= moment.change)
    return session.scalar(query.order_by(BoardChange.id.desc()).limit(1))
