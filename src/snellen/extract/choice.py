"""Read a reply to a multiple-choice question into the label of an option.

What a reply marks as its conclusion (a tag, a box, a key of JSON) is read before all else. The
order inside it, and of replies without one, is that of MMBench (arXiv:2307.06281, Sec. 4.1) and
MMT-Bench (arXiv:2404.16006, Sec. 4.1): labels first, then contents, then nobody could read it.
Never a random option. A wrong reading is worse than none: a rule that finds two options reads
neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from snellen.core.answer import Answer, Empty, NoMatch, ParsedAnswer, Refused, Truncated, Unparsed
from snellen.extract import contents, labels, phrases, statements
from snellen.extract.clean import (
    CleanedReply,
    clean_reply,
    contains_any,
    fold,
    is_only_thinking,
    without_thinking,
)
from snellen.extract.conclusion import heading_end
from snellen.extract.letters import LabelMatch
from snellen.extract.marks import BOX, AnswerMark, has_joined_boxes, last_mark
from snellen.extract.options import Options, prepare_options

NO_MATCH_LABEL = "Z"
"""MMBench's pseudo choice for "no option fits"."""
_MAX_DEPTH = 3
"""Marks inside marks that are looked into."""
_AFTER_BOX = re.compile(r"[\s$.,]{0,9}[(\[](?P<letter>[A-Z])[)\]]")
_BEFORE_BOX = re.compile(r"[(\[](?P<letter>[A-Z])[)\]][\s$:.\\a-z]{0,20}\Z")
_EDGE_SIGNS = " \n\t*`\"'()[]<>$.,:"
_LABEL_END = frozenset(").: ")
_LABEL_Z = re.compile(r"[\s\"'(\[]*(?:(?i:answer|option)[\s:]*)?Z[\s\"')\].]*\Z")
_DECLINING_STEMS = ("not", "n't", "no", "sorry", "unable", "imposs", "afraid", "apolog", " ai ")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_OPENING_LENGTH = 120
_NONE_FITS = re.compile(phrases.NONE_FITS, re.IGNORECASE)
_REFUSAL = re.compile(phrases.REFUSALS, re.IGNORECASE)
_WEAK_RULES = frozenset(
    {"last line", "only label", "label and content", "chosen label", "mentioned content"}
    | {"concluded content", "part of content"}
)
"""Rules that go by what a whole reply says: of a reply that was cut off they may see half."""
_STATED_RULES = frozenset({"stated answer", "stated content"})
_ASSERTION = re.compile(
    rf"(?:[:=]|->|→|{phrases.STATING_VERBS_CJK}|\b(?:{phrases.STATING_VERBS})\b)[^.;\n]{{0,40}}\Z",
    re.IGNORECASE,
)
_VERB_REACH = 60
"""Characters before a stated option in which its verb stands."""


def parse_choice(reply: str, options: Mapping[str, str], *, stop_reason: str = "stop") -> Answer:
    """The label of the option that `reply` chooses, or the typed reason why not.

    `options` maps labels (capital letters) to their texts; texts may be empty, and with no
    options at all the labels are unknown and any capital letter is accepted.
    `stop_reason` "length" turns an unread reply into `Truncated`, and so one that only a weak rule
    reads: of "Let me think about the answer A" nobody knows how it goes on.
    """
    plain = _parse_plain_reply(reply, options)
    if plain:
        return plain
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
        return ParsedAnswer(
            reading.label, reading.rule, (offset + reading.start, offset + reading.end)
        )
    if cut:
        return Truncated()
    if isinstance(reading, LabelMatch):
        return Unparsed()
    return reading or _classify_unparsed(without_thinking(folded))


def _is_firm(reading: LabelMatch, folded: str) -> bool:
    """Whether a reading stands whatever the reply would have said next: the reply opens with it,
    marks it, or states it with a verb or a colon."""
    rule = reading.rule
    if rule in _STATED_RULES:
        return (
            _ASSERTION.search(folded[max(0, reading.start - _VERB_REACH) : reading.start])
            is not None
        )
    return rule not in _WEAK_RULES


