"""docs/design/overview.md names functions that are where it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "design" / "overview.md").read_text(encoding="utf-8")
ROUTE = re.findall(r"^\| \d+ \| `([\w.]+)` \| (\S+\.py) \|", PAGE, re.MULTILINE)


def test_the_route_is_short() -> None:
    assert 15 <= len(ROUTE) <= 25


@pytest.mark.parametrize(("name", "file"), ROUTE)
def test_each_function_of_the_route_exists(name: str, file: str) -> None:
    tree: ast.AST = ast.parse((ROOT / "src" / "snellen" / file).read_text(encoding="utf-8"))
    for part in name.split("."):
        tree = next(
            node for node in ast.iter_child_nodes(tree) if getattr(node, "name", "") == part
        )
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
