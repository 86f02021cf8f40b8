"""Scores of many models on many tasks, read from CSV files."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.benchmarks.abilities.mmt_bench.tasks import by_cluster, find_subtask
from snellen.core.arrays import Floats, np
from snellen.core.errors import DataError, UsageError

_TASK = ("subtask", "task", "category")
_SCORE = ("accuracy", "score", "value")


@dataclass(frozen=True, slots=True)
class TaskScores:
    """The scores of models on tasks."""

    models: tuple[str, ...]
    tasks: tuple[str, ...]
    values: Floats
    """In percent, shape (models, tasks), NaN for a missing score."""

    def select_tasks(self, tasks: Sequence[str]) -> TaskScores:
        """The scores on these tasks, in this order. Raises UsageError for an unknown task."""
        column_of = {name: column for column, name in enumerate(self.tasks)}
        absent = [name for name in tasks if name not in column_of]
        if absent:
            raise UsageError(
                f"no model has a score on {absent[0]!r}{_more(absent)}; the scores and the tasks "
                f"must use the same names{_suggestion(absent[0], self.tasks)}"
            )
        return TaskScores(self.models, tuple(tasks), self.values[:, [column_of[name] for name in tasks]])

    def without_models(self, models: Iterable[str]) -> TaskScores:
        """The scores without these models. Raises UsageError for an unknown model, and if fewer
        than two models remain."""
        left_out = set(models)
        for name in sorted(left_out - set(self.models)):
            raise UsageError(f"there is no model {name!r} to leave out{_suggestion(name, self.models)}")
        rows = [row for row, name in enumerate(self.models) if name not in left_out]
        if len(rows) < 2:
            raise UsageError(f"{len(rows)} models are left; ranks need at least two")
        return TaskScores(tuple(self.models[row] for row in rows), self.tasks, self.values[rows])


def scores_from_cells(cells: Mapping[tuple[str, str], float]) -> TaskScores:
    """Scores from cells by (model, task); models and tasks keep the order in which they first
    occur."""
    models = tuple(dict.fromkeys(model for model, _ in cells))
    tasks = tuple(dict.fromkeys(task for _, task in cells))
    rows = {name: row for row, name in enumerate(models)}
    columns = {name: column for column, name in enumerate(tasks)}
    values = np.full((len(models), len(tasks)), np.nan)
    for (model, task), score in cells.items():
        values[rows[model], columns[task]] = score
    return TaskScores(models, tasks, values)


def read_scores(path: Path | str) -> TaskScores:
    """Read a CSV file with a row for each model and task: the columns model, subtask (or task,
    category) and accuracy (or score, value); other columns are ignored. An empty score or `-` is a
    missing score.

    Raises DataError that names the line.
    """
    cells: dict[tuple[str, str], float] = {}
    for line, row in _rows(path, (("model",), _TASK, _SCORE)):
        model, task, score = row
        if (model, task) in cells:
            raise DataError(f"{path}, line {line}: {model!r} has a second score on {task!r}")
        if score not in ("", "-"):
            cells[model, task] = _parse_number(path, line, score)
    if len({model for model, _ in cells}) < 2:
        raise DataError(f"{path} has scores of fewer than two models; ranks need at least two")
    return scores_from_cells(cells)


def read_overall(path: Path | str) -> dict[str, float]:
    """Read a CSV file with a row for each model: the columns model and overall. Raises
    DataError."""
    rows = _rows(path, (("model",), ("overall",)))
    return {model: _parse_number(path, line, score) for line, (model, score) in rows}


def read_clusters(path: Path | str) -> dict[str, tuple[str, ...]]:
    """Read a CSV file with a row for each task: the columns cluster and subtask (or task,
    category). Returns the tasks of each cluster. Raises DataError."""
    clusters: dict[str, list[str]] = {}
    seen: dict[str, int] = {}
    for line, (cluster, task) in _rows(path, (("cluster",), _TASK)):
        if task in seen:
            raise DataError(f"{path}, line {line}: {task!r} is already in line {seen[task]}")
        seen[task] = line
        clusters.setdefault(cluster, []).append(task)
    return {name: tuple(tasks) for name, tasks in clusters.items()}


def published_clusters(tasks: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The paper's 12 clusters (Appendix A), as far as their subtasks are among `tasks`; spelling
    does not matter. Raises UsageError for a task that is not a subtask of MMT-Bench."""
    spelled: dict[str, list[str]] = {}
    for task in tasks:
        subtask = find_subtask(task)
        if subtask is None:
            raise UsageError(
                f"{task!r} is no subtask of MMT-Bench, so it is in none of the paper's clusters; "
                "give a number or a CSV: --map clusters=..."
            )
        spelled.setdefault(subtask.name, []).append(task)
    clusters = {
        cluster: tuple(task for name in names for task in spelled.get(name, ()))
        for cluster, names in by_cluster().items()
    }
    return {cluster: members for cluster, members in clusters.items() if members}


def _rows(path: Path | str, columns: Sequence[Sequence[str]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the line number and the requested cells of each row; `columns` holds the accepted names
    of each column. Raises DataError."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = list(reader.fieldnames or ())
            names = [next((name for name in accepted if name in header), None) for accepted in columns]
            for accepted, name in zip(columns, names, strict=True):
                if name is None:
                    raise DataError(
                        f"{path} has no column {' or '.join(accepted)}; its first line is {','.join(header)!r}"
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
