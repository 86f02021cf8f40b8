"""What a benchmark's numbers rest on: somebody else's data, somebody else's scorer, or the text.

`data/evidence.json` is counted by `docs/evidence.py` from published predictions and from sets of
replies that other scorers have judged; nothing in it is written by hand. What differs, and why, is
in `docs/evidence.md`.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

import msgspec
from msgspec import Struct

Level = Literal["reproduced", "differential", "formula", "from the text"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""From the strongest to the weakest.

`reproduced`: published predictions give the published number. `differential`: the authors' own
scorer, or that of the tool whose numbers are quoted, judged the same replies, and every verdict
agrees or is explained. `formula`: the tables of the paper follow from its formulas. `from the
text`: nothing was compared, or too little to tell.
"""
_FILE = "evidence.json"
_KINDS = {"reproduced": "published numbers", "formula": "numbers of the paper's tables"}
"""What was compared, where it is not verdicts."""


class EvidenceComparison(Struct, frozen=True, omit_defaults=True):
    """One comparison with somebody else's numbers or verdicts."""

    level: Level
    source: str
    """Repository of the scorer, or where the numbers were published."""
    agreeing: int
    compared: int
    """Replies (`differential`) or numbers (the other levels)."""
    rule: str = ""
    """Snellen's rule that was compared, of a differential comparison."""
    commit: str = ""
    setting: str = ""
    """The benchmark with its options, where they are not the defaults."""


class BenchmarkEvidence(Struct, frozen=True):
    """All comparisons of one benchmark, the strongest level first."""

    level: Level
    comparisons: tuple[EvidenceComparison, ...] = ()

    def summary(self) -> str:
        """The level, and everything that was compared, in one line."""
        if not self.comparisons:
            return f"{self.level}: nothing was compared"
        return f"{self._level_text()}: " + "; ".join(map(_comparison_text, self.comparisons))

    def brief(self) -> str:
        """The level, and how much agrees with whom in counts alone, for a line of a page."""
        if not self.comparisons:
            return self.summary()
        agreeing: Counter[str] = Counter()
        compared: Counter[str] = Counter()
        for comparison in self.comparisons:
            kind = _KINDS.get(comparison.level, f"verdicts under --rule {comparison.rule}")
            agreeing[kind] += comparison.agreeing
            compared[kind] += comparison.compared
        counts = (f"{agreeing[kind]:,} of {compared[kind]:,} {kind}" for kind in compared)
        return f"{self._level_text()}: {'; '.join(counts)}"

    def _level_text(self) -> str:
        return f"{self.level}, compared in part" if self.level == "from the text" else self.level


def evidence_of(name: str) -> BenchmarkEvidence | None:
    """The evidence of a registered benchmark; None for the user's own."""
    return load_evidence().get(name)


def evidence_level(name: str) -> str:
    """The level of a registered benchmark; "" for the user's own."""
    evidence = evidence_of(name)
    return evidence.level if evidence else ""


@cache
def load_evidence() -> dict[str, BenchmarkEvidence]:
    """Evidence by the registered name of the benchmark."""
    text = (files("snellen.benchmarks") / "data" / _FILE).read_bytes()
    return msgspec.json.decode(text, type=dict[str, BenchmarkEvidence])


def _comparison_text(comparison: EvidenceComparison) -> str:
    if comparison.level != "differential":
        return f"{comparison.agreeing} of {comparison.compared} numbers of {comparison.source}"
    origin = f"{comparison.source} {comparison.commit[:7]}".strip()
    setting = f"{comparison.setting}, " if comparison.setting else ""
    return f"{comparison.agreeing} of {comparison.compared} verdicts of {origin} ({setting}--rule {comparison.rule})"
