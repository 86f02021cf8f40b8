"""A section of docs/papers.md from tests/paper_rows: what the papers define, each with the commands
that a user types and whose results a test computes by itself. docs/papers.py puts it on the page.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[1] / "tests" / "paper_rows"
PAPERS = {
    "test_vlmevalkit.py": "VLMEvalKit",
    "test_mmbench.py": "MMBench",
    "test_mme.py": "MME",
    "test_mmt_bench.py": "MMT-Bench",
    "test_seed_bench.py": "SEED-Bench-H",
    "test_beyond.py": "Beyond the papers",
}
"""The papers in their order, by the file of their rows."""


class PaperRow(NamedTuple):
    """Something that a paper defines, or that no paper has."""

    paper: str
    what: str
    page: str
    """The page of the documentation about it."""
    partly: bool
    """Whether it does not all that the paper defines; the note says what is missing."""
    note: str
    """What it does not do, or how it differs from the paper."""
    commands: tuple[str, ...]
    """As the test runs them; words in capitals stand for a file, an address or a name."""
    test: str
    """The test that runs the commands."""


def read_rows() -> Iterator[PaperRow]:
    """Read the tests that are marked `row`, without running them."""
    for file, paper in PAPERS.items():
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                yield from _read_row(node, paper)


def _read_row(node: ast.FunctionDef, paper: str) -> Iterator[PaperRow]:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.row":
            [what] = [ast.literal_eval(one) for one in mark.args]
            named = {str(one.arg): ast.literal_eval(one.value) for one in mark.keywords}
            page, note = named["page"], named.get("note", "")
            commands = tuple(dict.fromkeys(_commands(node)))
            yield PaperRow(paper, what, page, named.get("partly", False), note, commands, node.name)


def _commands(node: ast.FunctionDef) -> Iterator[str]:
    """The command lines of a test in their order: text that starts with `snellen`."""
    texts = [one for one in ast.walk(node) if isinstance(one, ast.Constant)]
    for one in sorted(texts, key=lambda text: (text.lineno, text.col_offset)):
        if isinstance(one.value, str) and one.value.startswith("snellen "):
            yield one.value


def section() -> str:
    """The section of docs/papers.md."""
    rows = tuple(read_rows())
    counts = Counter(row.partly for row in rows)
    lines = [
        "## What they define, row by row",
        "",
        "What each paper defines, and what Snellen adds, with the commands that a user types. A "
        "test makes the data, runs these "
        "commands as they stand here and compares what comes of them with numbers that it computes "
        "by itself; `make paper-rows` runs them all. Words in capitals stand for addresses, files "
        f"and names. {counts[False]} rows work as defined; {counts[True]} work partly, and the "
        "note says what is missing. The numbers of the papers stand under [their tables and "
        "figures](#their-tables-and-figures).",
    ]
    for paper in PAPERS.values():
        lines += ["", f"### {paper}"]
        for row in rows:
            if row.paper == paper:
                lines += _entry(row)
    return "\n".join(lines)


def _entry(row: PaperRow) -> Iterator[str]:
    what = row.what.replace("*", "\\*")
    yield from ("", f"#### [{what}]({_link(row.page)})")
    if row.note:
        note = f"partly: {row.note}" if row.partly else row.note
        yield from ("", f"{note[0].upper()}{note[1:]}.")
    commands = [f"$ {command}" for command in row.commands]
    yield from ("", f"<!-- not run: {row.test} runs it -->", "```console", *commands, "```")


def _link(page: str) -> str:
    """The page as it is linked to from docs/papers.md."""
    return page.removeprefix("papers.md")
