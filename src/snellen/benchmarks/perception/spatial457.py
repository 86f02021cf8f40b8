"""Spatial457: six degrees of freedom (Wang et al. 2025, https://arxiv.org/abs/2502.08636).

VLMEvalKit has a copy of the authors' code (`--rule vlmevalkit`): it takes the value behind the key
Answer, else the complete reply, and knows number words and the kinds of shapes.
"""

from __future__ import annotations

from collections.abc import Sequence

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import OpenScoring, against_gold
from snellen.benchmarks.protocol.parsers import PARSERS, VLMEVALKIT, rules_of
from snellen.core import lazy_re as re
from snellen.core.literals import digits_by_word
from snellen.core.output import Answer, ParsedAnswer

_ANSWER_FORMS = (re.compile(r"Answer': '(.*?)'"), re.compile(r'Answer": "(.*?)"'), re.compile(r"Answer': (\d)"))
_DIGITS = digits_by_word(10)
_SHAPES = {
    "car": ("suv", "wagon", "minivan", "sedan", "truck", "addi", "car"),
    "bus": ("articulated", "regular", "double", "school", "bus"),
    "motorbike": ("chopper", "dirtbike", "scooter", "cruiser", "motorbike"),
    "aeroplane": ("jet", "fighter", "biplane", "airliner", "aeroplane"),
    "bicycle": ("road", "utility", "mountain", "tandem", "bicycle"),
}
_KIND = {shape: kind for kind, shapes in _SHAPES.items() for shape in shapes}


def parse_spatial457(reply: str, stop_reason: str = "stop") -> Answer:
    """The answer in the form that the prompt asks for, else the complete reply."""
    answer = next((match for form in _ANSWER_FORMS if (match := form.search(reply))), None)
    return ParsedAnswer(answer[1] if answer else reply, "vlmevalkit")


def equal_spatial457(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer matches a gold: the same word ignoring case, a number and its word, "none"
    or 0 for No, a count from 1 to 9 for yes, or shapes of one kind by their first words (a jet is
    an airliner)."""
    return any(_equal(answer, gold) for gold in golds)


def _equal(answer: str, gold: str) -> bool:
    answer_text, gold_text = "no" if answer.lower() == "none" else answer, gold.lower()
    return (
        answer_text.lower() == gold_text
        or (answer_text == "0" and gold == "No")
        or _DIGITS.get(answer_text.lower()) == gold
        or (gold_text == "yes" and answer_text in tuple("123456789"))
        or (_kind(answer_text) is not None and _kind(answer_text) == _kind(gold))
    )


def _kind(text: str) -> str | None:
    return _KIND.get(text.lower().split(" ")[0])


BENCHMARK = Declaration(
    name="spatial457",
    version="10",
    title="Spatial457, six degrees of freedom",
    paper="https://arxiv.org/abs/2502.08636",
    provenance="Spatial457 of its authors, as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/Spatial457.tsv", "1f24f5a7b2cadc3d33a8a66ecf92ca68"
    ),
    group_by=("level", "category"),
    kind="open",
    scoring=RuleScoring(
        rules=rules_of(
            None, PARSERS[VLMEVALKIT]._replace(open=OpenScoring(parse_spatial457, against_gold(equal_spatial457)))
        )
    ),
    coverage="generic type",
)
