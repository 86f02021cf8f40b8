"""MathVista: mathematics about pictures (Lu et al. 2023, https://arxiv.org/abs/2310.02255).

One example row of the TSV: index 0, question "Hint: Please answer the question requiring a
floating-point number with one decimal place ...\nQuestion: When a spring does work ...", answer
"1.2", question_type "free_form", answer_type "float", choices "[]", task "textbook question
answering", skills "['scientific reasoning']", image <base64>. The authors' JSON has `pid`, the bare
question, `unit`, `precision` and the groups inside `metadata`; the hint is then added here.

Oddities: a multiple-choice question's answer is the text of the choice; a question counts under
each of its skills; two of the thousand answers of testmini are lists.

Rules first, and only what they cannot read goes to a judge that copies out the short answer (the
paper extracts every reply by GPT-4). Numbers are compared as numbers: "3.0" is 3, floats are
rounded to the places of the gold. VLMEvalKit compares floats without rounding and lists never
rightly. The rule `official` is the authors' of 2023 on short answers: any text is forced to the
nearest choice by edit distance, 3.0 is no integer, and "11 cm" is no number, which is 11 for us.

An extracted answer is converted to the form of the question (Sec. 3.3) by one of two rules:
`same_value` is ours: numbers are compared as numbers, floats after rounding to the
decimals of the gold, lists item by item. `normalise_extraction` is the authors', as of the
published scores of 2023: every extraction is forced into the question's form (for choices, the
nearest one by edit distance) and compared as text; an integer must be written as an integer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

from snellen.benchmarks.declaration.declaration import Declaration, Options
from snellen.benchmarks.declaration.judged import (
    OFFICIAL,
    OWN_RULE,
    RULE,
    Judged,
    first_cell,
    plain_messages,
    split_list,
)
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample, option_cells
from snellen.benchmarks.protocol.judged_flows import ExtractedScoring
from snellen.benchmarks.protocol.judged_summary import SEPARATOR
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.core.output import Answer, Empty, NoMatch, ParsedAnswer
from snellen.core.record import Flow
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.extract.choice import parse_choice
from snellen.extract.numbers import parse_list_answer, parse_numeric_answer
from snellen.extract.open_text import parse_open
from snellen.extract.verdicts import ParsedVerdict, parse_extracted_answer
from snellen.scoring.mathematics import parse_number, strip_markup

AnswerType = Literal["text", "integer", "float", "list"]
ANSWER_TYPES: tuple[AnswerType, ...] = get_args(AnswerType)
_TOLERANCE = 1e-9
_IN_PARENTHESES = re.compile(r"\(([a-zA-Z])\)")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def answer_type_of(text: str) -> AnswerType:
    """The declared answer type; `text` for an unknown one."""
    return text if text in ANSWER_TYPES else "text"


def same_value(answer: str, gold: str, kind: AnswerType) -> bool:
    """Whether a free-form answer has the value of the gold."""
    if kind == "list":
        answer_numbers, gold_numbers = parse_number_list(answer), parse_number_list(gold)
        return answer_numbers is not None and gold_numbers is not None and _all_close(answer_numbers, gold_numbers)
    value, right = parse_number(strip_markup(answer)), parse_number(strip_markup(gold))
    if value is None or right is None:
        return strip_markup(answer) != "" and strip_markup(answer) == strip_markup(gold)
    if kind == "float":
        value = round(value, decimal_places(gold))
    return abs(value - right) < _TOLERANCE


def normalise_extraction(extraction: str, kind: AnswerType, gold: str, choices: Sequence[str]) -> str | None:
    """Convert the extraction to the question's form; None if that is impossible. `choices` are
    those of a multiple-choice question."""
    text = extraction.strip()
    if choices:
        return _choice_of_extraction(text, choices)
    if kind == "list":
        return text
    try:
        if kind == "integer":
            return str(int(text))
        if kind == "float":
            return str(round(float(text), decimal_places(gold)))
    except (ValueError, OverflowError):
        return None
    return text


def decimal_places(gold: str) -> int:
    """Decimals of a gold, which are MathVista's `precision`."""
    return len(gold.strip().partition(".")[2])


