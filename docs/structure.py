"""Measures how readable the package is: `python docs/structure.py [--source FOLDER] [--write]`.

Prints the figures of docs/design/structure.md: files per folder, names, lengths, and what one small
run passes. `--write` stores them in docs/data/structure.json, `--source` measures another checkout.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
STORED = ROOT / "docs" / "data" / "structure.json"

_WORDS = tomllib.loads((ROOT / "docs" / "data" / "names.toml").read_text(encoding="utf-8"))
IRREGULAR = frozenset(_WORDS["irregular"])
OTHER = frozenset(_WORDS["other"])
PARTICLES = frozenset(_WORDS["particles"])
BANNED: dict[str, str] = _WORDS["banned"]
"""Words of names that nobody else in the field uses, with the term that is used instead."""


_HEAD = """# Structure

<!-- Written by docs/generate.py from docs/data/structure.json. -->

How readable the three packages are, by `python docs/structure.py --write now`. "First" is the first
version, the same script over commit 9470a76. A run is
`snellen run -m random -b eyechart --limit 1`.
The words that are counted, and the rules for participles, are in `docs/data/names.toml`;
`tests/test_names.py` holds them.

The aims are 130,000 lines (90,000 of snellen), and a run through fewer than 90 files and 550
functions. They are missed. Of the lines, a fifth is blank, a tenth imports and a tenth docstrings;
a search for repeated runs of lines finds few and short ones, and one for dead code none, so that
what is left to take is features. A quarter of what a run passes makes what a reader sees: the
table, the page with its charts and samples, and the evidence beside the number. Nearly another
quarter, the engine and the store, makes even one question resumable, with a lock, a lease for
requests in flight, replies by digest, counts of what was spent, and one line for each record. The
rest reads the command, and is a step each: find the benchmark, build it, index its table, phrase
the question, parse the reply, score it with an interval. What a plain run need not ask (few-shot
examples, controls, gates, judges, units, replicas, submissions) returns before its file is entered.

| | first | now |
| --- | ---: | ---: |"""


class Definition(NamedTuple):
    file: str
    line: int
    kind: str
    """`class`, `function` or `parameter`."""
    name: str
    lines: int
    documented: bool
    parameters: int


class Package(NamedTuple):
    """A distribution of the repository, and the folder with its Python files."""

    name: str
    source: Path


def packages(checkout: Path = ROOT) -> list[Package]:
    """The packages of a checkout, Snellen itself first."""
    others = sorted((checkout / "packages").glob("*/src/*/__init__.py"))
    rest = [Package(file.parent.name.replace("_", "-"), file.parent) for file in others]
    return [Package("snellen", checkout / "src" / "snellen"), *rest]


@functools.cache
def definitions(source: Path) -> tuple[Definition, ...]:
    """Classes, functions and parameters of every Python file below `source`."""
    return tuple(_definitions(source))


def all_definitions(checkout: Path = ROOT) -> list[Definition]:
    """The definitions of all packages, each file with the folder of its package before it."""
    return [
        one._replace(file=f"{package.source.name}/{one.file}")
        for package in packages(checkout)
        for one in definitions(package.source)
    ]


def _definitions(source: Path) -> Iterator[Definition]:
    for path in sorted(source.rglob("*.py")):
        file = path.relative_to(source).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                kind, parameters = "class", 0
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = node.args
                every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                kind, parameters = "function", len(every)
                for one in every:
                    yield Definition(file, one.lineno, "parameter", one.arg, 1, True, 0)
            else:
                continue
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            documented = ast.get_docstring(node) is not None
            yield Definition(file, node.lineno, kind, node.name, length, documented, parameters)


def words(name: str) -> list[str]:
    """The words of `snake_case` or `CamelCase`, in small letters."""
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def begins_with_participle(name: str) -> bool:
    """Whether a name's first word is a past participle."""
    first = next(iter(words(name)), "")
    if first in OTHER:
        return False
    return first in IRREGULAR or (len(first) > 4 and first.endswith("ed"))


def is_bare_participle(name: str) -> bool:
    """Whether a name is a past participle alone, or one without a noun: `told`, `asked_so`."""
    parts = words(name)
    return begins_with_participle(name) and (len(parts) == 1 or parts[1] in PARTICLES)


def banned_words(name: str) -> set[str]:
    return BANNED.keys() & set(words(name))


def names_used_twice(every: Iterable[Definition]) -> dict[str, list[str]]:
    """Names of classes that stand in more than one place, private ones without their underscore."""
    places: dict[str, list[str]] = {}
    for definition in every:
        # `Options` is what the module of every command has (`cli.command_modules`).
        if definition.kind == "class" and definition.name != "Options":
            place = f"{definition.file}:{definition.line}"
            places.setdefault(definition.name.lstrip("_"), []).append(place)
    return {name: files for name, files in places.items() if len(files) > 1}


def _count_comments(path: Path) -> int:
    with tokenize.open(path) as file:
        return sum(token.type == tokenize.COMMENT for token in tokenize.generate_tokens(file.readline))


