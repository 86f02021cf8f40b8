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
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from msgspec import structs
from msgspec.structs import replace

from snellen.benchmarks.declaration.judged import Declared, as_is, cell, graded_benchmark
from snellen.benchmarks.declaration.published import Published, PublishedFile, tsv
from snellen.benchmarks.protocol.judged_flows import (
    BY_RULES,
    Extracting,
    asked_and_read,
    record_of,
    ungraded,
)
from snellen.benchmarks.protocol.judging import Judgement, Panel, judged
from snellen.core.answer import Answer, Found, Unparsed
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.flow import Flow
from snellen.core.output import Generated
from snellen.core.record import Pass, Record
from snellen.core.request import Generation, Ref
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_id
from snellen.extract.choice import read_choice
from snellen.extract.open_text import read_open
from snellen.extract.verdicts import read_grade, read_object
from snellen.scoring import mathematics

VERSION = "4"
_HOME = "https://opencompass.openxlab.space/utils/benchmarks/MathVerse"
_FILES: dict[str, tuple[str, str, str]] = {
    "all": ("MathVerse_MINIV", "5017caca32b7fa110c350a1bea861b65", ""),
    "vision-only": ("MathVerse_MINIVOnly", "68a11d4680014ac881fa37adeadea3a4", "_Vision_Only"),
    "vision-dominant": (
        "MathVerse_MINIVDom",
        "b8fb63852d261ab2aaefba29cc2414d3",
        "_Vision_Dominant",
    ),
    "vision-intensive": (
        "MathVerse_MINIVInt",
        "01cbd35be202bb0c4873a4186a63bc19",
        "_Vision_Intensive",
    ),
    "text-lite": ("MathVerse_MINITLite", "19e4b13bdd30b89a03b2e358bcfefa04", "_Text_Lite"),
    "text-dominant": ("MathVerse_MINITDom", "4f5cd2fa6630ea00bb11d6fde1f6fe6a", "_Text_Dominant"),
}


def _published(file: tuple[str, str, str]) -> PublishedFile:
    return tsv(f"{_HOME}/{file[0]}.tsv", file[1])


DATA = Published(
    {"version": tuple(_FILES)}, {(name,): _published(file) for name, file in _FILES.items()}
)
ALIASES = {
    **{f"MathVerse_MINI{file[2]}": {"version": name} for name, file in _FILES.items()},
    "MathVerse_MINI_Vision_Only_cot": {"version": "vision-only", "prompt": "cot"},
    "mathverse_testmini": {"version": "all"},
    "mathverse_testmini_vision_only": {"version": "vision-only"},
    "mathverse_testmini_vision_dominant": {"version": "vision-dominant"},
    "mathverse_testmini_vision_intensive": {"version": "vision-intensive"},
    "mathverse_testmini_text_lite": {"version": "text-lite"},
    "mathverse_testmini_text_dominant": {"version": "text-dominant"},
}
EXTRACT, COMPARE = "mathverse-answer", "mathverse-same"
PROMPT = "prompt"
_GROUPS = ("problem_version", "subject", "subfield")
_CHOICE = re.compile(r"^\(?([A-H])[:.)]\s*(.*)$", re.MULTILINE)
_LONGEST = 80


def benchmark(variant: Variant) -> Benchmark:
    asks_cot = variant.options.get(PROMPT) == "cot"
    return graded_benchmark(
        variant,
        Declared(
            name="mathverse",
            version=VERSION,
            title="MathVerse testmini, geometry with more and more in the picture",
            data=DATA,
            samples=partial(samples, cot=asks_cot),
            flow=_flow,
            paper="https://arxiv.org/abs/2403.14624",
            source="MathVerse (MIT), as VLMEvalKit's TSV",
            coverage="generic type",
            rubrics=(EXTRACT, COMPARE),
            options={PROMPT: ("plain", "cot")},
            check=mathematics.require,
            max_new_tokens=2048,
        ),
    )


def samples(rows: Iterable[Row], *, cot: bool = False) -> Iterator[Sample]:
    """A sample for each row; options are those that the question lists."""
    for row in rows:
        question = cell(row.cells, "question")
        judged_question = cell(row.cells, "question_for_eval") or question
        options = dict(_CHOICE.findall(judged_question.partition("Choices")[2]))
        gold = cell(row.cells, "answer").strip()
        choice = bool(options) and gold in options
        told = read_object(cell(row.cells, "metadata")) or {}
        groups = {
            name: cell(row.cells, name, f"metadata.{name}") or str(told.get(name, ""))
            for name in _GROUPS
        }
        yield Sample(
            id=row_id(row),
            kind="choice" if choice else "open",
            question=(cell(row.cells, "query_cot") or question) if cot else question,
            gold=(gold,) if gold else (),
            options=options if choice else {},
            media=row.media,
            # What the judge is shown: the question with all that the picture says.
            hint=judged_question,
            groups={name: text for name, text in groups.items() if text},
        )


def _flow(
    settings: Generation, panel: Panel, options: Mapping[str, str]
) -> Callable[[Sample], Flow]:
    how = Extracting(
        settings=settings,
        panel=panel,
        rubric=EXTRACT,
        fields=_fields,
        read=_read,
        short=_read_short,
        right=_right,
        shown=lambda sample: as_is(replace(sample, hint="")),
    )

    def flow(sample: Sample) -> Flow:
        read = yield from asked_and_read(sample, how)
        if isinstance(read, Record):
            return read
        one, first = read
        value = first.answer.value if isinstance(first.answer, Found) else None
        right = value is not None and _right(sample, value)
        compared = Judgement(())
        if panel and value is not None and not right:
            asks = {"question": sample.hint, "gold": sample.gold[0], "answer": value}
            grade = partial(read_grade, low=0.0, high=1.0, whole=True)
            compared = yield from judged(
                panel, COMPARE, asks, grade, Ref(sample.id), about=_text_of(one), step="comparison"
            )
            one = structs.replace(one, verdicts=(*one.verdicts, *compared.verdicts))
            if compared.failure is not None or not compared.read:
                return ungraded(sample, (one,), compared)
        score = compared.grade() if compared.verdicts else float(right)
        values = {BY_RULES: float(first.by_rules and right)} if panel else {}
        one = structs.replace(one, correct=bool(score and score > 0.5))
        return record_of(sample, (one,), score=score, values=values)

    return flow


def _text_of(one: Pass) -> str:
    return one.output.text if isinstance(one.output, Generated) else ""


def _read(sample: Sample, reply: str, stop_reason: str) -> Answer:
    if sample.options:
        return read_choice(reply, sample.options, stop_reason=stop_reason)
    answer = read_open(reply, stop_reason=stop_reason)
    long = isinstance(answer, Found) and answer.rule == "whole reply"
    return Unparsed() if long and len(reply) > _LONGEST else answer


def _read_short(sample: Sample, text: str) -> Answer:
    if sample.options:
        chosen = read_choice(text, sample.options)
        if isinstance(chosen, Found):
            return chosen
    return Found(text, "short answer")


def _right(sample: Sample, answer: str) -> bool:
    """By label; else by the text of the gold, or of the gold option."""
    gold = sample.gold[0]
    if sample.options:
        return answer == gold or mathematics.equal(answer, sample.options[gold])
    return mathematics.equal(answer, gold)


def _fields(sample: Sample, reply: str) -> Mapping[str, str]:
    return {"reply": reply}
