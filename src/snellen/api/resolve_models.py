"""Open the models that a command names: by the nearest route, with consent where code of others runs; in
a plan, something in place of one that cannot be opened here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snellen.core.errors import ModelError, UnknownName, UsageError
from snellen.core.model import (
    AnyModel,
    BatchTerms,
    Capabilities,
    Identity,
    Model,
    ModelDefaults,
    MutableModel,
    PromptCache,
)
from snellen.core.output import Output
from snellen.core.request import Request
from snellen.models.naming.catalog import facts_of
from snellen.models.naming.environments import PROVIDER
from snellen.models.naming.registry import open_model, split_spec
from snellen.models.remote.profile import profiles

if TYPE_CHECKING:
    from snellen.engine.servers.managed import Servers
    from snellen.engine.servers.nearest_route import NearestRoute
    from snellen.models.naming.consent import CodeOfOthers


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


@dataclass
class UnavailableModel(ModelDefaults):
    """In place of a model that cannot be opened here: has the inputs and outputs that the catalog
    lists, and no stored replies."""

    name: str

    @property
    def identity(self) -> Identity:
        parts = split_spec(self.name)
        return Identity(parts.provider, parts.name)

    @property
    def batch_terms(self) -> BatchTerms | None:  # type: ignore[override]
        """Terms of the batches in which it would be asked."""
        parts = split_spec(self.name)
        profile = profiles().get(parts.provider)
        is_batched = parts.options.get("batch") == "yes" and profile is not None and profile.batch is not None
        return profile.batch.terms() if is_batched and profile and profile.batch else None

    @property
    def prompt_cache(self) -> PromptCache | None:  # type: ignore[override]
        """How its provider caches prompts."""
        profile = profiles().get(split_spec(self.name).provider)
        return profile.prompt_cache if profile is not None else None

    @property
    def capabilities(self) -> Capabilities:
        entry = facts_of(self.name)
        if entry is None:
            return Capabilities()
        return Capabilities(
            inputs=frozenset(entry.inputs),
            outputs=frozenset(entry.outputs),
            many_images=entry.options.get("images") != "first",
        )

    def answer(self, request: Request) -> Output:
        raise ModelError(f"{self.name} was only planned")


class NoConsent(UsageError):
    """Code of others would run, and the user has not consented."""


def consented_spec(name: str, *, may_ask: bool = True) -> str:
    """The name by its nearest route; a name that opens as it stands is returned.

    Asks once on the terminal where code of others runs, and keeps the answer. Raises NoConsent without
    a terminal, or for any other answer than yes, and as `nearest_route`.
    """
    if split_spec(name).provider not in ("hf", PROVIDER):
        return name
    from snellen.core.terminal_text import escape_controls
    from snellen.engine.servers.nearest_route import nearest_route
    from snellen.models.naming.consent import keep_consent, may_run

    route = nearest_route(name)
    if route is None:
        return name
    if route.code is None or may_run(route.code):
        return route.spec
    what = _what_runs(name, route, route.code)
    if not (may_ask and _is_interactive()):
        raise NoConsent(f"{what}; read it, and let it run with --load {route.code}")
    print(escape_controls(f"{what}. Run it? [y/N] "), end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NoConsent(f"{name} was not asked: its code may not run")
    keep_consent(route.code)
    return route.spec


def _what_runs(name: str, route: NearestRoute, code: CodeOfOthers) -> str:
    from snellen.settings import Settings

    page = f"{Settings.from_environment().hf_endpoint}/{code.repository}/tree/{code.commit}"
    return f"{name} runs Python of {code.repository} and its authors {route.place}: {page}"


def _is_interactive() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
