"""What VLMEvalKit's and lmms-eval's names mean there and here. The table is written by
`list_names_elsewhere.py` from checkouts of both."""

from __future__ import annotations

import csv
import re
from typing import NamedTuple

import pytest
from list_names_elsewhere import BRIDGE, COLUMNS, NONE, SUITE, TARGET, here, opened

from snellen.benchmarks.declaration.registry import data_facts, list_benchmarks, open_benchmark
from snellen.core.benchmark import final_summary


class Row(NamedTuple):
    tool: str
    name: str
    asks: str
    data: str
    here: str


def _rows() -> list[Row]:
    with TARGET.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    assert tuple(header) == COLUMNS
    return [Row(*row) for row in rows]


ROWS = _rows()
KNOWN = [row for row in ROWS if row.here and not row.here.startswith((NONE, SUITE, BRIDGE))]
BRIDGED = [row for row in ROWS if row.here.startswith(BRIDGE)]
SPLITS = {"dev": "val", "validation": "val", "testmini": "mini", "all": "test"}
OTHER_SPLIT = {
    # The name means a group, or the published file holds the answers of another split.
    "MMMU_DEV_VAL",
    "charxiv_val_descriptive",
    "charxiv_val_reasoning",
    "mmt_mi_test",
    "mmt_test",
    "mmvp",
    "dude",
    "slidevqa",
    "mmstar",
    "egoschema",
    "egoschema_subset",
}


def test_the_table_holds_both_tools() -> None:
    tools = {tool: sum(row.tool == tool for row in ROWS) for tool in ("VLMEvalKit", "lmms-eval")}
    assert tools["VLMEvalKit"] > 500
    assert tools["lmms-eval"] > 1500
    assert len(KNOWN) > 280
    assert len(BRIDGED) > 1000


def test_every_benchmark_of_theirs_that_we_have_is_in_the_table() -> None:
    unmentioned = {known.name for known in list_benchmarks()} - {row.here.partition(":")[0] for row in KNOWN}
    assert unmentioned == {
        "activitynet-captions",
        "cord",
        "core-mm",
        "pixmo-points",
        "eyechart",
        "eyechart-pages",
        "eyechart-places",
        "mm-mt-bench",
        "omnidocbench-v15",
        "spatialviz",
    }


@pytest.mark.parametrize("row", KNOWN + BRIDGED[::20], ids=lambda row: f"{row.tool}-{row.name}")
def test_a_name_means_here_what_the_table_says(row: Row) -> None:
    assert here(row.name) == row.here


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: f"{row.tool}-{row.name}")
def test_a_name_asks_as_it_does_there_or_says_that_it_does_not(row: Row) -> None:
    made = opened(row.name)
    ranked = made.parameters.get("protocol") == "ranking"
    if ranked == (row.asks == "ranking") or row.asks == "group":
        return
    assert row.tool in made.notice
    assert row.name in made.notice


@pytest.mark.parametrize(
    "row", [row for row in KNOWN if row.tool == "lmms-eval" and row.asks != "group"], ids=lambda row: row.name
)
def test_a_name_means_the_split_that_it_means_there(row: Row) -> None:
    split = row.data.rpartition(" ")[2]
    mine = opened(row.name).parameters.get("split")
    if mine is None or row.name in OTHER_SPLIT or not re.fullmatch(r"[a-z]+", split):
        return
    assert SPLITS.get(split, split) == SPLITS.get(mine, mine)


def test_ranking_under_a_generation_name_is_reported_first_and_in_info() -> None:
    made = open_benchmark("seedbench")
    assert final_summary(made, ()).notices[0].startswith("lmms-eval's seedbench has the model write")
    assert "seedbench:protocol=generate" in data_facts("seedbench")["elsewhere"]
    for plain in ("seedbench:protocol=generate", "SEED-Bench", "SEEDBench_IMG"):
        assert not open_benchmark(plain).notice
