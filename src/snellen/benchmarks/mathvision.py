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

from collections.abc import Callable, Iterable, Iterator, Mapping

from snellen.benchmarks.declaration.judged import (
    OFFICIAL,
    OWN_RULE,
    RULE,
    Declared,
    as_is,
    cell,
    graded_benchmark,
)
from snellen.benchmarks.declaration.published import Published, tsv
from snellen.benchmarks.declaration.rows import option_cells
from snellen.benchmarks.protocol.judged_flows import Extracting, extracted
from snellen.benchmarks.protocol.judging import Panel
from snellen.core.answer import Answer, Empty, Found, Unparsed
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.flow import Flow
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_id
from snellen.extract.choice import read_choice
from snellen.extract.open_text import read_open
from snellen.extract.published.mathvision import short_answer
from snellen.prompts.judging import rubric
from snellen.scoring import mathematics
from snellen.scoring.mathematics import equal

VERSION = "3"
ALIASES = {
    "MathVision": {"split": "test"},
    "MathVision_MINI": {"split": "mini"},
    "mathvision_test": {"split": "test"},
    "mathvision_testmini": {"split": "mini"},
}
_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
DATA = Published(
    {"split": ("test", "mini")},
    {
        ("test",): tsv(f"{_HOME}/MathVision.tsv", "93f6de14f7916e598aa1b7165589831e"),
        ("mini",): tsv(f"{_HOME}/MathVision_MINI.tsv", "060fe4fa5d868987ce179307bd5f8a33"),
    },
)
RUBRIC = "short-answer"
_LONGEST = 80
"""Characters of a reply that may be taken whole for an answer."""


def benchmark(variant: Variant) -> Benchmark:
    return graded_benchmark(
        variant,
        Declared(
            name="mathvision",
            version=VERSION,
            title="MATH-Vision, competition mathematics with pictures",
            data=DATA,
            samples=samples,
            flow=_flow,
            paper="https://arxiv.org/abs/2402.14804",
            source="MATH-Vision (MIT), as VLMEvalKit's TSV",
            coverage="generic type",
            rubrics=(RUBRIC,),
            rules=(OWN_RULE, OFFICIAL),
            check=mathematics.require,
            max_new_tokens=2048,
        ),
    )


def samples(rows: Iterable[Row]) -> Iterator[Sample]:
    """A sample for each row; choices that are bare letters stay options of that text."""
    for row in rows:
        options = option_cells(row.cells)
        gold = cell(row.cells, "answer").strip()
        subject, level = cell(row.cells, "category", "subject"), cell(row.cells, "level")
        yield Sample(
            id=row_id(row),
            kind="choice" if options else "open",
            question=_question(cell(row.cells, "question"), options),
            gold=(gold,) if gold else (),
            options=options,
            media=row.media,
            groups={
                **({"category": subject} if subject else {}),
                **({"level": level} if level else {}),
            },
        )


def _question(question: str, options: Mapping[str, str]) -> str:
    """The question with its choices below, where it does not list them itself."""
    listed = question if not options or "\nChoices:" in question or "\n(A)" in question else ""
    if listed or not options:
        return question
    return "\n".join([question, "Choices:", *(f"({k}) {text}" for k, text in options.items())])


def _flow(
    settings: Generation, panel: Panel, options: Mapping[str, str]
) -> Callable[[Sample], Flow]:
    official = options[RULE] == OFFICIAL
    short = _short_official if official else _read_short
    return extracted(
        Extracting(
            settings=settings,
            panel=panel,
            rubric=RUBRIC,
            fields=_fields,
            read=_read_official if official else _read,
            always=official,
            short=short,
            right=_right_official if official else _right,
            shown=as_is,
        )
    )


def _read(sample: Sample, reply: str, stop_reason: str) -> Answer:
    if sample.options:
        chosen = read_choice(reply, sample.options, stop_reason=stop_reason)
        if not isinstance(chosen, Unparsed):
            return chosen
    answer = read_open(reply, stop_reason=stop_reason)
    if not isinstance(answer, Found):
        return answer
    if answer.rule == "whole reply" and len(answer.value) > _LONGEST:
        return Unparsed()
    return _chosen(sample, answer) if sample.options else answer


def _read_short(sample: Sample, text: str) -> Answer:
    if sample.options:
        chosen = read_choice(text, sample.options)
        return _chosen(sample, Found(text, "short answer")) if _unread(chosen) else chosen
    return Found(text, "short answer")


def _unread(answer: Answer) -> bool:
    return not isinstance(answer, Found)


def _chosen(sample: Sample, answer: Found) -> Answer:
    """The only option with this text or value."""
    same = [label for label, text in sample.options.items() if equal(answer.value, text)]
    return Found(same[0], answer.rule, answer.span) if len(same) == 1 else Unparsed()


def _right(sample: Sample, answer: str) -> bool:
    if sample.options:
        return answer in sample.gold
    return equal(answer, sample.gold[0])


def _read_official(sample: Sample, reply: str, stop_reason: str) -> Answer:
    if not reply.strip():
        return Empty()
    answer = short_answer(reply)
    return Found(answer, "short answer") if answer else Unparsed()


def _short_official(sample: Sample, text: str) -> Answer:
    """What a judge copied out is the short answer."""
    return Found(text.strip(), "short answer") if text.strip() else Empty()


def _right_official(sample: Sample, answer: str) -> bool:
    gold = sample.gold[0]
    if mathematics.equal_official(answer, gold):
        return True
    option = sample.options.get(gold)
    return option is not None and mathematics.equal_official(answer, option)


def _fields(sample: Sample, reply: str) -> Mapping[str, str]:
    form = rubric(RUBRIC).rules["choice" if sample.options else "text"]
    return {"question": sample.question, "choices": "", "reply": reply, "form": form}
