"""MMT-Bench's aggregates: by hand, and against every row of the paper's Table 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import pytest
from paper_files import mmt_accuracies, paper_rows

from snellen.benchmarks.abilities.mmt_bench.tasks import by_meta_task, find_subtask
from snellen.scoring.grouped import mean_of_all
from snellen.scoring.mmt_bench import VISUAL_RECOGNITION, average_meta_ranks

SHIFTED = {
    "InternVL-Chat-v1.2-34B",
    "Qwen-VL-Plus",
    "GPT-4V",
    "LLaVA-NEXT-34B",
    "Yi-VL-34B",
    "DeepSeek-VL-7B",
    "Yi-VL-6B",
    "LLaVA-NEXT-13B",
    "Claude3V-Haiku",
    "LLaVA-NEXT-7B",
}
"""Rows whose values stand one column off in the paper's Tables A26 to A33."""
OVERALL_REPRODUCED = {
    "Frequency Guess",
    "Random Guess",
    "GPT-4V",
    "TransCore-M",
    "RBDash-v1-13B",
    "Yi-VL-34B",
    "LLaVA-v1.5-7B",
}
"""The only rows of Table 2 whose Overall is the mean of the 162 printed accuracies."""
ROUNDING = 0.0501


def table(name: str) -> list[dict[str, str]]:
    return mmt_accuracies() if name == "mmt_subtask_scores.csv" else paper_rows(name)


class ModelRow(NamedTuple):
    """A row of the paper's Table 2."""

    overall: float
    average_rank: float
    overall_without_recognition: float
    average_rank_without_recognition: float
    meta_tasks: dict[str, float]


def table_2(subtasks: Mapping[str, Mapping[str, float]], metas: Mapping[str, Sequence[str]]) -> dict[str, ModelRow]:
    """Put together of the rules that a run's summary and a table of runs are made with."""
    means = {
        model: {meta: mean for meta, names in metas.items() if (mean := mean_of_all(row, names)) is not None}
        for model, row in subtasks.items()
    }
    others = [meta for meta in metas if meta != VISUAL_RECOGNITION]
    rank, rank_others = average_meta_ranks(means, list(metas)), average_meta_ranks(means, others)
    rows = {}
    for model, row in subtasks.items():
        overall = mean_of_all(row, [name for names in metas.values() for name in names])
        rest = mean_of_all(row, [name for meta in others for name in metas[meta]])
        assert overall is not None
        assert rest is not None
        rows[model] = ModelRow(overall, rank[model], rest, rank_others[model], means[model])
    return rows


def accuracies(*names: str) -> dict[str, dict[str, float]]:
    """Of the first table, with the cells of the others in their place."""
    found: dict[str, dict[str, float]] = {}
    for row in chain.from_iterable(map(table, names)):
        task = find_subtask(row["subtask"])
        assert task is not None
        found.setdefault(row["model"], {})[task.name] = float(row["accuracy"])
    # In the order of Tables A2 to A4, as the paper added them up.
    order = [task for names in by_meta_task().values() for task in names]
    return {model: {task: values[task] for task in order} for model, values in found.items()}


@pytest.fixture(scope="module")
def printed() -> dict[str, dict[str, str]]:
    return {row["model"]: row for row in table("mmt_table2.csv")}


@pytest.fixture(scope="module")
def recomputed() -> dict[str, ModelRow]:
    return table_2(accuracies("mmt_subtask_scores.csv"), by_meta_task())


def test_every_meta_task_of_table_2(printed, recomputed) -> None:
    cells = [
        (model, meta, round(row.meta_tasks[meta], 1), float(printed[model][meta]))
        for model, row in recomputed.items()
        for meta in by_meta_task()
    ]
    assert len(cells) == 1024
    assert [cell for cell in cells if cell[2] != cell[3]] == []


def test_overall_without_recognition_and_both_ranks_of_table_2(printed, recomputed) -> None:
    assert len(recomputed) == 32
    for model, row in recomputed.items():
        wanted = printed[model]
        assert row.average_rank == pytest.approx(float(wanted["avg_rank"]), abs=ROUNDING), model
        assert row.average_rank_without_recognition == pytest.approx(float(wanted["avg_rank_noVR"]), abs=ROUNDING), (
            model
        )
        assert row.overall_without_recognition == pytest.approx(float(wanted["overall_noVR"]), abs=ROUNDING), model


def test_overall_of_table_2_is_reproduced_in_seven_rows_only(printed, recomputed) -> None:
    close = {
        model for model, row in recomputed.items() if abs(row.overall - float(printed[model]["overall"])) <= ROUNDING
    }
    assert close == OVERALL_REPRODUCED
    worst = max(abs(row.overall - float(printed[m]["overall"])) for m, row in recomputed.items())
    assert worst < 0.4


def test_realigned_columns_change_ten_models_and_no_overall(recomputed) -> None:
    moved = table_2(accuracies("mmt_subtask_scores.csv", "mmt_subtask_scores_realigned.csv"), by_meta_task())
    changed = {model for model in moved if moved[model].meta_tasks != recomputed[model].meta_tasks}
    assert changed == SHIFTED
    for model, row in moved.items():
        assert row.overall == pytest.approx(recomputed[model].overall, abs=1e-9)
    assert round(recomputed["InternVL-Chat-v1.2-34B"].meta_tasks["IQT"], 1) == 84.0
    assert round(moved["InternVL-Chat-v1.2-34B"].meta_tasks["IQT"], 1) == 11.0
    assert round(moved["InternVL-Chat-v1.2-34B"].average_rank, 1) == 5.0


TASKS = {"VR": ("a", "b"), "Loc": ("c",)}


def test_a_mean_needs_all_its_members() -> None:
    assert mean_of_all({"a": 10.0, "b": 30.0}, ("a", "b")) == 20.0
    assert mean_of_all({"a": 10.0}, ("a", "b")) is None


def test_ranks_are_taken_on_printed_values_among_all_rows() -> None:
    rows: dict[str, Mapping[str, float]] = {
        "one": {"a": 50.0, "b": 50.04, "c": 10.0},
        "two": {"a": 50.0, "b": 50.0, "c": 20.0},
        "guess": {"a": 60.0, "b": 60.0, "c": 5.0},
    }
    found = table_2(rows, TASKS)
    assert {name: row.average_rank for name, row in found.items()} == {"one": 2.0, "two": 1.5, "guess": 2.0}
    assert found["one"].overall_without_recognition == 10.0
    assert found["two"].average_rank_without_recognition == 1.0


def test_a_row_without_a_meta_task_has_no_rank() -> None:
    with pytest.raises(KeyError, match="Loc"):
        average_meta_ranks({"one": {"VR": 1.0}}, ["VR", "Loc"])
