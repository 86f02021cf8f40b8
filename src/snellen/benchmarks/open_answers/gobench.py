"""GOBench: how well models rate drawn pictures (Zhu et al. 2025, https://arxiv.org/abs/2506.00991).

One example row: index 0, question "Prompt: A mirror beside a vase ... 1. Is the reflection ...?",
answer "Reality Assessment Score: 3.5\\nAesthetics Rating: 4.2\\nInstruction Consistency Rating:
4.0", image <base64>.

Oddities: each reply holds three numbers, a total of the reality questions and two ratings of 1 to
5. A number earns 1 where it is the people's, falls by 0.2 with each tenth that it is away, and
earns 0 from a half on; a reply earns the mean of the three. VLMEvalKit's judge is never heard,
since no client there has the function by which it is asked.

Numbers are read by rules; judges, if there are any, copy them out of replies that no rule can
read, in Snellen's own words. A reply without three numbers earns 0; under `--rule vlmevalkit` it is
left out of every mean, and a scale in brackets ("Aesthetics Rating (1-5): 4") is read as the
rating.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options
from snellen.benchmarks.declaration.judged import OWN_RULE, RULE, Judged, first_cell, plain_messages
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.protocol.judged_flows import (
    BY_RULES,
    EXTRACTION,
    JUDGE_RULE,
    ask_model,
    build_record,
    ungraded_record,
)
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, ask_judges
from snellen.benchmarks.protocol.parsers import VLMEVALKIT
from snellen.core.output import Answer, Generated, ParsedAnswer, Unparsed
from snellen.core.record import Flow, Pass, Steps
from snellen.core.request import Generation, Ref
from snellen.core.sample import Row, Sample
from snellen.extract.unanswered import non_answer
from snellen.extract.verdicts import parse_grades

RUBRIC = "gobench"
RATINGS = ("reality", "aesthetics", "consistency")
"""What is rated; values of a record, each over 1."""
_TOP = 1000.0
"""No rating is as high: the total of the reality questions has no common top."""
_FARTHEST = 0.5
_FAILURE = "Failed to obtain answer"
"""What VLMEvalKit stores in place of a reply; it reads no rating of a reply with these words."""
_INSTRUCTION = """\
Please analyze the image based on the provided prompt and answer the following three questions.

---
**Question 1: Reality Assessment**
Please answer each of the provided reality questions with only Yes, No, or Cannot Determine.

---
**Question 2: Aesthetics Rating**
Please rate the aesthetics of the image on a scale of 1-5.

---
**Question 3: Instruction Consistency Rating**
Based on the image and the provided prompt, please rate the instruction consistency of the \
generated image on a scale of 1-5.

"""
"""The instruction of the authors' code in VLMEvalKit (Apache-2.0), vlmeval/dataset/gobench.py."""
_GOLD = tuple(
    re.compile(rf"{name}:\s*([\d.]+)", re.IGNORECASE)
    for name in ("Reality Assessment Score", "Aesthetics Rating", "Instruction Consistency Rating")
)
_THEIRS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"Total Score(?: for Reality Assessment)?:[\s*]*([\d.]+)",
        r"Aesthetics Rating\D*([\d.]+)",
        r"Instruction Consistency Rating\D*([\d.]+)",
    )
)
_SCALE = r"(?:\s{0,9}\([^()\n]{0,40}\))?"
_OWN = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:Total Score(?: for Reality Assessment)?|Reality Assessment Score)"
        rf"{_SCALE}[\s*]{{0,9}}:[\s*]{{0,9}}(\d+(?:\.\d+)?)",
        rf"Aesthetics Rating{_SCALE}\D{{0,200}}(\d+(?:\.\d+)?)",
        rf"Instruction Consistency Rating{_SCALE}\D{{0,200}}(\d+(?:\.\d+)?)",
    )
)

Ratings = Mapping[str, float]


def _sample(row: Row, options: Options) -> Sample:
    """The gold is the text with the people's three numbers."""
    gold = first_cell(row.cells, "answer")
    return build_sample(row, gold=gold if _find_ratings(gold, _GOLD) is not None else "")


