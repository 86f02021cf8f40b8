"""Letters, refusals and the upper bound, by hand and through the command."""

from __future__ import annotations

import json
from pathlib import Path

from snellen.analysis.choices import Refusals, choices
from snellen.api import evaluate
from snellen.cli import main
from snellen.core.answer import Found, Refused
from snellen.core.benchmark import Variant
from snellen.core.output import Generated
from snellen.core.record import Pass, Record


def one(answer: str | None, gold: str) -> Pass:
    read = Found(answer, "bare label") if answer else Refused("phrase")
    return Pass((), Generated(answer or "I cannot help."), read, (gold,), answer == gold)


def record(number: int, score: float, *passes: Pass, category: str = "c") -> Record:
    groups = {"category": category}
    return Record(str(number), "choice", "q", "answered", score, groups=groups, passes=passes)


def test_letters_refusals_and_the_bound() -> None:
    found = choices(
        [
            record(1, 1.0, one("A", "A"), one("B", "B")),
            record(2, 0.0, one(None, "A"), one("B", "B"), category="faces"),
            record(3, 0.0, one("A", "B"), one(None, "A"), category="faces"),
            Record("4", "choice", "q", "failed", unscored="failed"),
        ]
    )
    assert found.passes == 6
    assert found.predicted == {"A": 2, "B": 2}
    assert found.gold == {"A": 3, "B": 3}
    assert found.refused == Refusals(2, 6)
    assert found.refusals == {"c": Refusals(0, 2), "faces": Refusals(2, 4)}
    assert round(found.accuracy or 0, 3) == 33.333
    assert round(found.upper_bound or 0, 3) == 66.667


def test_early_stop_is_said_to_censor(tmp_path: Path, capsys) -> None:
    for mode in ("early", "full"):
        evaluate(
            ["random"], ["eyechart"], out=tmp_path, variant=Variant(circular=mode), limit=20,
            html=False,
        )  # fmt: skip
    capsys.readouterr()
    assert main(["analyse", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert said.count("censored by early stop") == 1
    assert "upper bound without refusals" in said
    assert main(["analyse", str(tmp_path), "--json"]) == 0
    reports = json.loads(capsys.readouterr().out)
    (full,) = [one["choices"] for one in reports if one["choices"]]
    assert sum(full["gold"].values()) == full["passes"]
