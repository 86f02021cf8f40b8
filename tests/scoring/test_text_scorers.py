"""The scorers of `eval.yaml` against verdicts of inspect_ai 0.3.285 (MIT, UK AI Security
Institute), recorded by calling its `match_str`, `max_exact_score` and `max_f1_score`.

A line of inspect_verdicts.jsonl: reply, golds, includes; match at begin, end, any, exact; the same
four with `numeric`; exact; f1.
"""

from __future__ import annotations

import json
from pathlib import Path

from snellen.scoring import text_scorers

LINES = (Path(__file__).parent / "inspect_verdicts.jsonl").read_text(encoding="utf-8").splitlines()
LOCATIONS = ("begin", "end", "any", "exact")


def test_verdicts_are_those_of_inspect() -> None:
    for line in LINES:
        reply, golds, *theirs = json.loads(line)
        ours = [
            text_scorers.includes(reply, golds),
            *(text_scorers.match(reply, golds, location=place) for place in LOCATIONS),
            *(text_scorers.match(reply, golds, location=place, numeric=True) for place in LOCATIONS),
            text_scorers.exact(reply, golds),
            text_scorers.f1(reply, golds),
        ]
        assert ours == theirs, line


def test_case_counts_where_it_is_asked_to() -> None:
    assert text_scorers.includes("It is Paris", ["Paris"], ignore_case=False)
    assert not text_scorers.includes("it is paris", ["Paris"], ignore_case=False)
    assert not text_scorers.match("paris", ["Paris"], ignore_case=False)
