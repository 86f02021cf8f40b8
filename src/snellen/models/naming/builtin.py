"""The providers that come with Snellen, by name: local backends, and servers of `providers.toml`.

Names alone import nothing; the module of a provider is imported when its models are opened or
listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module

from snellen.models.naming.provider import Provider

_MODULES = {
    "clip": "snellen.models.clip",
    "diffusers": "snellen.models.diffusers",
    "frequent": "snellen.models.frequent",
    "hf": "snellen.models.hf.model",
    "join": "snellen.models.joined",
    "random": "snellen.models.random",
    # Of the engine, since it reads data files, which nothing in `models` may import.
    "replay": "snellen.engine.offline.replay",
    "snellen": "snellen.models.hf.bundled",
    "vllm-local": "snellen.models.vllm_local.provider",
}
"""Modules of local providers; each holds its value as `PROVIDER`."""


def is_builtin(name: str) -> bool:
    """Whether a provider of this name comes with Snellen."""
    return name in _MODULES or name in _server_names()


def builtin_names() -> Iterator[str]:
    """The names of the providers that come with Snellen."""
    yield from _MODULES
    yield from _server_names()


def builtin_provider(name: str) -> Provider:
    """The provider of a name that `is_builtin`."""
    if name in _MODULES:
        provider: Provider = import_module(_MODULES[name]).PROVIDER
        return provider
    from snellen.models.remote.provider import server_provider

    return server_provider(name)


def _server_names() -> Collection[str]:
    # A run of a local model has no need of the table of servers.
    from snellen.models.remote.profile import profiles

    return profiles().keys()
