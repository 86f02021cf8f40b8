"""How published scorers read a span of time in a reply. All take the first span that they find.

`parse_charades`  lmms-eval for Charades-STA: in the sentences that say "start", "end" or "happen", if
                  any does: a range by the clock, a range of numbers, times by the clock in pairs, the
                  first number of each sentence in pairs; "to" is a dash, and a span that ends before
                  it starts is turned.
`parse_timelens`  TimeLens' authors, after TimeChat: times by the clock in pairs, a range with "-",
                  one with "to", all numbers in pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from snellen.core import lazy_re as re
from snellen.core.output import Answer
from snellen.core.place import Span
from snellen.core.sample import Sample
from snellen.extract.published.places import places_answer
from snellen.extract.unanswered import unparsed_answer

_EXAMPLE = "a specific example is : 20.8 - 30.0 seconds"
_SENTENCE_END = re.compile(r"[!?\n]")
_KEYWORDS = ("start", "end", "happen")
_NUMBER = r"(\d+(?:\.\d+)?)"
_CLOCK = r"(\d{1,2}:\d{2}(?::\d{2})?)"
_CLOCK_RANGE = re.compile(rf"\b{_CLOCK}\s*[–-]\s*{_CLOCK}\b")
_RANGE = re.compile(rf"{_NUMBER}\s*[–-]\s*{_NUMBER}")
_RANGE_WITH_UNIT = re.compile(rf"{_NUMBER}\s*s?\s*[–-]\s*{_NUMBER}\s*s?")
_CLOCK_TIME = re.compile(rf"\b{_CLOCK}\b")
_LONE_NUMBER = re.compile(rf"\b{_NUMBER}\b")

_EXACT_CLOCK = re.compile(r"\b(\d{1,2}:\d{2}:\d{2}(?:\.\d+)?|\d{1,2}:\d{2}(?:\.\d+)?)\b")
_DASHED = re.compile(r"(\d+\.?\d*)\s*-\s*(\d+\.?\d*)")
_WORDED = re.compile(r"(\d+\.?\d*)\s+to\s+(\d+\.?\d*)")
_ANY_NUMBER = re.compile(r"\b(\d+\.\d+|\d+)\b")


def parse_charades(reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()) -> Answer:
    sentences = _SENTENCE_END.split(reply.lower().replace(_EXAMPLE, "").replace("to", "-"))
    asked = [one for one in sentences if any(word in one for word in _KEYWORDS)] or sentences
    found = _charades_times(asked)
    return places_answer(sample, spans=[Span(min(found), max(found))]) if found else unparsed_answer(reply, stop_reason)


def _charades_times(sentences: Sequence[str]) -> tuple[float, float] | None:
    for form in (_CLOCK_RANGE, _RANGE):
        for sentence in sentences:
            if match := form.search(sentence):
                return _seconds(match[1]), _seconds(match[2])
    clocks = [time for sentence in sentences for time in _CLOCK_TIME.findall(sentence)]
    first = [match[1] for sentence in sentences if (match := _LONE_NUMBER.search(sentence))]
    if pair := _first_pair(clocks) or _first_pair(first):
        return pair
    matches = (match for sentence in sentences if (match := _RANGE_WITH_UNIT.search(sentence)))
    return next(((float(match[1]), float(match[2])) for match in matches), None)


def parse_timelens(reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()) -> Answer:
    """A span that does not end behind its start is worth nothing, and is none."""
    text = reply.lower()
    found = _first_pair(_EXACT_CLOCK.findall(text))
    for form in (_DASHED, _WORDED):
        match = None if found else form.search(text)
        found = (float(match[1]), float(match[2])) if match else found
    found = found or _first_pair(_ANY_NUMBER.findall(text))
    if found is None or found[0] >= found[1]:
        return unparsed_answer(reply, stop_reason)
    return places_answer(sample, spans=[Span(*found)])


def _first_pair(times: Iterable[str]) -> tuple[float, float] | None:
    found = [_seconds(time) for time in times][:2]
    return (found[0], found[1]) if len(found) == 2 else None


def _seconds(time: str) -> float:
    seconds = 0.0
    for part in time.split(":"):
        seconds = seconds * 60 + float(part)
    return seconds
