"""Spans of time in a reply: "12.5 - 20.3 seconds", "from 0:12 to 0:20", "00:01:05.2", frames, percent,
`{"start": 12.5, "end": 20.3}`, `[[1, 2], [3, 4]]`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from snellen.core import lazy_re as re
from snellen.extract.places.written import WrittenPlace

_TIME = re.compile(
    r"(?:(?<![a-z0-9_.:])|(?<=\d[mh])|(?<=[分钟时]))(?:(?P<frame>frames?\s?(?:no\.|number|#)?\s?)?"
    r"(?:(?P<clock>\d{1,3}:\d{2}(?::\d{2})?(?:\.\d+|,\d{3}(?![\d:]))?)(?![\d:])"
    r"|(?P<number>(?:\d+(?:\.\d+)?|\.\d+|nan|inf(?:inity)?))\s?(?P<unit>%|percent\b|milliseconds?\b|ms\b|seconds?\b|secs?\b|s\b|秒"
    r"|minutes?\b|mins?\b|m(?![a-z])|分钟?|hours?\b|h(?![a-z])|小时|(?<=\s)frames?\b|帧)?(?![a-z]{3}|\.\d)))",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "mi": 60.0, "m": 60.0, "分": 60.0, "h": 3600.0, "小": 3600.0, "s": 1.0, "秒": 1.0}
_EDGE = " \t\n\r\"'`*<>()[]{}"
_CONNECTOR = re.compile(r"[-–—−~→/…]|-{1,2}>|\.{2,3}|to|until|till|through|and|至|到")
_END = re.compile(r"end|stop|finish|until|结束|終", re.IGNORECASE)
_START = re.compile(r"start|begin|from|开始", re.IGNORECASE)
_LASTS = re.compile(r"\blasts?\b|\blasting\b|\bduration\b", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"\d,\Z")
_LIST_NUMBER = re.compile(r"[.)][ ]{1,3}[*\"']{0,3}[^\W\d]")
_HEDGE = re.compile(r"\b(?:at|about|around|approximately|approx|the|of)\b\.?", re.IGNORECASE)
_MAX_GAP = 90


class _Time(NamedTuple):
    value: float
    start: int
    end: int
    kind: str
    """"seconds", "frames" or "%" where the reply says so, else empty."""
    scale: float


def find_spans(text: str) -> list[WrittenPlace]:
    """The spans of a text, each two times that a dash, a word, or the brackets around them connect; two
    times alone are a span, too."""
    times = list(_find_times(text))
    spans = list(_pair(text, times))
    if not spans and len(times) == 2:
        spans = [_span(times[0], times[1], "only times", structured=False)]
    return spans


def _find_times(text: str) -> Iterator[_Time]:
    held: _Time | None = None
    for match in _TIME.finditer(text):
        time = _time(match)
        if not time.kind and _LIST_NUMBER.match(text, time.end) and _opens_line(text, time.start):
            continue
        # "1 min 30 s" is one time.
        if held and held.scale > time.scale and time.scale and not text[held.end : time.start].strip(" ,and"):
            held = _Time(held.value + time.value, held.start, time.end, "seconds", time.scale)
            continue
        if held:
            yield held
        held = time
    if held:
        yield held


def _opens_line(text: str, start: int) -> bool:
    return not text[max(0, start - 9) : start].rpartition("\n")[2].strip(" \t-*")


def _time(match: re.Match[str]) -> _Time:
    if match["clock"]:
        seconds = 0.0
        for part in match["clock"].replace(",", ".").split(":"):
            seconds = 60 * seconds + float(part)
        return _Time(seconds, *match.span(), "seconds", 0.0)
    unit = (match["unit"] or "").casefold()
    value = float(match["number"])
    if match["frame"] or unit.startswith(("frame", "帧")):
        return _Time(value, *match.span(), "frames", 0.0)
    if unit.startswith(("%", "percent")):
        return _Time(value, *match.span(), "percent", 0.0)
    if not unit:
        return _Time(value, *match.span(), "", 0.0)
    scale = _UNITS["ms" if unit.startswith("mil") else unit[:2] if unit[:2] in _UNITS else unit[:1]]
    return _Time(value * scale, *match.span(), "seconds", scale)


def _pair(text: str, times: list[_Time]) -> Iterator[WrittenPlace]:
    index = 0
    while index + 1 < len(times):
        span = _join_times(text, times[index], times[index + 1])
        if span is not None:
            yield span
        index += 1 if span is None else 2


def _join_times(text: str, one: _Time, other: _Time) -> WrittenPlace | None:
    """The span of two times, if the text between them or around them says that they are one."""
    if other.start - one.end > _MAX_GAP:
        return None
    before, gap = text[max(0, one.start - _MAX_GAP) : one.start], text[one.end : other.start]
    inner = _HEDGE.sub("", gap).strip(_EDGE).lower()
    if inner in (",", ";", ""):
        return _span(one, other) if before.rstrip(" \t\n\"'")[-1:] in ("[", "(", "<", "{") else None
    if _CONNECTOR.fullmatch(inner):
        return None if _DECIMAL_COMMA.search(before) else _span(one, other)
    if _LASTS.search(gap):
        return _span(one, other._replace(value=one.value + other.value))
    if _START.search(gap) and _END.search(before[-20:]):
        return _span(other, one)
    return _span(one, other) if _END.search(gap) else None


def _span(one: _Time, other: _Time, spelling: str = "times", structured: bool = True) -> WrittenPlace:
    """The first time has the unit of the second if it states none."""
    start = one.value * (other.scale or 1.0) if not one.kind else one.value
    end = other.value
    place = min(one.start, other.start), max(one.end, other.end)
    return WrittenPlace((start, end), *place, spelling, structured, mark=other.kind or one.kind)
