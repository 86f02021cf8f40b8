"""How published scorers read the points of a reply.

`parse_osworld_g_lmms_eval`   lmms-eval for OSWorld-G: the centre of a <bbox>, else the first pair in brackets,
                              else x and y, else the first numbers; up to 1 fractions, else pixels.
                              Two negative numbers say that there is nothing to click.
`parse_roborefer`             RoboRefer's authors for RefSpatial: every pair in parentheses, in fractions
                              if one of its numbers has a decimal point, else in pixels; of four numbers every
                              pixel of the box, always in fractions.
`parse_robopoint`             RoboPoint's authors for Where2Place: the same, but four numbers without a decimal
                              point are pixels, and pixels beyond the picture do not count.
`parse_pairs_lmms_eval`       lmms-eval for both: every pair in parentheses, in fractions.
`parse_refspatial_vlmevalkit` VLMEvalKit for RefSpatial-Location and so on: `point_2d`, `point` (y first) or pairs
                              of the JSON that is the reply or its first fence, in fractions or, above 1,
                              thousandths; else a <points/> tag in fractions or percent; else pairs in parentheses, in
                              fractions. Points beyond the picture are at its edge.
`parse_robospatial`           RoboSpatial's authors: the first pair in parentheses, else in brackets, in
                              fractions, else the first of what Python reads in the first brackets.
`parse_robospatial_lmms_eval` lmms-eval for RoboSpatial: `point_2d` of the JSON list in the first fence, in
                              thousandths.
                              The two `_yes_no` beside them read its other questions.
`parse_molmo`                 Molmo's evaluator for PixMo: points in percent in tags, clicks and
                              parentheses, or in thousandths of three digits, of a reply that is nothing else.

Pixels are whole, and cut off towards 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from snellen.core import lazy_re as re
from snellen.core.literals import load_json, parse_literal
from snellen.core.output import Answer, ParsedAnswer
from snellen.core.place import Box, Point
from snellen.core.sample import Sample
from snellen.extract.published.places import RULE, picture_size, places_answer
from snellen.extract.unanswered import unparsed_answer

_SHARE = r"-?\d+(?:\.\d+)?%?"
_BBOX, _BBOX_END = (re.compile(tag, re.IGNORECASE) for tag in (r"<\s*bbox[^>]*>", r"<\s*/\s*bbox\s*>"))
_PAIR = re.compile(rf"[\[\(]\s*({_SHARE})\s*(?:,|\s)\s*({_SHARE})\s*[\]\)]")
_NAMED = re.compile(
    rf"['\"]?x['\"]?\s*[:=]\s*({_SHARE}).*?['\"]?y['\"]?\s*[:=]\s*({_SHARE})", re.IGNORECASE | re.DOTALL
)
_SHARES = re.compile(_SHARE)
_BOX_WORDS = ("box", "rect")
_VECTOR = re.compile(r"\(([-+]?\d+\.?\d*(?:,\s*[-+]?\d+\.?\d*)*?)\)")
_ROUND = re.compile(r"\(\s*(\d+\.?\d*)\s*,\s*(\d+\.?\d*)\s*\)")
_SQUARE = re.compile(r"\[\s*(\d+\.?\d*)\s*,\s*(\d+\.?\d*)\s*\]")
_DIGITS = r"\d*\.?\d+|\d+\."
_JSON_FENCE = re.compile(r"```(?:json)?\n(.*?)```", re.DOTALL)
_CLOSED_TAG = re.compile(r"<points\s+(.*?)/>")
_TAG_PAIR = re.compile(rf'x\d+="({_DIGITS})"\s+y\d+="({_DIGITS})"')
_DIGIT_PAIR = re.compile(rf"\(\s*({_DIGITS})\s*,\s*({_DIGITS})\s*\)")
_LISTED = re.compile(r"\[(.*?)\]", re.DOTALL)
_THOUGHT = re.compile(r"^.*?</(?:think|thought)>", re.DOTALL)
_ANSWER_TAG, _ANSWER_END = (re.compile(tag, re.IGNORECASE) for tag in ("<answer>", "</answer>"))
_FENCE = re.compile(r"```(?:\w+)?\n(.*?)```", re.DOTALL)
_THOUSAND = 1000
_FAR = 1e12


def parse_osworld_g_lmms_eval(
    reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()
) -> Answer:
    point = _osworld_point(reply)
    if point is None:
        return unparsed_answer(reply, stop_reason)
    if point.x < 0 and point.y < 0:
        return places_answer(sample)
    if 0 <= point.x <= 1 and 0 <= point.y <= 1:
        width, height = picture_size(sample)
        point = Point(point.x * width, point.y * height)
    return places_answer(sample, points=[point])


def _osworld_point(reply: str) -> Point | None:
    inside = _SHARES.findall(_text_between(_BBOX, _BBOX_END, reply) or "")
    if len(inside) >= 4:
        return _middle(inside)
    for form in (_PAIR, _NAMED):
        if match := form.search(reply):
            return Point(_share(match[1]), _share(match[2]))
    numbers = _SHARES.findall(reply)
    if len(numbers) >= 4 and any(word in reply.lower() for word in _BOX_WORDS):
        return _middle(numbers)
    return Point(_share(numbers[0]), _share(numbers[1])) if len(numbers) >= 2 else None


def _middle(numbers: Sequence[str]) -> Point:
    return Box(*map(_share, numbers[:4])).centre


def _share(number: str) -> float:
    return float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)


def parse_roborefer(reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()) -> Answer:
    points, boxes = [], []
    for vector in _vectors(reply):
        decimal = any("." in number for number in vector)
        if len(vector) == 2:
            points.append(_pixel(vector, sample, whole=not decimal))
        elif len(vector) == 4:
            boxes.append(Box(*_pixel(vector[:2], sample), *_pixel(vector[2:], sample)))
    if any(box.right < box.left or box.bottom < box.top for box in boxes):
        return unparsed_answer(reply, stop_reason)  # its script leaves the reply out
    return places_answer(sample, points=points, boxes=boxes)


def parse_robopoint(reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()) -> Answer:
    points, boxes = [], []
    width, height = picture_size(sample)
    for vector in _vectors(reply):
        if len(vector) == 2:
            points.append(_pixel(vector, sample, whole=not any("." in number for number in vector)))
        elif len(vector) == 4:
            whole = "." not in vector[0]
            left, top = _pixel(vector[:2], sample, whole=whole)
            right, bottom = _pixel(vector[2:], sample, whole=whole)
            box = Box(left, top, min(right, width), min(bottom, height))
            boxes += [box] if box.right > box.left and box.bottom > box.top else []
    return places_answer(sample, points=points, boxes=boxes)


def parse_pairs_lmms_eval(
    reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()
) -> Answer:
    return places_answer(sample, points=[_pixel(vector, sample) for vector in _vectors(reply) if len(vector) == 2])


def _vectors(reply: str) -> Iterator[list[str]]:
    """The numbers in parentheses, as they are written."""
    return (found.split(",") for found in _VECTOR.findall(reply))


def _pixel(numbers: Sequence[str], sample: Sample, *, whole: bool = False) -> Point:
    """A whole pixel; of fractions unless the numbers are `whole` pixels."""
    width, height = (1.0, 1.0) if whole else picture_size(sample)
    return Point(_cut_off(float(numbers[0]) * width), _cut_off(float(numbers[1]) * height))


def _cut_off(number: float) -> float:
    """The whole number towards 0; far beyond every picture, the number as it is."""
    return float(int(number)) if abs(number) < _FAR else number


def parse_refspatial_vlmevalkit(
    reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()
) -> Answer:
    tag = _CLOSED_TAG.search(reply)
    tagged = [(float(x), float(y)) for x, y in _TAG_PAIR.findall(tag[1])] if tag else []
    shares = _json_shares(reply) or [_to_fractions(*pair, 100) for pair in tagged]
    shares = shares or [(float(x), float(y)) for x, y in _DIGIT_PAIR.findall(reply)]
    width, height = picture_size(sample)
    clipped = ((min(_cut_off(x * width), width - 1), min(_cut_off(y * height), height - 1)) for x, y in shares)
    return places_answer(sample, points=[Point(max(x, 0.0), max(y, 0.0)) for x, y in clipped])


def _json_shares(reply: str) -> list[tuple[float, float]]:
    fence = _JSON_FENCE.search(reply.strip())
    try:
        value = load_json(fence[1].strip() if fence else reply.strip())
        pairs = [_json_pair(item) for item in (value if isinstance(value, list) else [value])]
        return [_to_fractions(float(pair[0]), float(pair[1]), _THOUSAND) for pair in pairs if len(pair) == 2]
    except (ValueError, TypeError):
        return []


def _json_pair(item: Any) -> Sequence[Any]:
    if isinstance(item, dict):
        return list(item.get("point_2d") or reversed(item.get("point") or ()))
    return item if isinstance(item, list) else ()


def _to_fractions(x: float, y: float, whole: int) -> tuple[float, float]:
    """Fractions, of numbers up to `whole` if one is above 1."""
    return (x / whole, y / whole) if x > 1 or y > 1 else (x, y)


def parse_robospatial(reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()) -> Answer:
    match = _ROUND.search(reply) or _SQUARE.search(reply)
    pair = tuple(map(float, match.groups())) if match else _pair_of_list(reply)
    if pair is None:
        return unparsed_answer(reply, stop_reason)
    width, height = picture_size(sample)
    return places_answer(sample, points=[Point(pair[0] * width, pair[1] * height)])


def _pair_of_list(reply: str) -> tuple[float, float] | None:
    """Two numbers, or a first pair, that are all there is in the first brackets as Python reads them."""
    listed = _LISTED.search(reply)
    try:
        items = parse_literal(f"[{listed[1].strip()}]") if listed else []
        pair = items if len(items) == 2 and not isinstance(items[0], tuple) else items[0]
        x, y = map(float, pair)
    except (ValueError, TypeError, IndexError, SyntaxError):
        return None
    return x, y


def parse_robospatial_lmms_eval(
    reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()
) -> Answer:
    fence = _FENCE.search(_without_thought(reply))
    try:
        items = load_json(fence[1].strip()) if fence else ()
    except ValueError:
        items = ()
    width, height = picture_size(sample)
    try:
        pairs = [item["point_2d"] for item in items if "point_2d" in item]
        named = [pair for pair in pairs if isinstance(pair, list) and len(pair) == 2]
        # The middle of the pixel, which its mask has or has not.
        points = [
            Point(_cut_off(x / _THOUSAND * width) + 0.5, _cut_off(y / _THOUSAND * height) + 0.5) for x, y in named
        ]
    except TypeError:
        return unparsed_answer(reply, stop_reason)  # its function stops at such lists
    return places_answer(sample, points=points)


def parse_robospatial_yes_no(reply: str, stop_reason: str = "stop") -> Answer:
    """Yes or no where the reply begins with it, in either case."""
    text = reply.strip().lower()
    found = next((word for word in ("yes", "no") if text.startswith(word)), "")
    return ParsedAnswer(found.capitalize(), RULE) if found else unparsed_answer(reply, stop_reason)


def parse_robospatial_lmms_eval_yes_no(reply: str, stop_reason: str = "stop") -> Answer:
    """Yes or no where the last line holds one of the two."""
    line = _without_thought(reply).strip().lower().split("\n")[-1]
    held = [word for word in ("yes", "no") if word in line]
    return ParsedAnswer(held[0].capitalize(), RULE) if len(held) == 1 else unparsed_answer(reply, stop_reason)


def _without_thought(reply: str) -> str:
    """What stands behind the thinking, and in the first <answer> of it if there is one."""
    text = _THOUGHT.sub("", _THOUGHT.sub("", reply))
    tagged = _text_between(_ANSWER_TAG, _ANSWER_END, text)
    return (text if tagged is None else tagged).strip()


def _text_between(opening: re.Pattern[str], closing: re.Pattern[str], text: str) -> str | None:
    """The text from the first opening tag to the next closing one; None without either. One pattern with `.*?`
    would look for an end behind each opening tag."""
    begin = opening.search(text, 0, re.end_of_last(text, ">"))
    end = closing.search(text, begin.end()) if begin else None
    return text[begin.end() : end.start()] if begin and end else None


_ONE_PLACE = r"([0-9]+\.[0-9])"
_PERCENT_FORMS = (
    re.compile(rf"Click\({_ONE_PLACE}, ?{_ONE_PLACE}\)"),
    re.compile(rf"\({_ONE_PLACE},? ?{_ONE_PLACE}\)"),
    re.compile(r'x\d*="\s*([0-9]+(?:\.[0-9]+)?)"\s+y\d*="\s*([0-9]+(?:\.[0-9]+)?)"'),
)
_TENTHS = re.compile(r"(?:\d+|p)\s*=\s*([0-9]{3})\s*,\s*([0-9]{3})")
_MOLMO_FORM = re.compile(
    r"(\(\s*-?\d+(\.\d+)?\s*,\s*-?\d+(\.\d+)?\s*\)\n?)+"
    r'|<point\s+x="\s*\d+(\.\d+)?"\s+y="\s*\d+(\.\d+)?"\s+alt="[\s\S]*?">[\s\S]*?</point>'
    r'|<points\s+(x\d+="\s*\d+(\.\d+)?"\s+y\d+="\s*\d+(\.\d+)?"\s+)+alt="[\s\S]*?">[\s\S]*?</points>'
    r'|<point\s+p=\s*\d{3}\s*,\s*\d{3}\s+alt="[\s\S]*?">[\s\S]*?</point>'
    r'|<points\s+(\d+=\s*\d{3}\s*,\s*\d{3}\s+)+alt="[\s\S]*?">[\s\S]*?</points>'
)


def parse_molmo(reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()) -> Answer:
    text = reply.strip()
    shares = [*_pairs(_PERCENT_FORMS, text, 100), *_pairs((_TENTHS,), text, _THOUSAND)]
    if shares and not _MOLMO_FORM.fullmatch(text):
        return unparsed_answer(reply, stop_reason)
    width, height = picture_size(sample)
    return places_answer(sample, points=[Point(x * width, y * height) for x, y in shares])


def _pairs(forms: Iterable[re.Pattern[str]], text: str, whole: int) -> Iterator[tuple[float, float]]:
    """Pairs in fractions; those beyond the picture are none."""
    for form in forms:
        for match in form.finditer(text):
            x, y = (float(number) / whole for number in match.groups())
            if max(x, y) <= 1:
                yield x, y