def measure(checkout: Path = ROOT) -> dict[str, int]:
    """The figures of the packages of a checkout."""
    every = all_definitions(checkout)
    sources = [package.source for package in packages(checkout)]
    classes = [one for one in every if one.kind == "class"]
    functions = [one for one in every if one.kind == "function"]
    files = [path for source in sources for path in sorted(source.rglob("*.py"))]
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    tracked = [
        path for source in sources for path in source.rglob("*") if path.is_file() and "__pycache__" not in str(path)
    ]
    folders = Counter(path.parent for path in tracked)
    evaluate = [one for one in functions if one.name == "evaluate" and "/api/" in one.file]
    return {
        "Python files": len(files),
        "lines": sum(lines),
        **{f"lines of {name}": count_lines(source) for name, source in packages(checkout)},
        "files in the fullest folder": max(folders.values()),
        "folders of more than 30 files": sum(count > 30 for count in folders.values()),
        "lines of the longest file": max(lines),
        "files of less than 60 lines": sum(count < 60 for count in lines),
        "class names used more than once": len(names_used_twice(every)),
        "functions that begin with a past participle": sum(begins_with_participle(one.name) for one in functions),
        "functions named by a bare participle": sum(is_bare_participle(one.name) for one in functions),
        "names with a banned word": sum(bool(banned_words(one.name)) for one in every),
        "parameters of evaluate": max((one.parameters for one in evaluate), default=0),
        "functions of more than 12 parameters": sum(one.parameters > 12 for one in functions),
        "functions of more than 40 lines": sum(one.lines > 40 for one in functions),
        "functions of 20 lines or more without a docstring": sum(
            one.lines >= 20 and not one.documented for one in functions
        ),
        "`fmt: skip`": sum(path.read_text("utf-8").count("# fmt: skip") for path in files),
        "comments": sum(map(_count_comments, files)),
        "classes": len(classes),
        "functions": len(functions),
    }


def count_lines(source: Path) -> int:
    """Lines of Python below a folder."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in source.rglob("*.py"))


_PROFILE = """
import json, sys, threading
passed = set()
def note(frame, event, _):
    # Functions alone: bodies of classes and modules run without fast locals.
    if event == "call" and frame.f_code.co_flags & 1 and SOURCE in frame.f_code.co_filename:
        passed.add((frame.f_code.co_filename, frame.f_code.co_qualname))
SOURCE = sys.argv[1]
sys.path.insert(0, str(__import__("pathlib").Path(SOURCE).parent))
out = sys.argv[2]
sys.argv = ["snellen", "run", "-m", "random", "-b", "eyechart", "--limit", "1", "--out", out]
threading.setprofile(note)
sys.setprofile(note)
from snellen.cli.main import main
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
named = {one for one in passed if not one[1].rpartition(".")[2].startswith("<")}
print("\\n" + json.dumps([len({file for file, _ in passed}), len(named)]))
"""


_COMMANDS = """
import argparse, json, sys
sys.path[:0] = sys.argv[1:]
from inspect import signature
from snellen.cli.parser import build_parser
takes = signature(build_parser).parameters
parser = build_parser(**({"complete": True} if "complete" in takes else {}))
commands = {}
def visit(parser, name):
    groups = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    for group in groups:
        for word, command in group.choices.items():
            visit(command, f"{name} {word}".strip())
    if not groups:
        flags = {one.option_strings[-1] for one in parser._actions if one.option_strings}
        commands[name] = sorted(flags - {"--help"})
visit(parser, "")
flags = {flag for flags in commands.values() for flag in flags}
print(json.dumps([len(commands), len(flags), len(commands["run"])]))
"""


def flags_and_commands(checkout: Path = ROOT) -> dict[str, int]:
    """How many commands and flags there are, of all packages that are installed."""
    sources = [str(package.source.parent) for package in packages(checkout)]
    done = subprocess.run([sys.executable, "-c", _COMMANDS, *sources], capture_output=True, text=True, check=True)
    commands, flags, of_run = json.loads(done.stdout.strip().splitlines()[-1])
    return {"commands": commands, "distinct flags": flags, "flags of run": of_run}


def passed_by_a_run(checkout: Path = ROOT) -> dict[str, int]:
    """Files and functions that `snellen run -m random -b eyechart --limit 1` passes, when an earlier
    run has left the index of the table in the cache."""
    source = packages(checkout)[0].source
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SNELLEN_CACHE": f"{folder}/cache"}
        for out in ("first", "second"):
            command = [sys.executable, "-c", _PROFILE, str(source), f"{folder}/{out}"]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    files, functions = json.loads(done.stdout.strip().splitlines()[-1])
    return {"files passed by a run": files, "functions passed by a run": functions}


def page() -> str:
    """docs/design/structure.md: the first version beside the figures that were stored last."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    first = {name: f"{value:,}" for name, value in stored["before"].items()}
    rows = [f"| {name} | {first.get(name, '')} | {value:,} |" for name, value in stored["now"].items()]
    return "\n".join([_HEAD, *rows, ""])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python docs/structure.py")
    parser.add_argument("--source", type=Path, default=ROOT, help="the root of a checkout")
    parser.add_argument("--write", choices=["before", "now"], help=f"keep in {STORED.name}")
    parser.add_argument("--names", action="store_true", help="list the names that offend")
    arguments = parser.parse_args()
    checkout = arguments.source.resolve()
    if arguments.names:
        every = all_definitions(checkout)
        for one in every:
            if banned_words(one.name) or (one.kind == "function" and is_bare_participle(one.name)):
                print(f"{one.file}:{one.line} {one.kind} {one.name}")
        for name, files in names_used_twice(every).items():
            print(f"class {name}: {', '.join(files)}")
        return
    figures = measure(checkout) | flags_and_commands(checkout) | passed_by_a_run(checkout)
    for name, value in figures.items():
        print(f"{value:>8,}  {name}")
    if arguments.write:
        stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
        stored[arguments.write] = figures
        STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
