"""Parse a reply whose answer is a number or a list of numbers.

The number in the marked answer, else the only number of the last line, else the only number of the
reply. If two numbers may be meant, the reply is unparsed.
"""

from __future__ import annotations

from snellen.core import lazy_re as re
from snellen.core.output import Answer, ParsedAnswer, Unparsed
from snellen.extract.open_text import parse_open

_NUMBER = re.compile(
    r"(?<![\w.])[-+−]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w]*\d)"
    r"|(?<![\w.])[-+−]?\.\d+"
)
_BRACKET_LIST = re.compile(r"\[[^\[\]]*\]")
_MARKED_RULES = frozenset({"boxed", "answer", "stated answer"})
_FRACTION = re.compile(r"\\[dt]?frac\s*\{[^{}]*\}\s*\{[^{}]*\}|(?<![\w.])-?\d+\s*/\s*\d+(?!\w)")


def parse_numeric_answer(reply: str, stop_reason: str = "stop") -> Answer:
    """The number in a reply, as it is written there; fractions stay fractions."""
    answer = parse_open(reply, stop_reason=stop_reason)
    if not isinstance(answer, ParsedAnswer):
        return answer
    start = answer.span[0] if answer.span else 0
    number = _single_number(answer.value, answer.rule, start)
    if number is not None:
        return number
    if answer.rule in _MARKED_RULES:
        return Unparsed()
    begin = reply.rstrip().rfind("\n") + 1
    return _single_number(reply[begin:], "last line", begin) or _single_number(reply, "only number", 0) or Unparsed()


def parse_list_answer(reply: str, *, stop_reason: str = "stop") -> Answer:
    """The last list in brackets."""
    lists = list(_BRACKET_LIST.finditer(reply))
    if lists:
        return ParsedAnswer(lists[-1][0], "last list", lists[-1].span())
    answer = parse_open(reply, stop_reason=stop_reason)
    return Unparsed() if isinstance(answer, ParsedAnswer) else answer


def _single_number(text: str, rule: str, offset: int) -> ParsedAnswer | None:
    """The only number or fraction in a text, or None."""
    fractions = list(_FRACTION.finditer(text))
    without_fractions = _FRACTION.sub(" ", text)
    numbers = list(_NUMBER.finditer(text)) if not fractions else list(_NUMBER.finditer(without_fractions))
    if fractions and not numbers and len(fractions) == 1:
        match = fractions[0]
    elif numbers and not fractions and len({number[0] for number in numbers}) == 1:
        match = numbers[0]
    else:
        return None
    value = match[0].replace("−", "-").replace(" ", "")
    return ParsedAnswer(value, rule, (offset + match.start(), offset + match.end()))
