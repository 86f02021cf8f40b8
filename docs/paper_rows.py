"""docs/paper-rows.md from docs/data/paper_rows.toml: what the papers define, with the command that
shows it and the tests that hold it. `python docs/generate.py` writes it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

import msgspec

DATA = Path(__file__).parent / "data" / "paper_rows.toml"
NOTE = "<!-- Written by docs/paper_rows.py and docs/generate.py from docs/data/paper_rows.toml. -->"


class PaperRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that a paper defines, or that no paper has."""

    paper: str
    what: str
    status: Literal["works", "partly"]
    command: str
    """A command that shows it; words in capitals stand for a file, a folder or a name."""
    tests: tuple[str, ...]
    """Files and names of the tests, `tests/.../test_x.py::test_y`."""
    page: str
    """The page of the documentation about it."""
    note: str = ""
    """What it does not do, or how it differs from the paper."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    row: tuple[PaperRow, ...]


ROWS = msgspec.toml.decode(DATA.read_bytes(), type=_File).row


def page() -> str:
    """The page docs/paper-rows.md."""
    counts = Counter(row.status for row in ROWS)
    lines = [
        "# What the papers define, row by row",
        "",
        NOTE,
        "",
        "What the papers of VLMEvalKit, MMBench, MME, MMT-Bench and SEED-Bench-H define, and what "
        "Snellen adds, each with a command that shows it and the tests that hold it. Words in "
        f"capitals stand for files, folders and names. {counts['works']} rows work as defined; "
        f"{counts['partly']} work partly, and the note says what is missing. The numbers of the "
        "papers stand under [the papers' tables and figures](paper-figures.md).",
    ]
    for paper in dict.fromkeys(row.paper for row in ROWS):
        lines += ["", f"## {paper}", ""]
        lines += [_item(row) for row in ROWS if row.paper == paper]
    return "\n".join(lines)


def _item(row: PaperRow) -> str:
    """A row as an item of a list: names of tests are too long for columns."""
    tests = " and ".join(f"`{test.rpartition('::')[2]}`" for test in row.tests)
    note = f"partly: {row.note}" if row.status == "partly" else row.note
    remark = f" *{note[0].upper()}{note[1:]}.*" if note else ""
    what = row.what.replace("*", "\\*")
    return f"* [{what}]({row.page}): `{row.command}`.{remark} Held by {tests}."
