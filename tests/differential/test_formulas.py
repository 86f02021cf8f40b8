"""CDM of Snellen beside that of its authors, pair by pair, where TeX is installed."""

from __future__ import annotations

import tomllib

import pytest
from tests.differential.formula_set import FOLDER, SPECS
from tests.differential.sets import Spec, read_set

from snellen.benchmarks.protocol.formula_drawing import cdm_scores
from snellen.generated_code.tex import find_tex
from snellen.scoring.pages.cdm import CDM_RULE, OMNIDOCBENCH

TEX = find_tex()
CLOSE = 0.01
RULES = {"cdm": CDM_RULE, "cdm_omnidocbench": OMNIDOCBENCH}


def explanations(rule: str) -> dict[str, str]:
    """The cause of each difference, by the id of its pair."""
    found = tomllib.loads((FOLDER / "explained.toml").read_text(encoding="utf-8"))
    return {name: cause["cause"] for cause in found["difference"] for name in cause.get(rule, ())}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.rule)
def test_stored_pairs_are_those_of_the_styles(spec: Spec) -> None:
    rows = read_set(FOLDER / f"{spec.name}.jsonl.gz").rows
    assert [row.case for row in rows] == list(spec.cases())
    assert len(rows) >= 330
    assert explanations(spec.rule).keys() <= {row.case.id for row in rows}


@pytest.mark.skipif(TEX is None or bool(TEX.missing), reason="no TeX that can draw formulas: see snellen doctor")
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.rule)
def test_every_pair_agrees_or_is_explained(spec: Spec) -> None:
    rows = read_set(FOLDER / f"{spec.name}.jsonl.gz").rows
    scores = cdm_scores([(row.case.cells["gold"], row.case.reply) for row in rows], RULES[spec.rule])
    # The older code gives 0 where nothing of the gold formula can be drawn, the other no number.
    ours = [0.0 if score is None and spec.rule != "cdm" else score and score.f1 for score in scores]
    differing = {
        row.case.id: (row.credit, score)
        for row, score in zip(rows, ours, strict=True)
        if score is None or row.credit is None or abs(score - row.credit) > CLOSE
    }
    known = explanations(spec.rule)
    assert {name: pair for name, pair in differing.items() if name not in known} == {}
    # Another TeX may draw what hangs on a pixel otherwise; most differences are the same everywhere.
    assert len(known.keys() & differing.keys()) >= len(known) // 2
