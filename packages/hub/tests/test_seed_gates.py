"""Who stands on the tables of SEED-Bench-H: by declared and by observed capability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from board_rows import add_board, number, publish, sqlite_hub, summary

from snellen.benchmarks.abilities.seedbench.levels import dimensions
from snellen.core.summary import Metric, Summary
from snellen_hub.boards.pages import read_tables
from snellen_hub.boards.tables import BoardPage
from snellen_hub.hub import Hub

LEVELS = {dimension.name: dimension.level for dimension in dimensions()}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    opened = sqlite_hub(tmp_path)
    yield opened
    opened.close()


def scores(lacks: str = "", *, note: str = "", value: float = 0.0) -> Summary:
    """50 % in every dimension; in those of a level that it lacks, `value` and the note."""
    labels: Mapping[str, Metric] = {
        name: number("accuracy", value, 40, note=note)
        if level == lacks
        else number("accuracy", 50.0, 40, note="39 of 40 answers valid: 1 refused")
        for name, level in LEVELS.items()
    }
    return summary(number("L3", 45.0, 1360), groups={"dimension": labels})


def board(hub: Hub, *, is_hidden: bool) -> BoardPage:
    with hub.database.writing() as session:
        row = add_board(session, "seed", layout="seed", is_hidden=is_hidden)
        for model, level, numbers in (
            ("all", "", scores()),
            ("declares L1", "L1", scores()),
            ("declares L3", "L3", scores()),
            ("draws nothing", "", scores("L3", note="0 of 40 answers valid: 40 missing")),
            ("draws badly", "L3", scores("L3", note="40 of 40 answers valid", value=2.5)),
        ):
            facts = {"capability": level} if level else {}
            publish(session, row, model, numbers, kind="submitted", facts=facts)
        return read_tables(session, hub, row)


@pytest.mark.parametrize("is_hidden", [False, True], ids=["open", "hidden"])
def test_models_on_each_capability_level(hub: Hub, is_hidden: bool) -> None:
    page = board(hub, is_hidden=is_hidden)
    found = {
        table.name: {row.model: row.level for row in table.rows} for table in page.tables if table.section == "Levels"
    }
    lowest = {"all": "L3", "declares L1": "L1", "declares L3": "L3", "draws nothing": "L2", "draws badly": "L3"}
    assert found["l1"] == lowest
    assert found["l2"] == {model: level for model, level in lowest.items() if level != "L1"}
    assert found["l3"].keys() == {"all", "declares L3", "draws badly"}
    notices = " ".join(next(table for table in page.tables if table.name == "l3").notices)
    assert "not here: declares L1: declares L1" in notices
    assert "has no valid answer to Text-to-Image Generation" in notices
