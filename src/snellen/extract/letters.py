"""Single letters in running text: which of them are labels, and whether they are denied."""

from __future__ import annotations

from typing import NamedTuple

from snellen.core import lazy_re as re
from snellen.extract import phrases
from snellen.extract.clean import kept_for_short
from snellen.extract.options import Options


class LabelMatch(NamedTuple):
    """A label with the rule that found it and its span.

    `label` is None if several labels were named there: weaker rules must not pick one of them.
    """

    label: str | None
    rule: str
    start: int
    end: int


WORD = "A-Za-z0-9_\u00c0-\u024f"
r"""Characters of words in Latin script. Chinese text has no spaces, so \b does not work."""

END = rf"(?![{WORD}]|'[A-Za-z]|-\w|[+#°]|/[{WORD}]|\.[A-Za-z0-9])"
"""End of a single letter: not part of a word, nor B's, B-52, C++, A/B, U.S."""

LETTER = rf"(?:[A-Z]{END}|[a-z](?=[)\]]|[\s\"']{{0,4}}(?:です|である)|[\s.\"'!]*(?:\n|$)))"
"""A label in running text; in lower case only before a bracket, です, or the end of a line."""

TOKEN = re.compile(rf"[A-Z]{END}(?<![{WORD}'\-/&$][A-Z])(?<![A-Za-z]\.[A-Z])")
CLOSERS = r"[)\]\"'$>]{0,6}"

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_EXPLAINING = frozenset("解理说是正对因问求")
"""First signs of Chinese words behind a label that is the answer: "A 解析", "A 是正确的". A base
model goes on with a question ("A 问: ...")."""
_CJK = "\u3040"
_CJK_OWN_TEXT = 4
"""Signs of an option's text that tell it from a thing with a letter ("A 公司", company A)."""
_MIN_LIST_SIZE = 3
_NEGATION_REACH = 80
_MAX_SENTENCE = 300
_CLAUSE_BREAK = re.compile(
    r"[.!?;,\n]|\b(?:but|(?<!think )(?<!think that )(?<!believe )(?<!believe that )"
    r"(?:it'?s|it is)|therefore|so)\b|而是|但|所以",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?;]\s|\n")
_NEGATOR = re.compile(phrases.NEGATORS, re.IGNORECASE)
_NEGATOR_LOW = re.compile(phrases.NEGATORS.replace(phrases.NE, "ne"))
"""For ASCII in lower case, several times as fast."""
_CONDITION = re.compile(phrases.CONDITIONS, re.IGNORECASE)
_CONDITION_REACH = 120
_STOP = re.compile(r"[.!?;\n]")
_DENIED_AFTER = re.compile(CLOSERS + phrases.DENIAL_PHRASES, re.IGNORECASE)
_FUNCTION_WORD = re.compile(
    r" (?:and|or|because|as|since|which|with|for|in|is|was|are|not|but|so|if|the|due|while|given|on"
    r"|that|then|from|based|of|by|would|must|should|can|seems|appears|et|ou|und|oder|car|weil|parce"
    r"|non|porque)\b"
)
_JOINER = (
    r"(?:/|&|\b(?:and/or|and|or|und|oder|et|ou|o|y|e|או)\b|和|或者?|、|以及|与"
    r"|または|あるいは|もしくは|と|や|か|또는|혹은|및|와|과|나)"
)
_NEXT_LETTER = re.compile(
    rf"[\s\]\"'$]{{0,6}}(?:\)?[\s\"']{{0,6}}(?:(?P<comma>,)|,?\s{{0,6}}{_JOINER})|\)\s{{0,6}}(?=\())"
    rf"\s{{0,6}}(?:and\s|or\s)?(?:(?i:option|choice)\s)?[(\[\"' ]{{0,6}}(?P<letter>[A-Z]){END}"
    r"[)\]\"']{0,6}(?P<verb>\s(?!and\b|or\b|und\b|oder\b|et\b|ou\b)[a-z])?"
)
_LETTER_BEFORE = re.compile(
    rf"(?:^|[\s(\[\"'、,:はが은는])(?P<letter>[A-Z])[)\]\"']{{0,6}},?\s{{0,6}}{_JOINER}"
    r"\s{0,6}(?:(?i:option|choice)\s)?[(\[\"']{0,6}$"
)
_LINE_LETTER = re.compile(
    r"(?:^|\n)[ \-•]{0,20}(?:(?i:option|choice) {0,9})?"
    r"(?:\(([A-Z])\)|\[([A-Z])\]|([A-Z])(?:[)\]、]|\s{0,4}[.:](?=\s)))"
)
_LATER_LETTER = re.compile(r"(?:,|\band|\bor)\s*[(\[]([A-Z])[)\]]")
_INLINE_LETTER = re.compile(rf"([A-Z])(?<![{WORD}][A-Z])[.):\]、]\s*")


