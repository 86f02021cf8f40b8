"""Label rules: replies that are, open with, end with or mark the letter of an option."""

from __future__ import annotations

from snellen.core import lazy_re as re
from snellen.extract import phrases
from snellen.extract.clean import CleanedReply, contains_any
from snellen.extract.letters import (
    END,
    TOKEN,
    LabelMatch,
    is_article,
    is_content_start,
    is_denied,
    line_letters,
    lists_options,
    names_multiple,
)
from snellen.extract.options import Options, normalise_content
from snellen.extract.steps import LABEL_WITH_CONTENT

_BARE_LABEL = re.compile(
    r"[\s\"'(\[<$:.\-]*"
    r"(?:(?i:the |my )?(?i:correct |right |best |final )?"
    rf"(?:(?i:{phrases.ANSWER_NOUNS}|{phrases.OPTION_NOUNS})|选项|选))?"
    r"\s*(?:(?i:is)\b|是|为)?[\s:(\[\"'$\-]*"
    r"(?P<letter>[A-Za-z0-9])[\s\"')\]>$.,:;!?]*\Z"
)
BARE_LABEL = "bare label"
MAX_BARE_LENGTH = 40
_LEADING_LABEL = re.compile(
    rf"[\s\"'<$:.\-]{{0,40}}(?:(?i:{phrases.OPTION_NOUNS})\s{{1,9}})?[(\[]?[\s\"'$]{{0,9}}"
    rf"(?P<letter>[A-Z]{END}|[a-h](?=\)))[\"'$]*"
    r"(?=\s*(?:$|\n|[)\]:;,、]|\.(?![A-Za-z]\.)|[-–—]\s|[\u3040-\u9fff]"
    rf"|{phrases.CHOSEN_KOREAN}|(?:because|since|as|due|which|not)\b))"
)
_SMALL_LABEL = re.compile(r"(?<![A-Za-z])([a-h])\)")
_MARKED_LABEL = re.compile(
    r"[(\[]\s*(?P<one>[A-Z])(?=\s*[,)\]])"
    rf"|(?i:\b(?:{phrases.OPTION_NOUNS})s?|选项|選項)\s*[\"'(:]*(?P<two>[A-Z]){END}"
)

_LABEL_HINTS = ("(", "[", *phrases.OPTION_NOUNS.split("|"))
"""In ASCII text, any match of `_MARKED_LABEL` contains one of these: a cheaper test."""
_FIGURE_NOUN = re.compile(
    r"(?:image|picture|photo|figure|fig\.|panel|point|box|region|curve|part|one)s?\s*\Z", re.IGNORECASE
)
"""A bracketed letter after one of these may name a part of the image, not an option."""
_FIGURE_NOUN_REACH = 12
_MAX_MARKED = 400
"""Marked labels whose surroundings are examined; a reply with more is a loop."""
_SPACE_REACH = 50
"""Blanks between an option's text and a label behind it."""
_CLOSED_LABEL = re.compile(
    r"(?:\((?P<one>[A-Z])\)[.:]?|(?:^|\n)[ \-]{0,9}(?P<two>[A-Z])[).:])\s{0,3}"
    r"(?:(?i:an?|the)\s(?!is\b))?"
)


def lone_letter(text: str) -> tuple[str, int] | None:
    """The letter or digit, and where it is, of a text with only signs and words for a label around it."""
    core = text.strip()
    match = _BARE_LABEL.match(core) if len(core) <= MAX_BARE_LENGTH else None
    return (match["letter"], text.index(core) + match.start("letter")) if match else None


def bare_label(text: str, options: Options) -> LabelMatch | None:
    """Match a reply that is only a label and signs around it: "(B)", "Answer: B", "选项B"."""
    lone = lone_letter(text)
    if lone is None:
        return None
    letter, start = lone
    if letter.isdigit() and letter not in options.labels:
        return None
    if letter.islower():
        if letter in options.by_content:
            return None
        letter = letter.upper()
    if not options.has_bare(letter):
        return None
    return LabelMatch(letter, BARE_LABEL, start, start + 1)


