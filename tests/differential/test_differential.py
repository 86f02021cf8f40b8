"""Snellen's verdicts beside those of other people's scorers, row by row."""

from __future__ import annotations

import json
from dataclasses import replace
from fnmatch import filter
from pathlib import Path

import pytest
from tests.differential.__main__ import all_specs
from tests.differential.compare import (
    compare,
    explanations,
    explanations_of,
    headline_differs,
    headline_row,
    is_idle,
    unexplained,
)
from tests.differential.hostile import NOT_DRAWN, as_stored, lacking
from tests.differential.sets import FOLDER, JudgedSet, all_sets, read_set

from snellen.benchmarks.declaration.registry import split_spec

SETS = all_sets()
ROOT = Path(__file__).parents[2]
COMPARISONS = json.loads((ROOT / "docs/data/evidence.json").read_text(encoding="utf-8"))
HEADLINES = json.loads((ROOT / "docs/data/headlines.json").read_text(encoding="utf-8"))
LEAST_REPLIES, LEAST_STYLES = 300, 100
DRAWS = {**dict.fromkeys(("egoschema.lmms-eval", "nextqa.lmms-eval"), 250)}
"""Sets whose scorer draws an option for over a third of the replies, which have no verdict: how many have one."""
FEWER_STYLES = {"egoschema.lmms-eval": 98, "visualpuzzles.authors": 99}
"""The same of styles: those that are drawn for alone."""
LARGE = {"mega-bench.authors": 6, "cord.authors": 4}
"""Sets of which each of so many rows is compared here, and the whole before a release."""
SLOW = frozenset({"chartmimic.vlmevalkit"})
"""Sets whose replies are programs, which run: a minute. A handful runs in tests/generated_code."""


def name_of(path: Path) -> str:
    return path.name.removesuffix(".jsonl.gz")


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, id=name_of(path), marks=[pytest.mark.release] * (name_of(path) in LARGE or name_of(path) in SLOW)
        )
        for path in SETS
    ],
)
def test_every_row_agrees_or_is_explained(path: Path, tmp_path: Path) -> None:
    judged = read_set(path)
    comparison = compare(judged, tmp_path)
    assert unexplained(judged, comparison, explanations_of(judged.name)) == {}
    own = explanations().get(judged.name, ())
    idle = [reason.cause for reason in own if is_idle(judged, comparison, reason)]
    assert idle == []
    assert comparison.compared >= DRAWS.get(judged.name, LEAST_REPLIES)
    assert comparison.styles >= FEWER_STYLES.get(judged.name, LEAST_STYLES)
    if judged.name in NOT_DRAWN:
        assert not judged.date
    else:
        assert lacking(judged.name, [row.case for row in judged.rows]) == {}
    counts = (comparison.compared, comparison.compared - len(comparison.differing))
    assert counts in _counted(judged), "run: python docs/evidence.py"
    assert headline_differs(judged, comparison) == ""
    row = headline_row(judged, comparison)
    assert not row or row in HEADLINES, "run: python docs/evidence.py"
    if len(judged.counted) < len(judged.rows) or not comparison.differing:
        for metric, (ours, theirs) in comparison.metrics.items():
            assert ours == pytest.approx(theirs, abs=judged.close), metric


@pytest.mark.parametrize("name", LARGE)
def test_a_part_of_a_large_set_agrees_or_is_explained(name: str, tmp_path: Path) -> None:
    judged = read_set(FOLDER / f"{name}.jsonl.gz")
    part = replace(judged, rows=judged.rows[:: LARGE[name]], metrics={}, headline=None)
    comparison = compare(part, tmp_path)
    assert unexplained(part, comparison, explanations_of(name)) == {}
    assert comparison.compared >= LEAST_REPLIES // 2


def test_explanations_name_sets() -> None:
    names = list(map(name_of, SETS))
    idle = [key for key in explanations() if not filter(names, key)]
    assert idle == []


def _counted(judged: JudgedSet) -> list[tuple[int, int]]:
    """What the stored evidence says of the set: compared and agreeing verdicts."""
    return [
        (one["compared"], one["agreeing"])
        for one in COMPARISONS[split_spec(judged.benchmark).name.lower()]
        if (one["source"], one.get("path"), one.get("rule"))
        == (judged.source["repository"], judged.source["path"], judged.rule)
    ]


def test_stored_replies_are_those_of_the_specs() -> None:
    """So that `make differential` judges the same rows again."""
    stored = {judged.name: judged for judged in map(read_set, SETS)}
    specs = {spec.name: spec for spec in all_specs()}
    assert specs.keys() == stored.keys()
    for name, spec in specs.items():
        cases = as_stored(spec, stored[name]).cases()
        assert [row.case for row in stored[name].rows] == list(cases), name
