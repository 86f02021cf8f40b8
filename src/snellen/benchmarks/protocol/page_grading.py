"""How the page that a reply writes is graded: part by part, against the gold page (`scoring.pages`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

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
    from snellen.benchmarks.protocol.formula_drawing import cdm_scores

    matched = match_pages(page_blocks(reply), load_page(gold))
    parts = score_matched_page(matched).parts()
    scores = [0.0 if one is None else one.f1 for one in cdm_scores(formula_pairs(matched))]
    return {**parts, CDM: sum(scores) / len(scores)} if scores else parts


class PageRule(NamedTuple):
    """How a rule grades pages."""

    name: str
    """The headline under this rule."""
    parts: PartsOfPage = page_parts
    overall: tuple[str, ...] = OVERALL_PARTS
    """The parts whose mean is the score of a page, and whose means' mean is the headline."""


DRAWN_PAGES = PageRule("", drawn_page_parts, (TEXT, CDM, TEDS))


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


def omnidocbench_later_parts(reply: str, gold: str) -> Mapping[str, float]:
    """The parts of a page by the rule of OmniDocBench's authors, version 1.5 (`scoring.pages.hybrid_match`)."""
    from snellen.extract.published.omnidocbench import split_page
    from snellen.scoring.pages.hybrid_match import WrittenBlock
    from snellen.scoring.pages.hybrid_match import omnidocbench_later_parts as parts_of

    return parts_of([WrittenBlock(*part) for part in split_page(reply, is_later=True)], load_page(gold))


OMNIDOCBENCH = PageRule("edit_similarity", omnidocbench_parts, (TEXT, FORMULA, TABLE_EDITS, ORDER))
OMNIDOCBENCH_LATER = PageRule("overall_with_formula_edits", omnidocbench_later_parts)
"""The authors' overall number has CDM of formulas in place of their edit distance."""


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
