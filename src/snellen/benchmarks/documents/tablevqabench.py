"""TableVQA-Bench: pictures of tables, in four parts (Kim et al. 2024,
https://arxiv.org/abs/2404.19205).

A row of this form (made up): index 0, qa_id "vwtq-1", split "vwtq", question "which team won the
most?", answer "Ajax", image <base64>. Parts: vwtq (750, tables of Wikipedia), vwtq_syn (250, the
same drawn anew), vtabfact (250, statements; gold "1" or "0"), fintabnetqa (250, financial
reports).

Oddities: each part has its own prompt, with examples in text, and its own rule. Several answers
are joined by |, in replies by ||. "Answer: " in front of a reply is cut off, as VLMEvalKit does;
the authors' script takes the reply as it is (`--rule official`). A statement whose reply holds both
true and false is wrong.

The headline is the plain mean of the four parts, which differ in size; VLMEvalKit prints no
overall number, the authors' script the mean over questions (`accuracy`), which is the headline
where one part is scored alone, as the authors' files hold them. For fintabnetqa the score is the
relieved accuracy (with or without units), its exact one stands in `exact_amount`.

The rules (Sec. 4) are one for statements, one for answers from Wikipedia tables, one for financial
tables. That for Wikipedia tables is that of WikiTableQuestions (Pasupat and Liang 2015,
https://arxiv.org/abs/1508.00305): answers are sets of numbers, dates and texts, compared by kind.
Only plain decimal strings are numbers: "1,000" is text, as in the authors' script.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.open_questions import BARE, open_answers, open_rules
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.protocol.parsers import OFFICIAL
from snellen.core.literals import parse_finite
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.prompts.stored import load_full_prompts
from snellen.scoring.grouped import interval_of_mean, small_group_notice, sums_by_label
from snellen.scoring.headlines import mean_of_groups

_QUOTES = str.maketrans("‘’´`“”‐‑‒–—−", "''''\"\"------")
_CITATIONS = re.compile(r"((?<!^)\[[^\]]*\]|\[\d+\]|[•♦†‡*#+])*$")
_DETAILS = re.compile(r"(?<!^)( \([^)]*\))*$")
_QUOTED = re.compile(r'^"([^"]*)"$')
_MAX_LENGTH = 1000
"""Characters of an item from which citations are removed; longer items are compared unchanged."""
_UNKNOWN = "xx"
_MAX_DATE_PARTS = (9999, 12, 31)
"""Highest month and day; years are not checked."""
_TOLERANCE = 1e-6
_UNITS = re.compile(
    r"\b(?:dollar|gallons|square feet|shares|mbtu|mbpd|mbbls|mmbtu|unit|gwh|year|mmcf|mile|mboe)"
    r"s?\b"
)
_SCALES = ((r" ?\bthousand\b", "e3"), (r" ?\bmillion\b", "e6"), (r" ?\bbillion\b", "e9"), (r" ?%", "e-2"))


def is_statement_correct(answer: str, gold: str) -> bool:
    """Whether the answer judges the statement right; `gold` is "True" or "False". An answer that
    contains both words is wrong."""
    lower_answer = answer.lower()
    true, false = "true" in lower_answer, "false" in lower_answer
    return true != false and true == (gold == "True")


def same_items(answer: str, gold: str) -> bool:
    """Whether two lists (items separated by `|` or `||`) have the same length and every gold item
    matches an item of the answer. Repeated items count once."""
    answer_items, gold_items = _parse_items(answer.replace("||", "|")), _parse_items(gold)
    return len(answer_items) == len(gold_items) and all(
        any(target.matches(item) for item in answer_items) for target in gold_items
    )


class Amount(NamedTuple):
    """A financial answer as a number, or as text if it is not a number."""

    with_units: float | str
    """With thousand, million, billion and % applied as factors."""
    bare: float | str
    """With these words and signs removed."""


def parse_amount(text: str) -> Amount:
    """Parse a financial answer, with unit words applied as factors and with them removed."""
    text = _UNITS.sub("", re.sub(r"[$(),]", "", normalise_cell(text)))
    scaled = bare = text
    for pattern, factor in _SCALES:
        scaled, bare = re.sub(pattern, factor, scaled), re.sub(pattern, "", bare)
    try:
        return Amount(float(scaled), float(bare))
    except ValueError:
        return Amount(scaled, bare)


def same_amount(answer: str, gold: str) -> bool:
    """Whether two amounts are equal with their units applied ("3.5 million" is 3500000)."""
    return parse_amount(answer).with_units == parse_amount(gold).with_units


def same_figure(answer: str, gold: str) -> bool:
    """Whether two amounts are equal with or without units: "34.2" for "34.2%" (the authors'
    relieved accuracy)."""
    return bool({*parse_amount(answer)} & {*parse_amount(gold)})


def normalise_cell(text: str) -> str:
    """Normalise the text of a table cell: lower case without diacritics, trailing citations,
    trailing details in parentheses, outer quotes and a final dot; quotes and dashes in one form,
    white space collapsed."""
    marks = unicodedata.normalize("NFKD", text)
    text = "".join(sign for sign in marks if unicodedata.category(sign) != "Mn").translate(_QUOTES)
    before = None
    while before != text and len(text) <= _MAX_LENGTH:
        before = text
        text = _CITATIONS.sub("", text.strip())
        text = _DETAILS.sub("", text.strip())
        text = _QUOTED.sub(r"\1", text.strip())
    return " ".join(text.removesuffix(".").lower().split())


@dataclass(frozen=True, slots=True)
class _CellItem:
    text: str
    number: float | None = None
    date: tuple[str, ...] | None = None

    def matches(self, other: _CellItem) -> bool:
        if self.text == other.text:
            return True
        if self.number is not None and other.number is not None:
            return abs(self.number - other.number) < _TOLERANCE
        return self.date is not None and self.date == other.date


def _parse_items(text: str) -> Sequence[_CellItem]:
    parsed_items = (_parse_item(_unescape(part)) for part in dict.fromkeys(text.split("|")))
    return list({_identity(item): item for item in parsed_items}.values())


def _identity(item: _CellItem) -> float | tuple[str, ...] | str:
    """The value by which two items of a list are the same item."""
    if item.number is not None:
        return item.number
    return item.date if item.date is not None else item.text


def _unescape(text: str) -> str:
    return text.replace(r"\n", "\n").replace(r"\p", "|").replace("\\\\", "\\")


def _parse_item(text: str) -> _CellItem:
    form = normalise_cell(text)
    number = _parse_number(text)
    if number is not None:
        return _CellItem(form, number)
    date = _parse_date(text)
    if date is not None and date[1:] == (_UNKNOWN, _UNKNOWN):
        return _CellItem(form, float(date[0]))
    return _CellItem(form, None, date)


def _parse_date(text: str) -> tuple[str, ...] | None:
    """Year, month and day of "2001-06-xx". None if all parts are unknown or a month or day is
    impossible."""
    parts = text.lower().split("-")
    if len(parts) != len(_MAX_DATE_PARTS):
        return None
    date = tuple(
        _UNKNOWN if part in unknown else _parse_integer(part)
        for part, unknown in zip(parts, (("xx", "xxxx"), ("xx",), ("xx",)), strict=True)
    )
    possible = all(
        part == _UNKNOWN or (part is not None and 1 <= int(part) <= latest)
        for part, latest in zip(date[1:], _MAX_DATE_PARTS[1:], strict=True)
    )
    known_parts = [part for part in date if part is not None]
    if len(known_parts) < len(date) or not possible or set(known_parts) == {_UNKNOWN}:
        return None
    return tuple(known_parts)


def _parse_integer(text: str) -> str | None:
    try:
        return str(int(text))
    except ValueError:
        return None


def _parse_number(text: str) -> float | None:
    value = parse_finite(text)
    if value is None:
        return None
    return float(round(value)) if abs(value - round(value)) < _TOLERANCE else value


HEADLINE = "mean_of_parts"
PARTS = ("vwtq", "vwtq_syn", "vtabfact", "fintabnetqa")
_SYNTHETIC = "_syn"
_STATEMENTS = {"1": "True", "0": "False"}
_PREFIX = re.compile(r"^Answer: ")
_ID_FORMS = (
    (re.compile(r"\.csv_\d+$"), "vtabfact"),
    (re.compile(r"\.pdf\d*_\d+$"), "fintabnetqa"),
    (re.compile(r"^n[tu]-\d+$"), "vwtq"),
)


def grade(answer: str, sample: Sample) -> float:
    """By the rule of the part that the sample is of, without a leading "Answer: "."""
    return grade_raw(_PREFIX.sub("", answer), sample)


def grade_raw(answer: str, sample: Sample) -> float:
    """The same, of the reply as it is."""
    said, gold = answer, sample.gold[0]
    part = sample.groups.get("split", "").removesuffix(_SYNTHETIC)
    rule = {"vtabfact": is_statement_correct, "fintabnetqa": same_figure}.get(part, same_items)
    return float(rule(said, gold))


def exact_amount(answer: str, sample: Sample) -> float:
    """The same but for financial tables, whose units must be right."""
    return exact_amount_raw(_PREFIX.sub("", answer), sample)


def exact_amount_raw(answer: str, sample: Sample) -> float:
    """The same, of the reply as it is."""
    if sample.groups.get("split") != "fintabnetqa":
        return grade_raw(answer, sample)
    return float(same_amount(answer, sample.gold[0]))


def part_of_file(path: str) -> str | None:
    """The part by the name of a file in a folder of predictions."""
    name = path.rpartition("/")[2]
    return name if name in PARTS else None


def part_of_id(name: str) -> str | None:
    """The part of a question by its `qa_id`, for the authors' files, which hold one part each and
    do not name it: "2-11036258-13.html.csv_8" is a statement, "DOV_2014_page_13.pdf149186_1" about
    a financial report and "nu-1740" about a Wikipedia table (drawn anew or not, in which the rule
    does not differ)."""
    return next((part for form, part in _ID_FORMS if form.search(name)), None)


@cache
def _templates() -> Mapping[str, str]:
    return load_full_prompts("tablevqabench")


def _adjust(sample: Sample, row: Row) -> Sample:
    """Put the question into its part's prompt; the gold answer stays one text, even if it looks
    like a list."""
    part = part_of_file(row.cells.get("file", "")) or part_of_id(row.cells.get("qa_id", ""))
    if part is not None and "split" not in sample.groups:
        sample = structs.replace(sample, groups={**sample.groups, "split": part})
    template = _templates().get(sample.groups.get("split", "").removesuffix(_SYNTHETIC))
    gold = "|".join(sample.gold)
    if sample.groups.get("split") == "vtabfact":
        gold = _STATEMENTS.get(gold, gold)
    question = template.format(question=sample.question) if template else sample.question
    return structs.replace(sample, question=question, gold=(gold,) if gold else ())


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The plain mean of the parts, with the mean over questions beside it; of one part alone its
    own accuracy; None if two or three parts are here."""
    summary = context.plain(records)
    parts = summary.groups.get("split", {})
    values = [parts[name].value for name in PARTS if name in parts]
    present = [value for value in values if value is not None]
    notices = summary.notices
    if len(parts) == 1 and len(present) == 1:
        (name,) = parts
        notice = f"all questions are of the part {name}, whose accuracy is the headline"
        return msgspec.structs.replace(summary, notices=(*notices, notice))
    if len(present) < len(PARTS):
        note = summary.headline.note or f"only {len(present)} of the {len(PARTS)} parts are here"
        mean = Metric(HEADLINE, None, summary.n, note=note)
    else:
        sums = sums_by_label(records, "split", context.failures)
        interval = interval_of_mean([sums[name] for name in PARTS])
        mean = Metric(HEADLINE, sum(present) / len(PARTS), summary.n, interval)
        notices = (*notices, *small_group_notice({name: sums[name] for name in PARTS}))
    metrics = {HEADLINE: mean, **summary.metrics}
    return msgspec.structs.replace(
        summary, headline=mean, metrics=metrics, bounds=None, notices=notices, beside=("accuracy", *summary.beside)
    )


def _part_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    sums = mean_of_groups(
        records, lambda one: part if (part := one.groups.get("split")) in PARTS else None, context.failures
    )
    # Two columns for each part that has a score: all of them, or the one that is scored alone.
    return sums if sums is not None and sums.rows.shape[1] in (2, 2 * len(PARTS)) else None


BENCHMARK = Declaration(
    name="tablevqabench",
    version="3",
    title="TableVQA-Bench, pictures of tables",
    paper="https://arxiv.org/abs/2404.19205",
    provenance="TableVQA-Bench (MIT), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://pai-aigc-photog.oss-cn-hangzhou.aliyuncs.com/mentor-vil/datasets/tablevqa-bench.tsv",
        "2550adc61bdc82d8e62f3b003de7c62d",
    ),
    group_by=("split",),
    adjust=_adjust,
    template=BARE,
    scoring=open_answers(
        "accuracy",
        open_rules(
            grade,
            official=grade_raw,
            secondary={"exact_amount": exact_amount},
            secondary_official={"exact_amount": exact_amount_raw},
        ),
    ),
    headline=Headline(name=HEADLINE, summarise=_summarise, sums=_part_sums, weighs_scores=True),
    rule_headlines={OFFICIAL: Headline()},
)
