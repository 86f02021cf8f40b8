"""Leaderboards as a document: models by benchmarks, each ranking, and its groups side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.summary import Interval, Metric
from snellen.report import format as fmt
from snellen.report.document import Block, Cell, Column, Document, EmptyLine, IntervalEstimate, Line, Table
from snellen.scoring.leaderboard import Leaderboard, LeaderboardRow
from snellen.scoring.suites import SuiteRow, as_percent, suite_rows
from snellen.stats.intervals import DEFAULT_LEVEL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_INTERVALS = 4
"""Up to this many columns of numbers have intervals; more would not fit."""
_TIED = "*"
_RECORDS = (
    "benchmark",
    "board",
    "rank",
    "model",
    "score",
    "low",
    "high",
    "n",
    "rank_low",
    "rank_high",
    "alike",
    "p_best",
)


class ComparableRuns(NamedTuple):
    """Leaderboards over runs of one benchmark with the same requests and parsing. `legend` says
    what the columns mean."""

    title: str
    boards: tuple[Leaderboard, ...]
    notices: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()
    headline: Mapping[str, Metric] = {}
    """The headline of each model; empty if only printed numbers are known."""
    benchmark: str = ""


def leaderboards_document(standings: Sequence[ComparableRuns]) -> Document:
    """Models by benchmarks, then the rankings and groups of each set of runs. The figure has the
    rankings alone."""
    blocks: list[Block] = []
    matrix = models_by_benchmarks(standings)
    if matrix is not None:
        blocks += [matrix, EmptyLine()]
    for standing in standings:
        blocks += [Line(standing.title, "heading"), *(Line(notice, "notice") for notice in standing.notices)]
        for table in standing_tables(standing):
            blocks += [table, EmptyLine()]
        blocks += [Line(line, "note") for line in standing.legend]
        blocks.append(EmptyLine())
    while blocks and isinstance(blocks[-1], EmptyLine):
        blocks.pop()
    return Document(
        blocks,
        data=[_standing_object(standing) for standing in standings],
        records=Table("", [Column(name) for name in _RECORDS], list(_records(standings))),
        plot=lambda: _plot(standings),
    )


def _plot(standings: Sequence[ComparableRuns]) -> Figure:
    from snellen.report.plots.ranks import leaderboard_plot

    return leaderboard_plot({standing.title: standing.boards for standing in standings})


def _standing_object(standing: ComparableRuns) -> dict[str, object]:
    boards = [{**board._asdict(), "places": [row_object(row) for row in board.places]} for board in standing.boards]
    return {"benchmark": standing.title, "notices": standing.notices, "boards": boards}


def row_object(row: LeaderboardRow | SuiteRow) -> dict[str, object]:
    """The row's fields, with its interval as low and high."""
    interval = row.interval
    ends = None if interval is None else [interval.low, interval.high]
    return {**row._asdict(), "interval": ends}


def _records(standings: Sequence[ComparableRuns]) -> Iterator[tuple[Cell, ...]]:
    """A line of CSV for each place; unknown values are empty."""
    for standing in standings:
        for board in standing.boards:
            for row in board.places:
                low, high = row.ranks or ("", "")
                ends = [row.interval.low, row.interval.high] if row.interval else []
                yield (
                    standing.title,
                    board.name,
                    row.rank,
                    row.model,
                    f"{row.score:.2f}",
                    *([f"{end:.2f}" for end in ends] or ["", ""]),
                    row.n,
                    low,
                    high,
                    row.letters,
                    row.p_best,
                )


def models_by_benchmarks(standings: Sequence[ComparableRuns]) -> Table | None:
    """Models by benchmarks with their average and average rank, best rank first; None for a single
    benchmark or model.

    Of several rankings of a benchmark, the first is its column. Averages and ranks are those of
    the models that have every benchmark.
    """
    columns: dict[str, ComparableRuns] = {}
    for standing in standings:
        if standing.headline:
            columns.setdefault(standing.benchmark, standing)
    metrics = {one.title: one.headline for one in columns.values()}
    models = list(dict.fromkeys(model for headline in metrics.values() for model in headline))
    if len(columns) < 2 or len(models) < 2:
        return None
    percentages = {
        model: {
            title: as_percent(metric.value, metric.top)
            for title, headline in metrics.items()
            if (metric := headline.get(model)) is not None and metric.value is not None
        }
        for model in models
    }
    rows = suite_rows([*metrics], percentages)
    rows.sort(key=lambda row: (row.average_rank or len(models) + 1, row.model))
    has_intervals = len(metrics) <= _MAX_INTERVALS
    notes = ["average, and average rank: over the benchmarks, for models that have all of them"]
    if any(metric.top != 100 for headline in metrics.values() for metric in headline.values()):
        notes.append("average: each benchmark in percent of its highest possible score")
    return Table(
        "models by benchmarks",
        [
            Column("model", "name"),
            *(Column(title, "points", best="highest") for title in metrics),
            Column("average", "points", best="highest"),
            Column("average rank", "points", best="lowest"),
        ],
        [
            (
                row.model,
                *(_score_cell(one.get(row.model), has_intervals) for one in metrics.values()),
                row.average,
                f"{fmt.NONE} ({len(row.missing)} missing)" if row.missing else row.average_rank,
            )
            for row in rows
        ],
        notes,
    )


