"""MMT-Bench's board: Table 2 and Tables A18 to A36 of its paper (arXiv:2404.16006).

A meta-task and the overall score are plain means of subtasks. In Tables A26 to A33 ten models have
each value one column to the left of where it belongs, and Table 2 inherits it: the numbers stay as
printed, and their cells say so (docs/papers.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from snellen.benchmarks.abilities.mmt_bench.summary import (
    META_TASK,
    OVERALL,
    SUBTASK,
    WITHOUT_RECOGNITION,
)
from snellen.benchmarks.abilities.mmt_bench.tasks import by_meta_task, find_subtask, subtasks
from snellen.core.summary import Interval, Metric
from snellen.leaderboard_hub.reported_numbers.model_facts import facts_of_model
from snellen.leaderboard_hub.reported_numbers.numbers import (
    ReportedBoard,
    ReportedRow,
    ReportedTables,
    ReportSource,
    make_summary,
    parse_cell,
    read_paper_table,
)
from snellen.scoring.grouped import interval_of_mean
from snellen.scoring.mmt_bench import VISUAL_RECOGNITION, mean_over_subtasks
from snellen.stats.stratified import GroupSums, ScoreSums

_TITLE, _URL = "MMT-Bench (arXiv:2404.16006)", "https://arxiv.org/abs/2404.16006"
_TABLES = "Table 2, Tables A18 to A36"
GUESSES = ("Frequency Guess", "Random Guess")
SHIFTED_MODELS = frozenset({
    "InternVL-Chat-v1.2-34B", "Qwen-VL-Plus", "GPT-4V", "LLaVA-NEXT-34B", "Yi-VL-34B",
    "DeepSeek-VL-7B", "Yi-VL-6B", "LLaVA-NEXT-13B", "Claude3V-Haiku", "LLaVA-NEXT-7B",
})  # fmt: skip
"""Rows whose values stand one column off in Tables A26 to A33."""
_SHIFTED_CELLS = ("A26", 2), ("A33", 3)
"""First and last of these columns."""
_SHIFT_NOTE = (
    "as printed; in Tables A26 to A33 the values of this model stand one column off, so that it is "
    "not the score of this task"
)
_TOLERANCE = 0.0501


def read_mmt_bench() -> ReportedTables:
    """The 30 models and two guesses of Table 2."""
    accuracies, shifted = _read_accuracies()
    warnings: list[str] = []
    rows = []
    for row in read_paper_table("mmt_table2.csv"):
        model = row["model"]
        warnings += _check_row(row, accuracies[model])
        rows.append(_row(row, accuracies[model], shifted if model in SHIFTED_MODELS else ()))
    warnings += [
        f"mmt-bench: {model}: its values in Tables A26 to A33, and 18 of its meta-tasks in Table "
        "2, are printed one column off"
        for model in accuracies
        if model in SHIFTED_MODELS
    ]
    board = ReportedBoard(
        name="mmt-bench",
        title="MMT-Bench",
        description="162 subtasks of 32 meta-tasks. Overall is the plain mean of the subtasks; the "
        "average rank is that among all rows, guesses included.",
        spec="mmt-bench:split=all",
        layout="mmt",
        rows=tuple(rows),
    )
    return ReportedTables(boards=(board,), warnings=tuple(warnings))


def _read_accuracies() -> tuple[dict[str, dict[str, float]], frozenset[str]]:
    """Accuracies by model and subtask, and the subtasks in the columns that are off for some."""
    accuracies: dict[str, dict[str, float]] = {}
    shifted = set()
    first, last = _SHIFTED_CELLS
    for line in read_paper_table("mmt_subtask_scores.csv"):
        task = find_subtask(line.pop("subtask"))
        assert task is not None
        if first <= (line.pop("table"), int(line.pop("column"))) <= last:
            shifted.add(task.name)
        for model, cell in line.items():
            accuracies.setdefault(model, {})[task.name] = float(cell)
    return accuracies, frozenset(shifted)


def _row(
    row: Mapping[str, str], accuracies: Mapping[str, float], shifted: Collection[str]
) -> ReportedRow:
    model = row["model"]
    is_guess = model in GUESSES
    sizes = {task.name: task.samples for task in subtasks()}
    members = by_meta_task()

    def mean(name: str, printed: str, tasks: Sequence[str], note: str = "") -> Metric:
        interval = None
        if not is_guess and not (_meets(shifted, tasks) and len(tasks) < len(sizes) / 2):
            # A mean over (nearly) all subtasks does not depend on which column a value stands in.
            interval = _interval(tasks, accuracies, sizes)
        return Metric(name, parse_cell(printed), sum(sizes[task] for task in tasks), interval, note)

    everything = [task for tasks in members.values() for task in tasks]
    without = [
        task for meta, tasks in members.items() if meta != VISUAL_RECOGNITION for task in tasks
    ]
    plain = mean_over_subtasks(accuracies, everything)
    assert plain is not None
    note = ""
    if abs(plain - float(row["overall"])) > _TOLERANCE:
        note = f"as printed; the plain mean of the 162 printed accuracies is {plain:.1f}"
    headline = mean(OVERALL, row["overall"], everything, note)
    meta_metrics = {
        meta: mean(
            "accuracy", row[meta], tasks,
            _SHIFT_NOTE if _meets(shifted, tasks) else "",
        )
        for meta, tasks in members.items()
    }  # fmt: skip
    subtask_metrics = {
        task: mean("accuracy", str(accuracies[task]), [task],
                   _SHIFT_NOTE if task in shifted else "")
        for task in everything
    }  # fmt: skip
    return ReportedRow(
        model=model,
        summary=make_summary(
            headline,
            [mean(WITHOUT_RECOGNITION, row["overall_noVR"], without)],
            {META_TASK: meta_metrics, SUBTASK: subtask_metrics},
        ),
        source=ReportSource(
            _TITLE, _URL, _TABLES, f"Average rank {row['avg_rank']}, without visual recognition "
            f"{row['avg_rank_noVR']}.",
        ),
        facts=facts_of_model(model, notes="A guess, no model." if is_guess else ""),
    )  # fmt: skip


def _meets(one: Collection[str], other: Collection[str]) -> bool:
    return any(name in one for name in other)


def _interval(
    tasks: Sequence[str], accuracies: Mapping[str, float], sizes: Mapping[str, int]
) -> Interval | None:
    """The interval of a plain mean, from the right answers nearest to the printed percentages."""
    groups = []
    for task in tasks:
        n = sizes[task]
        right = round(accuracies[task] * n / 100)
        sums = ScoreSums(n, right, right)
        groups.append(GroupSums(sums, sums, {}))
    return interval_of_mean(groups)


def _check_row(row: Mapping[str, str], accuracies: Mapping[str, float]) -> list[str]:
    """Table 2 against Tables A18 to A36: plain means."""
    checks = {"overall": [task for tasks in by_meta_task().values() for task in tasks]}
    checks["overall_noVR"] = [
        task
        for meta, tasks in by_meta_task().items()
        if meta != VISUAL_RECOGNITION
        for task in tasks
    ]
    checks |= {meta: list(tasks) for meta, tasks in by_meta_task().items()}
    problems = []
    for column, tasks in checks.items():
        mean = mean_over_subtasks(accuracies, tasks)
        assert mean is not None
        if abs(mean - float(row[column])) > _TOLERANCE:
            problems.append(
                f"mmt-bench: {row['model']}, {column}: printed as {row[column]}; the plain mean of "
                f"its {len(tasks)} subtasks is {mean:.2f}"
            )
    return problems
