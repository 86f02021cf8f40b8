"""Open the models that a command names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from snellen.core.errors import UnknownName, UsageError
from snellen.core.model import AnyModel, Identity, Model, MutableModel
from snellen.models.naming.registry import open_model

if TYPE_CHECKING:
    from snellen.engine.servers.managed import Servers


def resolve_model(model: AnyModel, custom: Mapping[str, Model]) -> tuple[str, Model]:
    """Open a model, with its displayed name; `custom` holds models of loaded files, by name.

    Raises UsageError if it is neither a name nor what `wrap_model` takes."""
    if not isinstance(model, str):
        if isinstance(model, MutableModel):
            wrapped = model.refresh()
        else:
            from snellen.models.naming.wrapping import wrap_model

            wrapped = wrap_model(model)
        return wrapped.identity.name, wrapped
    if model in custom:
        return model, custom[model]
    try:
        instance = open_model(model)
    except UnknownName as error:
        raise (UnknownName("model", model, custom) if custom else error) from None
    return name_without_address(model, instance.identity), instance


def resolve_served_model(model: AnyModel, custom: Mapping[str, Model], servers: Servers) -> tuple[str, Model]:
    """As `resolve_model`; if Snellen starts the model's server, it is one of `servers`."""
    if isinstance(model, str) and model not in custom:
        managed = servers.open_managed(model)
        if managed is not None:
            return managed.name, managed
    return resolve_model(model, custom)


def served_names(models: Sequence[AnyModel]) -> list[str]:
    """The names of the models of `--serve`. Raises UsageError for a model that is an object."""
    if not all(isinstance(model, str) for model in models):
        raise UsageError(
            "--serve starts the server of a model that is named; an object in this process has no "
            "server: leave out --serve, or give its name"
        )
    return list(models)


def name_without_address(spec: str, identity: Identity) -> str:
    """The name as typed, without the address of a model that is named by URL: servers move."""
    if not spec.startswith(("http://", "https://")):
        return spec
    facts = ",".join(f"{name}={value}" for name, value in sorted(identity.facts.items()))
    return f"{identity.name}:{facts}" if facts else identity.name
