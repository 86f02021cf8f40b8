"""The rules of the house that a machine can check."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from docs.structure import packages

import snellen

PACKAGES = {package.source.name: package.source for package in packages()}
PACKAGE = PACKAGES["snellen"]
FILES = [path for source in PACKAGES.values() for path in sorted(source.rglob("*.py"))]

MAY_IMPORT = {
    "core": set(),
    "settings": {"core"},
    "data": {"core", "settings"},
    "prompts": {"core", "settings"},
    "models": {"core", "settings"},
    "extract": {"core", "settings"},
    "stats": {"core", "settings"},
    "scoring": {"core", "settings", "stats"},
    "generated_code": {"core", "settings"},
}
LEAVES = set(MAY_IMPORT)
MAY_IMPORT["benchmarks"] = LEAVES
MAY_IMPORT["store"] = LEAVES
MAY_IMPORT["engine"] = LEAVES | {"benchmarks", "store"}
MAY_IMPORT["bridge"] = MAY_IMPORT["engine"] | {"engine"}
MAY_IMPORT["data_sets"] = LEAVES | {"benchmarks", "store"}
MAY_IMPORT["analysis"] = MAY_IMPORT["engine"] | {"engine"}
MAY_IMPORT["taskmap"] = MAY_IMPORT["analysis"] | {"analysis"}
MAY_IMPORT["report"] = MAY_IMPORT["taskmap"] | {"taskmap"}
MAY_IMPORT["api"] = MAY_IMPORT["report"] | {"report"}
MAY_IMPORT["tracking"] = MAY_IMPORT["api"] | {"api"}
MAY_IMPORT["view"] = MAY_IMPORT["tracking"] | {"tracking"}
MAY_IMPORT["mcp_server"] = MAY_IMPORT["view"] | {"view"}
MAY_IMPORT["cli"] = MAY_IMPORT["mcp_server"] | {"mcp_server", "data_sets", "bridge"}
ENTRANCES = {"__init__", "__main__"}

BANNED_CALLS = {"eval", "exec", "compile", "__import__"}
BANNED_MODULES = {"pickle", "shelve", "dill", "joblib", "marshal"}


def room(path: Path) -> str:
    """The room of a file of Snellen, or the package of another."""
    if path.is_relative_to(PACKAGE):
        return path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return path.relative_to(folder_of_package(path)).parts[0]


def folder_of_package(path: Path) -> Path:
    """The folder that a file's package lies in."""
    return next(one.parent for one in PACKAGES.values() if path.is_relative_to(one))


FILES_OF: dict[str, list[Path]] = defaultdict(list)
for _path in FILES:
    FILES_OF[room(_path)].append(_path)


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> list[ast.AST]:
    """What the rules are about: imports, calls, attributes and handlers of errors."""
    kinds = (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute, ast.ExceptHandler)
    return [node for node in ast.walk(parse(path)) if isinstance(node, kinds)]


def place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(folder_of_package(path))}:{getattr(node, 'lineno', 0)}"


def is_environment(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "environ" and isinstance(node.value, ast.Name)


def imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("here", sorted(MAY_IMPORT))
def test_imports_point_one_way(here: str) -> None:
    wrong = {}
    for path in FILES_OF[here]:
        used = {name.split(".")[1] for name in imports(path) if name.startswith("snellen.")}
        if more := used - {here} - MAY_IMPORT[here]:
            wrong[str(path.relative_to(PACKAGE))] = more
    assert not wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_snellen_alone(package: str) -> None:
    """Snellen finds the commands of the others by their entry points."""
    others = PACKAGES.keys() - {package, "snellen"}
    wrong = {
        str(path): used
        for path in FILES
        if path.is_relative_to(PACKAGES[package]) and (used := others & {name.split(".")[0] for name in imports(path)})
    }
    assert not wrong


def test_every_room_is_in_the_table() -> None:
    assert set(FILES_OF) == set(MAY_IMPORT) | ENTRANCES | PACKAGES.keys() - {"snellen"}


KNOWN_CIRCLES = {
    # A declaration is called with a variant and builds itself, so that a user's file needs no other
    # import; what builds it reads declarations.
    ("snellen.benchmarks.declaration.declaration", "snellen.benchmarks.declaration.build")
}
"""Imports that close a circle, and why each stays."""


def test_files_import_one_another_in_one_direction() -> None:
    """Neither when they are imported nor inside of functions: what two files need of each other
    belongs into a third."""
    graph = {module_name(path): set(run_time_imports(path)) for path in FILES}
    for name, other in KNOWN_CIRCLES:
        graph[name].discard(other)
    visiting: list[str] = []
    done: set[str] = set()

    def visit(name: str) -> None:
        assert name not in visiting, " -> ".join([*visiting[visiting.index(name) :], name])
        if name in done or name not in graph:
            return
        visiting.append(name)
        for other in sorted(graph[name]):
            visit(other)
        done.add(visiting.pop())

    for name in graph:
        visit(name)


def module_name(path: Path) -> str:
    parts = path.relative_to(folder_of_package(path)).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path) for path in FILES}
ROOMS = {name.rpartition(".")[0] for name in MODULES}


def run_time_imports(path: Path) -> Iterator[str]:
    """The files that a file imports, when it is imported or later, but not for type checkers alone;
    `from room import file` imports the file, and not the room."""
    unread = [
        node
        for node in ast.walk(parse(path))
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    for_types = {id(inner) for node in unread for inner in ast.walk(node)}
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES | ROOMS and id(node) not in for_types:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from names & MODULES
            if names - MODULES:
                yield str(node.module)


@pytest.mark.parametrize("here", sorted(FILES_OF))
def test_banned_calls(here: str) -> None:
    wrong = []
    for path in FILES_OF[here]:
        for module in BANNED_MODULES & {name.split(".")[0] for name in imports(path)}:
            wrong.append(f"{place(path, parse(path))} imports {module}")
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id in BANNED_CALLS:
                    wrong.append(f"{place(path, node)} calls {node.func.id}")
            elif isinstance(node, ast.ExceptHandler):
                if node.type is None:
                    wrong.append(f"{place(path, node)} has a bare except")
            elif is_environment(node) and path.name != "settings.py" and path.parent.name != "worker":
                # A worker sets, for the libraries of the tool, the environment that Snellen has emptied.
                wrong.append(f"{place(path, node)} reads the environment")
    assert not wrong


def test_files_stay_readable() -> None:
    lines = {str(path): path.read_text().count("\n") for path in FILES}
    assert {name: count for name, count in lines.items() if count > 600} == {}


def test_exported_names() -> None:
    assert snellen.__all__ == sorted(snellen.__all__)
    assert set(snellen._HOMES) == set(snellen.__all__)
    for name in snellen.__all__:
        home = importlib.import_module(snellen._HOMES[name])
        assert getattr(snellen, name) is getattr(home, name)


def test_no_module_is_named_utils() -> None:
    banned = {"utils", "util", "helpers", "helper", "misc", "common", "base2"}
    assert not banned & {path.stem for path in FILES}


@pytest.mark.parametrize("statement", ["import snellen", "from snellen.cli import main"])
def test_import_is_light(statement: str) -> None:
    heavy = "{'torch', 'numpy', 'pandas', 'pyarrow', 'transformers', 'PIL', 'rich', 'asyncio'}"
    code = f"import sys\n{statement}\nprint(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
