"""Who names the rule of another tool gets that tool's number."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from snellen import Scored, score
from snellen.core.benchmark import Variant
from snellen.core.summary import Metric
from snellen.scoring.guesses import guess_notices

FAILED = "Failed to obtain answer via API."
OPTIONS = {"A": "oak", "B": "elm", "C": "ash", "D": "fir"}


def scored(folder: Path, name: str, rows: Sequence[Mapping[str, Any]], **variant: Any) -> Scored:
    path = folder / "replies.jsonl"
    lines = [
        json.dumps({"index": str(number), "question": f"Which tree is {number}?", **row})
        for number, row in enumerate(rows)
    ]
    path.write_text("\n".join(lines))
    return score(name, path, variant=Variant(**variant))


def choice(reply: str, **cells: str) -> dict[str, str]:
    return {**OPTIONS, "answer": "A", "prediction": reply, **cells}


@pytest.mark.parametrize(
    ("rule", "name", "value"), [("snellen", "task_mean", 200 / 3), ("vlmevalkit", "accuracy", 50.0)]
)
def test_blink(tmp_path: Path, rule: str, name: str, value: float) -> None:
    replies = (("A", "Counting"), ("B", "Counting"), ("B", "Counting"), ("A", "Jigsaw"))
    rows = [choice(reply, category=category) for reply, category in replies]
    headline = scored(tmp_path, "blink", rows, rule=rule).summary.headline
    assert (headline.name, headline.value) == (name, pytest.approx(value))


@pytest.mark.parametrize(
    ("rule", "failures", "value"),
    [
        (None, None, 100.0),
        ("vlmevalkit", None, 50.0),
        ("official", None, 50.0),
        ("vlmevalkit", "exclude", 100.0),
        ("snellen", "as-reply", 50.0),
    ],
)
def test_failed_replies(tmp_path: Path, rule: str | None, failures: str | None, value: float) -> None:
    rows = [choice("A"), choice(FAILED)]
    found = scored(tmp_path, "mmstar", rows, rule=rule, failures=failures)
    assert found.score == pytest.approx(value)
    assert found.run is not None
    expected = failures or ("count-wrong" if rule == "official" else "exclude")
    assert found.run.failures == ("as-reply" if rule == "vlmevalkit" and not failures else expected)


def test_an_empty_extraction_of_mathvista_takes_the_nearest_choice(tmp_path: Path) -> None:
    rows = [
        {
            "choices": ["a long one", "short"],
            "answer": "short",
            "question_type": "multi_choice",
            "answer_type": "text",
            "prediction": "",
        },
        {"answer": "3", "question_type": "free_form", "answer_type": "integer", "prediction": ""},
    ]
    assert scored(tmp_path, "mathvista", rows, rule="official").score == pytest.approx(50.0)


def test_random_draws_are_counted_and_bounded(tmp_path: Path) -> None:
    rows = [choice(f"It cannot be told {number}.") for number in range(40)]
    found = scored(tmp_path, "vmcbench", rows, rule="vlmevalkit")
    [notice] = [one for one in found.summary.notices if "at random" in one]
    assert notice.startswith("40 of 40 replies name no answer")
    # Binomial with n = 40 and p = 1/4: 5 to 16 right.
    assert "95 % of draws give 12.5 to 40.0, on average 25.0" in notice
    assert "at random" not in "".join(scored(tmp_path, "vmcbench", rows).summary.notices)
    named = [choice("The answer is (A).")] * 3
    assert not [*guess_notices(scored(tmp_path, "vmcbench", named).records, Metric("a", 1, 3), "x")]
