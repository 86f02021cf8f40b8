"""Content rules: replies that repeat the text of an option instead of its label."""

from __future__ import annotations

from typing import NamedTuple

from snellen.core import lazy_re as re
from snellen.extract import phrases
from snellen.extract.clean import CleanedReply, contains_any, kept_for_short
from snellen.extract.letters import LabelMatch, is_conditional, is_denied
from snellen.extract.options import DIGIT_WORDS, NUMBER, Options, normalise_content

_LEADING_CONTENT = re.compile(
    r"[\s\"'(\[]{0,40}(?P<content>(?:[^.,;:!?\n–—]|[.,:](?=\d)){1,200}?)\s{0,9}(?:[.,:](?!\d)|[;!?\n–—]|\s-\s)"
)
_LABEL_BEFORE = re.compile(r"\b([A-Z0-9])\s*[.):]\W*(?:(?:an?|the)\s)?\Z", re.IGNORECASE)
"""A label right before a content; if it is another option's, the reply stays unparsed."""
_LABEL_REACH = 12
_NEXT_ITEM = re.compile(r"[^\n]*\n\s*[A-Z]\s?[.:)]")
_LABEL_AFTER = re.compile(r"[\"'.]?\s?\(([A-Z])\)")
_SENTENCE_END = re.compile(r"[.!?\n]")
_COMMON_CONTENTS = frozenset({"yes", "no", "not", "none", "true", "false", "it", "is", "all", "a", "i"})
_MAX_MENTION_LENGTH = 400
_EDGE_LENGTH = 12
_MAX_LINES = 30
_MAX_MENTIONS = 20
_MIN_DISTINCTIVE_LENGTH = 12
"""A content of several words and at least this many characters is hardly named in passing."""
_CONCLUSION_STEMS = (*phrases.CONCLUSION_WORDS.split("|"), "consequently", "to conclude", "in summary")
_CONCLUSION = re.compile(rf"(?:^|[.!?]\s|\n)[\s\"'>\-]{{0,9}}(?:{'|'.join(_CONCLUSION_STEMS)})\b")


def equal_content(text: CleanedReply, options: Options) -> LabelMatch | None:
    """Match a reply that is the text of one option."""
    if len(text.plain) > options.max_length + _EDGE_LENGTH and len(text.plain.strip()) > (
        options.max_length + _EDGE_LENGTH
    ):
        return None
    label = options.label_of(text.plain)
    if label is None:
        return None
    start = len(text.plain) - len(text.plain.lstrip())
    return LabelMatch(label, "content", start, len(text.plain.rstrip()))


def leading_content(text: CleanedReply, options: Options) -> LabelMatch | None:
    """Match a reply that opens with the text of an option, then a pause: "Yes, there is ..."."""
    leading = _leading_phrase(text.plain)
    label = leading and options.by_content.get(leading.content)
    if not leading or label is None:
        return None
    if options.contents[label] not in _COMMON_CONTENTS and _mentions_other(text, leading.behind, label, options):
        return None
    return LabelMatch(label, "leading content", leading.start, leading.end)


class _LeadingPhrase(NamedTuple):
    """What a reply opens with up to a pause, as contents are compared."""

    content: str
    start: int
    end: int
    behind: int
    """Where the pause ends."""


@kept_for_short
def _leading_phrase(plain: str) -> _LeadingPhrase | None:
    match = _LEADING_CONTENT.match(plain)
    if not match or plain[match.end() - 1] == "?":
        return None
    return _LeadingPhrase(normalise_content(match["content"]), *match.span("content"), match.end())


def part_of_content(text: CleanedReply, options: Options) -> LabelMatch | None:
    """Match a few words or a number contained in exactly one option: "12" for "12 cm"."""
    part = normalise_content(text.plain)
    if not part or part in _COMMON_CONTENTS or len(part) > options.max_length:
        return None
    labels = [label for label, content in options.contents.items() if _contains_whole(content, part)]
    if not labels or not all(options.has_same_content(labels[0], label) for label in labels):
        return None
    label = min(labels)
    return LabelMatch(label, "part of content", 0, len(text.plain.rstrip()))


def _contains_whole(content: str, part: str) -> bool:
    index = content.find(part)
    while index >= 0:
        if _is_whole_word(content, index, index + len(part)):
            return True
        index = content.find(part, index + 1)
    return False


def leading_line(text: CleanedReply, options: Options) -> LabelMatch | None:
    """Match a first line that is an option's text, if no other line is another option's."""
    if "\n" not in text.plain:
        return None
    lines = text.plain.lstrip().split("\n", _MAX_LINES)
    if len(lines) < 2 or len(lines[0]) > options.max_length + _EDGE_LENGTH:
        return None
    label = options.label_of(lines[0])
    if label is None or any(options.label_of(line) not in (None, label) for line in lines[1:]):
        return None
    start = len(text.plain) - len(text.plain.lstrip())
    return LabelMatch(label, "leading content", start, start + len(lines[0].rstrip()))