def _find_ratings(text: str, patterns: Iterable[re.Pattern[str]]) -> Ratings | None:
    """The three numbers behind their names; None if one is not there or is no number."""
    ratings: dict[str, float] = {}
    for name, pattern in zip(RATINGS, patterns, strict=True):
        match = pattern.search(text)
        if match is None:
            return None
        try:
            ratings[name] = float(match[1])
        except ValueError:
            return None
    return ratings


def closeness(ratings: Ratings, gold: Ratings) -> dict[str, float]:
    """What each rating earns: 1 at the gold one, 0 from a half away."""
    return {name: max(0.0, (_FARTHEST - abs(gold[name] - ratings[name])) / _FARTHEST) for name in RATINGS}


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    is_theirs = options[RULE] == VLMEVALKIT

    def flow(sample: Sample) -> Flow:
        """Ask, and compare the ratings in the reply with the people's."""
        messages = plain_messages(structs.replace(sample, question=_INSTRUCTION + sample.question))
        output = yield from ask_model(sample, messages, settings)
        if not isinstance(output, Generated):
            return build_record(sample, (Pass(messages, output, gold=sample.gold),))
        no_answer = non_answer(output)
        by_rules = None if no_answer else _parse(output.text, is_theirs)
        ratings, verdicts = by_rules, PanelVerdicts(())
        if no_answer is None and by_rules is None:
            verdicts = yield from _copied_ratings(sample, output.text, panel)
            marks = {name: verdicts.grade(name) for name in RATINGS}
            known = {name: mark for name, mark in marks.items() if mark is not None}
            ratings = known if len(known) == len(RATINGS) else None
        result = Pass(
            messages, output, no_answer or _answer(ratings, by_rules), sample.gold, verdicts=verdicts.verdicts
        )
        if verdicts.failure is not None or (is_theirs and ratings is None):
            return ungraded_record(sample, (result,), verdicts)
        gold = _find_ratings(sample.gold[0], _GOLD) if sample.gold else None
        if gold is None:
            return build_record(sample, (result,))
        values = dict.fromkeys(RATINGS, 0.0) if ratings is None else closeness(ratings, gold)
        if panel:
            alone = 0.0 if by_rules is None else _mean(closeness(by_rules, gold))
            return build_record(sample, (result,), score=_mean(values), values={**values, BY_RULES: alone})
        return build_record(sample, (result,), score=_mean(values), values=values)

    return flow


def _parse(reply: str, is_theirs: bool) -> Ratings | None:
    if is_theirs:
        return None if _FAILURE in reply else _find_ratings(reply, _THEIRS)
    return _find_ratings(reply, _OWN)


def _copied_ratings(sample: Sample, reply: str, panel: JudgePanel) -> Steps[PanelVerdicts]:
    read = partial(parse_grades, names=RATINGS, low=0.0, high=_TOP)
    return (yield from ask_judges(panel, RUBRIC, {"reply": reply}, read, Ref(sample.id), step=EXTRACTION))


def _answer(ratings: Ratings | None, by_rules: Ratings | None) -> Answer:
    if ratings is None:
        return Unparsed()
    text = ", ".join(f"{ratings[name]:g}" for name in RATINGS)
    return ParsedAnswer(text, "three ratings" if by_rules is not None else JUDGE_RULE)


def _mean(values: Ratings) -> float:
    return sum(values[name] for name in RATINGS) / len(RATINGS)


BENCHMARK = Declaration(
    name="gobench",
    version="1",
    title="GOBench, rating drawn pictures as people do",
    paper="https://arxiv.org/abs/2506.00991",
    provenance="GOBench of its authors, as VLMEvalKit's TSV",
    data=single_tsv(
        "https://huggingface.co/datasets/bonnot/GOBench/resolve/main/GOBench.tsv", "9f37ad20d99a9d4159fe46ab928741be"
    ),
    aliases={"GOBench": {}},
    sample=_sample,
    max_new_tokens=1024,
    scoring=Judged(flow=_flow, rubrics=(RUBRIC,), rules=dict.fromkeys((OWN_RULE, VLMEVALKIT))),
    headline=Headline(name="overall"),
)
