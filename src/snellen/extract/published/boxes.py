"""How published scorers read the boxes of a reply.

`parse_refcoco_lmms_eval`   lmms-eval for RefCOCO: the first four numbers in brackets, parted by
                            commas, in fractions of the picture.
`parse_refcoco_vlmevalkit`  VLMEvalKit for RefCOCO: the first four numbers in brackets, else the first
                            four; up to 1.5 fractions, up to 1000 thousandths. Its table has no sizes
                            of pictures, so that larger numbers are the edge. Corners are turned.
`parse_groundingme`         GroundingME's authors, and VLMEvalKit: `bbox_2d` of the JSON object that is the
                            reply, else the last four numbers; of pixels and fractions or numbers up
                            to 999 what fits the gold box better. Null and zeros are no box.
`parse_odinw`               lmms-eval for ODinW: the labelled boxes of the JSON of a reply, else four numbers
                            each without a label; of pixels, fractions and thousandths what fits a gold box
                            of the label best.
`parse_ocrbench_v2`         OCRBench v2's authors, and VLMEvalKit: the last four whole numbers in brackets,
                            parted by commas, in thousandths; none above 1000.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from snellen.core import lazy_re as re
from snellen.core.literals import load_json
from snellen.core.output import Answer
from snellen.core.place import Box, box_iou, load_places
from snellen.core.sample import Sample
from snellen.extract.published.places import picture_size, places_answer
from snellen.extract.unanswered import unparsed_answer

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_BRACKETED = re.compile(rf"\[\s*{_NUMBER},\s*{_NUMBER},\s*{_NUMBER},\s*{_NUMBER}\s*\]")
_LOOSE = r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?"
_BETWEEN = r"(?:\s*,\s*|\s+)"
_LOOSE_NUMBER = re.compile(_LOOSE)
_LOOSE_BRACKETED = re.compile(rf"\[\s*({_BETWEEN.join([_LOOSE] * 4)})\s*\]")
_WHOLE_BRACKETED = re.compile(r"[(\[]\s*" + r"\s*,\s*".join([r"(\d+)"] * 4) + r"\s*[)\]]")
_FOUR = re.compile(r"[\s,]+".join([_NUMBER] * 4))
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL | re.IGNORECASE)
_STRUCTURE = re.compile(r'\\.|"(?:[^"\\]|\\.)*"|[{}"]', re.DOTALL)
_BOX_KEYS = ("bbox_2d", "bbox", "box_2d", "box")
_LABEL_KEYS = ("label", "class", "category", "name", "class_name")
_LARGEST_FRACTION = 1.5
_LARGEST_GROUNDINGME = 999.0


def parse_refcoco_lmms_eval(
    reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()
) -> Answer:
    match = _BRACKETED.search(reply)
    if match is None:
        return unparsed_answer(reply, stop_reason)
    return places_answer(sample, boxes=[_scale_box(map(float, match.groups()), 1, picture_size(sample))])


def parse_refcoco_vlmevalkit(
    reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()
) -> Answer:
    match = _LOOSE_BRACKETED.search(reply)
    numbers = [float(number) for number in _LOOSE_NUMBER.findall(match[1] if match else reply)[:4]]
    if len(numbers) < 4:
        return unparsed_answer(reply, stop_reason)
    highest = max(map(abs, numbers))
    whole = 1000 if _LARGEST_FRACTION < highest <= 1000 else 1
    left, top, right, bottom = (min(max(number / whole, 0.0), 1.0) for number in numbers)
    turned = (min(left, right), min(top, bottom), max(left, right), max(top, bottom))
    return places_answer(sample, boxes=[_scale_box(turned, 1, picture_size(sample))])


def parse_ocrbench_v2(reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()) -> Answer:
    boxes = [list(map(float, match.groups())) for match in _WHOLE_BRACKETED.finditer(reply)]
    boxes = [box for box in boxes if max(box) <= 1000]
    if not boxes:
        return unparsed_answer(reply, stop_reason)
    return places_answer(sample, boxes=[_scale_box(boxes[-1], 1000, picture_size(sample))])


def parse_groundingme(reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()) -> Answer:
    box = _groundingme_box(reply)
    if not all(map(math.isfinite, box)):
        return unparsed_answer(reply, stop_reason)
    if not any(box):
        return places_answer(sample)
    whole = 1.0 if max(box) <= 1 else _LARGEST_GROUNDINGME
    candidates = [Box(*box), _scale_box(box, whole, picture_size(sample))]
    golds = load_places(sample.gold[0]).boxes
    return places_answer(sample, boxes=[_nearest(candidates, golds)])


def _groundingme_box(reply: str) -> tuple[float, ...]:
    """Four numbers; zeros for no box."""
    # From the first brace to the last one, if the key stands between them.
    start, end = reply.find("{"), reply.rfind("}")
    held = reply[start : end + 1] if start >= 0 else ""
    try:
        box = load_json(held)["bbox_2d"] if '"bbox_2d"' in held[1:-1] else 0
        if box is None:
            return (0.0,) * 4
        if isinstance(box, list) and len(box) == 4:
            return tuple(map(float, box))
    except (ValueError, TypeError, KeyError):
        pass
    found = _FOUR.findall(reply)
    return tuple(map(float, found[-1])) if found else (0.0,) * 4


def parse_odinw(reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]] = ()) -> Answer:
    gold = load_places(sample.gold[0])
    try:
        said = list(_labelled_boxes(_json_of(reply)))
    except (TypeError, ValueError):
        return unparsed_answer(reply, stop_reason)  # its function stops at such numbers
    said = said or [([float(number) for number in four], "") for four in _FOUR.findall(reply)]
    boxes = []
    said = [(numbers, label) for numbers, label in said if all(map(math.isfinite, numbers))]
    for numbers, label in said:
        held = (box for box, name in zip(gold.boxes, gold.labels, strict=True) if _fold(name) == _fold(label))
        boxes.append(_best_reading(numbers, list(held), picture_size(sample)))
    return places_answer(sample, boxes=boxes, labels=[label for _, label in said])


def _json_of(reply: str) -> Any:
    """The whole reply, the first fence that is JSON, or all objects that are."""
    for text in (reply, *_FENCE.findall(reply)):
        try:
            return load_json(text)
        except ValueError:
            continue
    return list(_objects_in(reply))


def _objects_in(text: str) -> Iterator[Any]:
    """The objects of a text, up to the first that is not closed."""
    start = text.find("{")
    while start >= 0 and (end := _end_of_object(text, start)):
        try:
            yield load_json(text[start:end])
        except ValueError:
            end = start + 1
        start = text.find("{", end)


def _end_of_object(text: str, start: int) -> int | None:
    depth = 0
    for part in _STRUCTURE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(part[0], 0)
        if depth == 0:
            return part.end()
        if part[0] == '"':
            return None
    return None


def _labelled_boxes(value: Any) -> Iterator[tuple[list[float], str]]:
    """Boxes with their labels in nested JSON, the last first."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            box = next((node[key] for key in _BOX_KEYS if key in node), None)
            if isinstance(box, list) and len(box) == 4:
                label = next((node[key] for key in _LABEL_KEYS if key in node), None)
                yield [float(number) for number in box], str(label)
            else:
                waiting += node.values()


def _best_reading(numbers: Sequence[float], golds: Sequence[Box], extent: Sequence[float]) -> Box:
    highest = max(numbers)
    readings = [Box(*numbers)]
    readings += [_scale_box(numbers, whole, extent) for whole in (1.0, 1000.0) if highest <= whole]
    return _nearest(readings, golds)


def _nearest(readings: Sequence[Box], golds: Sequence[Box]) -> Box:
    """The reading that overlaps best with a gold box, of equal ones the first."""
    return max(readings, key=lambda one: max((box_iou(one, gold) for gold in golds), default=0.0))


def _fold(label: str) -> str:
    return label.strip().lower()


def _scale_box(numbers: Iterable[float], whole: float, extent: Sequence[float]) -> Box:
    """The box of numbers of which `whole` is the width or the height of the picture."""
    left, top, right, bottom = (number / whole for number in numbers)
    width, height = extent
    return Box(left * width, top * height, right * width, bottom * height)
