"""DynaMath: ten variants of each question, to see whether an answer was luck (Zou et al. 2024,
https://arxiv.org/abs/2411.00836).

One example row: index 0, qid "1", varid "1", question "The purple and orange curves are f(x) and
g(x). Is f(x)g(x) even or odd? choice: (A) odd (B) even (C) neither", answer "A", answer_type
"multiple choice", subject "analytic geometry", knowledge_level "undergraduate", image <base64>.

Oddities: 501 seed questions (`qid`) with ten variants each, which a limit keeps together. The reply
is to be a JSON object whose key "short answer" holds the answer.

Two numbers: `average` over all rows, and `worst_case`, the share of seed questions that are right
in every variant (the headline, and OpenVLM's column; VLMEvalKit's program prints the average). A
float is right within 0.001. A reply that is no object is read by the plain rules, then by a judge.
Texts must be equal; VLMEvalKit asks that the answer be part of the gold, so that an empty one is
right there. `prompt=plain` leaves the instruction out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options
from snellen.benchmarks.declaration.judged import Judged, first_cell, plain_messages
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.protocol.judged_flows import ExtractedScoring
from snellen.core.output import Answer, ParsedAnswer, Unparsed
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.extract.choice import parse_choice
from snellen.extract.numbers import parse_numeric_answer
from snellen.extract.open_text import parse_open
from snellen.extract.verdicts import parse_object
from snellen.scoring.accuracy import mean_metric
from snellen.scoring.headlines import sum_of_ratios, unit_terms
from snellen.scoring.mathematics import parse_number, strip_markup
from snellen.scoring.open_answer import matches_gold

RUBRIC = "dynamath-answer"
WORST, AVERAGE = "worst_case", "average"
TYPE = "answer_type"
FLOAT, CHOICE = "float", "multiple choice"
TOLERANCE = 0.001
SHORT_ANSWER = "short answer"
_PI = re.compile(r"(?P<times>-?\d*+\.?\d*+)\s*+(?:\*\s*+)?(?:\\pi|π|pi)")
_TASKS = {
    FLOAT: "Format the answer as a three-digit floating-point number and provide it in the 'short answer' key.",
    CHOICE: "Provide the corresponding choice option in the 'short answer' key, such as 'A', 'B', 'C', or 'D'.",
}
_ANY_TASK = "Format the answer as a string and provide it in the 'short answer' key."
_INSTRUCTION = """
## Answer Instruction
Reply with a JSON object that has the two keys 'solution' and 'short answer'. {task}
Example of the expected reply:
{{"solution": "[step-by-step solution]", "short answer": "[answer]"}}"""


def _sample(row: Row, options: Options) -> Sample:
    """The variants of a seed question are one unit; `prompt=plain` leaves the instruction out."""
    question = first_cell(row.cells, "question")
    if options["prompt"] == "json":
        task = _INSTRUCTION.format(task=_TASKS.get(first_cell(row.cells, TYPE), _ANY_TASK))
        question = f"## Question\n{question}\n{task}"
    return build_sample(
        row,
        question=question,
        gold=first_cell(row.cells, "answer").strip(),
        groups={name: first_cell(row.cells, name) for name in ("subject", "knowledge_level", TYPE)},
        unit=first_cell(row.cells, "qid"),
    )


def _parse(sample: Sample, reply: str, stop_reason: str) -> Answer:
    """The object's short answer, else the plain rules on the whole reply."""
    reply_object = parse_object(reply.replace("\\", ""))
    if reply_object is not None and SHORT_ANSWER in reply_object:
        typed = _parse_typed(sample, str(reply_object[SHORT_ANSWER]).strip())
        if typed is not None:
            return ParsedAnswer(typed.value, SHORT_ANSWER)
    if sample.groups.get(TYPE) == CHOICE:
        return parse_choice(reply, {}, stop_reason=stop_reason)
    if sample.groups.get(TYPE) == FLOAT:
        return parse_numeric_answer(reply, stop_reason=stop_reason)
    answer = parse_open(reply, stop_reason=stop_reason)
    long = isinstance(answer, ParsedAnswer) and answer.rule == "whole reply" and len(answer.value) > 40
    return Unparsed() if long else answer


