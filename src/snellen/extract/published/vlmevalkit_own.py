"""VLMEvalKit's parsing rules of single benchmarks, in place of its rule for all choices.

Without a judge, as of its commit e8e78f05 (August 2026), faults included:

`parse_mme_realworld`      MME-RealWorld: the first capital A to E, else a lone small one; a reply
                           that is empty, or a lone parenthesis, is A.
`first_word_parser`        MVBench: the first word is part of "(x)", x being the gold, or contains
                           it; an empty reply is right, and so is an error message. Else the
                           parser of all choices.
`bracket_parser`           MLVU: the sign before the first ")" is the gold. Else the same.
`parse_after_answer`       MMMU-Pro with chain of thought: the last line that opens with "Answer:"
                           goes to the parser of all choices, or its only capital letter does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase

from snellen.core import lazy_re as re
from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.phrases import API_FAILURE
from snellen.extract.published.first_capital import COMPLETE, without_phrases
from snellen.extract.published.official import sign_before_bracket
from snellen.extract.published.vlmevalkit import RULE, parse_choice_vlmevalkit
from snellen.extract.unanswered import label_answer

_ChoiceParser = Callable[[str, Mapping[str, str], str], Answer]

_A_TO_E = re.compile("[ABCDE]")
_ANSWER = "Answer:"
_MAX_WORDS = 10
"""Words of the longest reply that is compared with the labels."""


def parse_mme_realworld(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first capital A to E of the reply, or of the text in <answer>, else the first label
    whose "(x)" contains the complete reply."""
    _, opened, behind = reply.partition("<answer>")
    inside, closed, _ = behind.partition("</answer>")
    tagged = opened and closed
    text = without_phrases(inside.strip().upper() if tagged else reply, COMPLETE)
    letter = _A_TO_E.search(text)
    if letter is not None or len(text.split()) > _MAX_WORDS:
        return label_answer(letter and letter[0], RULE, reply, options, stop_reason)
    containing = next((label for label in "ABCDE" if text.lower() in f"({label.lower()})"), None)
    return label_answer(containing, RULE, reply, options, stop_reason)


def first_word_parser(golds: Sequence[str], *, failed_is_right: bool = True) -> _ChoiceParser:
    """The parser of MVBench, and without `failed_is_right` of MVTamperBench, which accepts a first
    word that may mean the gold."""

    def parse(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        word = reply.lower().strip().split(" ")[0]
        failed = f"{API_FAILURE}." in reply
        for gold in () if failed and not failed_is_right else golds:
            dressed = f"({gold.lower()})"
            if word.replace(".", "") in dressed or dressed in word or failed:
                return ParsedAnswer(gold, f"{RULE}: first word")
        return parse_choice_vlmevalkit(reply, options, stop_reason)

    return parse


def bracket_parser(golds: Sequence[str]) -> _ChoiceParser:
    """MLVU's parser: the sign before the first closing bracket, or the complete reply."""

    def parse(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        sign = sign_before_bracket(reply)
        if sign in golds:
            return ParsedAnswer(sign, f"{RULE}: before the bracket")
        return parse_choice_vlmevalkit(reply, options, stop_reason)

    return parse


def parse_after_answer(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The text behind the last "Answer:" that opens a line, else the complete reply."""
    lines = [line.strip() for line in reply.strip().split("\n")]
    announced = [line.removeprefix(_ANSWER) for line in lines if line.startswith(_ANSWER)]
    if not announced:
        return parse_choice_vlmevalkit(reply, options, stop_reason)
    capitals = {sign for sign in announced[-1] if sign in ascii_uppercase}
    answer = capitals.pop() if len(capitals) == 1 else announced[-1]
    return parse_choice_vlmevalkit(answer, options, stop_reason)
