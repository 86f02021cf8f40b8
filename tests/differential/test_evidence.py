"""What `docs/evidence.md` says follows from the sets, and no benchmark claims more than that."""

from __future__ import annotations

import json
from pathlib import Path

from tests.differential.sets import all_sets, read_set

from snellen.benchmarks.declaration.evidence import load_evidence
from snellen.benchmarks.declaration.registry import list_benchmarks, open_benchmark, split_spec

COMPARISONS = json.loads((Path(__file__).parents[2] / "docs/data/evidence.json").read_text(encoding="utf-8"))
HELD = ("reproduced", "differential")
"""Levels at which somebody else's data or code says that the numbers are right."""


def test_every_benchmark_and_every_set_is_counted() -> None:
    assert list(load_evidence()) == [known.name for known in list_benchmarks()]
    stored = {
        (name, one["source"], one["path"], one["rule"], one.get("setting", ""))
        for name, comparisons in COMPARISONS.items()
        for one in comparisons
        if one["level"] == "differential"
    }
    sets = set()
    for path in all_sets():
        judged = read_set(path)
        spec = split_spec(judged.benchmark)
        setting = ",".join(f"{key}={value}" for key, value in spec.options.items())
        source = judged.source
        name = open_benchmark(judged.benchmark).name
        sets.add((name, source["repository"], source["path"], judged.rule, setting))
    assert sets == stored, "run: python docs/evidence.py"


def test_none_is_called_exact_without_evidence() -> None:
    claimed = [
        known.name
        for known in list_benchmarks()
        if open_benchmark(known.name).coverage == "exact" and load_evidence()[known.name].level not in HELD
    ]
    assert claimed == ["eyechart", "eyechart-pages", "eyechart-places"], "these are Snellen's own"


def test_sixty_benchmarks_are_held_by_somebody_elses_verdicts() -> None:
    assert sum(entry.level in HELD for entry in load_evidence().values()) >= 60
