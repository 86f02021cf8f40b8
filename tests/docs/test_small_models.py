"""The figures of small language models as readers and judges, as they are committed."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import small_models  # noqa: E402
from small_models import FILE, Figures, Measurement, section  # noqa: E402

MEASURED = msgspec.json.decode(FILE.read_bytes(), type=Measurement)


def test_counts_can_be_true() -> None:
    for one in MEASURED.figures:
        assert 0 <= one.correct <= min(one.read, one.with_answer) <= one.replies <= one.population, one
        assert one.correct <= one.agreeing <= one.replies, one


def test_each_model_stands_beside_the_rules() -> None:
    tasks = {one.task for one in MEASURED.figures}
    assert tasks == {"MMBench's two steps", "MathVista", "LogicVista", "MM-Vet"}
    for task in tasks:
        readers = {one.reader for one in MEASURED.figures if one.task == task}
        models = {reader for reader in readers if "rules" not in reader}
        assert "SmolLM2-135M-Instruct" in models
        # On MM-Vet there are no rules, and on LogicVista the judge is asked about every reply.
        rules = set() if task == "MM-Vet" else {"rules"}
        both = set() if task in ("MM-Vet", "LogicVista") else {f"rules, then {model}" for model in models}
        assert readers == {*models, *rules, *both}, task


def test_the_page_has_a_line_for_each_figure() -> None:
    page = section()
    lines = [line for line in page.splitlines() if line.startswith("| ") and "---" not in line]
    assert len(lines) == 1 + len(MEASURED.figures)
    for package in MEASURED.packages:
        assert f"`{package}`" in page


def test_a_reader_that_reads_nothing_has_no_precision() -> None:
    none = Figures("task", "labels", "reader", 10, 10, 4, 0, 0, 6)
    assert small_models._cells(none) == "– | 0.0 % (0.0 to 49.0) | 60.0 % (31.3 to 83.2)"