def nearest_choice(text: str, choices: Sequence[str]) -> int:
    """Index of the choice with the smallest Levenshtein distance; the first of equals."""
    from rapidfuzz.distance import Levenshtein

    return min(range(len(choices)), key=lambda index: Levenshtein.distance(text, choices[index]))


def parse_number_list(text: str) -> list[float] | None:
    """The numbers of a list such as [1, 2.5]; None for any other text."""
    core = text.strip()
    if not (core.startswith("[") and core.endswith("]")):
        return None
    numbers = [parse_number(strip_markup(item)) for item in core[1:-1].split(",")]
    return None if None in numbers else [value for value in numbers if value is not None]


def _choice_of_extraction(text: str, choices: Sequence[str]) -> str:
    """The choice an extraction stands for. The first letter in parentheses replaces the text, even
    if it is not a label: in "the graph of f(x)" the f is compared with the choices."""
    letter = _IN_PARENTHESES.search(text)
    choice_text = letter[1].upper() if letter else text
    if len(choice_text) == 1 and choice_text in _LETTERS[: len(choices)]:
        return choices[_LETTERS.index(choice_text)]
    return choices[nearest_choice(choice_text, choices)]


def _all_close(answer: Sequence[float], gold: Sequence[float]) -> bool:
    return len(answer) == len(gold) and all(
        abs(number - other) < _TOLERANCE for number, other in zip(answer, gold, strict=True)
    )


RUBRIC = "short-answer"
SKILLS = "skills"
TYPE = "answer_type"
_GROUPS = ("question_type", TYPE, "language", "source", "category", "task", "context", "grade")
_CHOOSE = "Please answer the question and provide the correct option letter, e.g., A, B, C, D, at "
_HINTS = {
    "integer": "Please answer the question requiring an integer answer and provide the final value,"
    " e.g., 1, 2, 3, at the end.",
    "list": "Please answer the question requiring a Python list as an answer and provide the final "
    "list, e.g., [1, 2, 3], [1.2, 1.3, 1.4], at the end.",
    "text": "",
}
_DIGIT_WORDS = ("zero", "one", "two", "three")
_FLOAT_EXAMPLES = ("1, 2, 3", "1.2, 1.3, 1.4", "1.23, 1.34, 1.45", "1.234, 1.345, 1.456")


def _sample(row: Row, options: Options) -> Sample:
    """The gold of a choice is its label."""
    choices = option_cells(row.cells)
    gold = first_cell(row.cells, "answer")
    kind = answer_type_of(first_cell(row.cells, TYPE))
    skills = split_list(first_cell(row.cells, SKILLS, f"metadata.{SKILLS}"))
    label = first_cell(row.cells, "answer_option") or next(
        (name for name, text in choices.items() if text.strip() == gold.strip()), gold
    )
    groups = {name: first_cell(row.cells, name, f"metadata.{name}") for name in _GROUPS}
    return build_sample(
        row,
        kind="choice" if choices else "open",
        question=_question_with_hint(row.cells, choices, kind, gold),
        gold=label if choices and gold else gold,
        options=choices,
        groups={**groups, SKILLS: SEPARATOR.join(skills)},
    )


