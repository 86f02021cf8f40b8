"""MATH-Vision: competition mathematics with pictures (Wang et al. 2024,
https://arxiv.org/abs/2402.14804).

One example row: index 111, question "Maria wants to write whole numbers in the squares ...
<image1>", choices "[]", answer "2", category "logic" (in the authors' JSON `subject` and
`options`), level "3", image <base64>.

Oddities: choices are often bare letters because the options are drawn; the gold of a choice is its
letter. 3,040 questions, 16 subjects, 5 levels; `split=mini` has 304.

Our rule: a choice is right by its label, or by text or value equal to the gold option; a free
answer by text, number or term (see scoring.mathematics), units and degrees taken off. What no rule
can read goes to a judge that copies out the short answer. The rule `official` is the authors': a
short answer is taken out of the reply (see extract.rules_mathvision; their column `model_answer`
may be given in the reply's place), and is right as equal text, or where both are plain numbers or
numeric LaTeX that agree when rounded to two places, so that 1/300 is 1/600 and "15 cm" is no
number. VLMEvalKit evaluates model text as code; we never do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from snellen.benchmarks.declaration.declaration import Declaration, Options
from snellen.benchmarks.declaration.judged import OFFICIAL, OWN_RULE, RULE, Judged, first_cell, plain_messages
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.rows import build_sample, option_cells
from snellen.benchmarks.protocol.judged_flows import ExtractedScoring
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.core.output import Answer, Empty, ParsedAnswer, Unparsed
from snellen.core.record import Flow
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.extract.choice import parse_choice
from snellen.extract.open_text import parse_open
from snellen.extract.published.mathvision import parse_short_answer
from snellen.scoring import mathematics
from snellen.scoring.mathematics import equal

_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
RUBRIC = "short-answer"
_MAX_ANSWER_LENGTH = 80
"""Characters of a reply that may be taken whole for an answer."""


def _sample(row: Row, options: Options) -> Sample:
    """Choices that are bare letters stay options of that text."""
    choices = option_cells(row.cells)
    return build_sample(
        row,
        kind="choice" if choices else "open",
        question=_question_with_choices(first_cell(row.cells, "question"), choices),
        gold=first_cell(row.cells, "answer").strip(),
        options=choices,
        groups={"category": first_cell(row.cells, "category", "subject"), "level": first_cell(row.cells, "level")},
    )


def _question_with_choices(question: str, options: Mapping[str, str]) -> str:
    """The question with its choices below, where it does not list them itself."""
    listed = question if not options or "\nChoices:" in question or "\n(A)" in question else ""
    if listed or not options:
        return question
    return "\n".join([question, "Choices:", *(f"({k}) {text}" for k, text in options.items())])


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    official = options[RULE] == OFFICIAL
    short = _parse_short_official if official else _parse_short
    return ExtractedScoring(
        rubric=RUBRIC,
        fields=_fields,
        parse=_parse_official if official else _parse,
        always=official,
        parse_short=short,
        is_right=_is_right_official if official else _is_right,
        build_messages=plain_messages,
    ).flow(settings, panel, options)


def _parse(sample: Sample, reply: str, stop_reason: str) -> Answer:
    if sample.options:
        chosen = parse_choice(reply, sample.options, stop_reason=stop_reason)
        if not isinstance(chosen, Unparsed):
            return chosen
    answer = parse_open(reply, stop_reason=stop_reason)
    if not isinstance(answer, ParsedAnswer):
        return answer
    if answer.rule == "whole reply" and len(answer.value) > _MAX_ANSWER_LENGTH:
        return Unparsed()
    return _matching_option(sample, answer) if sample.options else answer


def _parse_short(sample: Sample, text: str) -> Answer:
    if sample.options:
        chosen = parse_choice(text, sample.options)
        is_read = isinstance(chosen, ParsedAnswer)
        return chosen if is_read else _matching_option(sample, ParsedAnswer(text, "short answer"))
    return ParsedAnswer(text, "short answer")


def _matching_option(sample: Sample, answer: ParsedAnswer) -> Answer:
    """The only option with this text or value."""
    same = [label for label, text in sample.options.items() if equal(answer.value, text)]
    return ParsedAnswer(same[0], answer.rule, answer.span) if len(same) == 1 else Unparsed()


def _is_right(sample: Sample, answer: str) -> bool:
    if sample.options:
        return answer in sample.gold
    return equal(answer, sample.gold[0])


def _parse_official(sample: Sample, reply: str, stop_reason: str) -> Answer:
    if not reply.strip():
        return Empty()
    answer = parse_short_answer(reply)
    return ParsedAnswer(answer, "short answer") if answer else Unparsed()


def _parse_short_official(sample: Sample, text: str) -> Answer:
    """What a judge copied out is the short answer."""
    return ParsedAnswer(text.strip(), "short answer") if text.strip() else Empty()


def _is_right_official(sample: Sample, answer: str) -> bool:
    gold = sample.gold[0]
    if mathematics.equal_official(answer, gold):
        return True
    option = sample.options.get(gold)
    return option is not None and mathematics.equal_official(answer, option)


def _fields(rules: Mapping[str, str], sample: Sample, reply: str) -> Mapping[str, str]:
    form = rules["choice" if sample.options else "text"]
    return {"question": sample.question, "choices": "", "reply": reply, "form": form}


BENCHMARK = Declaration(
    name="mathvision",
    version="4",
    title="MATH-Vision, competition mathematics with pictures",
    paper="https://arxiv.org/abs/2402.14804",
    provenance="MATH-Vision (MIT), as VLMEvalKit's TSV",
    data=Published(
        {"split": ("test", "mini")},
        {
            ("test",): published_tsv(f"{_HOME}/MathVision.tsv", "93f6de14f7916e598aa1b7165589831e"),
            ("mini",): published_tsv(f"{_HOME}/MathVision_MINI.tsv", "060fe4fa5d868987ce179307bd5f8a33"),
        },
    ),
    aliases={
        "MathVision": {"split": "test"},
        "MathVision_MINI": {"split": "mini"},
        "mathvision_test": {"split": "test"},
        "mathvision_testmini": {"split": "mini"},
    },
    sample=_sample,
    max_new_tokens=2048,
    scoring=Judged(flow=_flow, rubrics=(RUBRIC,), rules=dict.fromkeys((OWN_RULE, OFFICIAL))),
    coverage="generic type",
    check=mathematics.require_math_verify,
)
