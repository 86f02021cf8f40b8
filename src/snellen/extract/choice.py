"""Parse a reply to a multiple-choice question into the label of an option.

A marked conclusion (a tag, a box, a key of JSON) is parsed before all else. Inside it, and in
replies without one, the order is that of MMBench (arXiv:2307.06281, Sec. 4.1) and MMT-Bench
(arXiv:2404.16006, Sec. 4.1): labels first, then contents, then unparsed. Never a random option. A
wrong answer is worse than none: a rule that finds two options returns neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from snellen.core import lazy_re as re
from snellen.core.output import Answer, Empty, NoMatch, ParsedAnswer, Refused, Truncated, Unparsed
from snellen.extract import contents, labels, named_options, phrases, statements
from snellen.extract.clean import (
    CleanedReply,
    clean_reply,
    contains_any,
    fold,
    is_only_thinking,
    kept_for_short,
    without_thinking,
)
from snellen.extract.letters import LabelMatch, lone_letters
from snellen.extract.marks import BOX, AnswerMark, has_joined_boxes, heading_end, last_mark
from snellen.extract.options import Options, prepare_options
from snellen.extract.steps import LABEL_WITH_CONTENT

NO_MATCH_LABEL = "Z"
"""MMBench's pseudo choice for "no option fits"."""
_MAX_DEPTH = 3
"""Levels of marks inside marks that are parsed."""
_AFTER_BOX = re.compile(r"[\s$.,]{0,9}[(\[](?P<letter>[A-Z])[)\]]")
_BEFORE_BOX = re.compile(r"[(\[](?P<letter>[A-Z])[)\]][\s$:.\\a-z]{0,20}\Z")
_EDGE_SIGNS = " \n\t*`\"'()[]<>$.,:"
_LABEL_END = frozenset(").: ")
_LABEL_Z = re.compile(r"[\s\"'(\[]*(?:(?i:answer|option)[\s:]*)?Z[\s\"')\].]*\Z")
_DECLINING_STEMS = ("not", "n't", "no", "sorry", "unable", "imposs", "afraid", "apolog", " ai ")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_OPENING_LENGTH = 120
_NONE_FITS = (re.compile(phrases.NONE_FITS), re.compile(phrases.NONE_FITS, re.IGNORECASE))
_REFUSAL = (re.compile(phrases.REFUSALS), re.compile(phrases.REFUSALS, re.IGNORECASE))
"""For lower-case ASCII text, several times as fast, and for all other."""
_WEAK_RULES = frozenset(
    {"last line", "only label", "label and content", "chosen label", "mentioned content"}
    | {"concluded content", "part of content", named_options.RULE}
)
"""Rules that depend on the complete reply: of a reply that was cut off they may see half."""
_STATED_RULES = frozenset({"stated answer", "stated content"})
_ASSERTION = re.compile(
    rf"(?:[:=]|->|→|{phrases.STATING_VERBS_CJK}|\b(?:{phrases.STATING_VERBS})\b)[^.;\n]{{0,40}}\Z", re.IGNORECASE
)
_ESCAPED_LINE_END = re.compile(r"\\n(?![a-z])")
_VERB_REACH = 60
"""Characters before a stated option that are searched for its verb."""