def mentioned_content(text: CleanedReply, options: Options) -> LabelMatch | None:
    """Match the only option whose text the reply asserts.

    Searched in a reply of a few sentences, or in the last sentence that opens as a conclusion
    ("Therefore ..."), or, for a text of several words, in a longer reply.
    """
    size = len(text.plain)
    if size <= _MAX_MENTION_LENGTH or _mentions_single_option(text.low, options):
        mention = find_mention(text, 0, size, options, "mentioned content")
        if mention:
            return mention
    last = None
    for last in (  # noqa: B007
        _CONCLUSION.finditer(text.low) if contains_any(text.low, _CONCLUSION_STEMS) else ()
    ):
        pass
    if last is None or size - last.start() > _MAX_MENTION_LENGTH:
        return None
    return find_mention(text, last.end(), size, options, "concluded content")


def _mentions_single_option(low: str, options: Options) -> bool:
    """Whether a long reply contains the text of only one option, of several words, a few times."""
    contained = [content for content in options.contents.values() if content in low]
    is_single = len(contained) == 1 and " " in contained[0] and len(contained[0]) >= _MIN_DISTINCTIVE_LENGTH
    return is_single and low.count(contained[0]) <= _MAX_MENTIONS


def find_mention(text: CleanedReply, start: int, end: int, options: Options, rule: str) -> LabelMatch | None:
    """The only option whose text is asserted between start and end.

    Longer texts are searched first, so "light blue" is no mention of "blue". The first
    item of a list that the reply begins with is none.
    """
    spans: list[tuple[int, int]] = []
    mention: LabelMatch | None = None
    is_item = True
    for label, content in options.contents.items():
        if content not in text.low and content not in DIGIT_WORDS:
            continue
        for begin, stop in _find_spans(text.low, content, start, end):
            if spans and any(begin < last and first < stop for first, last in spans):
                continue
            spans.append((begin, stop))
            labelled = _LABEL_BEFORE.search(text.plain, max(0, begin - _LABEL_REACH), begin)
            opening = labelled.start() if labelled else begin
            if is_denied(text.plain, opening, stop) or _is_question(text.plain, stop):
                continue
            if labelled and is_conditional(text.plain, opening):
                continue
            label_before = labelled[1] if labelled else label
            if label_before in options.labels and not options.has_same_content(label_before, label):
                return None
            after = _LABEL_AFTER.match(text.plain, stop)
            if after and not options.has_same_content(after[1], label):
                return None
            if content not in options.by_content or (mention and mention.label != label):
                return None
            mention = mention or LabelMatch(label, rule, begin, stop)
            is_item = is_item and labelled is not None
    if mention and is_item and _NEXT_ITEM.match(text.plain, mention.end):
        return None
    if mention and options.numeric and _other_number(text.low, start, end, mention):
        return None
    return mention


def _is_question(text: str, position: int) -> bool:
    """Whether the sentence at `position` ends with a question mark."""
    stop = _SENTENCE_END.search(text, position)
    return stop is not None and stop[0] == "?"


def _mentions_other(text: CleanedReply, start: int, label: str, options: Options) -> bool:
    """Whether the text of another option is mentioned after `start`."""
    return any(
        not options.has_same_content(label, other) and _find_spans(text.low, content, start, len(text.low))
        for other, content in options.contents.items()
    )


def _find_spans(low: str, content: str, start: int, end: int) -> list[tuple[int, int]]:
    """Spans of `content` as complete words (complete numbers) in low[start:end]."""
    if content in _COMMON_CONTENTS or (len(content) == 1 and content.isascii() and content.isalpha()):
        return []
    spans = []
    for form in (content, DIGIT_WORDS.get(content, "")):
        index = low.find(form, start, end) if form else -1
        while index >= 0:
            if _is_whole_word(low, index, index + len(form)):
                spans.append((index, index + len(form)))
            index = low.find(form, index + 1, end)
    return spans


def _is_whole_word(low: str, start: int, end: int) -> bool:
    """Whether low[start:end] begins and ends at word (or number) boundaries."""
    if start and _continues(low[start], low[start - 1], low[start - 2 : start - 1]):
        return False
    return end == len(low) or not _continues(low[end - 1], low[end], low[end + 1 : end + 2])


def _continues(edge: str, following: str, after_next: str) -> bool:
    """Whether a word or number with this edge character continues with the next ones."""
    if not _is_latin(edge):
        return False
    if _is_latin(following) or following == "-" or (following == "'" and _is_latin(after_next)):
        return True
    return edge.isdigit() and following in ".,/:^" and after_next.isdigit()


def _is_latin(character: str) -> bool:
    return (character.isascii() and character.isalnum()) or "\u00c0" <= character <= "\u024f"


def _other_number(low: str, start: int, end: int, mention: LabelMatch) -> bool:
    return any(
        match.end() <= mention.start or match.start() >= mention.end
        for match in NUMBER.finditer(low, start, end)
        if match[0] != low[mention.start : mention.end]
    )