def _parse_plain_reply(reply: str, options: Mapping[str, str]) -> ParsedAnswer | None:
    """The two commonest replies without a regular expression: "(B)", and "B. its text"."""
    core = reply.strip(_EDGE_SIGNS)
    if len(core) == 1:
        is_label = core in options if options else "A" <= core < NO_MATCH_LABEL
        rule = "bare label"
    else:
        remaining = core[2:].strip(_EDGE_SIGNS)
        is_label = (
            core[1:2] in _LABEL_END and remaining != "" and options.get(core[:1]) == remaining
        )
        rule = "label and content"
    if not is_label:
        return None
    start = reply.index(core)
    return ParsedAnswer(core[0], rule, (start, start + 1))


def _parse_folded(folded: str, options: Options, depth: int = 0) -> LabelMatch | Answer | None:
    """The reading of a reply; an answer where it is known why there is none."""
    if phrases.API_FAILURE in folded:
        return None
    folded = without_thinking(folded)
    mark = last_mark(folded)
    if mark:
        return _parse_mark(folded, mark, options, depth)
    if is_only_thinking(folded):
        return Truncated()
    text = clean_reply(folded)
    return _parse_under_heading(text, options) or _parse_text(text, options)


def _parse_mark(
    folded: str, mark: AnswerMark, options: Options, depth: int
) -> LabelMatch | Answer | None:
    """The content of the reply's last mark, read as a reply of its own. Beside a box that holds no
    option ("\\boxed{42 cm}") the reply may state its option; nothing weaker is believed then."""
    inside = folded[mark.start : mark.end]
    found = None
    if depth < _MAX_DEPTH and not has_joined_boxes(folded, mark):
        found = _parse_folded(inside, options, depth + 1)
        if found is None and options.by_content:
            found = contents.part_of_content(clean_reply(inside), options)
    if isinstance(found, LabelMatch):
        return LabelMatch(
            found.label,
            f"{mark.kind}: {found.rule}",
            found.start + mark.start,
            found.end + mark.start,
        )
    if found is not None:
        return found
    if mark.kind != BOX:
        return _classify_unparsed(inside)
    after = clean_reply(" " * mark.outer_end + folded[mark.outer_end :])
    before = clean_reply(folded[: mark.start])
    stated = _parse_text(after, options) or statements.stated_answer(before, options)
    stated = stated or _parse_next_to_box(after, before, mark, options)
    return stated or _classify_unparsed(
        inside if isinstance(_classify_unparsed(inside), NoMatch | Refused) else folded
    )


def _parse_next_to_box(
    after: CleanedReply, before: CleanedReply, mark: AnswerMark, options: Options
) -> LabelMatch | None:
    """A label in brackets right behind a box, or right before it: "\\boxed{6} (C)"."""
    found = _AFTER_BOX.match(after.plain, mark.outer_end) or _BEFORE_BOX.search(before.plain)
    if not found or not options.has(found["letter"]):
        return None
    return LabelMatch(found["letter"], "beside the box", *found.span("letter"))


def _parse_under_heading(text: CleanedReply, options: Options) -> LabelMatch | None:
    """What stands under the last heading that announces a conclusion."""
    start = heading_end(text.low)
    if start is None:
        return None
    rest = CleanedReply(text.plain[start:], text.low[start:])
    reading = _parse_text(rest, options)
    if reading is None:
        return None
    rule = f"conclusion: {reading.rule}"
    return LabelMatch(reading.label, rule, reading.start + start, reading.end + start)


def _parse_text(text: CleanedReply, options: Options) -> LabelMatch | None:
    """Label rules from the plainest to the weakest, then content rules."""
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
    stated = statements.stated_answer(text, options) if statements.may_state(text) else None
    first = stated or labels.leading_label(text.plain, options)
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
    leading = contents.leading_content(text, options) or contents.leading_line(text, options)
    if leading:
        return leading
    mentioned = contents.mentioned_content(text, options)
    return None if mentioned and _declines(text) else mentioned


def _declines(text: CleanedReply) -> bool:
    if text.low.isascii() and not contains_any(text.low, _DECLINING_STEMS):
        return False
    return bool(_REFUSAL.search(text.low) or _NONE_FITS.search(text.low))


def _classify_unparsed(folded: str) -> Answer:
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


def _search(pattern: re.Pattern[str], stems: tuple[str, ...], low: str) -> re.Match[str] | None:
    if low.isascii() and not contains_any(low, stems):
        return None
    return pattern.search(low)


def _opens_or_ends(low: str, position: int) -> bool:
    """Is the place in the opening or in the last sentence of the reply?"""
    return position < _OPENING_LENGTH or not _SENTENCE_END.search(
        low, position, len(low.rstrip()) - 1
    )
