"""A user's first ten minutes in Python, typed again, what is printed compared."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "getting-started.md"
BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_lines(text: str, names: dict[str, Any]) -> tuple[int, list[str]]:
    """Type lines with `>>>`; returns how many, and what was not as the page says."""
    reports: list[str] = []
    lines = doctest.DocTestParser().get_doctest(text, names, "page", str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    lines.globs = names  # several blocks share what they define
    result = runner.run(lines, out=reports.append, clear_globs=False)
    return result.attempted, reports


def test_page_matches_what_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    typed = 0
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        count, reports = run_lines(block, names)
        assert not reports, "\n".join(reports)
        typed += count
    assert typed >= 30


def test_detects_a_wrong_page() -> None:
    _, reports = run_lines(">>> 1 + 1\n3\n", {})
    assert "Expected:\n    3\nGot:\n    2" in "".join(reports)