def _question_with_hint(cells: Mapping[str, str], options: Mapping[str, str], kind: str, gold: str) -> str:
    """The question as the TSV has it, with hint and choices; built the same way from the
    authors' JSON, which has them apart."""
    question = first_cell(cells, "query", "question")
    if not question or "Hint:" in question:
        return question
    if options:
        hint = f"{_CHOOSE}the end."
    elif kind == "float":
        digits = min(decimal_places(gold), len(_DIGIT_WORDS) - 1)
        noun = "place" if digits == 1 else "places"
        hint = (
            "Please answer the question requiring a floating-point number with "
            f"{_DIGIT_WORDS[digits]} decimal {noun} and provide the final value, e.g., "
            f"{_FLOAT_EXAMPLES[digits]}, at the end."
        )
    else:
        hint = _HINTS[kind]
    unit = f" (Unit: {cells['unit']})" if cells.get("unit") else ""
    lines = [f"Hint: {hint}"] if hint else []
    lines.append(f"Question: {question}{unit}")
    if options:
        lines += ["Choices:", *(f"({label}) {text}" for label, text in options.items())]
    return "\n".join(lines)


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    official = options[RULE] == OFFICIAL
    return ExtractedScoring(
        rubric=RUBRIC,
        fields=_fields,
        parse=_parse_official if official else _parse,
        always=official,
        parse_verdict=_parse_verbatim if official else parse_extracted_answer,
        parse_short=_parse_official if official else None,
        is_right=_is_right_official if official else _is_right,
        build_messages=plain_messages,
    ).flow(settings, panel, options)


def _parse_verbatim(reply: str) -> ParsedVerdict | None:
    """All that a judge copied out: the script takes no marks off it."""
    return ParsedVerdict(text=reply) if reply.strip() else None


def _answer_type(sample: Sample) -> str:
    return sample.groups.get(TYPE, "text")


def _parse(sample: Sample, reply: str, stop_reason: str) -> Answer:
    if sample.options:
        return parse_choice(reply, sample.options, stop_reason=stop_reason)
    if _answer_type(sample) == "list":
        return parse_list_answer(reply, stop_reason=stop_reason)
    if _answer_type(sample) in ("integer", "float"):
        return parse_numeric_answer(reply, stop_reason=stop_reason)
    return parse_open(reply, stop_reason=stop_reason)


def _is_right(sample: Sample, answer: str) -> bool:
    if sample.options:
        same = sample.options.get(sample.gold[0], "").strip()
        return answer in sample.gold or (same != "" and sample.options.get(answer) == same)
    return same_value(answer, sample.gold[0], answer_type_of(_answer_type(sample)))


def _parse_official(sample: Sample, text: str, stop_reason: str = "stop") -> Answer:
    """A short answer in the question's form, as the authors' script makes it."""
    if not (text.strip() or sample.options):
        return Empty()
    gold = sample.gold[0] if sample.gold else ""
    choices = tuple(sample.options.values())
    normalised = normalise_extraction(text, answer_type_of(_answer_type(sample)), gold, choices)
    if normalised is None:
        return NoMatch("normalised")
    if choices:
        normalised = next(label for label, choice in sample.options.items() if choice == normalised)
    return ParsedAnswer(normalised, "normalised")


def _is_right_official(sample: Sample, answer: str) -> bool:
    """Equality of texts: of two choices that read the same both are right."""
    options = sample.options
    if options:
        return options.get(answer) == options.get(sample.gold[0])
    return answer.strip() == sample.gold[0].strip()


def _fields(rules: Mapping[str, str], sample: Sample, reply: str) -> Mapping[str, str]:
    kind = "choice" if sample.options else _answer_type(sample)
    return {"question": sample.question, "choices": "", "reply": reply, "form": rules[kind]}


BENCHMARK = Declaration(
    name="mathvista",
    version="5",
    title="MathVista testmini, mathematics about pictures",
    paper="https://arxiv.org/abs/2310.02255",
    provenance="MathVista (CC BY-SA 4.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/MathVista_MINI.tsv", "f199b98e178e5a2a20e7048f5dcb0464"
    ),
    aliases={"MathVista_MINI": {}, "MathVista": {}, "mathvista_testmini": {}, "mathvista_testmini_format": {}},
    sample=_sample,
    max_new_tokens=1024,
    scoring=Judged(flow=_flow, rubrics=(RUBRIC,), multi_label=(SKILLS,), rules=dict.fromkeys((OWN_RULE, OFFICIAL))),
    coverage="generic type",
)
