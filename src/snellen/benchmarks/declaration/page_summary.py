"""What benchmarks of pages report: the mean of the parts' means, each part alone, micro and macro.

Macro means weigh pages equally: each part is the mean over the pages that have it, and the headline the
mean of the named parts (OmniDocBench 1.5 and later take that of text, tables and formulas). Micro means
weigh a page by what its gold has of the part: letters and digits of text, tables, characters of formulas.
Intervals resample pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.benchmarks.protocol.page_grading import ADDED_BASELINE, OWN_PAGES, TESTS_PASSED, PageRule, page_grades
from snellen.benchmarks.protocol.parsers import OWN
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.page import BlockKind, load_page
from snellen.core.record import Record
from snellen.core.summary import FailurePolicy, HeadlineSums, Metric, Summary, SummaryContext
from snellen.extract.open_text import parse_raw
from snellen.scoring.accuracy import counted_score
from snellen.scoring.headlines import RatioTerm, metric_of_terms, sum_of_ratios
from snellen.scoring.pages.page_score import CDM, FORMULA, ORDER, OVERALL_PARTS, TABLE_EDITS, TEDS, TEDS_STRUCTURE, TEXT
from snellen.scoring.pages.texts import counted_formula, counted_text
from snellen.scoring.pages.unit_tests import BASELINE, read_tests, states_baseline

PAGE_SCORE, MICRO = "page_score", "micro_"
FORMULAS, FORMULA_RULES = "formulas", ("edits", "cdm")
"""The option that says how formulas count, and its values, the default first."""
_KINDS: Mapping[str, BlockKind] = {
    **{TEXT: "text", FORMULA: "formula", CDM: "formula"},
    **dict.fromkeys((TEDS, TEDS_STRUCTURE, TABLE_EDITS), "table"),
}
_BESIDE = (TEXT, CDM, FORMULA, TEDS, TEDS_STRUCTURE, TABLE_EDITS, ORDER)


def page_headline(name: str = "", overall: Sequence[str] = OVERALL_PARTS) -> Headline:
    """The mean of the means of the parts that are named `overall`, with what stands beside it."""
    name = name or PAGE_SCORE
    return Headline(name=name, summarise=partial(_summarise, name, overall), sums=partial(_sums, overall))


def with_formulas(declaration: Declaration, rules: Mapping[str, PageRule] | None = None) -> Declaration:
    """A benchmark of pages with the option `formulas`, which says how they count, and the rules of other tools."""
    options = {**declaration.options, FORMULAS: FORMULA_RULES}
    drawn = {name: rule.drawn for name, rule in {OWN: OWN_PAGES, **(rules or {})}.items()}
    return replace(
        declaration, options=options, for_variant=partial(_with_drawn_formulas, declaration.for_variant, drawn)
    )


def _with_drawn_formulas(
    before: Callable[[Declaration, Variant], Declaration] | None,
    drawn: Mapping[str, PageRule | None],
    declaration: Declaration,
    variant: Variant,
) -> Declaration:
    """The declaration of a variant: with `formulas=cdm` formulas count as they look. Raises UsageError."""
    if before is not None:
        declaration = before(declaration, variant)
    scoring, rule = declaration.scoring, variant.rule or OWN
    if variant.options.get(FORMULAS) != FORMULA_RULES[1] or not isinstance(scoring, RuleScoring):
        return declaration
    chosen = drawn.get(rule)
    if chosen is None:
        known = ", ".join(name for name, one in drawn.items() if one is not None)
        raise UsageError(
            f"{FORMULAS}=cdm belongs to the rules {known} of this benchmark, got --rule {rule}; leave out one"
        )
    from snellen.extract.pages.blocks import parse_page

    grade, parts = page_grades(chosen.parts, chosen.overall)
    parse = parse_page if rule == OWN else parse_raw
    parsers = scoring.rules[rule]._replace(document=OpenScoring(parse, grade, parts=parts))
    headline = page_headline(chosen.name or declaration.headline.name, chosen.overall)
    return replace(
        declaration,
        scoring=replace(scoring, rules={**scoring.rules, rule: parsers}),
        rule_headlines={**declaration.rule_headlines, rule: headline},
        check=partial(_check_drawn, declaration.check),
    )


def _check_drawn(before: Callable[[], None] | None) -> None:
    from snellen.benchmarks.protocol.formula_drawing import check_cdm

    if before is not None:
        before()
    check_cdm()


def _sums(overall: Sequence[str], context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    return sum_of_ratios([_terms(record, overall, context.failures) for record in records])


def _summarise(name: str, overall: Sequence[str], context: SummaryContext, records: Sequence[Record]) -> Summary:
    plain = context.plain(records)
    if plain.headline.value is None:
        headline = structs.replace(plain.headline, name=name)
        return structs.replace(plain, headline=headline, metrics={name: headline})
    headline = _metric(name, overall, context, records)
    micro = {f"{MICRO}{part}": _micro_metric(part, context.failures, records) for part in _KINDS}
    micro = {key: metric for key, metric in micro.items() if metric.value is not None}
    others = {key: metric for key, metric in plain.metrics.items() if key != plain.headline.name}
    labels = {column: tuple(cells) for column, cells in plain.groups.items()}
    return structs.replace(
        plain,
        headline=headline,
        metrics={name: headline, **others, **micro},
        groups={
            column: {
                label: _metric(label, overall, context, [one for one in records if one.groups.get(column) == label])
                for label in cells
            }
            for column, cells in labels.items()
        },
        bounds=None,
        beside=(*(part for part in _BESIDE if part in others), *plain.beside),
    )


def _metric(name: str, overall: Sequence[str], context: SummaryContext, records: Sequence[Record]) -> Metric:
    terms = [_terms(record, overall, context.failures) for record in records]
    return metric_of_terms(name, terms, records)


def _terms(record: Record, names: Sequence[str], failures: FailurePolicy) -> list[RatioTerm]:
    """What a page adds to the mean of each part; nothing if it does not count."""
    score = counted_score(record, failures)
    if score is None or record.kind != "page":
        return []
    if not record.values:  # a failure that counts as wrong
        return [RatioTerm(name, 0.0) for name in names if _weight(record.gold[0], name)]
    return [RatioTerm(name, record.values[name]) for name in names if name in record.values]


def _micro_metric(part: str, failures: FailurePolicy, records: Sequence[Record]) -> Metric:
    terms = []
    for record in records:
        weight = _weight(record.gold[0], part) if record.kind == "page" and record.gold else 0
        found = _terms(record, (part,), failures)
        terms.append([RatioTerm("", term.numerator * weight, weight) for term in found])
    return metric_of_terms(f"{MICRO}{part}", terms, records)


@lru_cache(maxsize=4096)
def _weight(gold: str, part: str) -> int:
    """What a gold page has of a part: characters that count, or tables."""
    kind = _KINDS.get(part, "text")
    blocks = [block for block in load_page(gold).blocks if block.kind == kind and not block.optional]
    if kind == "table":
        return len(blocks)
    count = counted_text if kind == "text" else counted_formula
    return sum(len(count(block.text)) for block in blocks)


def unit_test_headline(name: str) -> Headline:
    """The mean over categories of the share of the unit tests that pass: the category of a test is the folder
    of its file, and that of baselines which pages do not state themselves their own, as in olmOCR-Bench."""
    return Headline(name=name, summarise=partial(_summarise_tests, name), sums=_test_sums)


def _test_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    return sum_of_ratios([_test_terms(record, context.failures) for record in records])


def _summarise_tests(name: str, context: SummaryContext, records: Sequence[Record]) -> Summary:
    plain = context.plain(records)
    if plain.headline.value is None:
        headline = structs.replace(plain.headline, name=name)
        return structs.replace(plain, headline=headline, metrics={name: headline})
    terms = [_test_terms(record, context.failures) for record in records]
    headline = metric_of_terms(name, terms, records)
    labels = sorted({term.ratio for of_page in terms for term in of_page})
    cells = {}
    for label in labels:
        own = [[term for term in of_page if term.ratio == label] for of_page in terms]
        cells[label] = metric_of_terms(label, own, records)
    others = {key: metric for key, metric in plain.metrics.items() if key != plain.headline.name}
    return structs.replace(
        plain,
        headline=headline,
        metrics={name: headline, **others},
        groups={"category": cells, **plain.groups},
        bounds=None,
        beside=(TESTS_PASSED, *plain.beside),
    )


def _test_terms(record: Record, failures: FailurePolicy) -> list[RatioTerm]:
    """What a page adds to its category and to that of baselines: tests that pass, and tests."""
    if counted_score(record, failures) is None or not record.gold:
        return []
    tests = read_tests(record.gold[0])
    counts = Counter(str(test["type"]) for test in tests)
    passed = sum(count * record.values.get(kind, 0.0) for kind, count in counts.items())
    category = str(tests[0].get("pdf", "")).partition("/")[0] if tests else ""
    terms = [RatioTerm(category, passed, len(tests))] if tests else []
    if not states_baseline(tests):
        terms.append(RatioTerm(BASELINE, record.values.get(ADDED_BASELINE, 0.0)))
    return terms
