"""Wrong options made of the right one: other numbers, texts, orders and keypoints.

"For some problems, such as counting, OCR, and object detection, we can directly add perturbations
to the GT using Python scripts" (MMT-Bench, Appendix I.2).

Options that are all changed from the right one leave it in their middle, where a reader without the
picture finds it. So the right one is changed into a hidden one first, and the options are made of
that: right and wrong ones lie around it alike. The hidden one is not offered.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from snellen.curate.metadata.draw import NO_FREQUENCIES, AnswerFrequencies

Share = Annotated[float, Meta(ge=0, le=1)]
_TRIES = 400
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
    text: str,
    settings: NumberSettings,
    rng: Random,
    count: int = 3,
    frequencies: AnswerFrequencies = NO_FREQUENCIES,
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


_SIMILAR = {
    "a": "eou", "b": "dhp", "c": "eo", "d": "bcl", "e": "aco", "f": "t", "g": "pqy", "h": "bn",
    "i": "lj", "j": "i", "k": "hx", "l": "it", "m": "nw", "n": "mru", "o": "ace", "p": "bq",
    "q": "gp", "r": "nv", "s": "z", "t": "fl", "u": "nv", "v": "uwy", "w": "mv", "x": "k",
    "y": "vg", "z": "s", "0": "689", "1": "47", "2": "57", "3": "58", "4": "19", "5": "23",
    "6": "58", "7": "12", "8": "36", "9": "48",
}  # fmt: skip
"""Characters that look alike; letters stay letters, because O for 0 is no visible mistake."""


def perturb_text(text: str, settings: CharacterSettings, rng: Random) -> Iterator[str]:
    """Texts with a few characters replaced, exchanged, doubled or left out; letters stay letters,
    digits stay digits, and the length changes by two at most."""
    hidden = text
    for _ in range(_TRIES):
        if hidden != text:
            break
        hidden = _edit_text(text, settings.edits, rng)
    for _ in range(_TRIES):
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
        characters[place] = _other_character(characters[place], rng)
    return "".join(characters)


def _other_character(character: str, rng: Random) -> str:
    similar = _SIMILAR.get(character.lower())
    if similar is None:
        return character
    other = rng.choice(similar)
    return other.upper() if character.isupper() else other


class OrderSettings(Struct, frozen=True, forbid_unknown_fields=True):
    min_moves: Annotated[int, Meta(ge=1)] = 1
    max_moves: Annotated[int, Meta(ge=1)] = 6
    """Bounds of the number of pairs that stand in another order than they should (Kendall's
    distance)."""

    def __post_init__(self) -> None:
        _check_bounds("min_moves", self.min_moves, "max_moves", self.max_moves + 1)


def perturb_order(
    items: Sequence[str], settings: OrderSettings, rng: Random
) -> Iterator[tuple[str, ...]]:
    """Other orders of the items, none twice."""
    hidden = tuple(items)
    for _ in range(_TRIES):
        if hidden != tuple(items):
            break
        hidden = _exchange(hidden, rng.randint(1, settings.max_moves), rng)
    seen = {tuple(items), hidden}
    for _ in range(_TRIES):
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
    points: dict[str, tuple[float, float]],
    size: tuple[int, int],
    settings: KeypointSettings,
    rng: Random,
) -> Iterator[dict[str, tuple[float, float]]]:
    """Keypoints of which at least half were moved by a visible distance, and those with left and
    right exchanged."""
    hidden = _move_points(points, size, settings, rng)
    for _ in range(_TRIES):
        moved = _move_points(hidden, size, settings, rng)
        yield _swap_sides(moved) if rng.random() < 0.25 else moved


def _move_points(
    points: dict[str, tuple[float, float]],
    size: tuple[int, int],
    settings: KeypointSettings,
    rng: Random,
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
    """A coordinate beyond a border as far within it; a picture of unknown size has no border."""
    return max(0.0, min(abs(number), 2 * bound - abs(number))) if bound else number


def _swap_sides(points: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The points with those of the left side called right and the other way round."""
    return {
        name: points.get(
            name.replace("left", "\0").replace("right", "left").replace("\0", "right"), place
        )
        for name, place in points.items()
    }
