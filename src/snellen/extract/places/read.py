"""Read the places of a reply in the declared space: an answer, or how it is none.

Behind any thinking, in the mark of the answer if there is one, else in the whole reply. Where one
place or a certain number of places is asked for, the last answer of the reply counts: places that
stand in one list, in adjacent objects or in adjacent tags are one answer. Where any number is asked
for, all places of the reply count.

* Numbers that cannot be in the declared space are `other_space`, and are never read in another one:
  numbers above its limit that would fit the picture; decimals between 0 and 1 for pixels, percent or
  thousandths; "%" or "px" beside them; a spelling that always means another unit or order (location
  tokens, `<box>` with pixels, `box_2d`, whose vertical coordinate comes first).
* Numbers that are no place are `malformed_place`: NaN and infinity, a right edge left of the left one,
  another count than two or four, a point where a box is asked for, a span that ends before it starts.
* A place that goes beyond the picture, or a span beyond the video, by more than `TOLERANCE` is
  `outside`.
* Where a point is asked for, a box stands for its centre.
* Where a polygon or a mask is asked for, both are read, and the parts of one object may be several. Run
  lengths of a picture of another size are `other_space`; a box or a point is `malformed_place`.
* An empty list, null, or a few words that nothing is there are an answer of no places, which is
  `other_count` where a number of places is asked for.
* Of any number of places, those that are malformed or outside are left out, unless all are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from snellen.core import lazy_re as re
from snellen.core.errors import DataError
from snellen.core.output import Answer, Misplaced, Misplacement, ParsedAnswer, Refused, Truncated, Unparsed
from snellen.core.place import (
    Box,
    Mask,
    Places,
    PlaceShape,
    Point,
    Space,
    Span,
    TimeUnit,
    mask_of_cells,
    units_per_second,
)
from snellen.core.sample import Sample
from snellen.extract.clean import fold, is_only_thinking
from snellen.extract.marks import last_mark
from snellen.extract.open_text import parse_whole, refuses
from snellen.extract.places.find import find_places, with_labels
from snellen.extract.places.regions import find_regions
from snellen.extract.places.times import find_spans
from snellen.extract.places.written import WrittenPlace

_REGIONS = ("polygon", "mask")
"""Shapes for which polygons and masks are read alike."""
TOLERANCE = 0.01
"""How far a place may go beyond the picture or the video, in fractions of its size, and a second more
for spans of time, which are often written in whole seconds."""
_MOST_OF_FRACTIONS = 2.0
"""Numbers below this are fractions, which may go too far: of no other space are all so small."""
_LEAST_CORNERS = 6
"""Numbers of the smallest polygon."""
_SOME_LEFT_OUT = ", some left out"
_NONE_NAMED = re.compile(r"\[\s{0,9}\]|(?<![\w.])(?:null|none|n/a)(?!\w)", re.IGNORECASE)
_NONE_SAID = re.compile(
    r"\bno (?:such |matching |visible |valid )?(?:\w+ ){0,3}?(?:objects?|box(?:es)?|bounding|points?|instances?"
    r"|match(?:es)?|targets?|elements?|results?|detections?|events?|moments?)\b"
    r"|\b(?:is|are|was|were) not (?:visible|present|found|shown|there|in the)"
    r"|\bnot (?:existent|found|present|visible)\b|\bdo(?:es)?(?: not|n't) (?:exist|appear|contain|occur|happen)"
    r"|\bthere (?:is|are) (?:no|none)\b(?! doubt)|没有|不存在|未找到|无法找到|ありません",
    re.IGNORECASE,
)
_MAX_NONE = 300
"""Longest reply, in characters, in which words say that nothing is there."""
_OBJECT_TEXT = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|<[^<>\n]{0,300}>|[^\w\"'<]+|[\d_]+|\band\b|[\"'<]"
)
_REFERENCE = re.compile(r"<(ref|p|phrase|\|ref\||\|object_ref_start\|)>[^<>\n]{0,300}<[^<>\n]{0,30}>")
_BOX_TOKEN = "_of_box|>"


@dataclass(frozen=True, slots=True)
class _PlaceQuestion:
    """What is asked for and how its numbers are read."""

    shape: PlaceShape
    count: int | None
    space: Space
    extent: Sequence[float]
    sent: Sequence[float]
    time_unit: TimeUnit = "seconds"
    scale: float = 1.0
    """Units of a second."""


class _ReadPlace(NamedTuple):
    written: WrittenPlace
    read: Box | Point | Span | Mask | tuple[Point, ...] | None
    problem: Misplacement | None
    rule: str


def parse_places(
    reply: str,
    stop_reason: str,
    sample: Sample,
    sent_sizes: Sequence[Sequence[float]] = (),
    *,
    shape: PlaceShape = "box",
    count: int | None = 1,
    space: Space = Space(),  # noqa: B008 - a frozen value
    time_unit: TimeUnit = "seconds",
) -> Answer:
    """The text of the `Places` of a reply, in pixels of the original picture or in seconds, with the
    span of the reply that states them.

    `count` is how many places the question asks for, None for any number. `sent_sizes` are the sizes
    at which the model saw the pictures; without them it saw the first one in its own size.
    Boxes and points are read in `space`, spans in `time_unit`. Raises DataError where the space needs a
    size that the sample does not have.
    """
    whole = parse_whole(reply, stop_reason=stop_reason)
    if not isinstance(whole, ParsedAnswer) or whole.span is None:
        return whole
    if is_only_thinking(reply):
        return Truncated()
    sent = sent_sizes[0] if sent_sizes else sample.extent
    scale = units_per_second(time_unit, sample.extent, sample.fps)
    question = _PlaceQuestion(shape, count, space, sample.extent, sent, time_unit, scale)
    found, marked = _find_stated(reply, whole.span, question)
    if not found:
        return _without_places(reply[slice(*whole.span)], stop_reason, question)
    if stop_reason == "length":
        found = _without_cut(fold(reply), whole.span, found, marked, question)
    return _answer(reply, _last_answer(fold(reply), found, count), question) if found else Truncated()


def read_numbers(reply: str, shape: PlaceShape) -> tuple[float, ...]:
    """The numbers of the one box or point that a reply states, as they are written; () if it states none,
    or several."""
    size = 2 if shape == "point" else 4
    found, _ = _find_stated(reply, (0, len(reply)), _PlaceQuestion(shape, 1, Space(), (), ()))
    stated = _last_answer(fold(reply), found, 1) if found else []
    return stated[0].numbers if len(stated) == 1 and len(stated[0].numbers) == size else ()


def _find_stated(reply: str, span: tuple[int, int], question: _PlaceQuestion) -> tuple[list[WrittenPlace], bool]:
    """The places in the mark of the answer, else in this part of a reply, and whether there is such a mark."""
    text = fold(reply)
    if mark := last_mark(reply, *span):
        several_marks = question.count != 1 and reply[: mark.start].endswith(_BOX_TOKEN)
        found = [] if several_marks else _find(text, mark.start, mark.end, question)
        if found:
            return found, True
    return _find(text, *span, question), False


def _without_cut(
    text: str, span: tuple[int, int], found: list[WrittenPlace], marked: bool, question: _PlaceQuestion
) -> list[WrittenPlace]:
    """The places of a reply that was cut, without the last if it may lack digits or corners; none if the reply
    was still considering them."""
    start, end = span
    last = found[-1]
    open_list = question.shape in _REGIONS and last.numbers and not text[last.end : end].strip(" ,;([").startswith("]")
    if (last.end >= end and text[end - 1] in "0123456789.") or open_list:
        found = found[:-1]
    if found and not marked and not found[-1].structured and _words(text[start:end]):
        return []
    return found


def _find(text: str, start: int, end: int, question: _PlaceQuestion) -> list[WrittenPlace]:
    """The places in text[start:end], at their offsets in the text."""
    part = text[start:end]
    if question.shape == "span":
        found = with_labels(part, find_spans(part))
    elif question.shape in _REGIONS:
        found = find_regions(part)
    else:
        found = find_places(part, 2 if question.shape == "point" else 4, several=question.count != 1)
    return [one._replace(start=one.start + start, end=one.end + start) for one in found]


def _without_places(text: str, stop_reason: str, question: _PlaceQuestion) -> Answer:
    said = len(text) <= _MAX_NONE and _NONE_SAID.search(text)
    none = _NONE_NAMED.search(text) or said
    if none and stop_reason != "length":
        if question.count:
            return Misplaced("other_count", "no place", none[0])
        return ParsedAnswer(Places(extent=tuple(question.extent)).text(), "no place")
    if refuses(text):
        return Refused("refusal phrase")
    return Truncated() if stop_reason == "length" else Unparsed()


def _words(text: str) -> bool:
    """Whether the text says more than keys, labels and numbers."""
    return bool(_OBJECT_TEXT.sub("", _REFERENCE.sub("", text)))


def _last_answer(text: str, found: list[WrittenPlace], count: int | None) -> list[WrittenPlace]:
    """The places that count: all, or those of the last answer."""
    if count is None or len(found) == count:
        return found
    # The same place may be said twice, as in "0:12 - 0:20 (12 - 20 s)".
    found = sorted({(one.numbers, one.mask, one.grid): one for one in found}.values(), key=lambda one: one.start)
    if len(found) == count:
        return found
    last = len(found) - 1
    while last and not _words(text[found[last - 1].end : found[last].start]):
        last -= 1
    return found[last:]


def _answer(reply: str, asked: list[WrittenPlace], question: _PlaceQuestion) -> Answer:
    span = asked[0].start, asked[-1].end
    stated = reply[slice(*span)]
    spelling = asked[0].spelling
    # One object may have several parts.
    parts = question.shape in _REGIONS and question.count == 1
    if question.count is not None and len(asked) != question.count and not parts:
        return Misplaced("other_count", spelling, stated, span)
    places = [_read(one, question) for one in asked]
    problems = Counter(place.problem for place in places if place.problem)
    if _all_small(asked, question) or problems["other_space"]:
        return Misplaced("other_space", spelling, stated, span)
    if problems and (question.count is not None or problems.total() == len(places)):
        bad = next(place for place in places if place.problem)
        assert bad.problem is not None
        return Misplaced(bad.problem, bad.rule, stated, span)
    kept = [place for place in places if not place.problem]
    rule = kept[0].rule + (_SOME_LEFT_OUT if problems else "")
    return ParsedAnswer(_to_places(kept, question).text(), rule, span)


def _to_places(kept: Sequence[_ReadPlace], question: _PlaceQuestion) -> Places:
    labels = tuple(place.written.label for place in kept)
    scores = tuple(place.written.score for place in kept)
    read = [place.read for place in kept]
    return Places(
        boxes=tuple(one for one in read if isinstance(one, Box)),
        points=tuple(one for one in read if isinstance(one, Point)),
        polygons=tuple(one for one in read if one and not isinstance(one, Box | Point | Span | Mask)),
        masks=tuple(one for one in read if isinstance(one, Mask)),
        spans=tuple(one for one in read if isinstance(one, Span)),
        labels=labels if any(labels) else (),
        scores=scores if not any(map(math.isnan, scores)) else (),
        extent=tuple(question.extent),
    )


def _all_small(asked: Sequence[WrittenPlace], question: _PlaceQuestion) -> bool:
    """Whether the numbers are fractions, perhaps a little beyond the picture, and the space has larger ones."""
    if question.shape == "span" or question.space.unit == "fractions":
        return False
    numbers = [number for one in asked for number in one.numbers]
    small = all(abs(number) < _MOST_OF_FRACTIONS for number in numbers) and any(numbers)
    return small and any(one.decimals for one in asked)


def _read(one: WrittenPlace, question: _PlaceQuestion) -> _ReadPlace:
    """One place in pixels or seconds, or what is wrong with it."""
    if not all(map(math.isfinite, one.numbers)):
        return _ReadPlace(one, None, "malformed_place", f"{one.spelling}, no finite number")
    if question.shape == "span":
        return _read_span(one, question)
    if question.shape in _REGIONS:
        return _read_region(one, question)
    if len(one.numbers) not in (2, 4):
        return _ReadPlace(one, None, "malformed_place", f"{one.spelling}, neither two nor four numbers")
    if question.shape == "box" and len(one.numbers) == 2:
        return _ReadPlace(one, None, "malformed_place", f"{one.spelling}, a point for a box")
    numbers, space = one.numbers, question.space
    if one.mark == "%" and space.unit == "fractions":
        numbers = tuple(number / 100 for number in numbers)
    if problem := _other_space(one, numbers, question):
        return _ReadPlace(one, None, problem, one.spelling)
    space = Space(space.unit, one.order or space.order, one.form or space.form)
    if len(numbers) == 2:
        point = space.read_point(numbers, question.extent, question.sent)
        return _ReadPlace(one, point, _outside(Box(*point, *point), question), one.spelling)
    box = space.read_box(numbers, question.extent, question.sent)
    if box.right < box.left or box.bottom < box.top:
        return _ReadPlace(one, None, "malformed_place", f"{one.spelling}, edges in the wrong order")
    outside = _outside(box, question)
    if question.shape == "point":
        return _ReadPlace(one, box.centre, outside, f"{one.spelling}, centre of a box")
    return _ReadPlace(one, box, outside, one.spelling)


def _read_region(one: WrittenPlace, question: _PlaceQuestion) -> _ReadPlace:
    if one.mask is not None or one.grid:
        if len(question.extent) != 2:
            raise DataError("a mask needs the picture's width and height, which are unknown")
        width, height = map(math.ceil, question.extent)
        mask = one.mask or mask_of_cells(one.grid, width, height)
        problem: Misplacement | None = None if (mask.width, mask.height) == (width, height) else "other_space"
        return _ReadPlace(one, mask, problem, one.spelling)
    numbers = one.numbers
    if len(numbers) < _LEAST_CORNERS or len(numbers) % 2:
        what = "without pixels of its own" if not numbers else "not three points or more"
        return _ReadPlace(one, None, "malformed_place", f"{one.spelling}, {what}")
    if problem := _other_space(one, numbers, question):
        return _ReadPlace(one, None, problem, one.spelling)
    space = Space(question.space.unit, one.order or question.space.order)
    pairs = zip(numbers[0::2], numbers[1::2], strict=True)
    corners = tuple(space.read_point(pair, question.extent, question.sent) for pair in pairs)
    across, down = zip(*corners, strict=True)
    bounds = Box(min(across), min(down), max(across), max(down))
    return _ReadPlace(one, corners, _outside(bounds, question), one.spelling)


def _other_space(one: WrittenPlace, numbers: Sequence[float], question: _PlaceQuestion) -> Misplacement | None:
    """`other_space` for numbers that cannot be in the declared space, `outside` for those beyond its
    limit that fit no other."""
    space, pixels = question.space, question.space.unit in ("pixels", "sent-pixels")
    if one.units and space.unit not in one.units:
        return "other_space"
    if one.own_order and one.own_order != space.order:
        return "other_space"
    if (one.mark == "%" and space.unit not in ("percent", "fractions")) or (one.mark == "px" and not pixels):
        return "other_space"
    highest = max(numbers)
    if space.limit is not None:
        if highest <= space.limit * (1 + TOLERANCE):
            return None
        too_far = space.unit == "fractions" and highest < _MOST_OF_FRACTIONS
        return "outside" if too_far or highest > max((1000.0, *question.extent, *question.sent)) else "other_space"
    # Pixels of the wrong one of both sizes.
    return None if len(question.extent) != 2 or question.sent == question.extent else _other_pixels(numbers, question)


def _other_pixels(numbers: Sequence[float], question: _PlaceQuestion) -> Misplacement | None:
    own, other = question.sent, question.extent
    if question.space.unit == "pixels":
        own, other = other, own
    across, down = (1, 0) if question.space.order == "yx" else (0, 1)

    def fit(size: Sequence[float]) -> bool:
        sides = (size[across], size[down]) * (len(numbers) // 2)
        return all(number <= side * (1 + TOLERANCE) for number, side in zip(numbers, sides, strict=True))

    return "other_space" if not fit(own) and fit(other) else None


def _outside(box: Box, question: _PlaceQuestion) -> Misplacement | None:
    if len(question.extent) != 2:
        return None
    width, height = question.extent
    across, down = TOLERANCE * width, TOLERANCE * height
    inside = box.left >= -across and box.top >= -down and box.right <= width + across and box.bottom <= height + down
    return None if inside else "outside"


def _read_span(one: WrittenPlace, question: _PlaceQuestion) -> _ReadPlace:
    duration = question.extent[0] if question.extent else None
    start, end = one.numbers
    seconds = Span(start / question.scale, end / question.scale)
    if one.mark not in ("", question.time_unit):
        return _ReadPlace(one, None, "other_space", one.spelling)
    if seconds.end < seconds.start:
        return _ReadPlace(one, None, "malformed_place", f"{one.spelling}, ends before it starts")
    beyond = duration is not None and seconds.end > duration * (1 + TOLERANCE) + 1
    return _ReadPlace(one, seconds, "outside" if beyond or seconds.start < 0 else None, one.spelling)
