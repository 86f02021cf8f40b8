"""Leaderboards as tables: models by benchmarks, each ranking, and its groups side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.report.result_tables import ResultTable
from snellen.scoring.leaderboard import Leaderboard, LeaderboardRow
from snellen.scoring.ranks import average_ranks
from snellen.stats.intervals import DEFAULT_LEVEL

_MAX_INTERVALS = 4
"""Up to this many columns of numbers have intervals; more would not fit."""
_TIED = "*"


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


def models_by_benchmarks(standings: Sequence[ComparableRuns]) -> ResultTable | None:
    """Models by benchmarks with their average rank; None for a single benchmark.

    Of several rankings of a benchmark, the first is its column. Ranks are among the models that
    have every benchmark.
    """
    columns: dict[str, ComparableRuns] = {}
    for standing in standings:
        if standing.headline:
            columns.setdefault(standing.benchmark, standing)
    models = list(dict.fromkeys(model for one in columns.values() for model in one.headline))
    if len(columns) < 2 or len(models) < 2:
        return None
    scores = {one.title: _values(one.headline, models) for one in columns.values()}
    complete = [
        model for model in models if all(scores[title][model] is not None for title in scores)
    ]
    ranks = average_ranks(
        {title: {model: values[model] for model in complete} for title, values in scores.items()}
    )
    last_rank = len(models) + 1
    models = sorted(models, key=lambda model: (ranks.get(model, last_rank), model))
    cells = [
        [_cell(one.headline.get(model), len(columns)) for one in columns.values()]
        for model in models
    ]
    titles = [one.title for one in columns.values()]
    last = [_average_rank(ranks.get(model), scores, model) for model in models]
    if len(titles) <= len(models) or len(models) > _MAX_INTERVALS:
        rows = [(model, *row, rank) for model, row, rank in zip(models, cells, last, strict=True)]
        return ResultTable("models by benchmarks", ("model", *titles, "average rank"), tuple(rows))
    by_title = [(title, *(row[index] for row in cells)) for index, title in enumerate(titles)]
    rows = [*by_title, ("average rank", *last)]
    return ResultTable("benchmarks by models", ("benchmark", *models), tuple(rows), baselines=1)


def _values(headline: Mapping[str, Metric], models: Sequence[str]) -> dict[str, float | None]:
    return {model: headline[model].value if model in headline else None for model in models}


def _cell(metric: Metric | None, columns: int) -> str:
    if metric is None:
        return fmt.NONE
    if columns > _MAX_INTERVALS:
        return fmt.score_text(metric.value)
    return fmt.score_with_interval(metric)


def _average_rank(
    rank: float | None, scores: Mapping[str, Mapping[str, float | None]], model: str
) -> str:
    if rank is not None:
        return f"{rank:.1f}"
    missing = sum(values[model] is None for values in scores.values())
    return f"{fmt.NONE} ({missing} missing)"


def standing_tables(standing: ComparableRuns) -> Iterator[ResultTable]:
    """Each ranking as a table, then the groups of each grouping as columns or rows of one table."""
    for board in standing.boards:
        if board.places and not board.column:
            yield board_table(board)
    columns = dict.fromkeys(board.column for board in standing.boards if board.column)
    for column in columns:
        groups = [board for board in standing.boards if board.column == column and board.places]
        yield _groups_table(column, groups, [row.model for row in standing.boards[0].places])


def board_table(board: Leaderboard) -> ResultTable:
    """A ranking, without columns that no row has."""
    has_n = any(row.n is not None for row in board.places)
    has_ranks = any(row.ranks for row in board.places)
    has_letters = any(row.letters for row in board.places)
    header, level = ["rank", "model", "score"], f"{100 * DEFAULT_LEVEL:g} %"
    header += [f"{level} interval", "n"] if has_n else []
    header += [f"{level} ranks"] if has_ranks else []
    header += ["alike"] if has_letters else []
    rows = []
    for row in board.places:
        cells = [str(row.rank), row.model, f"{row.score:.{board.digits}f}"]
        if has_n:
            n = fmt.NONE if row.n is None else fmt.count_text(row.n)
            cells += [fmt.interval_text(row.interval), n]
        cells += [_rank_range(row.ranks)] if has_ranks else []
        cells += [row.letters or fmt.NONE] if has_letters else []
        rows.append(tuple(cells))
    return ResultTable(
        fmt.display_name(board.name), tuple(header), tuple(rows), 2, remarks=int(has_letters)
    )


def _rank_range(ranks: tuple[int, int] | None) -> str:
    if ranks is None:
        return fmt.NONE
    low, high = ranks
    return str(low) if low == high else f"{low}–{high}"


def _groups_table(column: str, boards: Sequence[Leaderboard], models: Sequence[str]) -> ResultTable:
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
    if as_columns:
        rows = [
            (model, *(group_cells[index] for group_cells in cells))
            for index, model in enumerate(models)
        ]
        return ResultTable(name, (name, *groups), (*rows, ("n", *counts)), baselines=1)
    rows = [
        (group, *group_cells, count)
        for group, group_cells, count in zip(groups, cells, counts, strict=True)
    ]
    return ResultTable(name, (name, *models, "n"), tuple(rows))


def _count(row: LeaderboardRow) -> str:
    return fmt.NONE if row.n is None else fmt.count_text(row.n)


def _group_cell(row: LeaderboardRow | None, board: Leaderboard, with_interval: bool) -> str:
    if row is None:
        return fmt.NONE
    text = f"{row.score:.{board.digits}f}"
    if has_winners(board) and _is_among_best(row, board):
        text += _TIED
    if with_interval and row.interval is not None:
        text += f" ({fmt.interval_text(row.interval)})"
    return text


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
        yield (
            f"{_TIED} in a table of groups: the best of the group, and those that cannot be told "
            "apart from it"
        )
