"""Wrong options made of the right one: other numbers, boxes, texts, orders and keypoints.

"For some problems, such as counting, OCR, and object detection, we can directly add perturbations
to the GT using Python scripts" (MMT-Bench, Appendix I.2).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Annotated

from msgspec import Meta, Struct

from snellen.core.errors import UsageError
from snellen.curate.metadata.records import Corners

Share = Annotated[float, Meta(ge=0, le=1)]
_TRIES = 400
"""Attempts at random options before a strategy gives up."""
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")


class NumberSettings(Struct, frozen=True, forbid_unknown_fields=True):
    spread: Annotated[int, Meta(ge=1)] = 3
    """Whole numbers up to this far from the right one are offered, or up to `share` of it if that
    is more."""
    share: Share = 0.3
    least: float = 0
    """No option is less."""


def perturb_number(text: str, settings: NumberSettings, rng: Random) -> Iterator[str]:
    """Numbers near the first number in a text, each once, in random order; nothing if there is
    none.

    Whole numbers get whole offsets; 12.50 gets two decimals; the text around stays ("12 kg").
    """
    match = _NUMBER.search(text)
    if match is None:
        return
    written = match[0]
    decimals = len(written.partition(".")[2])
    value = float(written.replace(",", ""))
    # In units of the last digit, so that 1.5 moves by tenths. A fixed spread of those means
    # nothing for 12.50; there the share alone counts.
    units = round(value * 10**decimals)
    reach = max(settings.spread, math.floor(abs(units) * settings.share))
    least = math.ceil(settings.least * 10**decimals)
    # Zero stands between numbers of one sign: "-0" is never offered.
    negative = text[: match.start()].endswith("-")
    offsets = [offset for offset in range(-reach, reach + 1) if offset and units + offset >= least]
    if negative:
        offsets = [offset for offset in range(-reach, reach + 1) if offset and units + offset > 0]
    if len(offsets) > 64:
        offsets = rng.sample(offsets, 64)
    rng.shuffle(offsets)
    for offset in offsets:
        number = (units + offset) / 10**decimals
        grouped = "," if "," in written else ""
        shown = f"{number:{grouped}.{decimals}f}"
        yield text[: match.start()] + shown + text[match.end() :]


class BoxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    least_iou: Share = 0.1
    most_iou: Share = 0.5
    """Bounds of the overlap with the right box (intersection over union). Detections count as
    right from 0.5 (PASCAL VOC)."""
    most_mutual_iou: Share = 0.8
    """Bound of the overlap of two wrong boxes."""


def perturb_box(
    gold: Corners,
    size: tuple[int, int],
    also_right: Sequence[Corners],
    settings: BoxSettings,
    rng: Random,
) -> Iterator[Corners]:
    """Boxes of whole pixels in the picture that overlap the right one within bounds, and no other
    box that is right by more than `most_iou`."""
    if settings.least_iou >= settings.most_iou:
        raise UsageError(
            f"boxes: least_iou = {settings.least_iou} and most_iou = {settings.most_iou}; expected "
            "least_iou < most_iou"
        )
    width, height = gold[2] - gold[0], gold[3] - gold[1]
    accepted: list[Corners] = []
    for _ in range(_TRIES):
        # A box of another size whose centre is moved by up to its own size.
        w = width * math.exp(rng.uniform(-0.5, 0.5))
        h = height * math.exp(rng.uniform(-0.5, 0.5))
        x = (gold[0] + gold[2]) / 2 + rng.uniform(-1, 1) * width - w / 2
        y = (gold[1] + gold[3]) / 2 + rng.uniform(-1, 1) * height - h / 2
        corners = tuple(
            float(round(min(max(number, 0), bound)))
            for number, bound in zip((x, y, x + w, y + h), (*size, *size), strict=True)
        )
        box: Corners = (corners[0], corners[1], corners[2], corners[3])
        if box[2] - box[0] < 1 or box[3] - box[1] < 1:
            continue
        if not settings.least_iou <= iou(box, gold) <= settings.most_iou:
            continue
        if any(iou(box, other) > settings.most_iou for other in also_right):
            continue
        if any(iou(box, other) > settings.most_mutual_iou for other in accepted):
            continue
        accepted.append(box)
        yield box


def iou(one: Corners, other: Corners) -> float:
    """Intersection over union of two boxes."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return shared / (areas - shared)


class CharacterSettings(Struct, frozen=True, forbid_unknown_fields=True):
    edits: Annotated[int, Meta(ge=1)] = 2
    """The most characters changed in a text; one in ten of a long text."""


