"""The tables of docs/generated-code.md, from docs/data/generated_code_layers.json.

`docs/generate.py` calls `page`. `python -m tests.generated_code.layer_table` measures them anew."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).with_name("generated-code.md")
DATA = ROOT / "docs" / "data" / "generated_code_layers.json"
PROGRAMS = ROOT / "tests" / "generated_code" / "hostile_programs.toml"
START = "<!-- Tables of tests/generated_code/layer_table.py, written by docs/generate.py. -->\n"
END = "<!-- End of the tables. -->\n"
_COLUMNS = ("nothing", "namespaces", "mounts", "Landlock", "the filter", "resource limits", "all of these")
"""Of the second table: what is missing."""


def page() -> str:
    """The page with new tables. Raises ValueError if its marks are not there."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{PAGE.name} lacks the marks of its tables")
    data = json.loads(DATA.read_text(encoding="utf-8"))
    return "\n".join((before + START, *_layers(data), "", *_programs(data), "", end + after))


def _layers(data: dict[str, Any]) -> Iterator[str]:
    count = sum(map(len, tomllib.loads(PROGRAMS.read_text(encoding="utf-8")).values()))
    yield (
        f"{count} programs were run with each layer taken away, on {data['date']}, on "
        f"{data['kernel']}, at commit {data['commit']}. Of each layer it is said what Snellen then "
        "does, and how many programs did what they must not; an ordinary user has no other user to "
        "become."
    )
    yield ""
    yield "| missing | as root | as an ordinary user |"
    yield "| --- | --- | --- |"
    for name in data["root"]:
        cells = (_summary(data[user].get(name)) for user in ("root", "user"))
        yield f"| {name} | {' | '.join(cells)} |"


def _summary(measured: dict[str, Any] | None) -> str:
    if measured is None:
        return ""
    done = len(measured["done"])
    if measured["broken"]:
        return f"refuses: {', '.join(measured['broken'])} ({done} unprotected)"
    return f"runs, {done or 'none'}"


def _programs(data: dict[str, Any]) -> Iterator[str]:
    yield (
        "What each program did, with which layer missing: `root` and `user` are those as whom it "
        "did what it must not, a dash is that it did not. Where all layers are missing, Snellen "
        "refuses unless it is told `run_code=unprotected`: that column shows what the programs "
        "would do. Programs with a dash there too meet the worker itself, which looks at memory, "
        "processes and files, or the rights of the system's users."
    )
    yield ""
    yield f"| a program that | promise | {' | '.join(_COLUMNS)} |"
    yield f"| --- | --- |{' --- |' * len(_COLUMNS)}"
    for promise, programs in tomllib.loads(PROGRAMS.read_text(encoding="utf-8")).items():
        for name in programs:
            cells = []
            for column in _COLUMNS:
                users = [user for user in ("root", "user") if name in data[user][column]["done"]]
                cells.append(", ".join(users) or "–")
            yield f"| {name} | {promise} | {' | '.join(cells)} |"
