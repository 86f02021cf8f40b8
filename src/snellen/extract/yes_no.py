"""Parse a reply to a yes/no question, by one of three named rules, so that a number says how it
was parsed.

`word`      the default: complete words, in a marked conclusion (see `marks`) before all else; the
            last stated answer, else the opening word, else the only one of yes and no in the reply.
            Other languages, and true and false, if they open it; y, n, 1 and 0 if they are all of
            it. Gold answers are read by it too.
`official`  the script published with MME (arXiv:2306.13394, `eval_tool`): "yes", then "no" is
            searched in the first four characters of the lower-cased reply, blanks included ("not
            sure" is a no there).
`paper`     MME Sec. 4: a reply without yes or no at its beginning is a wrong answer.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from snellen.core import lazy_re as re
from snellen.core.output import Answer, Empty, ParsedAnswer, Refused, Truncated, Unparsed
from snellen.extract import phrases
from snellen.extract.clean import blank_markup, fold, is_only_thinking, kept_for_short, without_thinking
from snellen.extract.marks import BOX, AnswerMark, heading_end, innermost_mark
from snellen.extract.yes_no_words import lone_yes_no, words_pattern

YesNoRule = Literal["word", "official", "paper"]

YES, NO = "Yes", "No"
_OFFICIAL_REACH = 4

_WORD_START = r"(?<![A-Za-z0-9_\u00c0-\u024f\-'])"
_WORD_END = r"(?![A-Za-z0-9_\u00c0-\u024f]|['-][A-Za-z])"
_PAIR = r"(?:yes|no)\s*(?:/|\bor\b|\band\b|\()\s*(?:yes|no)\)?"
_WORD = re.compile(
    rf"{_WORD_START}(?:(?P<pair>{_PAIR})|(?P<yes>yes|yeah|yep)|(?P<no>no|nope)){_WORD_END}", re.IGNORECASE
)
_NO_AS_DETERMINER = re.compile(r"(?:\s*\.)?\s+[a-z]", re.IGNORECASE)
_STATED_WORD = re.compile(
    rf"{_WORD_START}(?:answer|response|conclusion)\b[^.!?\n]{{0,60}}?"
    r"(?:\bis\b|\bwould be\b|\bshould be\b|:)\s{0,40}"
    r"(?:likely|probably|most likely|clearly|definitely|therefore|simply)?"
    r"[\s:\"'(]{0,40}"
    rf"(?:(?P<pair>{_PAIR})|(?P<yes>yes)|(?P<no>no)){_WORD_END}",
    re.IGNORECASE,
)
_OPENING_WORD = re.compile(
    rf"[\W_]*(?:(?P<pair>{_PAIR})|(?P<yes>yes|yeah|yep)|(?P<no>no(?! (?:one|doubt|problem|matter|"
    rf"idea)\b)|nope)){_WORD_END}",
    re.IGNORECASE,
)
_SECOND_WORD = re.compile(r"\W{1,4}(yes|no)(?=[.,;!?\n]|\s*$)", re.IGNORECASE)
"""A second word of its own right after the opening one: "Yes. No."."""
_YES_WORDS = f"{words_pattern(0)}|true|correct|right"
_NO_WORDS = f"{words_pattern(1)}|false|incorrect|wrong"
_LEAD_IN = (
    r"(?:(?:the |la |die |a |o )?(?:final |correct |richtige )?"
    r"(?:answer|statement|réponse|reponse|respuesta|resposta|risposta|antwort|ответ|cevap"
    r"|答え|정답)(?: (?:is|est|es|é|è|ist|lautet))?(?: correcta)?"
    r"\s{0,9}:?\s{0,9})?"
)
_OTHER_WORD = re.compile(
    rf"[\W_]{{0,30}}+{_LEAD_IN}[\W_]{{0,9}}(?:(?P<yes>{_YES_WORDS})|(?P<no>{_NO_WORDS}))(?:です|입니다)?"
    r"(?=\s{0,9}(?:[.,;:!\n)、،؛।]|\Z|-\s|[–—]))(?![.,]\w)",
    re.IGNORECASE,
)
"""A word of another language, or of another kind of question, that alone opens the reply."""
_CJK = re.compile(r"[\u3400-\u9fff]")
_CJK_OPENING = re.compile(
    r"[\s\W]*(?:(?:答案|回答)(?:[应應][该該])?(?:是|[为為])?[\s::]*[\"'(\[]?)?"
    r"(?:(?P<no>不是|不[对對]|不存在|[没沒]有|不能|不[会會]|不可以|不正[确確]|[错錯][误誤]|否|[无無](?!法)|不(?=[\s.,!]|$))"
    r"|(?P<question>是否)?(?P<true>是|[对對]的|[对對](?=[\s.,!]|$)|有|存在|正[确確]|可以|能))"
)
_REFUSAL = re.compile(phrases.REFUSALS, re.IGNORECASE)
_NEGATOR = re.compile(r"(?:\bnot|n't|\bif|\bwhether)\s+(?:\w+\s+){0,3}\Z", re.IGNORECASE)

_NEGATOR_REACH = 60


def parse_yes_no(reply: str, stop_reason: str = "stop", *, rule: YesNoRule = "word") -> Answer:
    """The reply as "Yes" or "No", or the typed reason why not.

    `stop_reason` "length" turns an unparsed reply into `Truncated`.
    """
    if not reply.strip():
        return Truncated() if stop_reason == "length" else Empty()
    answer: Answer | None
    if rule == "official":
        answer = _parse_official(reply)
    elif rule == "paper":
        answer = _parse_opening(blank_markup(fold(reply)), rule)
    else:
        answer = _parse_by_words(reply)
    if isinstance(answer, ParsedAnswer):
        return answer
    if stop_reason == "length":
        return Truncated()
    if answer:
        return answer
    return Refused("refusal phrase") if _REFUSAL.search(fold(reply)) else Unparsed()


def _parse_official(reply: str) -> ParsedAnswer | None:
    # Leading blanks count among the characters: the script does not strip the reply.
    head = reply.lower()[:_OFFICIAL_REACH]
    for word, value in (("yes", YES), ("no", NO)):
        index = head.find(word)
        if index >= 0:
            return ParsedAnswer(value, "official", (index, index + len(word)))
    return None


def _answer_from_match(match: re.Match[str], rule: str) -> ParsedAnswer | None:
    if match["pair"]:
        return None
    value = YES if match["yes"] else NO
    return ParsedAnswer(value, rule, match.span("yes" if match["yes"] else "no"))


def _parse_opening(text: str, rule: str) -> ParsedAnswer | None:
    match = _OPENING_WORD.match(text)
    if not match:
        return None
    answer = _answer_from_match(match, rule)
    second = _SECOND_WORD.match(text, match.end())
    if answer and second and second[1].lower() != answer.value.lower():
        return None
    return answer


@kept_for_short
def _parse_by_words(reply: str) -> Answer | None:
    folded = without_thinking(fold(reply))
    mark = innermost_mark(folded)
    if mark:
        return _parse_mark(folded, mark)
    if is_only_thinking(folded):
        return Truncated()
    text = blank_markup(folded)
    start = heading_end(text.lower())
    under = _apply_rules(" " * start + text[start:]) if start else None
    return under or _apply_rules(text)


def _apply_rules(text: str) -> ParsedAnswer | None:
    return (
        _parse_stated(text)
        or _parse_opening(text, "opening word")
        or _parse_other_word(text)
        or _parse_only_word(text)
        or _parse_chinese(text)
        or _parse_lone_word(text)
    )


def _parse_mark(folded: str, mark: AnswerMark) -> Answer | None:
    """Parse a marked conclusion; if a box contains something else, a stated answer next to it."""
    text = blank_markup(folded)
    inside = " " * mark.start + text[mark.start : mark.end]
    answer = _apply_rules(inside)
    if answer:
        return msgspec.structs.replace(answer, rule=mark.kind)
    if mark.kind == BOX:
        return _apply_rules(" " * mark.outer_end + text[mark.outer_end :]) or _parse_stated(text[: mark.start])
    return Refused("refusal phrase") if _REFUSAL.search(inside) else Unparsed()


def _parse_other_word(text: str) -> ParsedAnswer | None:
    match = _OTHER_WORD.match(text)
    if not match:
        return None
    group = "yes" if match["yes"] else "no"
    return ParsedAnswer(YES if match["yes"] else NO, "opening word", match.span(group))


def _parse_stated(text: str) -> ParsedAnswer | None:
    """The last "the answer is yes", unless it is negated or conditional."""
    last = None
    for match in _STATED_WORD.finditer(text):
        if not _is_negated(text, match.start()):
            last = _answer_from_match(match, "stated answer") or last
    return last


def _parse_only_word(text: str) -> ParsedAnswer | None:
    """The only one of yes and no in the reply; "no" before a noun ("has no tail") does not
    count."""
    answer: ParsedAnswer | None = None
    for match in _WORD.finditer(text):
        if match["pair"]:
            return None
        if _is_negated(text, match.start()):
            continue
        if match["no"] and _NO_AS_DETERMINER.match(text, match.end()):
            continue
        word = _answer_from_match(match, "only word")
        if answer and word and answer.value != word.value:
            return None
        answer = answer or word
    return answer


def _parse_chinese(text: str) -> ParsedAnswer | None:
    if not _CJK.search(text):
        return None
    match = _CJK_OPENING.match(text)
    if not match or match["question"]:
        return None
    value = NO if match["no"] else YES
    return ParsedAnswer(value, "opening word", match.span("no" if match["no"] else "true"))


def _parse_lone_word(text: str) -> ParsedAnswer | None:
    lone = text.strip()
    value, start = lone_yes_no(lone), text.find(lone)
    return ParsedAnswer(value, "only word", (start, start + len(lone))) if value else None


def _is_negated(text: str, position: int) -> bool:
    return _NEGATOR.search(text, max(0, position - _NEGATOR_REACH), position) is not None
