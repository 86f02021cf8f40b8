"""MME's leaderboards (Fig. 2): perception, cognition and the 14 subtasks, ten models each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from snellen.benchmarks.abilities.mme.subtasks import AREAS, IMAGES, SUBTASKS, subtask_name
from snellen.core.benchmark import DataTable
from snellen.core.errors import DataError
from snellen.scoring.leaderboard import Leaderboard, rank_models, recover_counts

_ACCURACY = ("acc", "accuracy")
_ACCURACY_PLUS = ("acc_plus", "acc+", "accuracy_plus", "accuracy+")

SubtaskScores = Mapping[str, Mapping[str, float]]
"""Score of each model in each subtask, 0..200, unrounded."""


class PrintedScores(NamedTuple):
    scores: SubtaskScores
    notices: tuple[str, ...]


def build_boards(scores: SubtaskScores, ranks: int = 10) -> list[Leaderboard]:
    """The 16 boards. A model without all subtasks of an area is not ranked in it."""
    sums = {
        area: {
            model: sum(model_scores[subtask] for subtask in subtasks)
            for model, model_scores in scores.items()
            if all(subtask in model_scores for subtask in subtasks)
        }
        for area, subtasks in AREAS.items()
    }
    each = {
        subtask: {model: model_scores[subtask] for model, model_scores in scores.items() if subtask in model_scores}
        for subtask in SUBTASKS
    }
    return [rank_models(name, ranked, ranks) for name, ranked in {**sums, **each}.items()]


def parse_printed_scores(table: DataTable) -> PrintedScores:
    """Parse scores from a table with the columns model, subtask, acc and acc_plus (percentages).

    Printed percentages are rounded, so their counts are recovered first (`recover_counts`): sums of
    rounded numbers are off by 0.01. Raises DataError for a missing column, a cell that is not a
    percentage, or a duplicate.
    """
    scores: dict[str, dict[str, float]] = {}
    notices: list[str] = []
    for row in table:
        where = f"{table.path}, row {row.index + 1}"
        model = _required_cell(row.cells, ("model",), where)
        subtask = subtask_name(_required_cell(row.cells, ("subtask", "category"), where))
        if subtask not in IMAGES:
            raise DataError(f"{where}: {subtask!r} is no subtask of MME; expected {', '.join(SUBTASKS)}")
        if subtask in scores.setdefault(model, {}):
            raise DataError(f"{where}: {subtask} of {model} stands there already")
        accuracy = _required_percentage(row.cells, _ACCURACY, where)
        plus = _required_percentage(row.cells, _ACCURACY_PLUS, where)
        counts = recover_counts(accuracy, plus, IMAGES[subtask])
        if counts is None:
            notices.append(f"{model}, {subtask}: no counts give {accuracy} and {plus}; as printed")
        elif counts.images < IMAGES[subtask]:
            seen = f"{counts.images} of {IMAGES[subtask]} images"
            notices.append(f"{model}, {subtask}: the numbers fit {seen} only")
        printed = float(accuracy) + float(plus)
        scores[model][subtask] = counts.score if counts is not None else printed
    return PrintedScores(scores, tuple(notices))


def _required_cell(cells: Mapping[str, str], names: tuple[str, ...], where: str) -> str:
    for name in names:
        if name in cells:
            return cells[name].strip()
    raise DataError(
        f"{where}: no {names[0]}; got the columns {', '.join(cells)}; expected model, subtask, acc and acc_plus"
    )


def _required_percentage(cells: Mapping[str, str], names: tuple[str, ...], where: str) -> str:
    text = _required_cell(cells, names, where)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise DataError(f"{where}: {names[0]} is {text!r}; expected a percentage, 0 to 100")
    return text
