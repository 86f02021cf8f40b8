"""Gold and parsed answers as people read them: places and records in words, other texts as they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

READABLE = frozenset({"place", "fields", "page"})
"""Kinds of questions whose answers are stored in a form that is not for people."""


def answer_text(text: str, kind: str) -> str:
    """An answer to a question of a kind: the places that it names, or the fields of a record."""
    if kind == "place":
        from snellen.core.place_text import stored_places_text

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
