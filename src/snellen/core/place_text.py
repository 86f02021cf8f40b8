"""Places as a short text for people: `box 12, 30 – 80, 96`, in pixels or seconds."""

from __future__ import annotations

from snellen.core.errors import DataError
from snellen.core.place import Mask, Places, Point, load_places

_MOST = 6
"""Places that a text names; of others it says how many there are."""
_PLURALS = {"box": "boxes"}


def stored_places_text(text: str) -> str:
    """What the text of a `Places` names; any other text as it is."""
    try:
        return places_text(load_places(text))
    except DataError:
        return text


def places_text(places: Places) -> str:
    """All places of an answer with their labels; `no place` if there are none."""
    named = each_place(places)
    if not named:
        return "no place"
    labels = places.labels if len(places.labels) == len(named) else ("",) * len(named)
    texts = [f"{text} ({label})" if label else text for (_, text), label in zip(named, labels, strict=True)]
    nouns = {noun for noun, _ in named}
    noun = nouns.pop() if len(nouns) == 1 else "place"
    if len(texts) == 1:
        return f"{noun} {texts[0]}"
    more = f"; and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return f"{len(texts)} {_PLURALS.get(noun, noun + 's')}: {'; '.join(texts[:_MOST])}{more}"


def each_place(places: Places) -> list[tuple[str, str]]:
    """The name of the shape and the numbers of each place, in their order."""
    return [
        *(("box", f"{_pair(*box[:2])} – {_pair(*box[2:])}") for box in places.boxes),
        *(("point", _pair(*point)) for point in places.points),
        *(("polygon", _polygon(polygon)) for polygon in places.polygons),
        *(("mask", _mask(mask)) for mask in places.masks),
        *(("span", f"{number_text(span.start)} – {number_text(span.end)} s") for span in places.spans),
    ]


def number_text(value: float) -> str:
    """A coordinate or a time with at most one decimal."""
    rounded = round(value, 1)
    return f"{rounded:.0f}" if rounded == int(rounded) else f"{rounded:.1f}"


def _pair(x: float, y: float) -> str:
    return f"{number_text(x)}, {number_text(y)}"


def _polygon(corners: tuple[Point, ...]) -> str:
    if not corners:
        return "without corners"
    across, down = zip(*corners, strict=True)
    return f"of {len(corners)} corners in {_pair(min(across), min(down))} – {_pair(max(across), max(down))}"


def _mask(mask: Mask) -> str:
    return f"of {sum(mask.runs[1::2]):,} pixels"
