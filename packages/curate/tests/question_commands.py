"""Running `snellen curate questions` in this process, and what it decided."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from snellen.cli import main
from snellen.data_sets.decisions import Decision, latest_decisions, read_decisions


def run(*words: str) -> tuple[int, str]:
    """The exit code, and what was printed."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        code = main(list(words))
    return code, out.getvalue()


def decisions(out: Path) -> dict[str, Decision]:
    """The last decision about each picture and question."""
    return latest_decisions(read_decisions(out))
