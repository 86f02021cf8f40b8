"""MME's boards (arXiv:2306.13394, Fig. 2): perception, cognition and the 14 subtasks, each with the
score, which is accuracy + accuracy+, and both of them; before these the total with all scores side
by side. The paper lists the ten best models of each; here all are listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.benchmarks.abilities.mme.subtasks import (
    ABILITY,
    AREAS,
    SUBTASK,
    SUBTASKS,
    TOP,
    subtask_name,
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
from snellen.leaderboard_hub.boards.tables import BoardCell, BoardColumn, BoardTable
from snellen.leaderboard_hub.public_scores import PublicNumber, PublicScore

_KEYS = distinct_keys((*AREAS, *SUBTASKS))
_PARTS = (("accuracy", "Accuracy", "of questions"),
          ("accuracy_plus", "Accuracy+", "of images with both questions right"))  # fmt: skip
_DIGITS = 2


class MmeScores(NamedTuple):
    """The numbers of a submission by area and subtask; areas without a number are missing."""

    scores: Mapping[str, PublicNumber]
    accuracy: Mapping[str, PublicNumber]
    accuracy_plus: Mapping[str, PublicNumber]


def mme_tables(title: str, rows: Sequence[BoardRow]) -> list[BoardTable]:
    """The table of totals, then the sixteen boards."""
    numbers = [mme_scores(row.score) for row in rows]
    return [
        _overview(title, rows, numbers),
        *(_board(area, "Sums", rows, numbers, subtasks) for area, subtasks in AREAS.items()),
        *(
            _board(subtask, area.capitalize(), rows, numbers, ())
            for area, subtasks in AREAS.items()
            for subtask in subtasks
        ),
    ]


def mme_scores(score: PublicScore) -> MmeScores:
    """What a score shows by area and subtask. An area that it does not show is the sum of its
    subtasks, if all of them are there."""
    by_subtask = _by_subtask(score, SUBTASK)
    areas = {
        area: number
        for area, number in score.groups.get(ABILITY, {}).items()
        if number.value is not None
    }
    for area, subtasks in AREAS.items():
        number = areas.get(area) or score.metrics.get(area)
        if number is None or number.value is None:
            number = _sum(by_subtask, subtasks)
        if number is not None:
            areas[area] = number
    return MmeScores(
        {**areas, **by_subtask},
        _by_subtask(score, "accuracy"),
        _by_subtask(score, "accuracy_plus"),
    )


def _by_subtask(score: PublicScore, column: str) -> dict[str, PublicNumber]:
    named = {subtask_name(label): number for label, number in score.groups.get(column, {}).items()}
    return {
        subtask: named[subtask]
        for subtask in SUBTASKS
        if subtask in named and named[subtask].value is not None
    }


def _sum(numbers: Mapping[str, PublicNumber], subtasks: Sequence[str]) -> PublicNumber | None:
    if any(subtask not in numbers for subtask in subtasks):
        return None
    parts = [numbers[subtask] for subtask in subtasks]
    return PublicNumber(
        sum(part.value or 0.0 for part in parts),
        sum(part.n for part in parts) if all(part.n for part in parts) else 0,
        unit="points",
        top=TOP * len(parts),
    )


def _overview(title: str, rows: Sequence[BoardRow], numbers: Sequence[MmeScores]) -> BoardTable:
    columns = [
        RANK,
        BoardColumn("score", "Total", unit="points", note="perception + cognition, 0 to 2800",
                    digits=_DIGITS, top=TOP * len(SUBTASKS)),
        TIER,
        *(_score_column(name, is_default=name in AREAS) for name in (*AREAS, *SUBTASKS)),
        *MODEL_COLUMNS,
    ]  # fmt: skip
    lines = []
    for row, own in zip(rows, numbers, strict=True):
        mark = mark_of(row)
        cells = {_KEYS[name]: number_cell(number, mark) for name, number in own.scores.items()
                 if name in _KEYS}  # fmt: skip
        lines.append(row_of(row, {"score": number_cell(row.score.headline, mark), **cells}))
    return BoardTable("total", title, "Total", tuple(columns), tuple(rank_rows(lines, "score")),
                      models=len(lines))  # fmt: skip


def _board(
    name: str,
    section: str,
    rows: Sequence[BoardRow],
    numbers: Sequence[MmeScores],
    parts: Sequence[str],
) -> BoardTable:
    """The board of an area, with its subtasks as `parts`, or of a subtask. A model without a number
    is not on it."""
    top = int(TOP) * max(1, len(parts))
    columns = [
        RANK,
        BoardColumn("score", "Score", unit="points", note=f"accuracy + accuracy+, 0 to {top}",
                    digits=_DIGITS, top=top),
        TIER,
        *(BoardColumn(key, label, unit="percent", note=note, digits=_DIGITS)
          for key, label, note in _PARTS if not parts),
        *(_score_column(part, is_default=False) for part in parts),
        *MODEL_COLUMNS,
    ]  # fmt: skip
    lines = []
    for row, own in zip(rows, numbers, strict=True):
        if name in own.scores:
            cells = dict(_board_cells(row, own, name, parts))
            lines.append(row_of(row, cells))
    absent = len(rows) - len(lines)
    notices = (f"{absent} of {len(rows)} models have no number here",) if absent else ()
    return BoardTable(
        _KEYS[name],
        _title(name),
        section,
        tuple(columns),
        tuple(rank_rows(lines, "score")),
        notices=notices,
        models=len(lines),
    )


def _board_cells(
    row: BoardRow, own: MmeScores, name: str, parts: Sequence[str]
) -> Iterator[tuple[str, BoardCell]]:
    mark = mark_of(row)
    yield "score", number_cell(own.scores[name], mark)
    for key, values in (("accuracy", own.accuracy), ("accuracy_plus", own.accuracy_plus)):
        if name in values:
            yield key, number_cell(values[name], mark)
    for part in parts:
        if part in own.scores:
            yield _KEYS[part], number_cell(own.scores[part], mark)


def _score_column(name: str, *, is_default: bool) -> BoardColumn:
    return BoardColumn(_KEYS[name], _title(name), unit="points", is_default=is_default,
                       digits=_DIGITS, top=TOP * len(AREAS.get(name, (name,))))  # fmt: skip


def _title(name: str) -> str:
    words = name.replace("_", " ")
    return words if words.isupper() else words.capitalize()
