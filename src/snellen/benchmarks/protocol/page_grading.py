"""How the page that a reply writes is graded: part by part, against the gold page (`scoring.pages`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from snellen.core.page import load_page
from snellen.core.sample import Sample
from snellen.extract.pages.blocks import page_blocks
from snellen.scoring.pages.page_score import OVERALL_PARTS, mean_of_parts, score_page

PartsOfPage = Callable[[str, str], Mapping[str, float]]
"""A page as a reply writes it and the text of the gold page, to the parts that the gold has, each 0..1 by
the name of its metric."""

PartsOfSample = Callable[[str, Sample], Mapping[str, float]]


def page_parts(reply: str, gold: str) -> Mapping[str, float]:
    """The parts of a page by Snellen's rule."""
    return score_page(page_blocks(reply), load_page(gold)).parts()


def page_grades(
    parts: PartsOfPage = page_parts, overall: Sequence[str] = OVERALL_PARTS
) -> tuple[Callable[[str, Sample], float], PartsOfSample]:
    """The grade of a page, which is the mean of the parts that are named `overall`, and all its parts. Of
    several gold pages the one that the reply is nearest to counts."""

    # A page is graded, then its parts are asked for.
    @lru_cache(maxsize=8)
    def best(reply: str, golds: tuple[str, ...]) -> Mapping[str, float]:
        return max((parts(reply, gold) for gold in golds), key=lambda found: mean_of_parts(found, overall))

    def grade(answer: str, sample: Sample) -> float:
        return mean_of_parts(best(answer, sample.gold), overall)

    return grade, lambda answer, sample: best(answer, sample.gold)
