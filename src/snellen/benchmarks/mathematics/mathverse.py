"""MathVerse: the same geometry problem with more and more in the picture (Zhang et al. 2024,
https://arxiv.org/abs/2403.14624).

One example row: index 0, question "As shown in the figure, ... ()\\nChoices:\\nA:50°\\nB:40°",
answer "A", problem_version "Text Dominant", question_for_eval "...", query_cot "Please first
conduct reasoning, ...", metadata "{'subject': 'Plane Geometry', 'subfield': 'Angle'}", image
<base64>.

Oddities: each problem stands there in up to six versions, and there is no text-only version in the
TSV; OpenVLM's column is Vision Only (`version=vision-only`). `prompt=cot` asks the column
`query_cot`.

Two stages, as in the paper (Sec. 3.2): the answer is extracted, by rules where they can and else by
a judge; then it is compared, by rules where they find it equal and else by a judge that says 1 or
0. The judge is asked in the authors' words; they ask it about every reply. Without a judge the
rules decide alone. The paper's scores of single reasoning steps are not computed; neither does
VLMEvalKit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Options
from snellen.benchmarks.declaration.judged import Judged, first_cell, plain_messages
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.protocol.judged_flows import (
    BY_RULES,
    ExtractedScoring,
    ask_and_extract,
    build_record,
    ungraded_record,
)
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, ask_judges
from snellen.core.output import Answer, Generated, ParsedAnswer, Unparsed
from snellen.core.record import Flow, Pass, Record
from snellen.core.request import Generation, Ref
from snellen.core.sample import Row, Sample
from snellen.extract.choice import parse_choice
from snellen.extract.open_text import parse_open
from snellen.extract.verdicts import parse_grade, parse_object
from snellen.scoring import mathematics

_HOME = "https://opencompass.openxlab.space/utils/benchmarks/MathVerse"
_FILES: dict[str, tuple[str, str, str]] = {
    "all": ("MathVerse_MINIV", "5017caca32b7fa110c350a1bea861b65", ""),
    "vision-only": ("MathVerse_MINIVOnly", "68a11d4680014ac881fa37adeadea3a4", "_Vision_Only"),
    "vision-dominant": ("MathVerse_MINIVDom", "b8fb63852d261ab2aaefba29cc2414d3", "_Vision_Dominant"),
    "vision-intensive": ("MathVerse_MINIVInt", "01cbd35be202bb0c4873a4186a63bc19", "_Vision_Intensive"),
    "text-lite": ("MathVerse_MINITLite", "19e4b13bdd30b89a03b2e358bcfefa04", "_Text_Lite"),
    "text-dominant": ("MathVerse_MINITDom", "4f5cd2fa6630ea00bb11d6fde1f6fe6a", "_Text_Dominant"),
}


EXTRACT, COMPARE = "mathverse-answer", "mathverse-same"
PROMPT = "prompt"
_GROUPS = ("problem_version", "subject", "subfield")
_CHOICE = re.compile(r"^\(?([A-H])[:.)]\s*(.*)$", re.MULTILINE)
_MAX_ANSWER_LENGTH = 80


def _sample(row: Row, options: Options) -> Sample:
    """Its options are those that the question lists; `prompt=cot` asks the column `query_cot`."""
    question = first_cell(row.cells, "question")
    judged_question = first_cell(row.cells, "question_for_eval") or question
    choices = dict(_CHOICE.findall(judged_question.partition("Choices")[2]))
    gold = first_cell(row.cells, "answer").strip()
    metadata = parse_object(first_cell(row.cells, "metadata")) or {}
    return build_sample(
        row,
        kind="choice" if gold in choices else "open",
        question=first_cell(row.cells, "query_cot", "question") if options[PROMPT] == "cot" else question,
        gold=gold,
        options=choices if gold in choices else {},
        # What the judge is shown: the question with all that the picture says.
        hint=judged_question,
        groups={
            name: first_cell(row.cells, name, f"metadata.{name}") or str(metadata.get(name, "")) for name in _GROUPS
        },
    )


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    """Ask, extract the answer, and have judges compare it with gold if no rule finds them equal."""
    scoring = ExtractedScoring(
        settings=settings,
        panel=panel,
        rubric=EXTRACT,
        fields=lambda rules, sample, reply: {"reply": reply},
        parse=_parse,
        parse_short=_parse_short,
        is_right=_is_right,
        build_messages=lambda sample: plain_messages(structs.replace(sample, hint="")),
    )

    def flow(sample: Sample) -> Flow:
        """Ask, extract the answer, and if no rule accepts it, ask judges to compare it with the
        gold answer."""
        read = yield from ask_and_extract(sample, scoring)
        if isinstance(read, Record):
            return read
        result, first = read
        value = first.answer.value if isinstance(first.answer, ParsedAnswer) else None
        right = value is not None and _is_right(sample, value)
        compared = PanelVerdicts(())
        if panel and value is not None and not right:
            fields = {"question": sample.hint, "gold": sample.gold[0], "answer": value}
            grade = partial(parse_grade, low=0.0, high=1.0, integers_only=True)
            compared = yield from ask_judges(
                panel, COMPARE, fields, grade, Ref(sample.id), about=_reply_text(result), step="comparison"
            )
            result = structs.replace(result, verdicts=(*result.verdicts, *compared.verdicts))
            if compared.failure is not None or not compared.readable:
                return ungraded_record(sample, (result,), compared)
        score = compared.grade() if compared.verdicts else float(right)
        values = {BY_RULES: float(first.by_rules and right)} if panel else {}
        result = structs.replace(result, correct=bool(score and score > 0.5))
        return build_record(sample, (result,), score=score, values=values)

    return flow


def _reply_text(result: Pass) -> str:
    return result.output.text if isinstance(result.output, Generated) else ""


def _parse(sample: Sample, reply: str, stop_reason: str) -> Answer:
    if sample.options:
        return parse_choice(reply, sample.options, stop_reason=stop_reason)
    answer = parse_open(reply, stop_reason=stop_reason)
    long = isinstance(answer, ParsedAnswer) and answer.rule == "whole reply"
    return Unparsed() if long and len(reply) > _MAX_ANSWER_LENGTH else answer


def _parse_short(sample: Sample, text: str) -> Answer:
    if sample.options:
        chosen = parse_choice(text, sample.options)
        if isinstance(chosen, ParsedAnswer):
            return chosen
    return ParsedAnswer(text, "short answer")


def _is_right(sample: Sample, answer: str) -> bool:
    """By label; else by the text of the gold, or of the gold option."""
    gold = sample.gold[0]
    if sample.options:
        return answer == gold or mathematics.equal(answer, sample.options[gold])
    return mathematics.equal(answer, gold)


BENCHMARK = Declaration(
    name="mathverse",
    version="5",
    title="MathVerse testmini, geometry with more and more in the picture",
    paper="https://arxiv.org/abs/2403.14624",
    provenance="MathVerse (MIT), as VLMEvalKit's TSV",
    data=Published(
        {"version": tuple(_FILES)},
        {(name,): published_tsv(f"{_HOME}/{stem}.tsv", md5) for name, (stem, md5, _) in _FILES.items()},
    ),
    aliases={
        **{f"MathVerse_MINI{file[2]}": {"version": name} for name, file in _FILES.items()},
        "MathVerse_MINI_Vision_Only_cot": {"version": "vision-only", "prompt": "cot"},
        "mathverse_testmini": {"version": "all"},
        "mathverse_testmini_vision_only": {"version": "vision-only"},
        "mathverse_testmini_vision_dominant": {"version": "vision-dominant"},
        "mathverse_testmini_vision_intensive": {"version": "vision-intensive"},
        "mathverse_testmini_text_lite": {"version": "text-lite"},
        "mathverse_testmini_text_dominant": {"version": "text-dominant"},
    },
    options={PROMPT: ("plain", "cot")},
    max_new_tokens=2048,
    scoring=Judged(flow=_flow, rubrics=(EXTRACT, COMPARE)),
    coverage="generic type",
    check=mathematics.require_math_verify,
    sample=_sample,
)
