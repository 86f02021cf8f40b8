"""The overall scores printed in MMBench's paper follow from its own level-2 cells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from paper_files import paper_rows

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.record import Record

LEVEL = "l2-category"
SPLITS = {
    "mmbench_table3_test_l2.csv": "n_test_inferred",
    "mmbench_table10_dev_l2.csv": "n_dev_inferred",
    "mmbench_table11_test_l2.csv": "n_test_inferred",
    "mmbench_table12_cn_dev_l2.csv": "n_dev_inferred",
    "mmbench_table13_cn_test_l2.csv": "n_test_inferred",
}
ROWS = 142


def records(cells: dict[str, float], sizes: dict[str, int]) -> Iterator[Record]:
    """As many right answers in each group as its printed percentage can only mean."""
    for group, size in sizes.items():
        right = round(cells[group] * size / 100)
        assert abs(100 * right / size - cells[group]) < 0.0501, group
        for number in range(size):
            yield Record(
                id=f"{group}{number}",
                kind="choice",
                question="",
                outcome="answered",
                score=float(number < right),
                groups={LEVEL: group},
            )


def test_every_overall_score_is_the_mean_over_questions() -> None:
    found = 0
    summarise = open_benchmark("mmbench").summarise
    for name, column in SPLITS.items():
        counts = paper_rows("mmbench_split_sizes_inferred.csv")
        sizes = {row["L2_abbr"]: int(row[column]) for row in counts if row["L2_abbr"] != "ALL"}
        for row in paper_rows(name):
            if not row["overall"]:
                continue
            cells = {group: float(row[group]) for group in sizes}
            summary = summarise(list(records(cells, sizes)))
            assert summary.headline.value == pytest.approx(float(row["overall"]), abs=0.0501)
            shown = {group: cell.value for group, cell in summary.groups[LEVEL].items()}
            assert shown == {group: pytest.approx(cells[group], abs=0.0501) for group in cells}
            found += 1
    assert found == ROWS
