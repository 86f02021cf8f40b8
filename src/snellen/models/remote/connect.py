"""Open a model behind a server, from a provider's profile, options and the environment."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core.errors import ModelError, UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.model import Identity, Model
from snellen.core.secret import Secret
from snellen.models.remote.address import ServerOrigin, build_endpoint, find_key, find_origin
from snellen.models.remote.anthropic import Anthropic
from snellen.models.remote.body import MEGABYTE
from snellen.models.remote.chat import Chat
from snellen.models.remote.completions import Completions
from snellen.models.remote.dialect import Dialect, RemoteModelConfig
from snellen.models.remote.google import Google
from snellen.models.remote.http import HttpClient, require_aiohttp
from snellen.models.remote.model import ServerModel
from snellen.models.remote.options import Setup, read_setup
from snellen.models.remote.probe import explain_error, list_models, only_model
from snellen.models.remote.profile import (
    URL_SCHEMES,
    ProviderProfile,
    has_adaptive_thinking,
    profiles,
)


def connect(provider: str, name: str, options: Mapping[str, str]) -> Model:
    """Open a model of a provider in `providers.toml`; for `http` and `https`, by a complete URL.

    If no model is named, the server must have exactly one. Raises UsageError (option,
    key, URL, which model) and MissingExtra.
    """
    profile = profiles()[provider]
    settings = dict(options)
    if provider in URL_SCHEMES:
        settings["base_url"], _, name = name.partition("#")
    setup = read_setup(
        provider, settings, concurrency=profile.concurrency, logprobs=profile.logprobs
    )
    _check(provider, profile, setup)
    if "revision" in settings and profile.key_needed:
        raise UsageError(
            f"{provider} serves models of its own, which have dates in their names instead of "
            "commits; leave out the revision, and name the dated model"
        )
    origin = find_origin(provider, profile, settings)
    key = find_key(origin, profile, settings)
    if not name and not origin.is_custom:
        raise UsageError(f"{provider} needs a model: {provider}/<model>")
    require_aiohttp(f"{provider}/{name}")
    endpoint = build_endpoint(origin, profile, key, name, settings)
    max_reply_bytes = setup.max_reply_mb * MEGABYTE
    client = HttpClient(
        endpoint, setup.concurrency, setup.timeout, max_reply_bytes, setup.image_hosts
    )
    if not name:
        name = _only_model(client, origin)
    revision = settings.get("revision")
    requested = f"{name}@{revision}" if revision and profile.revision_in_name else name
    config = RemoteModelConfig(requested, profile, setup)
    dialect = _dialect(config)
    identity = Identity(
        "server" if provider in URL_SCHEMES else provider, name, setup.identity_facts(settings)
    )
    owner = (key or Secret("")).fingerprint()
    account = f"{origin.base_url} {owner}"
    return ServerModel(identity, config, dialect, client, account, origin)


def served_models(address: str, options: Mapping[str, str]) -> list[str]:
    """Names of the models that a server lists at its complete URL now.

    Raises UsageError (options, key, a server that cannot be reached) and MissingExtra.
    """
    provider = address.partition(":")[0]
    profile = profiles()[provider]
    settings = {**options, "base_url": address}
    setup = read_setup(
        provider, settings, concurrency=profile.concurrency, logprobs=profile.logprobs
    )
    origin = find_origin(provider, profile, settings)
    key = find_key(origin, profile, settings)
    require_aiohttp(address)
    endpoint = build_endpoint(origin, profile, key, "", settings)
    max_reply_bytes = setup.max_reply_mb * MEGABYTE
    client = HttpClient(endpoint, 1, setup.timeout, max_reply_bytes, setup.image_hosts)

    async def names() -> list[str]:
        try:
            return await list_models(client)
        except ModelError as error:
            raise UsageError(explain_error(error, origin)) from error
        finally:
            await client.close()

    return run_coroutine(names())


def _check(provider: str, profile: ProviderProfile, setup: Setup) -> None:
    """Raises UsageError for options that this provider does not support."""
    if profile.effort_in == "tokens" and setup.effort and not setup.effort.isdecimal():
        raise UsageError(
            f"option reasoning_effort={setup.effort!r} of {provider} models: expected a number of "
            "tokens"
        )
    if setup.native_video and profile.video == "none":
        raise UsageError(f"option video=native: {provider} takes no whole videos, only frames")
    if setup.images == "video" and (profile.video == "none" or profile.dialect != "chat"):
        raise UsageError(f"option images=video: {provider} takes no frames as a video")
    if profile.dialect != "chat" and (setup.endpoint != "chat" or setup.rank != "off"):
        raise UsageError(f"{provider} has one endpoint and ranks nothing; leave out endpoint, rank")


def _only_model(client: HttpClient, origin: ServerOrigin) -> str:
    """The only model of a server, which is asked for it."""
    return run_coroutine(only_model(client, origin))


def _dialect(config: RemoteModelConfig) -> Dialect:
    profile, setup = config.profile, config.setup
    if profile.dialect == "anthropic":
        return Anthropic(setup.effort, has_adaptive_thinking(profile, config.model))
    if profile.dialect == "google":
        return Google()
    return Completions() if setup.endpoint == "completions" else Chat()
