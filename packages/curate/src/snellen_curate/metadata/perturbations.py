"""Wrong options made of the right one: other numbers, texts, orders, keypoints and boxes.

"For some problems, such as counting, OCR, and object detection, we can directly add perturbations
to the GT using Python scripts" (MMT-Bench, Appendix I.2).

Options that are all changed from the right one leave it in their middle, where a reader without the
image finds it. So the right one is changed into a hidden one first, and the options are made of
that: right and wrong ones lie around it alike. The hidden one is not offered.

Wrong boxes are as large, as far from the middle and as often at a border as right ones: they are
right boxes of other images of the same data set, drawn near a hidden one that is near the right
one. With chances in proportion to p(o) s(o, h) / Z(o), where p is how often a box is asked for, s
how near two boxes are and Z its sum over all boxes, a set of options and a hidden box h are equally
likely whichever of the options is the right one.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta, Struct
from numpy import float64
from numpy.typing import NDArray

from snellen.core.place import box_iou
from snellen.data.toml_files import read_packaged
from snellen_curate.metadata.draw import NO_FREQUENCIES, AnswerFrequencies, draw_order
from snellen_curate.metadata.records import Corners

Share = Annotated[float, Meta(ge=0, le=1)]
_MAX_TRIES = 400
"""Attempts at random options before a strategy gives up."""
_MAX_NUMBERS = 64
_UNSEEN = 0.05
"""Weight of a number that is never right, where one that is right once has 1."""
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")


class NumberSettings(Struct, frozen=True, forbid_unknown_fields=True):
    spread: Annotated[int, Meta(ge=1)] = 3
    """Options differ from a hidden number between them by up to this, or by `share` of it if that
    is more."""
    share: Annotated[float, Meta(ge=0, le=0.9)] = 0.3
    minimum: float = 0
    """No option is less."""
    seen: bool = True
    """Draw a number with the frequency with which it is right in other records, so that it is wrong
    as often as right."""


def perturb_number(
    text: str, settings: NumberSettings, rng: Random, count: int = 3, frequencies: AnswerFrequencies = NO_FREQUENCIES
) -> list[str]:
    """Numbers near the first number in a text, each once, in random order; none if it has none.

    Successive numbers differ in the last digit that is written: 12.50 has 12.51 next to it. The
    text around stays ("12 kg"). There are `count` of them or more.
    """
    match = _NUMBER.search(text)
    if match is None:
        return []
    written = match[0]
    decimals = len(written.partition(".")[2])
    units = round(float(written.replace(",", "")) * 10**decimals)
    # A number behind a minus keeps it: its digits stay above 0.
    is_negative = text[: match.start()].endswith(("-", "−"))
    minimum = 1 if is_negative else math.ceil(settings.minimum * 10**decimals)
    near = NumberWindow(max(settings.spread, -(-count // 2)), settings.share, minimum)
    hidden = rng.choice(near.centres(units))
    window = near.around(hidden)
    grouped = "," if "," in written else ""
    before, after = text[: match.start()], text[match.end() :]
    weights = {
        f"{before}{number / 10**decimals:{grouped}.{decimals}f}{after}": number
        for number in rng.sample(window, min(len(window), _MAX_NUMBERS))
        if number != units
    }
    if not settings.seen:
        return list(weights)
    # A number that fewer hidden ones lead to would be wrong more rarely than right.
    likely = AnswerFrequencies(
        {
            option: (frequencies.counts.get(option, 0) + _UNSEEN) / len(near.centres(number))
            for option, number in weights.items()
        }
    )
    return likely.order(weights, rng)


class NumberWindow(NamedTuple):
    """Which numbers are options around a hidden one. The width depends on the hidden number alone:
    a window as wide as the right one says would show it."""

    spread: int
    share: float
    minimum: int

    def around(self, hidden: int) -> range:
        """The options around a hidden number."""
        low = min(hidden - self.spread, math.ceil(hidden * (1 - self.share)))
        high = max(hidden + self.spread, math.floor(hidden * (1 + self.share)))
        return range(max(low, self.minimum), high + 1)

    def centres(self, number: int) -> range:
        """The hidden numbers around which a number is an option. None is so low that options would
        be less than `minimum`."""
        lowest = self.minimum + self.spread
        low = min(number - self.spread, math.ceil(number / (1 + self.share)))
        high = max(number + self.spread, math.floor(number / (1 - self.share)))
        return range(max(low, lowest), max(high, lowest) + 1)


class CharacterSettings(Struct, frozen=True, forbid_unknown_fields=True):
    edits: Annotated[int, Meta(ge=1)] = 2
    """The most characters changed in a text; one in ten of a long text."""


_SIMILAR: Mapping[str, str] = read_packaged(__package__, "options.toml")["similar"]


def perturb_text(text: str, settings: CharacterSettings, rng: Random) -> Iterator[str]:
    """Texts with a few characters replaced, exchanged, doubled or left out; letters stay letters,
    digits stay digits, and the length changes by two at most."""
    edited = (_edit_text(text, settings.edits, rng) for _ in range(_MAX_TRIES))
    hidden = next((other for other in edited if other != text), text)
    for _ in range(_MAX_TRIES):
        other = _edit_text(hidden, settings.edits, rng)
        if other not in (text, hidden):
            yield other


def _edit_text(text: str, edits: int, rng: Random) -> str:
    """One replacement or more, or two neighbours exchanged, or one character doubled or left out;
    as it is if it has no letters and digits."""
    places = [place for place, character in enumerate(text) if character.isalnum()]
    if not places:
        return text
    kind, place = rng.random(), rng.choice(places)
    if kind < 0.25 and place + 1 < len(text) and text[place + 1].isalnum():
        return text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    if kind < 0.35 and len(places) > 3:
        return text[:place] + text[place + 1 :]
    if kind < 0.45 and len(places) > 3:
        return text[: place + 1] + text[place:]
    characters = list(text)
    most = min(max(edits, len(places) // 10), len(places))
    for place in rng.sample(places, rng.randint(1, most)):
        if similar := _SIMILAR.get(characters[place].lower()):
            other = rng.choice(similar)
            characters[place] = other.upper() if characters[place].isupper() else other
    return "".join(characters)


class OrderSettings(Struct, frozen=True, forbid_unknown_fields=True):
    min_moves: Annotated[int, Meta(ge=1)] = 1
    max_moves: Annotated[int, Meta(ge=1)] = 6
    """Bounds of the number of pairs that stand in another order than they should (Kendall's
    distance)."""

    def __post_init__(self) -> None:
        _check_bounds("min_moves", self.min_moves, "max_moves", self.max_moves + 1)


def perturb_order(items: Sequence[str], settings: OrderSettings, rng: Random) -> Iterator[tuple[str, ...]]:
    """Other orders of the items, none twice."""
    hidden = tuple(items)
    for _ in range(_MAX_TRIES):
        if hidden != tuple(items):
            break
        hidden = _exchange(hidden, rng.randint(1, settings.max_moves), rng)
    seen = {tuple(items), hidden}
    for _ in range(_MAX_TRIES):
        other = _exchange(hidden, rng.randint(1, settings.max_moves), rng)
        moves = count_inversions([items.index(item) for item in other])
        if other not in seen and settings.min_moves <= moves <= settings.max_moves:
            seen.add(other)
            yield other


def _exchange(items: tuple[str, ...], times: int, rng: Random) -> tuple[str, ...]:
    """The items after that many exchanges of neighbours."""
    order = list(items)
    for _ in range(times):
        place = rng.randrange(len(order) - 1)
        order[place], order[place + 1] = order[place + 1], order[place]
    return tuple(order)


def count_inversions(order: Sequence[int]) -> int:
    """Pairs of a permutation that stand in the wrong order."""
    return sum(earlier > later for place, later in enumerate(order) for earlier in order[:place])


class KeypointSettings(Struct, frozen=True, forbid_unknown_fields=True):
    min_shift: Share = 0.1
    max_shift: Share = 0.4
    """Bounds of the distance by which the moved points are moved, as a share of the object's
    diagonal."""

    def __post_init__(self) -> None:
        _check_bounds("min_shift", self.min_shift, "max_shift", self.max_shift)


def _check_bounds(low_name: str, low: float, high_name: str, high: float) -> None:
    """Raises ValueError, which msgspec reports with the place in the file."""
    if low >= high:
        raise ValueError(f"{low_name} is not less than {high_name}")


def perturb_keypoints(
    points: dict[str, tuple[float, float]], size: tuple[int, int], settings: KeypointSettings, rng: Random
) -> Iterator[dict[str, tuple[float, float]]]:
    """Keypoints of which at least half were moved by a visible distance, and those with left and
    right exchanged."""
    hidden = _move_points(points, size, settings, rng)
    for _ in range(_MAX_TRIES):
        moved = _move_points(hidden, size, settings, rng)
        yield _swap_sides(moved) if rng.random() < 0.25 else moved


def _move_points(
    points: dict[str, tuple[float, float]], size: tuple[int, int], settings: KeypointSettings, rng: Random
) -> dict[str, tuple[float, float]]:
    xs, ys = zip(*points.values(), strict=True)
    diagonal = math.hypot(max(xs) - min(xs), max(ys) - min(ys)) or 0.1 * math.hypot(*size)
    moved = dict(points)
    for name in rng.sample(list(points), rng.randint(-(-len(points) // 2), len(points))):
        angle = rng.uniform(0, 2 * math.pi)
        distance = diagonal * rng.uniform(settings.min_shift, settings.max_shift)
        x, y = points[name]
        x, y = x + distance * math.cos(angle), y + distance * math.sin(angle)
        # Reflected at the border, so that the distance stays visible.
        moved[name] = (_reflect(x, size[0]), _reflect(y, size[1]))
    return moved


def _reflect(number: float, bound: int) -> float:
    """A coordinate beyond a border as far within it; an image of unknown size has no border."""
    return max(0.0, min(abs(number), 2 * bound - abs(number))) if bound else number


def _swap_sides(points: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The points with those of the left side called right and the other way round."""
    return {
        name: points.get(name.replace("left", "\0").replace("right", "left").replace("\0", "right"), place)
        for name, place in points.items()
    }


