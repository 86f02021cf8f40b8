"""What boards with groups do where a score lacks some: what is computed, what is left out and said,
and the rows of guessing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from board_rows import add_board, number, publish, sqlite_hub, summary

from snellen.benchmarks.abilities.mme.subtasks import AREAS, SUBTASKS
from snellen.benchmarks.abilities.mmt_bench.tasks import by_meta_task, meta_tasks
from snellen.core.summary import Metric, Summary
from snellen_hub.boards.layouts import find_layout, has_levels, layout_name
from snellen_hub.boards.pages import read_tables
from snellen_hub.boards.radar import radar_chart
from snellen_hub.boards.tables import BoardPage
from snellen_hub.hub import Hub


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    opened = sqlite_hub(tmp_path)
    yield opened
    opened.close()


def board(hub: Hub, spec: str, scores: Mapping[str, Summary]) -> BoardPage:
    with hub.database.writing() as session:
        row = add_board(session, "board", spec=spec)
        for model, numbers in scores.items():
            publish(session, row, model, numbers, kind="submitted")
        return read_tables(session, hub, row)


def mme(names: Sequence[str], areas: Mapping[str, float] | None = None) -> Summary:
    points = {name: number("score", 100.0, 60, unit="points", top=200.0) for name in names}
    groups: dict[str, Mapping[str, Metric]] = {"category": points}
    if areas:
        groups["l2-category"] = {name: number(name, value) for name, value in areas.items()}
    return summary(number("total", None, 0, unit="points", top=2800.0), groups=groups)


def test_a_sum_needs_every_subtask(hub: Hub) -> None:
    page = board(
        hub,
        "mme",
        {"all": mme(SUBTASKS), "no existence": mme(SUBTASKS[1:]), "as shown": mme(SUBTASKS[1:], {"perception": 901.0})},
    )
    perception, cognition = page.tables[1:3]
    assert {row.model: row.cells["score"].value for row in perception.rows} == {"all": 1000.0, "as shown": 901.0}
    assert perception.rows[0].cells["score"].n == 60 * len(AREAS["perception"])
    assert perception.notices[0] == "1 of 3 models have no number here"
    assert len(cognition.rows) == 3
    assert not [notice for notice in cognition.notices if "no number here" in notice]
    chart = radar_chart(page, ["all"])
    assert [axis.key for axis in chart.axes] == [table.name for table in page.tables[3:]]


def mmt(values: Mapping[str, float], guesses: float | None = None) -> Summary:
    labels = {task: number("accuracy", value, 20) for task, value in values.items()}
    groups: dict[str, Mapping[str, Metric]] = {"category": labels}
    if guesses is not None:
        groups["random guess"] = {meta: number("guess", guesses) for meta in by_meta_task()}
    return summary(number("overall", 50.0, 3000), groups=groups)


def test_guessing_counts_in_average_ranks(hub: Hub) -> None:
    tasks = [task for members in by_meta_task().values() for task in members]
    (first, *_), *_ = by_meta_task().values()
    page = board(
        hub,
        "mmt-bench:split=val",
        {
            "good": mmt(dict.fromkeys(tasks, 60.0), guesses=25.0),
            "poor": mmt(dict.fromkeys(tasks, 20.0)),
            "partial": mmt({task: 90.0 for task in tasks if task != first}),
        },
    )
    rows = {row.model: row for row in page.tables[0].rows}
    ranks = {model: row.cells.get("average-rank") for model, row in rows.items()}
    assert {model: cell.value for model, cell in ranks.items() if cell} == {
        "good": 1.0,
        "Random Guess": 2.0,
        "poor": 3.0,
    }
    assert rows["Random Guess"].evidence == "baseline"
    assert page.tables[0].notices[:3] == (
        "R and R* are among the 3 rows that have all 32 meta-tasks",
        "1 rows lack a meta-task and have neither",
        "guessing counts as a row in ranks, as in the paper",
    )
    recognition = page.table("vr")
    assert recognition is not None
    assert {row.model for row in recognition.rows} == {"good", "poor"}
    assert recognition.rows[0].cells["score"].n == 20 * len(by_meta_task()["VR"])


def test_labels_are_known_in_every_spelling(hub: Hub) -> None:
    """Meta-tasks by abbreviation, and by the name in the published files."""
    labels = {meta.name: number("accuracy", 30.0 + at) for at, meta in enumerate(meta_tasks())}
    numbers = summary(number("overall", 50.0), groups={"l2-category": labels})
    (row,) = board(hub, "mmt-bench", {"m": numbers}).tables[0].rows
    for at, meta in enumerate(meta_tasks()):
        assert row.cells[meta.abbreviation.lower()].value == 30.0 + at


def test_layouts_by_spec_and_by_name() -> None:
    assert layout_name("", "seedbench:version=H,level=L3") == "seed"
    assert layout_name("table", "mme") == "table"
    assert find_layout(layout_name("", "mmbench:split=dev")) is None
    levels = {name: has_levels(name, "") for name in ("", "table", "mme", "mmt", "seed")}
    assert [name for name, has in levels.items() if has] == ["seed"]
