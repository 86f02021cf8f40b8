"""The page of a board: the tables of a benchmark or of a suite, by its layout."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen.leaderboard_hub.boards.moments import BoardMoment, find_moment
from snellen.leaderboard_hub.boards.plain import plain_table
from snellen.leaderboard_hub.boards.published import iso_time, read_published
from snellen.leaderboard_hub.boards.tables import BoardPage, BoardTable
from snellen.leaderboard_hub.database.tables import BoardChange, HostedBenchmark, HostedSuite
from snellen.leaderboard_hub.hub import Hub


def read_tables(
    session: Session, hub: Hub, board: HostedBenchmark | HostedSuite, as_of: str = ""
) -> BoardPage:
    """The tables of a benchmark's or a suite's board, complete: `apply_query` filters, sorts and
    chooses columns.

    `as_of` is a moment as `find_moment` reads it; raises UsageError if there is none.
    """
    moment = find_moment(session, as_of) if as_of else None
    if isinstance(board, HostedSuite):
        raise NotImplementedError
    return _benchmark_page(session, hub, board, moment, as_of)


def layout_of(benchmark: HostedBenchmark) -> str:
    """How a benchmark's board is laid out: as its owner says, else by what it is."""
    if benchmark.layout:
        return benchmark.layout
    family = benchmark.spec.partition(":")[0].lower()
    return {"mme": "mme", "seedbench": "seed", "mmt-bench": "mmt"}.get(family, "table")


def _benchmark_page(
    session: Session,
    hub: Hub,
    benchmark: HostedBenchmark,
    moment: BoardMoment | None,
    as_of: str,
) -> BoardPage:
    published = read_published(session, benchmark, hub.config.hidden, moment)
    rows = [one.row for one in published]
    tables: Sequence[BoardTable] = [plain_table(benchmark.title, rows)]
    latest = _latest_change(session, benchmark, moment)
    return BoardPage(
        name=benchmark.name,
        title=benchmark.title,
        kind="benchmark",
        layout=layout_of(benchmark),
        tables=tuple(tables),
        description=benchmark.description,
        protocol=benchmark.protocol,
        version=moment.versions.get(benchmark.id, benchmark.version)
        if moment
        else benchmark.version,
        samples=benchmark.rows,
        is_hidden=benchmark.is_hidden,
        change=latest.id if latest else 0,
        changed=iso_time(latest.at) if latest else "",
        as_of=as_of,
    )


def _latest_change(
    session: Session, benchmark: HostedBenchmark, moment: BoardMoment | None
) -> BoardChange | None:
    query = select(BoardChange).where(BoardChange.benchmark_id == benchmark.id)
    if moment is not None:
        query = query.where(BoardChange.id <= moment.change)
    return session.scalar(query.order_by(BoardChange.id.desc()).limit(1))
