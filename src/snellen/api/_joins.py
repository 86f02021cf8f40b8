"""Joined models of a command: the text model is measured, and the drawing model has a role."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from snellen.api._unavailable import UnavailableModel
from snellen.api.resolve_models import name_without_address
from snellen.core.errors import UsageError
from snellen.core.model import AnyModel, Model
from snellen.core.request import Sampling
from snellen.models.joined import Describe, JoinedModel, JoinParts, check_parts, join_name, join_parts
from snellen.models.naming.spec import JOIN, split_options


class Join(NamedTuple):
    """What draws for a measured model, and when that describes what is drawn."""

    drawer: Model
    describe: Describe


class RequestedModel(NamedTuple):
    """A model as the user passed it, of a join its text model."""

    name: str
    """The name the user chose; "" for its own."""
    model: AnyModel
    draw: AnyModel = None
    """What draws for it; None for a model that is no join."""
    describe: Describe = "pictures"

    @staticmethod
    def parse(name: str, model: AnyModel, custom: Collection[str]) -> RequestedModel:
        """Split a join into its parts. `custom` are the models of loaded files. Raises UsageError
        for a malformed join."""
        if isinstance(model, JoinedModel):
            return RequestedModel(name, model.text, model.drawer, model.describe)
        parts = None if not isinstance(model, str) or model in custom else _parts(model)
        if parts is None:
            return RequestedModel(name, model)
        return RequestedModel(name, parts.text, parts.draw, parts.describe)


class OpenedModels(NamedTuple):
    """The measured models with their names, their sampling by name, and the joins among them."""

    models: list[tuple[str, Model]]
    sampling: dict[str, Sampling]
    joins: dict[str, Join]


def join_requested(
    requested: Sequence[RequestedModel],
    opened: Sequence[tuple[str, Model]],
    sampling: Mapping[str, Sampling],
    open_drawer: Callable[[AnyModel], Model],
) -> OpenedModels:
    """Name the joins among the opened models by both of their parts, and open what draws for them.

    Raises UsageError for a part that gives no text or no pictures."""
    result = OpenedModels([], {}, {})
    for each, (text_name, text) in zip(requested, opened, strict=True):
        name = text_name
        if each.draw is not None:
            drawer = open_drawer(each.draw)
            if not isinstance(drawer, UnavailableModel):
                check_parts(text, drawer)
            name = each.name or join_name(text_name, _draw_name(each.draw, drawer), each.describe)
            result.joins[name] = Join(drawer, each.describe)
        result.models.append((name, text))
        if text_name in sampling:
            result.sampling[name] = sampling[text_name]
    return result


def _parts(spec: str) -> JoinParts | None:
    stem, options = split_options(spec)
    if stem == JOIN and not options:
        raise UsageError(f"{JOIN} has no parts; expected {JOIN}:text=MODEL,draw=MODEL")
    return join_parts(options) if stem == JOIN else None


def _draw_name(draw: AnyModel, drawer: Model) -> str:
    identity = drawer.identity
    return name_without_address(draw, identity) if isinstance(draw, str) else identity.name
