"""The providers of `providers.toml`: light to make, their clients are imported when a model is
opened."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core.model import Model
from snellen.models.naming.provider import ModelListing, Provider
from snellen.models.remote.options import OPTIONS
from snellen.models.remote.profile import other_credentials, profiles


def server_provider(name: str) -> Provider:
    """The provider of a name in `providers.toml`. Its client is imported when a model is opened."""

    def open_remote(model: str, options: Mapping[str, str]) -> Model:
        from snellen.models.remote.connect import connect  # aiohttp and the dialects

        return connect(name, model, options)

    return Provider(name=name, open=open_remote, options=OPTIONS, models=_listings(name))


def _listings(name: str) -> tuple[ModelListing, ...]:
    """Lines of `snellen list models`; both URL schemes share one."""
    if name == "https":
        return ()
    if name == "http":
        pattern = "http://<host>:<port>/v1#<model>"
        return (ModelListing(pattern, "A model behind an OpenAI-like server."),)
    profile = profiles()[name]
    key = f"; key in {' or '.join(profile.key_env)}{other_credentials(profile)}" if profile.key_needed else ""
    return (ModelListing(f"{name}/<model>", f"{profile.title}{key}."),)
