"""Bodies with a fault each, which an oracle must refuse: else it proves nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.schemas.shapes import Shape, decoded


class Mutation(NamedTuple):
    """A body with a fault, the name of the fault, and the shape without it."""

    name: str
    shape: Shape
    body: dict[str, Any]


def _at(*steps: str | int, value: Any) -> Callable[[Any], None]:
    """Set a value; raises LookupError where the body has no such place."""

    def change(body: Any) -> None:
        for step in steps[:-1]:
            body = body[step]
        if isinstance(body, dict) and value is not _UNKNOWN and steps[-1] not in body:
            raise KeyError(steps[-1])
        if value is _MISSING:
            del body[steps[-1]]
        else:
            body[steps[-1]] = 1 if value is _UNKNOWN else value

    return change


_UNKNOWN, _MISSING = object(), object()
_TURNS = ("messages", "contents")
_PARTS = ("content", "parts")
_SETTINGS = ("generationConfig", "inferenceConfig")

FAULTS: dict[str, tuple[Callable[[Any], None], ...]] = {
    "unknown field": (_at("snellen_unknown", value=_UNKNOWN),),
    "unknown field of a message": tuple(_at(turns, 0, "snellen_unknown", value=_UNKNOWN) for turns in _TURNS),
    "unknown field of a setting": tuple(_at(settings, "snellen_unknown", value=_UNKNOWN) for settings in _SETTINGS),
    "unknown kind of part": (
        _at("messages", -1, "content", 0, "type", value="imago"),
        _at("messages", -1, "content", 0, "imago", value=_UNKNOWN),
    ),
    "unknown role": (_at("messages", 0, "role", value="narrator"),),
    "no messages": tuple(_at(turns, value=_MISSING) for turns in _TURNS),
    "no model": (_at("model", value=_MISSING),),
    "model of a wrong type": (_at("model", value=5),),
    "messages of a wrong type": tuple(_at(turns, value=5) for turns in _TURNS),
    "content of a wrong type": tuple(_at(turns, 0, parts, value=5) for turns in _TURNS for parts in _PARTS),
    "image of a wrong type": (
        _at("messages", -1, "content", 0, "image_url", "url", value=5),
        _at("messages", -1, "content", 0, "source", "data", value=5),
        _at("contents", -1, "parts", 0, "inlineData", "mimeType", value=5),
        _at("messages", -1, "content", 0, "image", "source", "bytes", value=5),
    ),
    "limit of a wrong type": (
        _at("max_tokens", value="many"),
        _at("max_completion_tokens", value="many"),
        _at("generationConfig", "maxOutputTokens", value="many"),
        _at("inferenceConfig", "maxTokens", value="many"),
    ),
    "temperature of a wrong type": (
        _at("temperature", value="warm"),
        *(_at(settings, "temperature", value="warm") for settings in _SETTINGS),
    ),
    "stop of a wrong type": (
        _at("stop", value={"at": 5}),
        _at("stop_sequences", value=5),
        *(_at(settings, "stopSequences", value=5) for settings in _SETTINGS),
    ),
    "stream of a wrong type": (_at("stream", value={"now": 5}),),
}


def mutations(shapes: list[Shape]) -> Iterator[Mutation]:
    """Each fault in the first body that has its place."""
    # An image, and every setting that the provider takes.
    ordered = sorted(shapes, key=lambda shape: "image, all, " not in shape.name)
    for name, changes in FAULTS.items():
        made = next(filter(None, (_mutated(name, shape, changes) for shape in ordered if _is_chat(shape))), None)
        if made is not None:
            yield made


def _is_chat(shape: Shape) -> bool:
    return not shape.path.endswith(("completions", "generations")) or shape.path.endswith("chat/completions")


def _mutated(name: str, shape: Shape, changes: tuple[Callable[[Any], None], ...]) -> Mutation | None:
    for change in changes:
        body = copy.deepcopy(decoded(shape))
        try:
            change(body)
        except (LookupError, TypeError):
            continue
        return Mutation(name, shape, body)
    return None
