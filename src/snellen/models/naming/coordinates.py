"""The coordinate space in which a model writes places: as the user declares it behind the model's
name (`hf/ORG/NAME:coordinates=thousandths`), else as the catalog knows it.

The option is no part of a model's identity: it changes the prompt, not what is answered to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from snellen.core.benchmark import COORDINATES
from snellen.core.model import Model
from snellen.core.place import parse_space

SpaceOrigin = Literal["model option", "catalog"]


class DeclaredSpace(NamedTuple):
    """The name of a space, and who declared it."""

    name: str
    origin: SpaceOrigin


def pop_space(options: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The other options, and the name of the space; "" if none is declared. Raises UsageError for
    a name of no space."""
    others = dict(options)
    name = others.pop(COORDINATES, "")
    return others, parse_space(name).name if name else ""


def declare_space(model: Model, space: str) -> Model:
    """The model, with this space as the one in which it writes unless the name is empty."""
    if space:
        model.coordinates = space  # type: ignore[attr-defined]
    return model
