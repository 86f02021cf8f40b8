"""Gold and parsed answers as people read them: places and records in words, other texts as they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from snellen.core.errors import DataError
from snellen.core.place import Places, Point, load_places

READABLE = frozenset({"place", "fields", "page"})
"""Kinds of questions whose answers are stored in a form that is not for people."""


def answer_text(text: str, kind: str) -> str:
    """An answer to a question of a kind: the places that it names, or the fields of a record."""
    if kind == "place":
        return stored_places_text(text)
    if kind == "page":
        return _page_text(text)
    return fields_text(text) if kind == "fields" else text


def answer_texts(texts: Iterable[str], kind: str) -> tuple[str, ...]:
    """Several answers, as `answer_text`."""
    return tuple(answer_text(text, kind) for text in texts)


def _page_text(text: str) -> str:
    """A gold page as Markdown; the page that a reply wrote as it is."""
    import msgspec

    from snellen.core.page import load_page

    try:
        return load_page(text).markdown() if text.startswith("[") else text
    except msgspec.DecodeError:  # a reply may begin with a bracket
        return text


def fields_text(text: str) -> str:
    """A record as `name: value; name: value`; a text that is no JSON as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict | list):
        return text
    named = ((path, field_text(field)) for path, field in each_field(value))
    return "; ".join(f"{path}: {field}" if path else field for path, field in named) or "no field"


def field_text(field: Any) -> str:
    """A value of a record: a text as it is, all else as JSON spells it."""
    return field if isinstance(field, str) else json.dumps(field, ensure_ascii=False)


def each_field(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a record that is no object, no list and not null, with its path:
    `items[].price`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from each_field(inner, join_path(path, name))
    elif isinstance(value, list):
        for inner in value:
            yield from each_field(inner, f"{path}[]")
    elif value is not None:
        yield path, value


def join_path(path: str, name: str) -> str:
    """The path of a field of an object."""
    return f"{path}.{name}" if path else name


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
        *(("mask", f"of {sum(mask.runs[1::2]):,} pixels") for mask in places.masks),
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
