"""How pictures are to be drawn where answers are pictures: options that go into each `DrawScore`.

`draw_size=512x512` (width and height in pixels), `draw_steps=30` (denoising steps),
`draw_guidance=7.5` (scale of classifier-free guidance), `draw_seed=1`. `own` leaves it to the
model; a model that cannot do what is asked fails the request with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.request import Drawing

MODEL_DEFAULT = "own"
_SEED = "draw_seed"
_RANGES = {"draw_steps": (1, 10_000), _SEED: (0, 2**31 - 1)}
_MAX_EDGE = 8192
_T = TypeVar("_T")
_SIZE = re.compile(r"([1-9]\d*)x([1-9]\d*)")


class DrawingOptions(NamedTuple):
    """The variant without the options about drawing, what these say, and what a run records."""

    variant: Variant
    settings: Drawing
    parameters: Mapping[str, str]


def drawing_options() -> dict[str, tuple[str, ...]]:
    """The options about drawing, the default first; listed sizes and numbers stand for any."""
    return {
        "draw_size": (MODEL_DEFAULT, "512x512", "1024x1024"),
        "draw_steps": (MODEL_DEFAULT, "20", "50"),
        "draw_guidance": (MODEL_DEFAULT, "5", "7.5"),
        _SEED: ("0", "1", "2"),
    }


def allow_drawing_options(options: Mapping[str, Sequence[str]], variant: Variant) -> Mapping[str, Sequence[str]]:
    """The allowed values of all options, with the sizes and numbers of drawings that the variant
    asks for: any that `split_drawing_options` takes. Raises UsageError."""
    split_drawing_options(variant)
    chosen = {name: variant.options.get(name) for name in drawing_options()}
    drawing = {name: (*options[name], value) for name, value in chosen.items() if value}
    return {**options, **drawing}


def split_drawing_options(variant: Variant) -> DrawingOptions:
    """What the variant's options say about drawing. Raises UsageError."""
    options = drawing_options()
    defaults = {name: values[0] for name, values in options.items()}
    chosen = {name: variant.options.get(name, value) for name, value in defaults.items()}
    size = _optional(chosen, "draw_size", _parse_size)
    settings = Drawing(
        width=size[0] if size else None,
        height=size[1] if size else None,
        steps=_optional(chosen, "draw_steps", _parse_whole_number),
        guidance=_optional(chosen, "draw_guidance", _parse_number),
        seed=_parse_whole_number(_SEED, chosen[_SEED]),
    )
    other_options = {name: value for name, value in variant.options.items() if name not in options}
    changed = {name: value for name, value in chosen.items() if value != defaults[name]}
    return DrawingOptions(replace(variant, options=other_options), settings, changed)


def _optional(values: Mapping[str, str], name: str, parse: Callable[[str, str], _T]) -> _T | None:
    return None if values[name] == MODEL_DEFAULT else parse(name, values[name])


def _parse_size(name: str, text: str) -> tuple[int, int]:
    match = _SIZE.fullmatch(text)
    if match is None or max(map(int, match.groups())) > _MAX_EDGE:
        raise UsageError(f"{name}={text}: expected width and height in pixels, at most {_MAX_EDGE} each, e.g. 512x512")
    return int(match[1]), int(match[2])


def _parse_whole_number(name: str, text: str) -> int:
    minimum, maximum = _RANGES[name]
    if not text.isdecimal() or not minimum <= int(text) <= maximum:
        raise UsageError(f"{name}={text}: expected a whole number from {minimum} to {maximum}")
    return int(text)


def _parse_number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1000:
        raise UsageError(f"{name}={text}: expected a number from 0 to 1000")
    return number
