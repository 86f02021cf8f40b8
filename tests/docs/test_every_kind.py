"""The run over every kind of benchmark does what its page says."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
from pathlib import Path

import pytest

from snellen.benchmarks.declaration.registry import list_benchmarks
from snellen.cli import main

EVERY_KIND = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "every_kind.py"))
PRINTED = EVERY_KIND["read_counts"]()


def test_every_benchmark_is_among_them() -> None:
    names = {one.name.partition(" ")[0] for one in PRINTED}
    assert {known.name for known in list_benchmarks()} <= names


def test_runs_without_a_score_have_reasons() -> None:
    assert all(one.reasons for one in PRINTED if one.score is None)
    assert all(one.score <= one.top for one in PRINTED if one.score is not None)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data, the one command, and its report."""
    folder = tmp_path_factory.mktemp("every-kind")
    before = Path.cwd()
    os.chdir(folder)
    try:
        EVERY_KIND["make_data"](folder / "data")
        for command in EVERY_KIND["commands"](folder):
            with contextlib.redirect_stdout(io.StringIO()):
                assert main(command) == 0, command
    finally:
        os.chdir(before)
    return folder


@pytest.mark.release
def test_one_command_runs_every_benchmark(out: Path) -> None:
    """Scores may differ by a machine's floating point; what is asked and why it has no score
    may not."""
    counted = EVERY_KIND["counted"](out)
    for found, printed in zip(counted, PRINTED, strict=True):
        assert (found.name, found.kind, found.metric) == (printed.name, printed.kind, printed.metric)
        assert found.samples == printed.samples == sum(found.outcomes.values())
        assert (found.score is None) == (printed.score is None), found
        assert found.reasons == printed.reasons


@pytest.mark.release
def test_report_page_has_every_benchmark(out: Path) -> None:
    page = (out / "report.html").read_text(encoding="utf-8")
    assert all(known.name in page for known in list_benchmarks())