def parse_choice(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The label of the option that `reply` chooses, or the typed reason why there is none.

    `options` maps labels (capital letters) to their texts; texts may be empty, and without options
    any capital letter is accepted as a label. `stop_reason` "length" turns an unparsed reply into
    `Truncated`, and also one that only a weak rule parses: "Let me think about the answer A" may go
    on in any way.
    """
    plain = _parse_plain_reply(reply, options)
    if plain:
        return plain  # most replies end here, without a regular expression
    core = reply.strip()
    if not core:
        return Truncated() if stop_reason == "length" else Empty()
    prepared_options = prepare_options(tuple(options.items()))
    folded = fold(core)
    reading = _parse_folded(folded, prepared_options)
    cut = stop_reason == "length"
    if isinstance(reading, LabelMatch) and reading.label is not None:
        if cut and not _is_firm(reading, folded):
            return Truncated()
        offset = reply.index(core)
        return ParsedAnswer(reading.label, reading.rule, (offset + reading.start, offset + reading.end))
    if cut:
        return Truncated()
    if isinstance(reading, LabelMatch):
        return Unparsed()
    return reading or _classify_unparsed(without_thinking(folded))


def _is_firm(reading: LabelMatch, folded: str) -> bool:
    """Whether a match holds however the reply would go on: the reply opens with it, marks it, or
    states it with a verb or a colon."""
    rule = reading.rule
    if rule in _STATED_RULES:
        return _ASSERTION.search(folded[max(0, reading.start - _VERB_REACH) : reading.start]) is not None
    return rule not in _WEAK_RULES


def _parse_plain_reply(reply: str, options: Mapping[str, str]) -> ParsedAnswer | None:
    """Parse the most common replies without the forms of the options: "(B)" and "B. its text", also without
    regular expressions; and a label that only signs and words for it surround ("The answer is B.")."""
    core = reply.strip(_EDGE_SIGNS)
    if len(core) == 1:
        if not (core in options if options else "A" <= core < NO_MATCH_LABEL):
            return None
        start = reply.index(core)
        return ParsedAnswer(core, labels.BARE_LABEL, (start, start + 1))
    if core[1:2] in _LABEL_END and (text := options.get(core[:1])) and core[2:].strip(_EDGE_SIGNS) == text:
        start = reply.index(core)
        return ParsedAnswer(core[0], LABEL_WITH_CONTENT, (start, start + 1))
    if not 0 < len(core) <= labels.MAX_BARE_LENGTH or core[-2:-1].isalpha():
        return None
    lone = _lone_label(reply)
    is_label = lone is not None and (lone.value in options if options else lone.value != NO_MATCH_LABEL)
    return lone if is_label else None


class _OpenedReply(NamedTuple):
    """What is seen in a reply whatever the options are."""

    folded: str
    """Without its thinking."""
    mark: AnswerMark | None
    text: CleanedReply | None
    """None if it is marked, or only thinking."""
    conclusion: tuple[CleanedReply, int] | None
    """The text under its last heading that announces a conclusion, and where it begins."""
    is_prose: bool = False
    """Whether it is one line without a label of letters, or words that announce one."""


@kept_for_short
def _open_reply(folded: str) -> _OpenedReply:
    folded = without_thinking(folded)
    if "\\n" in folded:
        folded = _ESCAPED_LINE_END.sub(" \n", folded)  # a file that holds "B\\n\\nBecause ..."
    mark = last_mark(folded)
    if mark or is_only_thinking(folded):
        return _OpenedReply(folded, mark, None, None)
    text = clean_reply(folded)
    start = heading_end(text.low)
    if start is None:
        has_labels = "\n" in text.plain or statements.may_state(text) or lone_letters(text.plain)
        return _OpenedReply(folded, None, text, None, not has_labels and labels.lone_letter(text.plain) is None)
    conclusion = CleanedReply(text.plain[start:], text.low[start:], text.folded[start:])
    return _OpenedReply(folded, None, text, (conclusion, start))


@kept_for_short
def _lone_label(reply: str) -> ParsedAnswer | None:
    """The capital in a reply that holds nothing else but signs and words for it. Where the options have that
    label, `_parse_folded` comes to the same, as `_parse_text` tries nothing before."""
    core = reply.strip()
    folded = fold(core)
    opened = _open_reply(folded)
    if opened.text is None or opened.conclusion is not None or phrases.API_FAILURE in folded:
        return None
    lone = labels.lone_letter(opened.text.plain)
    if lone is None or not lone[0].isupper():
        return None
    start = reply.index(core) + lone[1]
    return ParsedAnswer(lone[0], labels.BARE_LABEL, (start, start + 1))


def _parse_folded(folded: str, options: Options, depth: int = 0) -> LabelMatch | Answer | None:
    """Parse a folded reply: a match, or an answer if it is clear why there is none, or None."""
    if phrases.API_FAILURE in folded:
        return None
    folded, mark, text, conclusion, is_prose = _open_reply(folded)
    if mark:
        return _parse_mark(folded, mark, options, depth)
    if text is None:
        return Truncated()
    if is_prose and options.labels:  # no label rule applies
        if not options.by_content:
            return None
        return contents.equal_content(text, options) or _parse_by_content(text, options)
    if conclusion is not None:
        reading = _parse_text(conclusion[0], options)
        if reading is not None:
            start = conclusion[1]
            rule = f"conclusion: {reading.rule}"
            return LabelMatch(reading.label, rule, reading.start + start, reading.end + start)
    return _parse_text(text, options)


def _parse_mark(folded: str, mark: AnswerMark, options: Options, depth: int) -> LabelMatch | Answer | None:
    r"""Parse the content of the reply's last mark like a reply.

    If the mark is a box without an option ("\boxed{42 cm}"), the reply may also state its option
    next to it; weaker rules are not applied then.
    """
    inside = folded[mark.start : mark.end]
    result = None
    if depth < _MAX_DEPTH and not has_joined_boxes(folded, mark):
        result = _parse_folded(inside, options, depth + 1)
        if result is None and options.by_content:
            result = contents.part_of_content(clean_reply(inside), options)
    if isinstance(result, LabelMatch):
        return LabelMatch(
            result.label, f"{mark.kind}: {result.rule}", result.start + mark.start, result.end + mark.start
        )
    if result is not None:
        return result
    if mark.kind != BOX:
        return _classify_unparsed(inside)
    after = clean_reply(" " * mark.outer_end + folded[mark.outer_end :])
    before = clean_reply(folded[: mark.start])
    # Nothing usable in the box: try text behind it, a statement before it, a label next to it.
    stated = _parse_text(after, options) or statements.stated_answer(before, options)
    stated = stated or _parse_next_to_box(after, before, mark, options)
    return stated or _classify_unparsed(inside if isinstance(_classify_unparsed(inside), NoMatch | Refused) else folded)


def _parse_next_to_box(
    after: CleanedReply, before: CleanedReply, mark: AnswerMark, options: Options
) -> LabelMatch | None:
    r"""Match a label in brackets right behind a box, or right before it: "\boxed{6} (C)"."""
    match = _AFTER_BOX.match(after.plain, mark.outer_end) or _BEFORE_BOX.search(before.plain)
    if not match or not options.has(match["letter"]):
        return None
    return LabelMatch(match["letter"], "beside the box", *match.span("letter"))


def _parse_text(text: CleanedReply, options: Options) -> LabelMatch | None:
    """Apply label rules from the plainest to the weakest, then content rules."""
    reading = labels.bare_label(text.plain, options)
    if reading is None and options.by_content:
        reading = contents.equal_content(text, options)
    if reading is None:
        reading = _parse_by_label(text, options)
        if reading is None:
            return _parse_by_content(text, options) if options.by_content else None
        if labels.contradicts(text.plain, reading, options):
            return reading._replace(label=None)
    return reading


def _parse_by_label(text: CleanedReply, options: Options) -> LabelMatch | None:
    """Apply the label rules: stated, named, leading, chosen, last line, only label.

    If two of the first rules find different labels, the later one counts only if the reply takes
    the first back.
    """
    stated = statements.stated_answer(text, options) if statements.may_state(text) else None
    if options.labels and options.labels.isdisjoint(lone_letters(text.plain)):
        return stated or labels.last_line(text.plain, options)
    first = stated or named_options.named_option(text, options)
    first = first or labels.leading_label(text.plain, options)
    if first is None:
        return (
            statements.chosen_label(text, options)
            or labels.last_line(text.plain, options)
            or labels.only_label(text.plain, options)
            or labels.label_with_content(text, options)
        )
    later = statements.chosen_label(text, options, first.end)
    if later is None or later.label == first.label:
        return first
    if statements.is_corrected(text, first, later):
        return later
    return first if stated else first._replace(label=None)


def _parse_by_content(text: CleanedReply, options: Options) -> LabelMatch | None:
    """Apply the content rules that allow text around the content."""
    leading = contents.leading_content(text, options) or contents.leading_line(text, options)
    if leading:
        return leading
    mentioned = contents.mentioned_content(text, options)
    return None if mentioned and _declines(text.low) else mentioned


@kept_for_short
def _declines(low: str) -> bool:
    if low.isascii() and not contains_any(low, _DECLINING_STEMS):
        return False
    return bool(_search(_REFUSAL, phrases.REFUSAL_STEMS, low) or _search(_NONE_FITS, phrases.NONE_FITS_STEMS, low))


@kept_for_short
def _classify_unparsed(folded: str) -> Answer:
    """The kind of a reply that no rule parsed: no option fits, refused, or unparsed."""
    text = clean_reply(folded)
    if _LABEL_Z.match(text.plain):
        return NoMatch("label Z")
    none_fits = _search(_NONE_FITS, phrases.NONE_FITS_STEMS, text.low)
    if none_fits and _opens_or_ends(text.low, none_fits.start()):
        return NoMatch("none fits")
    refusal = _search(_REFUSAL, phrases.REFUSAL_STEMS, text.low)
    if refusal and _opens_or_ends(text.low, refusal.start()):
        return Refused("refusal phrase")
    return Unparsed()


def _search(
    patterns: tuple[re.Pattern[str], re.Pattern[str]], stems: tuple[str, ...], low: str
) -> re.Match[str] | None:
    """Search lower-case text, which in ASCII holds one of the `stems` where there is a match."""
    of_ascii, of_any = patterns
    if not low.isascii():
        return of_any.search(low)
    return of_ascii.search(low) if contains_any(low, stems) else None


def _opens_or_ends(low: str, position: int) -> bool:
    """Whether a position is in the opening or in the last sentence of the reply."""
    return position < _OPENING_LENGTH or not _SENTENCE_END.search(low, position, len(low.rstrip()) - 1)
