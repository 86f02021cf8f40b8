"""Open the models that a command names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from snellen.api.code_consent import consented_spec
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


def resolve_served_model(
    model: AnyModel, custom: Mapping[str, Model], servers: Servers, *, may_ask: bool = True
) -> tuple[str, Model]:
    """As `resolve_model`, by the nearest route; if Snellen starts the model's server, it is one of
    `servers`. Raises NoConsent where code of others runs without the user's consent."""
    if not isinstance(model, str) or model in custom:
        return resolve_model(model, custom)
    spec = consented_spec(model, may_ask=may_ask)
    managed = servers.open_managed(spec)
    if managed is not None:
        return managed.name if spec == model else model, managed
    name, instance = resolve_model(spec, custom)
    return name if spec == model else model, instance


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