ImageSize = tuple[int, int]
"""Width and height in pixels; (0, 0) if nobody knows."""
_MAX_KNOWN = 1_000
"""Right boxes of a source that are drawn from."""
_MIN_KNOWN = 20
"""Fewer are too few to draw from: the right box is moved instead."""
_AREA_SCALE, _PLACE_SCALE = 1.0, 0.2
"""How near boxes are: a factor of e in area, a fifth of the image in place."""
_OTHER_LABEL = 0.2
"""How near a box of another label is, beside one of the same: kinds of objects have their forms."""
_TRIES = 200
_SMALL_STEP = 0.15


class BoxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    max_iou: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    """Bound of the overlap (intersection over union) of two options. Detections count as right
    from 0.5 (PASCAL VOC)."""


class KnownBoxes:
    """The right boxes of a source, as shares of their images."""

    def __init__(self) -> None:
        self._labels: list[str] = []
        self._corners = array("d")
        self._shares = array("d")

    def add(self, label: str, box: Corners, size: ImageSize, share: float) -> None:
        """Add a box of an image of known size; `share` is the chance that it is asked for."""
        if size[0] and size[1] and len(self._labels) < _MAX_KNOWN:
            self._labels.append(label)
            self._shares.append(share)
            self._corners.extend(number / size[axis % 2] for axis, number in enumerate(box))

    @property
    def is_enough(self) -> bool:
        """Whether they are enough to draw from."""
        return len(self._labels) >= _MIN_KNOWN

    def draw(self, label: str, gold: Corners, size: ImageSize, count: int, rng: Random) -> list[Corners]:
        """Up to `count` boxes that could be in the place of a right one, in pixels."""
        scale = np.array([*size, *size])
        near = self._nearness(np.array(gold) / scale, label)
        if not near.sum() > 0:
            return []
        hidden = rng.choices(range(len(near)), near.tolist())[0]
        weights = self._nearness(self._table[hidden], self._labels[hidden])
        weights *= np.array(self._shares) / np.maximum(self._sums, 1e-12)
        others = np.flatnonzero((weights > 1e-12) & (near > 0))
        rows = others[draw_order(weights[others].tolist(), rng)[:count]]
        return [(left, top, right, bottom) for left, top, right, bottom in (self._table[rows] * scale).tolist()]

    @cached_property
    def _table(self) -> NDArray[float64]:
        """The corners, of shape (boxes, 4)."""
        return np.array(self._corners, dtype=np.float64).reshape(-1, 4)

    @cached_property
    def _sums(self) -> NDArray[float64]:
        """Of each box, the sum of `_nearness` over all."""
        pairs = zip(self._table, self._labels, strict=True)
        return np.array([self._nearness(*pair).sum() for pair in pairs])

    def _nearness(self, box: NDArray[float64], label: str) -> NDArray[float64]:
        """How near each known box is to one; 0 if it is the same."""
        width, height = self._table[:, 2:].T - self._table[:, :2].T
        area = np.log(width * height / np.prod(box[2:] - box[:2])) / _AREA_SCALE
        middle = (self._table[:, :2] + self._table[:, 2:] - box[:2] - box[2:]) / 2 / _PLACE_SCALE
        same = np.array([each == label for each in self._labels])
        nearness: NDArray[float64] = np.exp(-0.5 * (area**2 + (middle**2).sum(axis=1)))
        nearness *= np.where(same, 1.0, _OTHER_LABEL)
        nearness[np.abs(self._table - box).max(axis=1) <= 1e-9] = 0.0
        return nearness


