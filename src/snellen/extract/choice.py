"""Read a reply to a multiple-choice question into the label of an option.

The order of MMBench (arXiv:2307.06281, Sec. 4.1) and MMT-Bench (arXiv:2404.16006, Sec. 4.1): labels
first, then contents, then nobody could read it. Never a random option. A wrong reading is worse
than none: a rule that finds two options reads neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from snellen.core.answer import Answer, Empty, Found, NoMatch, Refused, Truncated, Unparsed
from snellen.extract import contents, labels, phrases, statements
from snellen.extract.clean import Text, fold, holds_any, text_of, without_thought
from snellen.extract.letters import Reading
from snellen.extract.options import Options, prepared

_TAGS = re.compile(
    r"<answer>(?P<answer>.*?)(?:</answer>|\Z)|\\f?boxed\s*\{(?P<boxed>[^{}]*(?:\{[^{}]*\}[^{}]*)*)\}",
    re.DOTALL | re.IGNORECASE,
)
NO_MATCH_LABEL = "Z"
"""MMBench's pseudo choice for "no option fits"."""
_DRESS = " \n\t*`\"'()[].,:"
_AFTER_LABEL = frozenset(").: ")
_LABEL_Z = re.compile(r"[\s\"'(\[]*(?:(?i:answer|option)[\s:]*)?Z[\s\"')\].]*\Z")
_DECLINING_STEMS = ("not", "n't", "no", "sorry", "unable", "imposs", "afraid", "apolog", " ai ")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_OPENING = 120
_NONE_FITS = re.compile(phrases.NONE_FITS, re.IGNORECASE)
_REFUSAL = re.compile(phrases.REFUSALS, re.IGNORECASE)


def read_choice(reply: str, options: Mapping[str, str], *, stop_reason: str = "stop") -> Answer:
    """The label of the option that `reply` chooses, or the typed reason why not.

    `options` maps labels (capital letters) to their texts; texts may be empty, and with no
    options at all the labels are unknown and any capital letter is accepted.
    `stop_reason` "length" turns an unread reply into `Truncated`.
    """
    plain = _plain_reply(reply, options)
    if plain:
        return plain
    core = reply.strip()
    if not core:
        return Truncated() if stop_reason == "length" else Empty()
    known = prepared(tuple(options.items()))
    folded = fold(core)
    reading = _read(folded, known)
    if reading and reading.label is not None:
        offset = reply.index(core)
        return Found(reading.label, reading.rule, (offset + reading.start, offset + reading.end))
    if stop_reason == "length":
        return Truncated()
    return Unparsed() if reading else _unread(folded)


def _plain_reply(reply: str, options: Mapping[str, str]) -> Found | None:
    """The two commonest replies without a regular expression: "(B)", and "B. its text"."""
    core = reply.strip(_DRESS)
    if len(core) == 1:
        known = core in options if options else "A" <= core < NO_MATCH_LABEL
        rule = "bare label"
    else:
        rest = core[2:].strip(_DRESS)
        known = core[1:2] in _AFTER_LABEL and rest != "" and options.get(core[:1]) == rest
        rule = "label and content"
    if not known:
        return None
    start = reply.index(core)
    return Found(core[0], rule, (start, start + 1))


def _read(folded: str, options: Options) -> Reading | None:
    if phrases.API_FAILURE in folded:
        return None
    folded = without_thought(folded)
    if "<" in folded or "\\" in folded:
        reading = _tagged(folded, options)
        if reading:
            return reading
    return _read_text(text_of(folded), options)


def _tagged(folded: str, options: Options) -> Reading | None:
    """The last <answer>...</answer> or \\boxed{...}, read as a reply of its own."""
    tags = list(_TAGS.finditer(folded))
    if not tags:
        return None
    last = tags[-1]
    group = "answer" if last["answer"] is not None else "boxed"
    start = last.start(group)
    reading = _read_text(text_of(last[group]), options)
    if reading is None:
        return None
    return Reading(
        reading.label, f"{group}: {reading.rule}", reading.start + start, reading.end + start
    )


def _read_text(text: Text, options: Options) -> Reading | None:
    """Label rules from the plainest to the weakest, then content rules."""
    reading = labels.bare_label(text.plain, options)
    if reading is None and options.by_content:
        reading = contents.equal_content(text, options)
    if reading is None:
        reading = _by_label(text, options)
        if reading is None:
            return _by_content(text, options) if options.by_content else None
        if labels.contradicts(text.plain, reading, options):
            return reading._replace(label=None)
    return reading


def _by_label(text: Text, options: Options) -> Reading | None:
    stated = statements.stated_answer(text, options) if statements.may_state(text) else None
    first = stated or labels.leading_label(text.plain, options)
    if first is None:
        return (
            statements.chosen_label(text, options)
            or labels.last_line(text.plain, options)
            or labels.only_label(text.plain, options)
        )
    later = statements.chosen_label(text, options, first.end)
    if later is None or later.label == first.label:
        return first
    if statements.corrected(text, first, later):
        return later
    return first if stated else first._replace(label=None)


def _by_content(text: Text, options: Options) -> Reading | None:
    leading = contents.leading_content(text, options)
    if leading:
        return leading
    mentioned = contents.mentioned_content(text, options)
    return None if mentioned and _declines(text) else mentioned


def _declines(text: Text) -> bool:
    if text.low.isascii() and not holds_any(text.low, _DECLINING_STEMS):
        return False
    return bool(_REFUSAL.search(text.low) or _NONE_FITS.search(text.low))


def _unread(folded: str) -> Answer:
    text = text_of(folded)
    if _LABEL_Z.match(text.plain):
        return NoMatch("label Z")
    none_fits = _found(_NONE_FITS, phrases.NONE_FITS_STEMS, text.low)
    if none_fits and _opens_or_ends(text.low, none_fits.start()):
        return NoMatch("none fits")
    refusal = _found(_REFUSAL, phrases.REFUSAL_STEMS, text.low)
    if refusal and _opens_or_ends(text.low, refusal.start()):
        return Refused("refusal phrase")
    return Unparsed()


def _found(pattern: re.Pattern[str], stems: tuple[str, ...], low: str) -> re.Match[str] | None:
    if low.isascii() and not holds_any(low, stems):
        return None
    return pattern.search(low)


def _opens_or_ends(low: str, position: int) -> bool:
    """Is the place in the opening or in the last sentence of the reply?"""
    return position < _OPENING or not _SENTENCE_END.search(low, position, len(low.rstrip()) - 1)
