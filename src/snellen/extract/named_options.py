"""Options that a statement of any language names by label and text: "**D. oak**".

A label with its own text, set off by bold or quotation marks in a sentence, or alone on a line that
follows a colon or ends the reply, says which option is meant without a known phrase around it.
Items of a list and what a negation or a condition stands beside are no statements.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from snellen.core import lazy_re as re
from snellen.extract import phrases
from snellen.extract.clean import CleanedReply
from snellen.extract.letters import TOKEN, WORD, LabelMatch, is_conditional, is_denied
from snellen.extract.options import Options
from snellen.extract.statements import is_corrected

RULE = "named option"
_NAMED = re.compile(
    rf"(?<![{WORD}])(?P<label>[A-Z])[ \"']{{0,4}}[.):\],、\-–—(][ .:\"'(\[]{{0,6}}"
    r"(?:(?i:an?|the) )?"
)
_ENOUGH_TEXT = 24
"""Characters of an option's text that are compared: replies often leave out the end."""
_REACH = 300
_AFTERWORD = 12
"""Characters that may follow an option's text on a line of its own."""
_LINES_BELOW = 9
_MAX_MENTIONS = 8
"""Options named more often without bold or quotation marks: a reply that repeats itself."""
_LETTERS = re.compile(r"[^\W\d_]")
_GOES_ON = re.compile(r"(?<=[a-z\d])[a-z\d]|(?<=\d)[.,]\d")
_LABEL = re.compile(rf"(?<![{WORD}(\[])([A-Z])[.):、]")
_ITEM_START = rf"[^\w\n]{{0,40}}(?:\d+[.)] ?)?(?:(?i:{phrases.ITEM_NOUNS}))?[^\w\n]{{0,9}}"
_ITEM = re.compile(rf"{_ITEM_START}([A-Z])[)\]\"' ]{{0,4}}(?:[.:)\]、\-–—]|\Z)")
_BEFORE_ITEM = re.compile(_ITEM_START)
_ANNOUNCED = re.compile(r"(?:(?<!不)(?<!也)[是为]|说法|表述|一项|选项|做法|如下):?\s?(?:选项|选)?[\s:]{0,2}\Z")
"""Chinese before a statement without bold: 错误的是B, 正确的表述是选项A."""
_CLAUSE_END = re.compile(r"[.!?;:,、\n]")
_DENIAL_BEHIND = re.compile(
    rf"\b(?:no|not|{phrases.NEGATIONS}|{phrases.DENIALS})\b|{phrases.DENIALS_CJK}", re.IGNORECASE
)
_REACH_BEHIND = 60
_OPENING_LETTERS = 12
"""Letters of a first line that is hardly more than labels: "A, B", "The answer: C"."""
_EMPHASIS = frozenset("*_`\"'[>")


class _Mention(NamedTuple):
    """A label whose own text stands beside it, and whether bold or quotation marks set it off."""

    label: str
    start: int
    end: int
    text_end: int
    """Where the whole text of the option would end; `end` is how far the reply has it."""
    emphasised: bool
    bold_text: bool
    """Whether bold begins behind the label: "D. **oak**"."""


def named_option(text: CleanedReply, options: Options) -> LabelMatch | None:
    """The option that all statements name, or that the last names in a conclusion."""
    mentions = _find_mentions(text, options)
    if not mentions:
        return None
    lines = _find_lines(text.plain)
    found: list[_Mention] = []
    weighed: set[str] = set()
    for mention in mentions:
        index = bisect_right(lines, (mention.start, len(text.plain))) - 1
        if not _is_stated(text.plain, lines, index, mention, options):
            continue
        near = (max(lines[index][0], mention.start - _REACH), mention.end + _REACH)
        labels = _LABEL.findall(text.plain, near[0], min(near[1], lines[index][1]))
        others = {label for label in labels if options.has(label)} - {mention.label}
        weighed |= {mention.label, *others}
        if others:
            found = []  # the reply weighs several options here: what it named before is open again
        elif not _is_denied(text.plain, mention):
            found.append(mention)
    if not found:
        return None
    plain = not (found[-1].emphasised or found[-1].bold_text)
    if plain and _opening_labels(text.plain, lines[0], options) - {found[-1].label}:
        return None  # "C" or "A, B", then an explanation that goes through the options
    if plain and _is_announced(text.plain, found[-1]) and len({one.label for one in mentions}) > 1:
        return None
    if len(weighed) > 2 - plain or (plain and len(mentions) > _MAX_MENTIONS):
        return None
    matches = [LabelMatch(one.label, RULE, one.start, one.start + 1) for one in found]
    last = matches[-1]
    rivals = [match for match in matches if match.label != last.label]
    return last if not rivals or is_corrected(text, rivals[-1], last) else None


