"""EMMA: mathematics, physics, chemistry and coding that text alone does not solve (Hao et al. 2025,
https://arxiv.org/abs/2501.05444).

A row of this form (made up): index 0, question "Which point does the ray reach? <image_1>", context
"", type "MCQ" (or "Open"), A "P", B "Q", answer "B", category "Physics", image <base64, or a list>.

Oddities: 2,788 questions, most of them choices; `<image_1>` is the place of a picture. The authors
ask for the answer in a box. `--rule official` is their `fast_extract_answer` and `is_equal`: a label
that opens the reply, a number, the last box, else what stands behind "final answer is" and the like
up to a full stop; equal as text, as a number in words, or as LaTeX whose value agrees to two places
(see scoring.mathematics). With `--gpt_eval` theirs asks a judge instead, and VLMEvalKit asks another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.benchmarks.protocol.parsers import OFFICIAL, OWN, PARSERS, ParserSet
from snellen.core.literals import digits_by_word
from snellen.core.output import Answer, ParsedAnswer
from snellen.core.sample import Row, Sample
from snellen.extract.boxes import boxed_texts
from snellen.extract.unanswered import unparsed_answer
from snellen.prompts.choice import PromptTemplate
from snellen.scoring import mathematics
from snellen.scoring.open_answer import matches_gold

_LABELS = "ABCDEFGH"
_LEAD_INS = ("final answer is", "correct answer is", "answer should be", "answer is", "answer:")
_TEXT_MACRO = re.compile(r"\\text{(.*?)}")
_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:_?\d)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*|\s*[+-]?(?:nan|inf(?:inity)?)\s*", re.I)
_PLACE = re.compile(r"<image_(\d+)>")
_DIGITS = digits_by_word(20)


def short_answer(reply: str) -> str:
    """The authors' `fast_extract_answer`: "" where it finds nothing."""
    text = reply.strip()
    for label in _LABELS:
        if text.upper() == label or text.startswith((f"{label}:", f"{label}.")):
            return label
    if _NUMBER.fullmatch(text):
        return text
    boxes = boxed_texts(text)
    if boxes:
        named = _TEXT_MACRO.findall(boxes[-1])
        return str(named[-1] if named else boxes[-1]).strip()
    low = text.lower()
    lead_in = next((words for words in _LEAD_INS if words in low), None)
    return low.split(lead_in)[-1].strip().split("\n")[0].split(".")[0] if lead_in else ""


def equal_emma(answer: str, gold: str) -> bool:
    """The authors' `is_equal`."""
    said, right = answer.lower().strip(), gold.lower().strip()
    numbers = [_DIGITS[word] for word in said.replace("-", " ").split() if word in _DIGITS]
    if said.isdecimal():  # also in other scripts
        numbers = [str(int(said))]
    return said == right or numbers == [right] or mathematics.equal_official(said, right)


def choice_parser(golds: Sequence[str]) -> Callable[[str, Mapping[str, str], str], Answer]:
    """The official parser for a question with these right labels: their names or their texts."""

    def parse(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        answer = short_answer(reply)
        for gold in golds if answer else ():
            if equal_emma(answer, gold) or equal_emma(answer, options.get(gold, gold)):
                return ParsedAnswer(gold, OFFICIAL)
        return ParsedAnswer(answer, OFFICIAL) if answer.upper() in options else unparsed_answer(reply, stop_reason)

    return parse


def _parse_open(reply: str, stop_reason: str = "stop") -> Answer:
    answer = short_answer(reply)
    return ParsedAnswer(answer, OFFICIAL) if answer else unparsed_answer(reply, stop_reason)


def _grade_official(answer: str, sample: Sample) -> float:
    return float(any(equal_emma(answer, gold) for gold in sample.gold))


def _grade(answer: str, sample: Sample) -> float:
    return float(matches_gold(answer, sample.gold) or any(mathematics.equal(answer, gold) for gold in sample.gold))


def _place_images(sample: Sample, row: Row) -> Sample:
    """With the context before the question, and its pictures where it names them."""
    asked = "\n\n".join(filter(None, (row.cells.get("context", ""), sample.question)))
    return structs.replace(sample, question=_PLACE.sub(r"<image \1>", asked))


BENCHMARK = Declaration(
    name="emma",
    version="1",
    title="EMMA, reasoning across text and pictures",
    paper="https://arxiv.org/abs/2501.05444",
    provenance="EMMA of its authors, as VLMEvalKit's TSV",
    data=single_tsv("https://opencompass.openxlab.space/utils/VLMEval/EMMA.tsv"),
    aliases={"EMMA_COT": {}},
    other_tools={"emma": OtherToolName("VLMEvalKit", "asks for the answer alone, without steps", protocol=True)},
    group_by=("category", "subject", "type"),
    adjust=_place_images,
    template=PromptTemplate(
        question="{question}\n",
        options="",
        option="{label}: {text}",
        choose='\nAnswer with the option\'s letter from the given choices and put the letter in one "\\boxed{}". '
        "Please solve the problem step by step.",
        open='\nAnswer the question using a single word or phrase and put the answer in one "\\boxed{}". '
        "Please solve the problem step by step.",
    ),
    max_new_tokens=2048,
    scoring=RuleScoring(
        rules={
            OWN: PARSERS[OWN]._replace(open=OpenScoring(grade=_grade)),
            OFFICIAL: ParserSet(choice_with_gold=choice_parser, open=OpenScoring(_parse_open, _grade_official)),
        }
    ),
    check=mathematics.require_math_verify,
)
"""The wording for choices and open questions, and the box, are the authors'."""
