"""The page of what the papers define: its commands, tests and pages exist, and the page of the
papers' numbers is drawn from their tables."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def _script(name: str) -> dict[str, Any]:
    """The names that a script of docs/ defines."""
    sys.path.insert(0, str(DOCS))
    try:
        return runpy.run_path(str(DOCS / name))
    finally:
        sys.path.remove(str(DOCS))


ROWS = tuple(_script("paper_rows.py")["read_rows"]())
PAPERS = ("VLMEvalKit", "MMBench", "MME", "MMT-Bench", "SEED-Bench-H", "Beyond the papers")


@cache
def _tests_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_paper_has_its_rows() -> None:
    assert tuple(dict.fromkeys(row.paper for row in ROWS)) == PAPERS
    assert len({(row.paper, row.what) for row in ROWS}) == len(ROWS)
    assert [row.what for row in ROWS if row.partly and not row.note] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_a_row_has_a_page_and_at_most_ten_commands(row: Any) -> None:
    assert (DOCS / row.page.partition("#")[0]).is_file()
    assert 1 <= len(row.commands) <= 10


def test_images_of_the_papers_numbers_are_in_step() -> None:
    done = subprocess.run([sys.executable, str(DOCS / "paper_figures.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


OFF = {
    "Table 2, OpenVLM leaderboard: general capability": 1,
    "Figure 2, sixteen boards of ten": 1,
    "Table 2, Overall and average ranks": 25,
    "Table 4, accuracy of the clusters": 2,
    "Table 4, Kendall's tau of the clusters": 1,
    "Table 2, levels and parts": 7,
    "Table 3, subparts": 7,
}
"""Numbers that differ from the printed ones; docs/papers.md says why."""


def test_recomputed_numbers_that_differ_are_known() -> None:
    tables = [table for paper in _script("paper_figures.py")["PAPERS"] for table in paper.tables()]
    assert sum(len(table.numbers) for table in tables) == 1720
    assert {table.title: len(table.differing()) for table in tables if table.differing()} == OFF
    for table in tables:
        file, _, name = table.test.partition("::")
        assert name in _tests_of(ROOT / file)