def leading_label(text: str, options: Options) -> LabelMatch | None:
    """Match a reply that opens with a label: "B. green", "(B) because ..."; not an echoed list."""
    match = _LEADING_LABEL.match(text)
    if not match or not options.has(match["letter"].upper()):
        return None
    start, end = match.span("letter")
    if match["letter"].islower() and len(set(_SMALL_LABEL.findall(text))) > 1:
        return None
    if is_denied(text, start, end) or is_article(text, start, end, options):
        return None
    if is_content_start(text, start, options):
        return None
    if "\n" in text and len(line_letters(text, options)) > 1:
        return None
    if lists_options(text, options):
        return None
    is_list = names_multiple(text, start, end, options)
    return LabelMatch(None if is_list else match["letter"].upper(), "leading label", start, end)


def last_line(text: str, options: Options) -> LabelMatch | None:
    """Match a last line that is a label, or that alone opens with one."""
    start = text.rstrip().rfind("\n") + 1
    if start == 0:
        return None
    line = text[start:]
    reading = bare_label(line, options)
    if reading is None and len(line_letters(text, options)) == 1:
        reading = leading_label(line, options)
    if reading is None:
        return None
    return LabelMatch(reading.label, "last line", reading.start + start, reading.end + start)


def only_label(text: str, options: Options) -> LabelMatch | None:
    """Match the only marked label, "(B)" or "option B", if it is not denied."""
    if text.isascii() and not contains_any(text.lower(), _LABEL_HINTS):
        return None
    single: LabelMatch | None = None
    for index, match in enumerate(_MARKED_LABEL.finditer(text)):
        letter = match["one"] or match["two"]
        if not options.has(letter):
            continue
        start, end = match.span("one" if match["one"] else "two")
        if single and single.label != letter:
            return None
        if index >= _MAX_MARKED:
            continue
        before = max(0, match.start() - _FIGURE_NOUN_REACH)
        if options.contents and _FIGURE_NOUN.search(text, before, match.start()):
            return None
        if is_denied(text, start, end) or names_multiple(text, start, end, options):
            return None
        # Of what comes before, as much as the longest option: replies may hold thousands of labels.
        reach = max(0, match.start() - _SPACE_REACH - options.longest_content)
        if _follows_other_content(text[reach : match.start()].lower().rstrip(), letter, options):
            return None
        single = single or LabelMatch(letter, "only label", start, end)
    return single


def _follows_other_content(before: str, label: str, options: Options) -> bool:
    """Whether another option's text comes right before the label: "elm (C)"."""
    return any(
        before.endswith(content) and not options.has_same_content(other, label)
        for other, content in options.contents.items()
        if len(content) > 1
    )


def label_with_content(text: CleanedReply, options: Options) -> LabelMatch | None:
    """Match the only option that is named by its label and its own text: "... is most likely (A)
    oak".

    If the options are bare letters, match the only one in the reply.
    """
    if not options.contents or lists_options(text.plain, options):
        return None
    if all(content.upper() == label for label, content in options.contents.items()):
        return _only_letter(text.plain, options)
    single: LabelMatch | None = None
    for match in _CLOSED_LABEL.finditer(text.plain):
        letter = match["one"] or match["two"]
        span = match.span("one" if match["one"] else "two")
        content = options.contents.get(letter, "")
        if not options.has(letter) or is_denied(text.plain, *span):
            continue
        begins = content != "" and text.low.startswith(content, match.end())
        if not begins or (single and single.label != letter):
            return None
        single = single or LabelMatch(letter, LABEL_WITH_CONTENT, *span)
    return single


def _only_letter(text: str, options: Options) -> LabelMatch | None:
    """Match the only label in the reply, for options that are bare letters."""
    single: LabelMatch | None = None
    for token in TOKEN.finditer(text):
        letter, span = token[0], token.span()
        if not options.has(letter) or is_article(text, *span, options):
            continue
        if (single and single.label != letter) or is_denied(text, *span):
            return None
        single = single or LabelMatch(letter, "only label", *span)
    return single


def contradicts(text: str, reading: LabelMatch, options: Options) -> bool:
    """Whether the text right after the label is another option's content: "B. blue"."""
    if not options.by_content or reading.label is None:
        return False
    following = text[reading.end :].lstrip(" )].:,\"'-–")
    line = following.split("\n", 1)[0]
    if not line or len(line) > options.max_length + 8:
        return False
    other = options.by_content.get(normalise_content(line))
    return other is not None and not options.has_same_content(other, reading.label)