def _score_cell(metric: Metric | None, has_interval: bool) -> Cell:
    if metric is None:
        return None
    return IntervalEstimate(metric.value, metric.interval if has_interval else None)


def standing_tables(standing: ComparableRuns) -> Iterator[Table]:
    """Each ranking as a table, then the groups of each grouping as columns or rows of one table."""
    for board in standing.boards:
        if board.places and not board.column:
            yield board_table(board)
    columns = dict.fromkeys(board.column for board in standing.boards if board.column)
    for column in columns:
        groups = [board for board in standing.boards if board.column == column and board.places]
        yield _groups_table(column, groups, [row.model for row in standing.boards[0].places])


def board_table(board: Leaderboard) -> Table:
    """A ranking, without columns that no row has."""
    level = f"{100 * DEFAULT_LEVEL:g} %"
    columns: list[tuple[Column, list[Cell]]] = [
        (Column("rank"), [str(row.rank) for row in board.places]),
        (Column("model", "name"), [row.model for row in board.places]),
        (Column("score", "points", board.digits, best="highest"), [row.score for row in board.places]),
    ]
    if any(row.n is not None for row in board.places):
        intervals: list[Cell] = [row.interval for row in board.places]
        columns.append((Column(f"{level} interval", "points"), intervals))
        columns.append((Column("n", "count"), [row.n for row in board.places]))
    if any(row.ranks for row in board.places):
        ranks: list[Cell] = [fmt.count_range(*(row.ranks or (None, None))) for row in board.places]
        columns.append((Column(f"{level} ranks", "count"), ranks))
    if any(row.p_best is not None for row in board.places):
        p_values: list[Cell] = [row.p_best for row in board.places]
        columns.append((Column("Holm p vs best", "p", is_optional=True), p_values))
    if any(row.letters for row in board.places):
        columns.append((Column("alike"), [row.letters or None for row in board.places]))
    cells = [column_cells for _, column_cells in columns]
    more = [f"{board.tied_out} more with the last score"] if board.tied_out else []
    return Table(fmt.display_name(board.name), [column for column, _ in columns], list(zip(*cells, strict=True)), more)


def _groups_table(column: str, boards: Sequence[Leaderboard], models: Sequence[str]) -> Table:
    """Groups by models, or models by groups if that is narrower, with n."""
    name, groups = fmt.display_name(column), [fmt.display_name(board.label) for board in boards]
    as_columns = len(groups) <= len(models)
    width = len(groups) if as_columns else len(models)
    by_group = [{row.model: row for row in board.places} for board in boards]
    cells = [
        [_group_cell(rows.get(model), board, width <= _MAX_INTERVALS) for model in models]
        for board, rows in zip(boards, by_group, strict=True)
    ]
    counts = [" / ".join(dict.fromkeys(_count(row) for row in board.places)) for board in boards]
    digits = max((board.digits for board in boards), default=1)
    if as_columns:
        return Table(
            name,
            [Column(name, "name"), *(Column(group, "points", digits, best="highest") for group in groups)],
            [*((model, *row) for model, *row in zip(models, *cells, strict=True)), ("n", *counts)],
            baselines=1,
        )
    return Table(
        name,
        [Column(name), *(Column(model, "points", digits, best="highest") for model in models), Column("n", "count")],
        [(group, *row, count) for group, row, count in zip(groups, cells, counts, strict=True)],
        best_in_rows=True,
    )


def _count(row: LeaderboardRow) -> str:
    return fmt.NONE if row.n is None else fmt.count_text(row.n)


def _group_cell(row: LeaderboardRow | None, board: Leaderboard, has_interval: bool) -> Cell:
    if row is None:
        return None
    mark = _TIED if has_winners(board) and _is_among_best(row, board) else ""
    interval: Interval | None = row.interval if has_interval else None
    return IntervalEstimate(row.score, interval, mark)


def has_winners(board: Leaderboard) -> bool:
    """Whether some models are significantly below the best one."""
    return bool(board.column) and not all(_is_among_best(row, board) for row in board.places)


def _is_among_best(row: LeaderboardRow, board: Leaderboard) -> bool:
    """Whether the model shares a letter with the best one, or no test says otherwise."""
    best = board.places[0].letters
    return not best or not row.letters or bool(set(best) & set(row.letters))


def group_legend(boards: Sequence[Leaderboard]) -> Iterator[str]:
    """What the marks in tables of groups mean."""
    if any(map(has_winners, boards)):
        yield (f"{_TIED} in a table of groups: the best of the group, and those that cannot be told apart from it")
