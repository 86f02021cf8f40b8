"""CDM of Snellen beside that of its authors, pair by pair, where TeX is installed."""

from __future__ import annotations

import tomllib

import pytest
from tests.differential.formula_set import FOLDER, STORED, cases
from tests.differential.sets import read_set

from snellen.benchmarks.protocol.formula_drawing import cdm_scores
from snellen.generated_code.tex import find_tex

TEX = find_tex()
CLOSE = 0.01


def explanations() -> dict[str, str]:
    """The cause of each difference, by the id of its pair."""
    found = tomllib.loads((FOLDER / "explained.toml").read_text(encoding="utf-8"))
    return {name: cause["cause"] for cause in found["difference"] for name in cause["pairs"]}


def test_stored_pairs_are_those_of_the_styles() -> None:
    rows = read_set(STORED).rows
    assert [row.case for row in rows] == list(cases())
    assert len(rows) >= 400
    assert explanations().keys() <= {row.case.id for row in rows}


@pytest.mark.skipif(TEX is None or bool(TEX.missing), reason="no TeX that can draw formulas: see snellen doctor")
def test_every_pair_agrees_or_is_explained() -> None:
    rows = read_set(STORED).rows
    scores = cdm_scores([(row.case.cells["gold"], row.case.reply) for row in rows])
    differing = {
        row.case.id: (row.credit, score)
        for row, score in zip(rows, scores, strict=True)
        if score is None or row.credit is None or abs(score.f1 - row.credit) > CLOSE
    }
    known = explanations()
    assert {name: pair for name, pair in differing.items() if name not in known} == {}
    # Another TeX may draw what hangs on a pixel otherwise; most differences are the same everywhere.
    assert len(known.keys() & differing.keys()) >= len(known) // 2