def _parse_typed(sample: Sample, text: str) -> ParsedAnswer | None:
    """Parse a short answer as its type requires; None if it is not of that type."""
    kind = sample.groups.get(TYPE)
    if kind == FLOAT:
        value = _parse_float(text)
        return None if value is None else ParsedAnswer(repr(value), SHORT_ANSWER)
    if kind == CHOICE:
        letters = re.findall(r"(?<![A-Za-z])[A-Ea-e](?![A-Za-z])", text)
        return ParsedAnswer(letters[0].upper(), SHORT_ANSWER) if len(set(letters)) == 1 else None
    return ParsedAnswer(text, SHORT_ANSWER) if text else None


def _parse_float(text: str) -> float | None:
    """A number, alone or before its unit; multiples of pi are multiplied."""
    pi = _PI.fullmatch(text.strip())
    if pi:
        times = parse_number(pi["times"]) if pi["times"] not in ("", "-") else float(pi["times"] + "1")
        return None if times is None else times * 3.141592653589793
    first = text.split()[0] if text.split() else ""
    whole = parse_number(strip_markup(text))
    return whole if whole is not None else parse_number(strip_markup(first))


def _is_right(sample: Sample, answer: str) -> bool:
    gold = sample.gold[0]
    if sample.groups.get(TYPE) == FLOAT:
        value, right = _parse_float(answer), _parse_float(gold)
        return value is not None and right is not None and abs(value - right) <= TOLERANCE
    if sample.groups.get(TYPE) == CHOICE:
        return answer.strip().upper() == gold.strip().upper()
    return matches_gold(answer, (gold,))


def _fields(rules: Mapping[str, str], sample: Sample, reply: str) -> Mapping[str, str]:
    form = rules.get(sample.groups.get(TYPE, ""), rules["text"])
    return {"question": sample.question, "reply": reply, "form": form}


def summarise_worst_case(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """Worst case over seed questions, overall and by group; the average over rows beside it."""
    average = context.plain(records)
    withheld = average.headline.value is None
    plain = structs.replace(average.headline, name=AVERAGE)
    lost = context.failed_score
    worst = average.headline if withheld else _worst_metric(records, lost)
    groups = {
        column: {
            label: _worst_metric([record for record in records if record.groups.get(column) == label], lost)
            for label in labels
        }
        for column, labels in average.groups.items()
    }
    others = {name: metric for name, metric in average.metrics.items() if name != context.plain_headline}
    return structs.replace(
        average,
        headline=worst,
        metrics={WORST: worst, AVERAGE: plain, **others},
        groups=groups,
        bounds=None,
        beside=(AVERAGE, *average.beside),
    )


def _worst_case_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    seeds = _worst_scores(records, context.failed_score)
    return sum_of_ratios(unit_terms(records, seeds, _seed_question, WORST))


def _seed_question(record: Record) -> str:
    return record.unit or record.id


def _worst_metric(records: Sequence[Record], lost: float | None) -> Metric:
    return mean_metric(WORST, list(_worst_scores(records, lost).values()))


def _worst_scores(records: Sequence[Record], lost: float | None) -> dict[str, float]:
    """The worst score of each seed question's variants; seed questions with a variant that has no
    score are left out, unless failed ones count as `lost`."""
    seeds: dict[str, list[float | None]] = defaultdict(list)
    for record in records:
        seeds[_seed_question(record)].append(lost if record.is_retryable else record.score)
    return {
        seed: min(score for score in variants if score is not None)
        for seed, variants in seeds.items()
        if None not in variants
    }


BENCHMARK = Declaration(
    name="dynamath",
    version="4",
    title="DynaMath, ten variants of each question",
    paper="https://arxiv.org/abs/2411.00836",
    provenance="DynaMath (Apache-2.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/DynaMath.tsv", "b8425ad9a7114571fc9366e013699494"
    ),
    aliases={"DynaMath": {"prompt": "json"}, "DynaMath_noprompt": {"prompt": "plain"}},
    options={"prompt": ("json", "plain")},
    max_new_tokens=2048,
    scoring=Judged(
        flow=ExtractedScoring(
            rubric=RUBRIC,
            fields=_fields,
            parse=_parse,
            parse_short=lambda sample, text: _parse_typed(sample, text) or Unparsed(),
            is_right=_is_right,
            build_messages=plain_messages,
        ).flow,
        rubrics=(RUBRIC,),
    ),
    headline=Headline(name=WORST, summarise=summarise_worst_case, sums=_worst_case_sums),
    coverage="generic type",
    sample=_sample,
)
