"""MMT-Bench's boards (arXiv:2404.16006, Table 2): Overall and Overall*, the average ranks R and R*,
and a table of each meta-task.

R is a model's mean over the 32 meta-tasks of its competition rank among all rows of the table, the
two ways of guessing included, on values of one decimal; R* leaves visual recognition out. Both are
computed from the displayed values, among the rows that have every meta-task and no mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from snellen.benchmarks.abilities.mmt_bench.summary import (
    FREQUENCY_GUESS,
    META_TASK,
    OVERALL,
    RANDOM_GUESS,
    SUBTASK,
    WITHOUT_RECOGNITION,
)
from snellen.benchmarks.abilities.mmt_bench.tasks import (
    MetaTask,
    by_meta_task,
    find_meta_task,
    find_subtask,
    meta_tasks,
)
from snellen.leaderboard_hub.boards.columns import (
    MODEL_COLUMNS,
    RANK,
    TIER,
    distinct_keys,
    mark_of,
    number_cell,
    rank_rows,
    row_of,
)
from snellen.leaderboard_hub.boards.published import BoardRow
from snellen.leaderboard_hub.boards.tables import BoardCell, BoardColumn, BoardTable, TableRow
from snellen.leaderboard_hub.public_scores import PublicNumber, PublicScore
from snellen.scoring.mmt_bench import VISUAL_RECOGNITION, average_meta_ranks, mean_over_subtasks

_METAS = tuple(meta.abbreviation for meta in meta_tasks())
_KEYS = distinct_keys(_METAS)
_GUESSES = {RANDOM_GUESS: "Random Guess", FREQUENCY_GUESS: "Frequency Guess"}
_R, _R_STAR, _STAR = "average-rank", "average-rank-without-recognition", "without-recognition"


def mmt_tables(title: str, rows: Sequence[BoardRow]) -> list[BoardTable]:
    """Table 2, then a table of each meta-task that some row has."""
    parts = [subtask_numbers(row.score) for row in rows]
    numbers = [_meta_numbers(row.score, own) for row, own in zip(rows, parts, strict=True)]
    lines = list(map(_line, rows, numbers, parts))
    guesses = _guess_rows(rows)
    every = _with_average_ranks([*lines, *guesses])
    overview = BoardTable(
        name="overall",
        title=title,
        section="Overall",
        columns=(RANK, *_OVERALL_COLUMNS, *map(_meta_column, meta_tasks()), *MODEL_COLUMNS),
        rows=tuple(rank_rows(every, "score")),
        notices=_notices(every, bool(guesses)),
        models=len(every),
    )
    return [overview, *_meta_tables(rows, numbers, parts)]


_OVERALL_COLUMNS = (
    BoardColumn("score", "Overall", unit="percent", note="plain mean over the 162 subtasks"),
    BoardColumn(_R, "R", "rank", note="mean of the ranks over the 32 meta-tasks"),
    BoardColumn(_STAR, "Overall*", unit="percent", note="without visual recognition"),
    BoardColumn(_R_STAR, "R*", "rank", note="mean of the ranks without visual recognition"),
    TIER,
)


def _meta_numbers(score: PublicScore, parts: Mapping[str, PublicNumber]) -> dict[str, PublicNumber]:
    """The number of each meta-task by abbreviation; what a score does not show is the mean of its
    subtasks, if all of them are there."""
    numbers = {}
    for label, number in score.groups.get(META_TASK, {}).items():
        meta = find_meta_task(label)
        if meta is not None and number.value is not None:
            numbers[meta.abbreviation] = number
    values = {name: number.value for name, number in parts.items() if number.value is not None}
    for meta_name, members in by_meta_task().items():
        mean = mean_over_subtasks(values, members)
        if meta_name not in numbers and mean is not None:
            numbers[meta_name] = PublicNumber(mean, 0)
    return {meta_name: numbers[meta_name] for meta_name in _METAS if meta_name in numbers}


def subtask_numbers(score: PublicScore) -> dict[str, PublicNumber]:
    """The number of each subtask by its name in the published files."""
    numbers = {}
    for label, number in score.groups.get(SUBTASK, {}).items():
        task = find_subtask(label)
        if task is not None:
            numbers[task.name] = number
    return numbers


def _line(
    row: BoardRow, metas: Mapping[str, PublicNumber], parts: Mapping[str, PublicNumber]
) -> TableRow:
    mark, score = mark_of(row), row.score
    values = {name: number.value for name, number in parts.items() if number.value is not None}
    recognition = set(by_meta_task()[VISUAL_RECOGNITION])
    all_tasks = [task for members in by_meta_task().values() for task in members]
    overall = score.headline if score.name == OVERALL else score.metrics.get(OVERALL)
    overall = _or_mean(overall, values, all_tasks) or score.headline
    star = _or_mean(
        score.metrics.get(WITHOUT_RECOGNITION),
        values,
        [task for task in all_tasks if task not in recognition],
    )
    cells = {"score": number_cell(overall, mark)}
    if star is not None:
        cells[_STAR] = number_cell(star, mark)
    cells |= {_KEYS[meta]: number_cell(number, mark) for meta, number in metas.items()}
    return row_of(row, cells)


def _or_mean(
    number: PublicNumber | None, values: Mapping[str, float], tasks: Sequence[str]
) -> PublicNumber | None:
    """The number, or the mean over subtasks if there is none."""
    if number is not None and number.value is not None:
        return number
    mean = mean_over_subtasks(values, tasks)
    return number if mean is None else PublicNumber(mean, 0)


def _guess_rows(rows: Sequence[BoardRow]) -> list[TableRow]:
    """What guessing scores, as the first submission shows it, unless the table has such rows."""
    names = {row.model.casefold() for row in rows}
    lines = []
    for column, name in _GUESSES.items():
        source = next((row for row in rows if row.score.groups.get(column)), None)
        if source is None or name.casefold() in names:
            continue
        labels = source.score.groups[column]
        cells = {_KEYS[meta]: number_cell(labels[meta]) for meta in _METAS if meta in labels}
        lines.append(TableRow(model=name, cells=cells, evidence="baseline"))
    return lines


def _with_average_ranks(lines: Sequence[TableRow]) -> list[TableRow]:
    """The rows with R and R*."""
    means = {}
    for index, line in enumerate(lines):
        cells = {meta: line.cells.get(_KEYS[meta]) for meta in _METAS}
        values = {
            meta: cell.value
            for meta, cell in cells.items()
            if cell is not None and cell.value is not None and not cell.mark
        }
        if len(values) == len(_METAS):
            means[str(index)] = values
    ranks = average_meta_ranks(means, _METAS)
    star = average_meta_ranks(means, [meta for meta in _METAS if meta != VISUAL_RECOGNITION])
    finished = []
    for index, line in enumerate(lines):
        name = str(index)
        more = {_R: BoardCell(ranks[name]), _R_STAR: BoardCell(star[name])} if name in ranks else {}
        finished.append(structs.replace(line, cells={**line.cells, **more}))
    return finished


def _meta_column(meta: MetaTask) -> BoardColumn:
    return BoardColumn(_KEYS[meta.abbreviation], meta.abbreviation, unit="percent",
                       note=meta.title, is_default=False)  # fmt: skip


def _notices(lines: Sequence[TableRow], has_guesses: bool) -> tuple[str, ...]:
    ranked = sum(_R in line.cells for line in lines)
    notices = [f"R and R* are among the {ranked} rows that have all {len(_METAS)} meta-tasks"]
    if ranked < len(lines):
        notices.append(f"{len(lines) - ranked} rows lack a meta-task and have neither")
    if has_guesses:
        notices.append("guessing counts as a row in ranks, as in the paper")
    return tuple(notices)


def _meta_tables(
    rows: Sequence[BoardRow],
    numbers: Sequence[Mapping[str, PublicNumber]],
    parts: Sequence[Mapping[str, PublicNumber]],
) -> list[BoardTable]:
    tables = []
    for meta in meta_tasks():
        members = by_meta_task()[meta.abbreviation]
        keys = distinct_keys(members, "subtask.")
        lines = []
        for row, own, subtasks in zip(rows, numbers, parts, strict=True):
            if meta.abbreviation not in own:
                continue
            mark = mark_of(row)
            cells = {"score": number_cell(own[meta.abbreviation], mark)}
            cells |= {keys[name]: number_cell(subtasks[name], mark) for name in members
                      if name in subtasks}  # fmt: skip
            lines.append(row_of(row, cells))
        if lines:
            columns = (
                RANK,
                BoardColumn("score", meta.abbreviation, unit="percent",
                            note=f"plain mean over {len(members)} subtasks"),
                TIER,
                *(BoardColumn(keys[name], name.replace("_", " "), unit="percent",
                              is_default=False) for name in members),
                *MODEL_COLUMNS,
            )  # fmt: skip
            ranked = tuple(rank_rows(lines, "score"))
            name = _KEYS[meta.abbreviation]
            tables.append(
                BoardTable(name, meta.title, "Meta-tasks", columns, ranked, models=len(lines))
            )
    return tables
