"""MM-IFEval's rows: questions with constraints, and the same questions without one of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.judged import first_cell
from snellen.core.errors import DataError
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_id

LEVEL = "level"
ANSWERS = "P-Level"
"""Level of the questions whose replies are compared with a list of answers."""
RULES, JUDGED, COMPARED = "rule_based", "direct_gpt", "cmp_gpt"
_WITHOUT_CONSTRAINT = "aux_cmp_gpt"


class CheckCall(Struct, frozen=True):
    """A check of `text_constraints` with its parameters."""

    func: str
    params: list[Any] = []


class Method(Struct, frozen=True):
    """How it is found out whether a reply keeps to a constraint."""

    method: Literal["rule_based", "direct_gpt", "cmp_gpt"]
    verify_funcs: list[CheckCall] = []


class Constraint(Struct, frozen=True):
    key: str
    value: str
    judge: Method


class PlainQuestion(Struct, frozen=True):
    """The question without one constraint, a row of its own in the data."""

    row: str
    question: str


class ConstrainedTask(Struct, frozen=True):
    """What a reply is held against."""

    constraints: list[Constraint] = []
    without: dict[str, PlainQuestion] = {}
    """The question without a constraint, by that constraint's key."""


def ifeval_samples(rows: Iterable[Row]) -> Iterator[Sample]:
    """A sample for each question; rows that ask it without a constraint join it. Its hint is its
    `ConstrainedTask` as JSON, its gold the list of answers, or the texts of the constraints. Raises
    DataError."""
    path = str(getattr(rows, "path", "mm-ifeval"))
    every = list(rows)
    without: dict[str, dict[str, PlainQuestion]] = defaultdict(dict)
    for row in every:
        if first_cell(row.cells, "infer_type") == _WITHOUT_CONSTRAINT:
            plain = PlainQuestion(row_id(row), first_cell(row.cells, "question"))
            without[_task_name(row.cells)][first_cell(row.cells, "del_cons")] = plain
    for row in every:
        cells = row.cells
        if first_cell(cells, "infer_type") == _WITHOUT_CONSTRAINT:
            continue
        level = first_cell(cells, "tag")
        task = ConstrainedTask()
        gold = first_cell(cells, "answer")
        if level != ANSWERS:
            constraints = _constraints(cells, f"{path}, row {row.index + 1}")
            task = ConstrainedTask(constraints, without[_task_name(cells)])
            gold = "\n".join(constraint.value for constraint in constraints)
            _check_complete(task, f"{path}, row {row.index + 1}")
        yield Sample(
            id=row_id(row),
            kind="open",
            question=first_cell(cells, "question"),
            gold=(gold,) if gold else (),
            media=row.media,
            hint=msgspec.json.encode(task).decode(),
            groups={LEVEL: level} if level else {},
        )


def task_of(sample: Sample) -> ConstrainedTask:
    return msgspec.json.decode(sample.hint, type=ConstrainedTask)


def _task_name(cells: Mapping[str, str]) -> str:
    return first_cell(cells, "id")


def _constraints(cells: Mapping[str, str], where: str) -> list[Constraint]:
    try:
        found = msgspec.json.decode(first_cell(cells, "constraints"), type=list[Constraint])
    except msgspec.DecodeError as error:
        raise DataError(
            f"{where}: `constraints` cannot be read ({error}); expected a JSON list of objects "
            "with key, value and judge, as in MM-IFEval.tsv"
        ) from error
    if not found:
        raise DataError(f"{where}: `constraints` is empty; expected at least one")
    return found


def _check_complete(task: ConstrainedTask, where: str) -> None:
    """Raises DataError if a constraint cannot be judged, for lack of the question without it."""
    for constraint in task.constraints:
        if constraint.judge.method == COMPARED and constraint.key not in task.without:
            raise DataError(
                f"{where}: the constraint {constraint.key!r} is judged beside a reply to the "
                f"question without it, and no row has infer_type {_WITHOUT_CONSTRAINT}, the same "
                "id and this del_cons"
            )
