"""What a data set of VLMEvalKit needs, read in its code without running it: packages that are not
installed, and a judge."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOOL = "vlmeval"
_STANDARD = frozenset(sys.stdlib_module_names) | {TOOL, "ipdb", "modelscope"}
"""With a debugger, and a hub that is only used if a variable says so."""
_JUDGES = frozenset({"build_judge", "build_judge_w_fallback"})


def find_needs(cls: Any) -> list[str]:
    """Packages that are not installed, which the class, its bases in the tool, what they use of their
    module, or a module that they import while they run would import."""
    packages = {name for path, node in _own_code(cls) for name in _imports(path, node)}
    return [f"the package {name}" for name in sorted(packages) if not _is_installed(name)]


def asks_judge(cls: Any) -> bool | None:
    """Whether its `evaluate` makes a judge: always, or (None) unless it is told to do without one."""
    source = "".join(ast.unparse(node) for _, node in _own_code(cls))
    if not any(name in source for name in _JUDGES):
        return False
    return None if "exact_matching" in source else True


def find_broken(cls: Any) -> str:
    """The error that whatever it does ends in, as Python would say it; "" if none is seen: methods that it
    lacks, or an import of a module that the tool does not have."""
    if lacking := sorted(getattr(cls, "__abstractmethods__", ())):
        return f"{cls.__name__} lacks the method {lacking[0]}"
    for path, node in _own_code(cls):
        for one in ast.walk(node):
            if isinstance(one, ast.ImportFrom) and one.level and one.module:
                place = Path(path).parents[one.level - 1].joinpath(*one.module.split("."))
                if not place.is_dir() and not place.with_suffix(".py").is_file():
                    return f"it imports {'.' * one.level}{one.module}, which is not there"
    return ""


def _own_code(cls: Any) -> Iterator[tuple[str, ast.AST]]:
    """The class and its bases in the tool with their files, without those that all data sets have and
    without what fetches and unpacks data, and what they use of their module."""
    for base in getattr(cls, "__mro__", ()):
        if not base.__module__.startswith(TOOL) or base.__module__.endswith("_base"):
            continue
        path = inspect.getfile(base)
        definitions = {one.name: one for one in _parse(path).body if isinstance(one, ast.ClassDef | ast.FunctionDef)}
        waiting, done = [base.__name__], {base.__name__}
        while waiting:
            node = definitions.get(waiting.pop())
            for one in getattr(node, "body", ()):
                if getattr(one, "name", "") != "prepare_dataset":
                    yield path, one
                    found = (_used(one) & definitions.keys()) - done
                    done |= found
                    waiting += sorted(found)


def _used(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _imports(path: str, node: ast.AST) -> Iterator[str]:
    """Packages that code imports itself, or whose names of its module it uses."""
    used = _used(node)
    inside = [one for one in ast.walk(node) if isinstance(one, ast.Import | ast.ImportFrom)]
    named = [one for one in _top(path) if used & {(each.asname or each.name).partition(".")[0] for each in one.names}]
    for one in (*named, *inside):
        yield from _packages(one)
        if isinstance(one, ast.ImportFrom) and one.level and one.module and one in inside:
            # Modules that are only imported here were not imported with the tool.
            yield from _top_imports(Path(path).parent.joinpath(*one.module.split(".")).with_suffix(".py"))


def _packages(one: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(one, ast.Import):
        yield from (each.name.partition(".")[0] for each in one.names)
    elif not one.level and one.module:
        yield one.module.partition(".")[0]


@functools.cache
def _top(path: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The imports of a module, those that may fail too."""
    body = [each for one in _parse(path).body for each in (one.body if isinstance(one, ast.Try) else [one])]
    return tuple(one for one in body if isinstance(one, ast.Import | ast.ImportFrom))


@functools.cache
def _top_imports(path: Path) -> frozenset[str]:
    return frozenset(name for one in _top(str(path)) for name in _packages(one)) if path.is_file() else frozenset()


@functools.cache
def _parse(path: str) -> ast.Module:
    return ast.parse(Path(path).read_text("utf-8"))


@functools.cache
def _is_installed(name: str) -> bool:
    if name in _STANDARD:
        return True
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is not None and "StandIns" not in type(spec.loader).__name__
