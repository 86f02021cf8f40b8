"""The page on other tools has the rules that the benchmarks have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from snellen.benchmarks.declaration.registry import list_benchmarks, open_benchmark

PAGE = Path(__file__).parents[2] / "docs" / "other-tools.md"
HEAD = "| benchmark | `official` | `vlmevalkit` |"
NAMES = {"mlvuchoices": "mlvu", "vbench": "vstarbench"}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _table() -> dict[str, tuple[bool, bool]]:
    """Whether the page gives an official rule and one of VLMEvalKit, by benchmark."""
    known = {_plain(one.name): one.name for one in list_benchmarks()}
    known |= {"infographicvqa": "infovqa", "cococaption": "coco-caption"}
    rules = {}
    for line in PAGE.read_text().partition(HEAD)[2].strip().splitlines()[1:]:
        if not line.startswith("|"):
            break
        titles, official, vlmevalkit = (cell.strip() for cell in line.strip("|").split(" | "))
        for title in titles.replace("MLVU, choices", "mlvu").split(","):
            name = _plain(title)
            if name != "ownfiles":
                at = known[NAMES.get(name, name)]
                rules[at] = (not official.startswith("–"), not vlmevalkit.startswith("–"))
    return rules


@pytest.mark.parametrize(("name", "rules"), _table().items())
def test_the_table_of_rules_is_true(name: str, rules: tuple[bool, bool]) -> None:
    has = open_benchmark(name).rules
    assert rules == ("official" in has, "vlmevalkit" in has)


def test_the_table_has_every_benchmark_with_a_rule_of_its_authors() -> None:
    official = {one.name for one in list_benchmarks() if "official" in open_benchmark(one.name).rules}
    assert official <= _table().keys()
