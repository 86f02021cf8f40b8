"""Label rules: replies that are, open with, end with or mark the letter of an option."""

from __future__ import annotations

import re

from snellen.extract import phrases
from snellen.extract.clean import Text, holds_any
from snellen.extract.letters import (
    END,
    TOKEN,
    Reading,
    any_of,
    begins_content,
    denied,
    is_article,
    line_letters,
    lists_options,
    names_several,
)
from snellen.extract.options import Options, plain
from snellen.extract.steps import LABEL_WITH_CONTENT

_BARE = re.compile(
    r"[\s\"'(\[<$:.\-]*"
    r"(?:(?i:the |my )?(?i:correct |right |best |final )?"
    rf"(?:(?i:{any_of(phrases.ANSWER_NOUNS)}|{phrases.OPTION_NOUNS})|选项|选))?"
    r"\s*(?:(?i:is)\b|是|为)?[\s:(\[\"'$\-]*"
    r"(?P<letter>[A-Za-z0-9])[\s\"')\]>$.,:;!?]*\Z"
)
_SHORT = 40
_LEADING = re.compile(
    rf"[\s\"'<$:.\-]{{0,40}}(?:(?i:{phrases.OPTION_NOUNS})\s{{1,9}})?[(\[]?[\s\"'$]{{0,9}}"
    rf"(?P<letter>[A-Z]{END}|[a-h](?=\)))[\"'$]*"
    r"(?=\s*(?:$|\n|[)\]:;,、]|\.(?![A-Za-z]\.)|[-–—]\s|[\u3040-\u9fff]"
    r"|(?:because|since|as|due|which|not)\b))"
)
_SMALL = re.compile(r"(?<![A-Za-z])([a-h])\)")
_MARKED = re.compile(
    r"[(\[]\s*(?P<one>[A-Z])(?=\s*[,)\]])"
    rf"|(?i:\b(?:{phrases.OPTION_NOUNS})s?|选项|選項)\s*[\"'(:]*(?P<two>[A-Z]){END}"
)

_MARKS = ("(", "[", *phrases.OPTION_NOUNS.split("|"))
"""In ASCII, what `_MARKED` finds holds one of these: looked for first, which is cheaper."""
_CAPTION = re.compile(
    r"(?:image|picture|photo|figure|fig\.|panel|point|box|region|curve|part|one)s?\s*\Z",
    re.IGNORECASE,
)
"""A bracketed letter after one of these may name a part of the picture, not an option."""
_CAPTION_REACH = 12
_CLOSED = re.compile(
    r"(?:\((?P<one>[A-Z])\)[.:]?|(?:^|\n)[ \-]{0,9}(?P<two>[A-Z])[).:])\s{0,3}"
    r"(?:(?i:an?|the)\s(?!is\b))?"
)


def bare_label(text: str, options: Options) -> Reading | None:
    """The reply is a label and nothing else but its dress: "(B)", "Answer: B", "选项B"."""
    core = text.strip()
    match = _BARE.match(core) if len(core) <= _SHORT else None
    if not match:
        return None
    letter = match["letter"]
    if letter.isdigit() and letter not in options.labels:
        return None
    if letter.islower():
        if letter in options.by_content:
            return None
        letter = letter.upper()
    if not options.has_bare(letter):
        return None
    start = text.index(core) + match.start("letter")
    return Reading(letter, "bare label", start, start + 1)


def leading_label(text: str, options: Options) -> Reading | None:
    """The reply opens with a label: "B. green", "(B) because ..."; not an echoed list."""
    match = _LEADING.match(text)
    if not match or not options.has(match["letter"].upper()):
        return None
    start, end = match.span("letter")
    if match["letter"].islower() and len(set(_SMALL.findall(text))) > 1:
        return None
    if denied(text, start, end) or is_article(text, start, end, options):
        return None
    if begins_content(text, start, options):
        return None
    if "\n" in text and len(line_letters(text, options)) > 1:
        return None
    if lists_options(text, options):
        return None
    several = names_several(text, start, end, options)
    return Reading(None if several else match["letter"].upper(), "leading label", start, end)


def last_line(text: str, options: Options) -> Reading | None:
    """The last line is a label, or opens with one while no other line does."""
    start = text.rstrip().rfind("\n") + 1
    if start == 0:
        return None
    line = text[start:]
    reading = bare_label(line, options)
    if reading is None and len(line_letters(text, options)) == 1:
        reading = leading_label(line, options)
    if reading is None:
        return None
    return Reading(reading.label, "last line", reading.start + start, reading.end + start)


def only_label(text: str, options: Options) -> Reading | None:
    """Exactly one label is marked as such anywhere: "(B)", "option B"; and it is not denied."""
    if text.isascii() and not holds_any(text.lower(), _MARKS):
        return None
    found: Reading | None = None
    for match in _MARKED.finditer(text):
        letter = match["one"] or match["two"]
        if not options.has(letter):
            continue
        start, end = match.span("one" if match["one"] else "two")
        if found and found.label != letter:
            return None
        before = max(0, match.start() - _CAPTION_REACH)
        if options.contents and _CAPTION.search(text, before, match.start()):
            return None
        if denied(text, start, end) or names_several(text, start, end, options):
            return None
        if _follows_another(text[: match.start()].lower().rstrip(), letter, options):
            return None
        found = found or Reading(letter, "only label", start, end)
    return found


def _follows_another(before: str, label: str, options: Options) -> bool:
    """Does the text of another option stand right before the label: "elm (C)"?"""
    return any(
        before.endswith(content) and not options.same(other, label)
        for other, content in options.contents.items()
        if len(content) > 1
    )


def label_with_content(text: Text, options: Options) -> Reading | None:
    """Exactly one option is named by its label and its own text: "... is most likely (A) oak"; or
    the options are bare letters, and exactly one of them stands in the reply."""
    if not options.contents or lists_options(text.plain, options):
        return None
    if all(content.upper() == label for label, content in options.contents.items()):
        return _only_letter(text.plain, options)
    found: Reading | None = None
    for match in _CLOSED.finditer(text.plain):
        letter = match["one"] or match["two"]
        place = match.span("one" if match["one"] else "two")
        content = options.contents.get(letter, "")
        if not options.has(letter) or denied(text.plain, *place):
            continue
        begins = content != "" and text.low.startswith(content, match.end())
        if not begins or (found and found.label != letter):
            return None
        found = found or Reading(letter, LABEL_WITH_CONTENT, *place)
    return found


def _only_letter(text: str, options: Options) -> Reading | None:
    """Where the options are bare letters: the one that the reply speaks of."""
    found: Reading | None = None
    for token in TOKEN.finditer(text):
        letter, place = token[0], token.span()
        if not options.has(letter) or is_article(text, *place, options):
            continue
        if (found and found.label != letter) or denied(text, *place):
            return None
        found = found or Reading(letter, "only label", *place)
    return found


def contradicts(text: str, reading: Reading, options: Options) -> bool:
    """Does the text right after the label equal the content of another option: "B. blue"?"""
    if not options.by_content or reading.label is None:
        return False
    rest = text[reading.end :].lstrip(" )].:,\"'-–")
    line = rest.split("\n", 1)[0]
    if not line or len(line) > options.longest + 8:
        return False
    other = options.by_content.get(plain(line))
    return other is not None and not options.same(other, reading.label)