def _find_lines(text: str) -> list[tuple[int, int]]:
    """Start and end of the lines that are not empty."""
    lines, start = [], 0
    for line in text.split("\n"):
        if line.strip():
            lines.append((start, start + len(line.rstrip())))
        start += len(line) + 1
    return lines


def _find_mentions(text: CleanedReply, options: Options) -> list[_Mention]:
    found = []
    for match in _NAMED.finditer(text.plain):
        label, start = match["label"], match.start("label")
        whole = options.contents.get(label, "")
        content = whole[:_ENOUGH_TEXT]
        end = match.end() + len(content)
        if not content or not text.low.startswith(content, match.end()):
            continue
        if text.low.startswith(whole, match.end()):
            end = match.end() + len(whole)
            if _GOES_ON.match(text.low, end):
                continue
        if text.low[max(0, start - _REACH) : start].rstrip(" (").endswith(content):
            continue  # an item of a list: "oak (D): oak is ..."
        sign = text.folded[max(0, start - 3) : start].rstrip(" (")[-1:]
        bold_text = "**" in text.folded[start + 1 : match.end()]
        found.append(_Mention(label, start, end, match.end() + len(whole), sign in _EMPHASIS, bold_text))
    return found


def _is_stated(text: str, lines: list[tuple[int, int]], index: int, mention: _Mention, options: Options) -> bool:
    """Whether a sentence or a line of its own names the option: no item of a list."""
    start, line_end = lines[index]
    before = text[max(start, mention.start - _REACH) : mention.start]
    if not _BEFORE_ITEM.fullmatch(before):
        set_off = mention.emphasised or mention.bold_text or _is_announced(text, mention)
        return set_off and len(_LETTERS.findall(before)) > 1
    if line_end > mention.text_end + _AFTERWORD or text[line_end - 1] == ":":
        return False
    if index and _item_label(text, lines[index - 1], options):
        return False
    near = lines[index + 1 : index + _LINES_BELOW]
    below = [_item_label(text, line, options) for line in near]
    announcement = text[slice(*lines[index - 1])][-_REACH:] if index else before
    if is_conditional(announcement, len(announcement)):
        return False
    if mention.emphasised and not below:
        return True
    if not announcement.rstrip().endswith(":") or (below and below[0]):
        return False
    item = next(filter(None, below), None)
    return item is None or (mention.emphasised and ord(item) != ord(mention.label) + 1)


def _opening_labels(text: str, line: tuple[int, int], options: Options) -> set[str]:
    """The labels of options in the first line of a reply, if it holds no words."""
    labels = {token[0] for token in TOKEN.finditer(text, *line) if options.has(token[0])}
    return labels if len(_LETTERS.findall(text, *line)) <= _OPENING_LETTERS else set()


def _is_announced(text: str, mention: _Mention) -> bool:
    return _ANNOUNCED.search(text, max(0, mention.start - 9), mention.start) is not None


def _item_label(text: str, line: tuple[int, int], options: Options) -> str | None:
    """The label that begins a line."""
    item = _ITEM.match(text, *line)
    return item[1] if item and options.has(item[1]) else None


def _is_denied(text: str, mention: _Mention) -> bool:
    """Whether a negation or a condition stands before the label, or a denial or a question mark
    behind the text."""
    start, end = mention.start, mention.end
    if is_conditional(text, start):
        return True
    if is_denied(text, start, end) and not _is_announced(text, mention):
        return True
    behind = text[end : end + _REACH_BEHIND].lstrip("\"')] ")
    clause = _CLAUSE_END.split(behind)[0]
    return behind[len(clause) :][:1] == "?" or _DENIAL_BEHIND.search(clause) is not None
