"""The pages of the design name functions that are where they say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {
    "overview": ROOT / "src" / "snellen",
    "curate": ROOT / "packages" / "curate" / "src" / "snellen_curate",
    "hub": ROOT / "packages" / "hub" / "src" / "snellen_hub",
}
"""Pages of docs/design, with the folder that their files are in."""
ROW = re.compile(r"^\| \d+ \| `([\w.]+)` \| (\S+\.py) \|", re.MULTILINE)


def route(page: str) -> list[tuple[Path, str]]:
    """The files and functions of a page; a file of another package is named with its folder."""
    text = (ROOT / "docs" / "design" / f"{page}.md").read_text(encoding="utf-8")
    return [
        ((ROOT / "src" if file.startswith("snellen/") else SOURCES[page]) / file, name)
        for name, file in ROW.findall(text.replace("\\_", "_"))
    ]


ROUTES = {page: route(page) for page in SOURCES}


def test_routes_are_short() -> None:
    assert 15 <= len(ROUTES["overview"]) <= 25
    assert all(5 <= len(ROUTES[page]) <= 10 for page in ("curate", "hub"))


@pytest.mark.parametrize(
    ("file", "name"), [one for steps in ROUTES.values() for one in steps], ids=lambda part: getattr(part, "name", part)
)
def test_each_function_of_a_route_exists(file: Path, name: str) -> None:
    tree: ast.AST = ast.parse(file.read_text(encoding="utf-8"))
    for part in name.split("."):
        tree = next(node for node in ast.iter_child_nodes(tree) if getattr(node, "name", "") == part)
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
