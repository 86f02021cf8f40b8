"""No package grows beyond the lines of Python that docs/design/decisions.md allows it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from structure import count_lines, packages  # noqa: E402

PAGE = ROOT / "docs" / "design" / "decisions.md"
ROW = re.compile(r"^\| (snellen[\w-]*) \| ([\d,]+) \| (.+) \|$", re.MULTILINE)


def budgets(text: str) -> dict[str, int]:
    return {name: int(lines.replace(",", "")) for name, lines, reason in ROW.findall(text) if reason}


def excess(name: str, lines: int, allowed: dict[str, int]) -> str:
    """A sentence about a package that is larger than its budget; empty if it is not."""
    if lines <= allowed[name]:
        return ""
    return (
        f"{name} has {lines:,} lines of Python, and its budget is {allowed[name]:,}: delete "
        "some, or raise the budget in docs/design/decisions.md and say what for"
    )


@pytest.mark.parametrize("package", packages(ROOT), ids=lambda package: package.name)
def test_a_package_stays_within_its_budget(package: object) -> None:
    name, source = package  # type: ignore[misc]
    assert not excess(name, count_lines(source), budgets(PAGE.read_text("utf-8")))


def test_growth_and_a_missing_reason_are_found() -> None:
    allowed = budgets("| snellen | 1,000 | because |\n| snellen-hub | 7 |  |\n")
    assert allowed == {"snellen": 1000}
    assert "raise the budget" in excess("snellen", 1001, allowed)
    assert not excess("snellen", 1000, allowed)