_LONE_CAPITAL, _SMALL_LABEL = re.compile(r"[A-Z](?![A-Za-z])"), re.compile(r"[a-h](?=\))")


@kept_for_short
def lone_letters(text: str) -> frozenset[str]:
    """Capitals that no letter follows, and small letters before a bracket, as capitals: what is no such letter
    is no label in running text."""
    small = _SMALL_LABEL.findall(text) if ")" in text else ()
    return frozenset("".join([*_LONE_CAPITAL.findall(text), *small]).upper())


@kept_for_short
def is_denied(text: str, start: int, end: int) -> bool:
    """Whether the mention at start..end is negated, conditional, or called wrong after it."""
    if _DENIED_AFTER.match(text, end):
        return True
    second = _NEXT_LETTER.match(text, end)
    if second and not second["comma"] and _DENIED_AFTER.match(text, second.end("letter")):
        return True
    if start == 0:
        return False
    before = text[max(0, start - _NEGATION_REACH) : start]
    # A capital E may be that of NE, a place.
    is_simple = before.isascii() and "E" not in before
    negators = _NEGATOR_LOW.finditer(before.lower()) if is_simple else _NEGATOR.finditer(before)
    return any(not _CLAUSE_BREAK.search(before, negator.end()) for negator in negators)


def is_conditional(text: str, start: int) -> bool:
    """Whether a condition of some language stands before `start` in its sentence."""
    before = text[max(0, start - _CONDITION_REACH) : start]
    return _CONDITION.search(_STOP.split(before)[-1]) is not None


def is_article(text: str, start: int, end: int, options: Options) -> bool:
    """Whether a capital A (or I) before a word is the article (or pronoun), not a label."""
    letter = text[start:end]
    if letter not in ("A", "I") or text[end : end + 1] != " ":
        return False
    following = text[end + 1 : end + 2]
    if not following.isalpha() or following in _EXPLAINING:
        return False
    content = options.contents.get(letter)
    if content and following >= _CJK:
        content = content[:_CJK_OWN_TEXT]
    if content and text[end + 1 : end + 1 + len(content)].lower() == content:
        return False
    return letter == "I" or not _FUNCTION_WORD.match(text, end)


def is_content_start(text: str, start: int, options: Options) -> bool:
    """Whether the letter at `start` begins another option's text: "E. coli", "B cells"."""
    if not options.contents:
        return False
    low = text[start : start + options.longest_content].lower()
    return any(
        label != text[start] and len(content) > 2 and low.startswith(content)
        for label, content in options.contents.items()
    )


def names_multiple(text: str, start: int, end: int, options: Options) -> bool:
    """Whether the label at start..end is one of a list: "A or B", "(A), (C)"."""
    after = _NEXT_LETTER.match(text, end)
    if after and _is_other(after["letter"], text[start], options):
        clause = after["verb"] and after["comma"]
        if not clause and not _DENIED_AFTER.match(text, after.end("letter")):
            return True
    for later in _LATER_LETTER.finditer(text, end, _sentence_end(text, end)):
        if _is_other(later[1], text[start], options) and not is_denied(text, *later.span(1)):
            return True
    if start < 3:
        return False
    before = _LETTER_BEFORE.search(text, max(0, start - 20), start)
    return before is not None and _is_other(before["letter"], text[start], options)


def _sentence_end(text: str, start: int) -> int:
    match = _SENTENCE_END.search(text, start, start + _MAX_SENTENCE)
    return match.start() if match else min(len(text), start + _MAX_SENTENCE)


def _is_other(letter: str, label: str, options: Options) -> bool:
    return letter != label and options.has(letter)


def line_letters(text: str, options: Options) -> list[str]:
    """The labels that begin lines, each once, in order."""
    letters = dict.fromkeys(one or two or three for one, two, three in _LINE_LETTER.findall(text))
    return [letter for letter in letters if options.has(letter)]


def lists_options(text: str, options: Options) -> bool:
    """Whether the text repeats the list of options.

    That is labels with their contents, or A, B, C in order if the contents are unknown.
    """
    low = text.lower()
    if not options.contents:
        marked = dict.fromkeys(_INLINE_LETTER.findall(text))
        return len(marked) >= _MIN_LIST_SIZE and "".join(marked) == ALPHABET[: len(marked)]
    labels_with_content = {
        match[1]
        for match in _INLINE_LETTER.finditer(text)
        if match[1] in options.contents and low.startswith(options.contents[match[1]], match.end())
    }
    return len(labels_with_content) >= _MIN_LIST_SIZE or (
        len(labels_with_content) >= 2 and len(labels_with_content) == len(options.contents)
    )