_SIMILAR = {
    "a": "eou", "b": "dhp", "c": "eo", "d": "bcl", "e": "aco", "f": "t", "g": "pqy", "h": "bn",
    "i": "lj", "j": "i", "k": "hx", "l": "it", "m": "nw", "n": "mru", "o": "ace", "p": "bq",
    "q": "gp", "r": "nv", "s": "z", "t": "fl", "u": "nv", "v": "uwy", "w": "mv", "x": "k", "y": "vg",
    "z": "s", "0": "689", "1": "47", "2": "57", "3": "58", "4": "19", "5": "23", "6": "58",
    "7": "12", "8": "36", "9": "48",
}  # fmt: skip
"""Characters that look alike; letters stay letters, because O for 0 is no visible mistake."""


def perturb_text(text: str, settings: CharacterSettings, rng: Random) -> Iterator[str]:
    """Texts with a few characters replaced, exchanged, doubled or left out; letters stay letters,
    digits stay digits, and the length changes by one at most."""
    places = [place for place, character in enumerate(text) if character.isalnum()]
    if not places:
        return
    most = max(settings.edits, len(places) // 10)
    for _ in range(_TRIES):
        characters = list(text)
        edits = rng.randint(1, min(most, len(places)))
        for place in rng.sample(places, edits):
            characters[place] = _other_character(characters[place], rng)
        kind = rng.random()
        place = rng.choice(places)
        if kind < 0.25 and place + 1 < len(text) and text[place + 1].isalnum():
            # In place of one replacement: two neighbours exchanged.
            characters = list(text)
            characters[place], characters[place + 1] = characters[place + 1], characters[place]
        elif kind < 0.35 and len(places) > 3:
            characters = [*text[:place], *text[place + 1 :]]
        elif kind < 0.45 and len(places) > 3:
            characters = [*text[: place + 1], *text[place:]]
        yield "".join(characters)


def _other_character(character: str, rng: Random) -> str:
    similar = _SIMILAR.get(character.lower())
    if similar is None:
        return character
    other = rng.choice(similar)
    return other.upper() if character.isupper() else other


class OrderSettings(Struct, frozen=True, forbid_unknown_fields=True):
    least_moves: Annotated[int, Meta(ge=1)] = 1
    most_moves: Annotated[int, Meta(ge=1)] = 6
    """Bounds of the number of pairs that stand in another order (Kendall's distance)."""


def perturb_order(
    items: Sequence[str], settings: OrderSettings, rng: Random
) -> Iterator[tuple[str, ...]]:
    """Other orders of the items, none twice."""
    seen = {tuple(items)}
    for _ in range(_TRIES):
        order = list(range(len(items)))
        for _ in range(rng.randint(1, settings.most_moves)):
            place = rng.randrange(len(items) - 1)
            order[place], order[place + 1] = order[place + 1], order[place]
        moves = count_inversions(order)
        other = tuple(items[index] for index in order)
        if other in seen or not settings.least_moves <= moves <= settings.most_moves:
            continue
        seen.add(other)
        yield other


def count_inversions(order: Sequence[int]) -> int:
    """Pairs of a permutation that stand in the wrong order."""
    return sum(
        earlier > later for place, later in enumerate(order) for earlier in order[:place]
    )


class KeypointSettings(Struct, frozen=True, forbid_unknown_fields=True):
    least: Share = 0.1
    most: Share = 0.4
    """Bounds of the distance by which the moved points are moved, as a share of the object's
    diagonal."""


def perturb_keypoints(
    points: dict[str, tuple[float, float]],
    size: tuple[int, int],
    settings: KeypointSettings,
    rng: Random,
) -> Iterator[dict[str, tuple[float, float]]]:
    """Keypoints of which at least half were moved by a visible distance, or left and right
    exchanged."""
    swapped = _swap_sides(points)
    if swapped != points:
        yield swapped
    xs, ys = zip(*points.values(), strict=True)
    diagonal = math.hypot(max(xs) - min(xs), max(ys) - min(ys)) or 0.1 * math.hypot(*size)
    for _ in range(_TRIES):
        moved = dict(points)
        for name in rng.sample(list(points), rng.randint(-(-len(points) // 2), len(points))):
            angle = rng.uniform(0, 2 * math.pi)
            distance = diagonal * rng.uniform(settings.least, settings.most)
            x, y = points[name]
            moved[name] = (x + distance * math.cos(angle), y + distance * math.sin(angle))
        if all(0 <= x <= size[0] and 0 <= y <= size[1] for x, y in moved.values()):
            yield moved


def _swap_sides(points: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The points with those of the left side called right and the other way round."""
    return {
        name: points.get(
            name.replace("left", "\0").replace("right", "left").replace("\0", "right"), place
        )
        for name, place in points.items()
    }
