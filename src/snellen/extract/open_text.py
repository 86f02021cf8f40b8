r"""Parse a free reply into the text of its answer.

The answer is what the reply marks: the last \boxed{...}, <answer>...</answer> or similar (see
`marks`), else the last "the answer is ...". A short reply of one line is its own answer, without a
final dot and quotes; in a longer one, a last line of a few words is. Otherwise the complete reply
is the answer. Scoring is by equality, so a long reply without a mark is wrong, never right by
accident.
"""

from __future__ import annotations

from snellen.core import lazy_re as re
from snellen.core.output import Answer, Empty, ParsedAnswer, Refused, Truncated
from snellen.extract import phrases
from snellen.extract.clean import blank_markup, fold, is_only_thinking, kept_for_short, thinking_end
from snellen.extract.marks import heading_end, innermost_mark, last_mark

_FORMULA_OR_COMMAND = re.compile(
    r"\\(?:text|mathrm|mathbf|textbf|textit|mbox)\s*\{(?P<command>[^{}]+)\}"
    r"|\$(?P<formula>[^$]+)\$|\\\((?P<round>[^()]+)\\\)|\\\[(?P<square>[^\[\]]+)\\\]",
    re.DOTALL,
)
_ANSWER_NOUN = (
    r"\b(?:final |correct |short )?answers?|\bans(?=[.:])\.?|\br[ée]ponse|\bantwort|\brespuesta"
    r"|\bresposta|\brisposta|\bответ|\bcevap|\byan[ıi]t|الإجابة|الجواب|\bđáp án"
    r"|\bjawaban|\bodpowied[źz]|उत्तर|答案|答え|正解|解答|정답"
)
_STATED_ANSWER = re.compile(
    rf"(?:{_ANSWER_NOUN})(?: (?:to (?:the|this) question|correcta|correta|finale?))?\s*"
    r"(?::|=|(?:(?:is|are|would be|(?:should|must) be(?! (?:an?|some) )"
    r"|est|ist|lautet|es|é|è|это|هي|هو|là|adalah|jest|है)"
    r"(?=[\s:])|应该是|应为|是|为|為|は|은|는)(?:\s*:)?)"
    r"(?P<gap>\s*)(?P<text>(?:[^\n.!?]|[.!?](?!\s|$))+)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(phrases.REFUSALS, re.IGNORECASE)
_SPECIAL_TOKEN = r"</?s>|<\|[^|<>\n]{1,30}\|>"
_LEFT_EDGE = re.compile(rf"(?:[\s\"'`*,;:!]|#{{2,}}\s|{_SPECIAL_TOKEN})*")
_LAST_TOKEN = re.compile(rf"(?:{_SPECIAL_TOKEN}|(?<=.)(?:です|でした|입니다|이다))\Z")
_LAST_SPECIAL_TOKEN = re.compile(rf"(?:{_SPECIAL_TOKEN})\Z")
_LONGEST_TOKEN = 40
_RIGHT_EDGE = " \n\t\"'`*.,;:!"
_MAX_SHORT_LINE = 40
WHOLE_REPLY = "whole reply"
"""The rule that returns the complete reply, for lack of a mark."""


@kept_for_short
def parse_open(reply: str, stop_reason: str = "stop") -> Answer:
    """The answer text of a free reply, or the typed reason why there is none.

    A reply cut off at the token limit (`stop_reason` "length") is `Truncated` unless it marks its
    answer or is one short line.
    """
    if not reply.strip():
        return Truncated() if stop_reason == "length" else Empty()
    start = thinking_end(reply)
    marked = _find_marked(reply, start)
    if marked:
        return marked
    if start == 0 and is_only_thinking(reply):
        return Truncated()
    low = reply.lower()
    if _REFUSAL.search(fold(low)):
        return Refused("refusal phrase")
    whole = _strip_markup(reply, start, len(reply), WHOLE_REPLY)
    if whole and "\n" not in whole.value and len(whole.value) <= _MAX_SHORT_LINE:
        return whole
    if stop_reason == "length":
        return Truncated()
    return _parse_last_line(reply, start) or whole or Empty()


@kept_for_short
def parse_final(reply: str, stop_reason: str = "stop") -> Answer:
    """The marked answer, else the complete reply unchanged.

    For metrics that compare texts themselves (edit distance, VQA accuracy) and need a plain reply
    as it is. A long reply that was cut off (`stop_reason` "length") without a mark is `Truncated`.
    """
    whole = parse_whole(reply, stop_reason=stop_reason)
    if not isinstance(whole, ParsedAnswer) or whole.span is None:
        return whole
    marked = _find_marked(reply, whole.span[0])
    if marked:
        return marked
    long = len(whole.value) > _MAX_SHORT_LINE or "\n" in whole.value
    return Truncated() if stop_reason == "length" and long else whole


def parse_whole(reply: str, stop_reason: str = "stop") -> Answer:
    """The complete reply without thinking, surrounding white space and final special tokens.

    For captions, transcripts and metrics that search for the gold in the reply. Thinking that was
    cut off is `Truncated`; of other truncated replies the text counts.
    """
    start = thinking_end(reply)
    if start == 0 and stop_reason == "length" and is_only_thinking(reply):
        return Truncated()
    first = start + len(reply[start:]) - len(reply[start:].lstrip())
    last = first + len(_trim_end(reply[first:], "", _LAST_SPECIAL_TOKEN))
    if last == first:
        return Truncated() if stop_reason == "length" else Empty()
    return ParsedAnswer(reply[first:last], WHOLE_REPLY, (first, last))


def parse_raw(reply: str, stop_reason: str = "stop") -> Answer:
    """The reply as other tools read it: complete, with surrounding white space, which some of them
    count."""
    return ParsedAnswer(reply, "raw reply") if reply.strip() else Empty()


def parse_any(reply: str, stop_reason: str = "stop") -> Answer:
    """The reply as it is, also an empty one, where a rule counts what is not written, too."""
    return ParsedAnswer(reply, "raw reply")


def refuses(reply: str) -> bool:
    """Whether a reply has a phrase in which models refuse to answer."""
    return _REFUSAL.search(fold(reply.lower())) is not None


def _strip_markup(reply: str, start: int, end: int, rule: str) -> ParsedAnswer | None:
    """The text between start and end without quotes, special tokens, formula signs and a final dot.

    A LaTeX command or formula around the complete text is removed too.
    """
    edge = _LEFT_EDGE.match(fold(reply[start:end]))
    first = start + (edge.end() if edge else 0)
    last = first + len(_trim_end(fold(reply[first:end])))
    inner = _FORMULA_OR_COMMAND.fullmatch(reply, first, last)
    if inner:
        return _strip_markup(reply, *inner.span(inner.lastgroup or 0), rule)
    return ParsedAnswer(reply[first:last], rule, (first, last)) if last > first else None


def _trim_end(text: str, edge: str = _RIGHT_EDGE, token: re.Pattern[str] = _LAST_TOKEN) -> str:
    """The text without these signs and tokens at its end, found without a copy for each."""
    end, before = len(text), -1
    while before != end:
        before = end
        while end and (text[end - 1] in edge if edge else text[end - 1].isspace()):
            end -= 1
        if last := token.search(text, max(0, end - _LONGEST_TOKEN), end):
            end = last.start()
    return text[:end]


def _find_marked(reply: str, start: int) -> ParsedAnswer | None:
    """The marked answer, or the answer that is stated inside the mark or without one."""
    mark = last_mark(reply, start)
    text = blank_markup(fold(reply))
    if mark is None:
        return (
            None
            if is_only_thinking(reply)
            else _find_stated(reply, text, start) or _find_under_heading(reply, text, start)
        )
    deepest = innermost_mark(reply, start) or mark
    inner = _find_stated(reply, text, deepest.start, deepest.end)
    if inner:
        return inner
    return _strip_markup(reply, deepest.start, deepest.end, deepest.kind)


def _find_stated(reply: str, text: str, start: int, end: int | None = None) -> ParsedAnswer | None:
    """The last "the answer is ..." between start and end; `text` is the reply without markup."""
    last = None
    for last in _STATED_ANSWER.finditer(text, start, len(text) if end is None else end):  # noqa: B007
        pass
    return _strip_markup(reply, last.start("gap"), last.end("text"), "stated answer") if last else None


def _find_under_heading(reply: str, text: str, start: int) -> ParsedAnswer | None:
    """The only line under the last heading such as "Final answer"."""
    begin = heading_end(text[start:].lower())
    if begin is None or "\n" in text[start + begin :].strip():
        return None
    return _strip_markup(reply, start + begin, len(reply), "conclusion")


def _parse_last_line(reply: str, start: int) -> ParsedAnswer | None:
    """A last line of a few words."""
    begin = reply.rstrip().rfind("\n") + 1
    if begin <= start or len(reply[begin:].strip()) > _MAX_SHORT_LINE:
        return None
    return _strip_markup(reply, begin, len(reply), "last line")