def wrong_boxes(
    label: str,
    gold: Corners,
    size: ImageSize,
    also_right: Sequence[Corners],
    known: KnownBoxes,
    settings: BoxSettings,
    count: int,
    rng: Random,
) -> Iterator[Corners]:
    """Boxes of whole pixels in the image, of which no two, and none with a right one, overlap by
    more than `max_iou`; they may be fewer than `count`."""
    # A large box overlaps most others. If one went on until it had enough, it would be right more
    # often than it is wrong; so as many are drawn for each.
    if known.is_enough and size[0] and size[1]:
        drawn = known.draw(label, gold, size, 2 * count, rng)
        # Not the same numbers: what is right elsewhere would be known to be wrong here.
        proposals = (_move_box(box, size, _SMALL_STEP, rng) for box in drawn)
    else:
        hidden = _move_box(gold, size, 1.0, rng)
        proposals = (_move_box(hidden, size, 1.0, rng) for _ in range(_TRIES))
    accepted: list[Corners] = []
    for box in proposals:
        has_area = box[0] < box[2] and box[1] < box[3]
        others = (gold, *also_right, *accepted)
        if has_area and all(box_iou(box, other) <= settings.max_iou for other in others):
            accepted.append(box)
            yield box


def _move_box(box: Corners, size: ImageSize, step: float, rng: Random) -> Corners:
    """A box of another size and place, in whole pixels; edges at the border of the image stay.
    A `step` of 1 is up to its own length."""
    scale = math.exp(rng.uniform(-0.5, 0.5) * step)
    left, right = _move_edges(box[0], box[2], size[0], scale, rng.uniform(-step, step))
    top, bottom = _move_edges(box[1], box[3], size[1], scale, rng.uniform(-step, step))
    return float(round(left)), float(round(top)), float(round(right)), float(round(bottom))


def _move_edges(low: float, high: float, bound: int, scale: float, step: float) -> tuple[float, float]:
    """The edges along one axis of an image that ends at `bound`; 0 is an unknown end."""
    at_start, at_end = low < 0.5, bound > 0 and high > bound - 0.5
    if at_start and at_end:
        return low, high
    length = (high - low) * scale
    if at_start or at_end:
        length = min(length, bound - 1.0) if bound else length
        return (low, low + length) if at_start else (high - length, high)
    length = min(length, bound - 2.0) if bound else length
    start = max(1.0, (low + high - length) / 2 + step * length)
    start = min(start, bound - 1 - length) if bound else start
    return start, start + length
