"""Formulas compared as they look: CDM of pairs, drawn by TeX (`scoring.pages.cdm`, `generated_code.formulas`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from snellen.generated_code.formulas import DrawnDisplay, check_reader, draw_displays
from snellen.generated_code.tex import check_tex
from snellen.scoring.pages.cdm import (
    CDM_RULE,
    CdmRule,
    CdmScore,
    DrawnCharacter,
    DrawnFormula,
    check_matching_packages,
    match_formulas,
)
from snellen.scoring.pages.formula_colours import ColouredFormula, colour_formula


def check_cdm() -> None:
    """Raises UsageError without TeX, MissingExtra without a package that CDM needs."""
    check_tex("CDM (formulas=cdm)")
    check_reader()
    check_matching_packages()


def cdm_scores(pairs: Sequence[tuple[str, str]], rule: CdmRule = CDM_RULE) -> list[CdmScore | None]:
    """CDM of pairs of a gold formula and one of a reply, in LaTeX without delimiters; None where nothing of
    the gold formula can be drawn. Raises as `check_cdm`."""
    # Gold formulas first: drawing ends where a reply has too many formulas that come to no end.
    texts = dict.fromkeys([*(gold for gold, _ in pairs), *(reply for _, reply in pairs)])
    coloured = {text: colour_formula(text, is_older=rule.is_older) for text in texts}
    drawn = draw_displays({one.latex: len(one.tokens) for one in coloured.values() if one.tokens})
    formulas = {text: _formula(one, drawn) for text, one in coloured.items()}
    return [match_formulas(formulas[gold], formulas[reply], rule) for gold, reply in pairs]


def _formula(coloured: ColouredFormula, drawn: Mapping[str, DrawnDisplay]) -> DrawnFormula:
    display = drawn.get(coloured.latex, DrawnDisplay())
    characters = [
        DrawnCharacter(token, display.boxes[colour])
        for colour, token in enumerate(coloured.tokens, 1)
        if colour in display.boxes
    ]
    return DrawnFormula(characters, display.width, display.height)
