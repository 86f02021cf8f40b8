"""What came of the same replies scored by Snellen's own benchmarks and by VLMEvalKit's over the bridge
(`python -m tests.bridge.native` writes it)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.bridge.native import TABLE, TOOL, totals
from tests.differential.compare import explanations_of
from tests.differential.sets import all_sets

from snellen.bridge.catalogue import read_catalogue

STORED = json.loads(TABLE.read_bytes())
SETS: Mapping[str, Mapping[str, Any]] = STORED["sets"]
NAMES = {path.name.removesuffix(".jsonl.gz") for path in all_sets()}


def test_every_difference_is_explained() -> None:
    assert {name: one["left"] for name, one in SETS.items() if one.get("left")} == {}
    for name, one in SETS.items():
        if one.get("explained"):
            assert explanations_of(name), name


def test_the_lines_add_up() -> None:
    assert STORED["commit"] == read_catalogue(TOOL).commit
    tasks = {task.name for task in read_catalogue(TOOL).tasks()}
    for name, one in SETS.items():
        assert name in NAMES, "the set is gone: run `python -m tests.bridge.native` anew"
        if "replies" in one:
            assert one["task"] in tasks
            assert one["replies"] == one["agree"] + one["explained"] + len(one["left"])
        else:
            assert one["why"]


def test_the_page_has_the_totals() -> None:
    page = (Path(__file__).parents[2] / "docs" / "bridge.md").read_text("utf-8")
    row = " | ".join(f"{number:,}" for number in totals(SETS).values())
    assert f"| {row} |" in page


def test_many_benchmarks_were_compared_by_many_replies() -> None:
    found = totals(SETS)
    assert found["benchmarks"] >= 40
    assert found["replies"] >= 5_000
    assert found["agree"] / found["replies"] > 0.95
