"""PhyX: physics in pictures (Shen et al. 2025, https://arxiv.org/abs/2505.15929).

VLMEvalKit without a judge (`--rule vlmevalkit`): of choices, the first capital A to D behind the
word "answer", "option" or "correct", else the last before a colon, else the gold in bold or before
a colon, where a bare letter is none of these; of open questions, the content of the first box, else
the text behind "final answer" or "correct answer" and a colon, and the complete reply. Replies that
are a dictionary with `content` are parsed as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import OpenScoring, against_gold
from snellen.benchmarks.protocol.parsers import PARSERS, VLMEVALKIT, rules_of
from snellen.core import lazy_re as re
from snellen.core.output import Answer, ParsedAnswer, Unparsed
from snellen.extract.boxes import closing_brace
from snellen.extract.phrases import API_FAILURE
from snellen.extract.unanswered import unparsed_answer

REPLY_SEPARATOR = "\0"
"""Between the answer of an open reply and the complete reply."""
_BOX = r"\boxed{"
_FINAL_ANSWER = re.compile(r"\b(?:final\s+answer|correct\s+answer)\b", re.IGNORECASE)
_COLON = re.compile(r"[:：]\s*")
_ANSWER_NOUN = re.compile(r"\b(?:[Cc]orrect|[Aa]nswer|[Oo]ption)\b")
_LETTER = re.compile("[A-D]")
_BEFORE_COLON = re.compile("([ABCD]):")
_HOME = "https://huggingface.co/datasets/Cloudriver/PhyX/resolve/main/data_tsv_vlmevalkit"


def parse_phyx(reply: str, stop_reason: str = "stop") -> Answer:
    """Two lines: the answer, with pi as 3.14, and the complete reply."""
    text = reply.strip()
    if not text:
        return unparsed_answer(reply, stop_reason)
    answer = _box_content(text) or _text_after_colon(text)
    answer = answer.replace(r"\dfrac", r"\frac").replace(r"\pi", "3.14")
    return ParsedAnswer(f"{answer}{REPLY_SEPARATOR}{text}", "vlmevalkit")


def _text_after_colon(text: str) -> str:
    """The text behind the colon after the first "final answer", up to two empty lines."""
    announcement = _FINAL_ANSWER.search(text)
    colon = _COLON.search(text, announcement.end()) if announcement else None
    return text[colon.end() :].partition("\n\n\n")[0] if colon else ""


def _box_content(text: str) -> str:
    """The content of the first box; empty if there is none or it is not closed."""
    _, _, content = text.partition(_BOX)
    return content[: closing_brace(content) or 0]


def phyx_choice_parser(golds: Sequence[str]) -> Callable[[str, Mapping[str, str], str], Answer]:
    """The parser for questions with these right labels."""

    def parse(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        text = reply.strip()
        if text == f"{API_FAILURE}.":
            return Unparsed()
        noun = _ANSWER_NOUN.search(text)
        letter = _LETTER.search(text, noun.end()) if noun else None
        before_colon = _BEFORE_COLON.findall(text)
        label = letter[0] if letter else before_colon[-1] if before_colon else ""
        for gold in golds:
            dressed = (f"{gold}:", f"{gold}**", f"**{gold}")
            if label == gold or any(mark in text for mark in dressed):
                return ParsedAnswer(gold, "vlmevalkit")
        return ParsedAnswer(label, "vlmevalkit") if label else unparsed_answer(reply, stop_reason)

    return parse


def equal_phyx(answer: str, golds: Sequence[str]) -> bool:
    """Whether the gold equals the extracted answer or the reply ignoring case, or occurs anywhere
    in the reply (a gold of 5 is in 15)."""
    extracted, _, reply = answer.rpartition(REPLY_SEPARATOR)
    folded = (extracted.strip().lower(), reply.strip().lower())
    return any(gold.strip().lower() in folded or gold in reply for gold in golds)


BENCHMARK = Declaration(
    name="phyx",
    version="10",
    title="PhyX, physics in pictures",
    paper="https://arxiv.org/abs/2505.15929",
    provenance="PhyX of its authors (MIT), their TSV files for VLMEvalKit",
    data=Published(
        {"edition": ("mini-mc", "mini-oe", "mc", "oe")},
        {
            ("mini-mc",): published_tsv(f"{_HOME}/PhyX_mini_MC.tsv", "3587d8804b66a8e7678f3496716fa84f"),
            ("mini-oe",): published_tsv(f"{_HOME}/PhyX_mini_OE.tsv", "1f646ccb086ef28453f8c260441734f3"),
            ("mc",): published_tsv(f"{_HOME}/PhyX_MC.tsv", "36e841a2c12e605cdc940e5e36d89213"),
            ("oe",): published_tsv(f"{_HOME}/PhyX_OE.tsv", "8abdd9802a78c688c3a38fe0c785ee7a"),
        },
    ),
    aliases={
        "PhyX_mini_MC": {"edition": "mini-mc"},
        "PhyX_mini_OE": {"edition": "mini-oe"},
        "PhyX_MC": {"edition": "mc"},
        "PhyX_OE": {"edition": "oe"},
    },
    group_by=("category", "subfield"),
    scoring=RuleScoring(
        rules=rules_of(
            None,
            PARSERS[VLMEVALKIT]._replace(
                choice_with_gold=phyx_choice_parser, open=OpenScoring(parse_phyx, against_gold(equal_phyx))
            ),
        )
    ),
    coverage="generic type",
)
