"""What many models score on many tasks, from CSV files."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from snellen.benchmarks.mmt_bench.tasks import by_cluster, find_subtask
from snellen.core.errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_TASK = ("subtask", "task", "category")
_SCORE = ("accuracy", "score", "value")


@dataclass(frozen=True, slots=True)
class TaskScores:
    """Scores of models on tasks."""

    models: tuple[str, ...]
    tasks: tuple[str, ...]
    values: NDArray[float64]
    """In percent, of shape (models, tasks); NaN where a model has no score."""

    def select_tasks(self, tasks: Sequence[str]) -> TaskScores:
        """The same for these tasks, in this order. Raises UsageError for one that is not here."""
        places = {name: place for place, name in enumerate(self.tasks)}
        absent = [name for name in tasks if name not in places]
        if absent:
            raise UsageError(
                f"no model has a score on {absent[0]!r}{_more(absent)}; the scores and the tasks "
                f"must use the same names{_suggestion(absent[0], self.tasks)}"
            )
        return TaskScores(
            self.models, tuple(tasks), self.values[:, [places[name] for name in tasks]]
        )

    def without_models(self, models: Iterable[str]) -> TaskScores:
        """The same without these models. Raises UsageError for an unknown name, and when fewer
        than two models are left."""
        left_out = set(models)
        for name in sorted(left_out - set(self.models)):
            raise UsageError(
                f"there is no model {name!r} to leave out{_suggestion(name, self.models)}"
            )
        kept = [place for place, name in enumerate(self.models) if name not in left_out]
        if len(kept) < 2:
            raise UsageError(f"{len(kept)} models are left; ranks need at least two")
        return TaskScores(tuple(self.models[at] for at in kept), self.tasks, self.values[kept])


def scores_from_cells(cells: Mapping[tuple[str, str], float]) -> TaskScores:
    """Scores by (model, task), models and tasks in the order they come in."""
    models = tuple(dict.fromkeys(model for model, _ in cells))
    tasks = tuple(dict.fromkeys(task for _, task in cells))
    rows = {name: at for at, name in enumerate(models)}
    columns = {name: at for at, name in enumerate(tasks)}
    values = np.full((len(models), len(tasks)), np.nan)
    for (model, task), score in cells.items():
        values[rows[model], columns[task]] = score
    return TaskScores(models, tasks, values)


def read_scores(path: Path | str) -> TaskScores:
    """A CSV with a row for each model and task: the columns model, subtask (or task, category)
    and accuracy (or score, value); others are left alone. An empty score or `-` is none.

    Raises DataError, naming the line."""
    cells: dict[tuple[str, str], float] = {}
    for line, row in _rows(path, (("model",), _TASK, _SCORE)):
        model, task, told = row
        if (model, task) in cells:
            raise DataError(f"{path}, line {line}: {model!r} has a second score on {task!r}")
        if told not in ("", "-"):
            cells[model, task] = _parse_number(path, line, told)
    if len({model for model, _ in cells}) < 2:
        raise DataError(f"{path} has scores of fewer than two models; ranks need at least two")
    return scores_from_cells(cells)


def read_overall(path: Path | str) -> dict[str, float]:
    """A CSV with a row for each model: the columns model and overall. Raises DataError."""
    found = _rows(path, (("model",), ("overall",)))
    return {model: _parse_number(path, line, told) for line, (model, told) in found}


def read_clusters(path: Path | str) -> dict[str, tuple[str, ...]]:
    """A CSV with a row for each task: the columns cluster and subtask (or task, category); the
    tasks of each cluster. Raises DataError."""
    clusters: dict[str, list[str]] = {}
    seen: dict[str, int] = {}
    for line, (cluster, task) in _rows(path, (("cluster",), _TASK)):
        if task in seen:
            raise DataError(f"{path}, line {line}: {task!r} is already in line {seen[task]}")
        seen[task] = line
        clusters.setdefault(cluster, []).append(task)
    return {name: tuple(tasks) for name, tasks in clusters.items()}


def published_clusters(tasks: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The paper's 12 clusters (Appendix A) of those of its subtasks that are among `tasks`, in
    whatever spelling. Raises UsageError for a task that is none of MMT-Bench's."""
    spelled: dict[str, list[str]] = {}
    for task in tasks:
        subtask = find_subtask(task)
        if subtask is None:
            raise UsageError(
                f"{task!r} is no subtask of MMT-Bench, so it is in none of the paper's clusters; "
                "give a number or a CSV to --clusters"
            )
        spelled.setdefault(subtask.name, []).append(task)
    found = {
        cluster: tuple(task for name in names for task in spelled.get(name, ()))
        for cluster, names in by_cluster().items()
    }
    return {cluster: members for cluster, members in found.items() if members}


def _rows(
    path: Path | str, columns: Sequence[Sequence[str]]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line number and the wanted cells of each row; each is called by one of several names."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = list(reader.fieldnames or ())
            names = [next((one for one in several if one in header), None) for several in columns]
            for several, name in zip(columns, names, strict=True):
                if name is None:
                    raise DataError(
                        f"{path} has no column {' or '.join(several)}; its first line is "
                        f"{','.join(header)!r}"
                    )
            for row in reader:
                yield reader.line_num, tuple((row[name or ""] or "").strip() for name in names)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as CSV: {error}") from error


def _parse_number(path: Path | str, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{path}, line {line}: {text!r} is no number") from None


def _suggestion(name: str, candidates: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, candidates, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""
