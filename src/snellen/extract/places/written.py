"""What a reply states of one place: numbers as they are written, and what the spelling says of them."""

from __future__ import annotations

import math
from typing import NamedTuple

from snellen.core import lazy_re as re
from snellen.core.place import BoxForm, Mask, Order, Unit

NUMBER = r"[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d{1,3})?|nan|inf(?:inity)?)"
"""One number; where it is used, case is ignored."""
_ITEM = re.compile(rf"[\"']?({NUMBER})[ ]?(%|px|pixels?|°)?[\"']?", re.IGNORECASE)
_SPLIT = re.compile(r"[,;\s]+(?!%|px|pixel)", re.IGNORECASE)


class WrittenPlace(NamedTuple):
    """A place as a reply writes it, at [start, end) of the reply."""

    numbers: tuple[float, ...]
    start: int
    end: int
    spelling: str
    structured: bool = True
    """Whether a key, a name or a tag says that the numbers are a place; if not, they are numbers in
    brackets."""
    label: str = ""
    score: float = math.nan
    decimals: bool = False
    """Whether a number is written with a decimal point."""
    mark: str = ""
    """"%" or "px" where the numbers are written with it; for times "frames" or "seconds"."""
    order: Order | None = None
    form: BoxForm | None = None
    """What the numbers are, where each has a name: then the declared order and form say nothing."""
    units: tuple[Unit, ...] = ()
    own_order: Order | None = None
    """The units and the order in which this spelling is always written; empty or None for any."""
    mask: Mask | None = None
    """The mask whose run lengths are written."""
    grid: tuple[tuple[bool, ...], ...] = ()
    """Whether each cell of a grid over the picture belongs to the place, row by row."""


class WrittenNumbers(NamedTuple):
    """A list of numbers."""

    values: tuple[float, ...]
    decimals: bool
    mark: str


def parse_numbers(text: str) -> WrittenNumbers | None:
    """The numbers of a text that holds nothing else but commas and white space; None for others."""
    items = [item for item in _SPLIT.split(text.replace("\\right", "").strip(" \t\r\n,;\\$")) if item]
    if not items or items == ["%"]:
        return None
    values, decimals, mark = [], False, ""
    for item in items:
        match = _ITEM.fullmatch(item)
        if match is None:
            return None
        values.append(float(match[1]))
        decimals |= "." in match[1]
        mark = {"%": "%", "p": "px"}.get((match[2] or "")[:1].lower(), mark)
    return WrittenNumbers(tuple(values), decimals, mark)
