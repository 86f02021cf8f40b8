"""How the page that a reply writes is graded: part by part, against the gold page (`scoring.pages`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.page import load_page
from snellen.core.sample import Sample
from snellen.extract.pages.blocks import page_blocks
from snellen.scoring.pages.page_score import (
    CDM,
    FORMULA,
    ORDER,
    OVERALL_PARTS,
    TABLE_EDITS,
    TEDS,
    TEXT,
    formula_pairs,
    match_pages,
    mean_of_parts,
    score_matched_page,
    score_page,
)

if TYPE_CHECKING:
    from snellen.scoring.pages.hybrid_match import PageMatches

PartsOfPage = Callable[[str, str], Mapping[str, float]]
"""A page as a reply writes it and the text of the gold page, to the parts that the gold has, each 0..1 by
the name of its metric."""

PartsOfSample = Callable[[str, Sample], Mapping[str, float]]


def page_parts(reply: str, gold: str) -> Mapping[str, float]:
    """The parts of a page by Snellen's rule."""
    return score_page(page_blocks(reply), load_page(gold)).parts()


def drawn_page_parts(reply: str, gold: str) -> Mapping[str, float]:
    """The same parts, and CDM of formulas, the mean over those of the gold page. One that the reply lacks, or
    that cannot be drawn, counts 0, as in OmniDocBench's evaluation."""
    matched = match_pages(page_blocks(reply), load_page(gold))
    return {**score_matched_page(matched).parts(), **_cdm_part(formula_pairs(matched))}


def _cdm_part(pairs: Sequence[tuple[str, str]], *, is_older: bool = False) -> dict[str, float]:
    """The mean CDM of the formulas of a page; nothing where it has none."""
    if not pairs:
        return {}
    from snellen.benchmarks.protocol.formula_drawing import cdm_scores
    from snellen.scoring.pages.cdm import CDM_RULE, OMNIDOCBENCH

    scores = cdm_scores(pairs, OMNIDOCBENCH if is_older else CDM_RULE)
    return {CDM: sum(one.f1 for one in scores if one is not None) / len(scores)}


class PageRule(NamedTuple):
    """How a rule grades pages."""

    name: str
    """The headline under this rule."""
    parts: PartsOfPage = page_parts
    overall: tuple[str, ...] = OVERALL_PARTS
    """The parts whose mean is the score of a page, and whose means' mean is the headline."""
    drawn: PageRule | None = None
    """The rule where formulas count by CDM, for one that can."""


DRAWN_PARTS = (TEXT, CDM, TEDS)
OWN_PAGES = PageRule("", drawn=PageRule("", drawn_page_parts, DRAWN_PARTS))


def omnidocbench_parts(reply: str, gold: str) -> Mapping[str, float]:
    """The parts of a page by the rule of OmniDocBench's authors, version 1.0 (`scoring.pages.omnidocbench`)."""
    from snellen.extract.published.omnidocbench import split_page
    from snellen.scoring.pages.omnidocbench import ReplyParts
    from snellen.scoring.pages.omnidocbench import omnidocbench_parts as parts_of
    from snellen.scoring.pages.quick_match import Written

    parts = split_page(reply)
    texts, formulas, tables = (
        [Written(part.text, part.place) for part in parts if part.kind == kind]
        for kind in ("text", "formula", "html_table")
    )
    return parts_of(ReplyParts(texts, formulas, tables), load_page(gold))


def _match_later(reply: str, gold: str) -> PageMatches:
    from snellen.extract.published.omnidocbench import split_page
    from snellen.scoring.pages.hybrid_match import WrittenBlock, match_page

    return match_page([WrittenBlock(*part) for part in split_page(reply, is_later=True)], load_page(gold))


def omnidocbench_later_parts(reply: str, gold: str) -> Mapping[str, float]:
    """The parts of a page by the rule of OmniDocBench's authors, version 1.5 (`scoring.pages.hybrid_match`)."""
    return _match_later(reply, gold).parts()


def drawn_omnidocbench_parts(reply: str, gold: str) -> Mapping[str, float]:
    """The same parts, and CDM by the copy of its code that version 1.5 has."""
    matches = _match_later(reply, gold)
    return {**matches.parts(), **_cdm_part(matches.formula_sources(), is_older=True)}


OMNIDOCBENCH = PageRule("edit_similarity", omnidocbench_parts, (TEXT, FORMULA, TABLE_EDITS, ORDER))
OMNIDOCBENCH_LATER = PageRule(
    "overall_with_formula_edits",
    omnidocbench_later_parts,
    drawn=PageRule("overall", drawn_omnidocbench_parts, DRAWN_PARTS),
)
"""The authors' overall number is the one with CDM; theirs is rounded to thousandths of each part first."""


TESTS_PASSED, ADDED_BASELINE = "tests_passed", "added_baseline"


def unit_test_parts(reply: str, gold: str, *, reads_blank: bool = False) -> Mapping[str, float]:
    """The share of the unit tests of a page that its reply passes, of all and by type; a page that states no
    test of the type `baseline` gets one. Unless a rule reads blank replies, these pass nothing, and
    a reply that is shorter than a sentence does not hold it."""
    from snellen.scoring.pages.unit_tests import BASELINE, WHOLE_TEXT, passes_test, read_tests, states_baseline

    tests, is_counted = read_tests(gold), reads_blank or bool(reply.strip())
    results: dict[str, list[bool]] = {}
    for test in tests:
        results.setdefault(test["type"], []).append(
            is_counted and passes_test(reply, {**test, WHOLE_TEXT: not reads_blank})
        )
    if not states_baseline(tests):
        results[ADDED_BASELINE] = [passes_test(reply, {"type": BASELINE})]
    every = [result for of_type in results.values() for result in of_type]
    shares = {name: sum(of_type) / len(of_type) for name, of_type in results.items()}
    return {TESTS_PASSED: sum(every) / len(every), **shares}


UNIT_TESTS = PageRule("mean_of_categories", unit_test_parts, (TESTS_PASSED,))
UNIT_TESTS_OFFICIAL = PageRule("mean_of_categories", partial(unit_test_parts, reads_blank=True), (TESTS_PASSED,))


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
