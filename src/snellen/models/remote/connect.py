"""Open a model behind a server, from a provider's profile, options and the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.core.errors import ModelError, UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.model import Identity, Model
from snellen.core.secret import Secret
from snellen.models.remote.address import ServerOrigin, build_endpoint, find_key, find_origin, find_replicas
from snellen.models.remote.anthropic import Anthropic
from snellen.models.remote.body import MEGABYTE
from snellen.models.remote.chat import Chat, Completions
from snellen.models.remote.converse import Converse
from snellen.models.remote.credentials import find_credentials
from snellen.models.remote.dialect import Dialect, RemoteModelConfig
from snellen.models.remote.google import Google
from snellen.models.remote.http import HttpClient, ServerClient, require_aiohttp
from snellen.models.remote.model import ServerModel
from snellen.models.remote.options import Setup, read_setup
from snellen.models.remote.probe import explain_error, list_models, only_model
from snellen.models.remote.profile import URL_SCHEMES, ProviderProfile, has_adaptive_thinking, profiles


class _Connection(NamedTuple):
    """What a provider, its options and the environment say of a server."""

    profile: ProviderProfile
    setup: Setup
    origin: ServerOrigin
    key: Secret | None

    def client(
        self, name: str, options: Mapping[str, str], concurrency: int, origin: ServerOrigin | None = None
    ) -> HttpClient:
        """A client that asks for the model of this name, at the server or a replica."""
        return HttpClient(
            build_endpoint(origin or self.origin, self.profile, self.key, name, options),
            concurrency,
            self.setup.timeout,
            self.setup.max_reply_mb * MEGABYTE,
            self.setup.image_hosts,
        )


def connect(provider: str, name: str, options: Mapping[str, str]) -> Model:
    """Open a model of a provider in `providers.toml`; for `http` and `https`, by a complete URL.

    If no model is named, the server must have exactly one. Raises UsageError (option,
    key, URL, which model) and MissingExtra.
    """
    settings = dict(options)
    if provider in URL_SCHEMES:
        settings["base_url"], _, name = name.partition("#")
    connection = _read_connection(provider, settings)
    profile, setup, origin, key = connection
    if not name and not origin.is_custom:
        raise UsageError(f"{provider} needs a model: {provider}/<model>")
    require_aiohttp(f"{provider}/{name}")
    servers = find_replicas(origin, profile, setup.replicas)
    client = connection.client(name, settings, setup.concurrency)
    if not name:
        name = run_coroutine(only_model(client, origin))
    revision = settings.get("revision")
    requested = f"{name}@{revision}" if revision and profile.revision_in_name else name
    config = RemoteModelConfig(requested, profile, setup)
    identity = Identity("server" if provider in URL_SCHEMES else provider, name, setup.identity_facts(settings))
    account = f"{origin.base_url} {(key or Secret('')).fingerprint()}"
    if setup.batch:
        from snellen.models.remote.batch_endpoint.model import BatchedServerModel

        return BatchedServerModel(identity, config, _dialect(config), client, account, origin)
    if len(servers) == 1:
        return ServerModel(identity, config, _dialect(config), client, account, origin)
    model = ServerModel(
        identity, config, _dialect(config), _connect_replicas(connection, servers, name, settings), account, origin
    )
    model.servers = len(servers)
    model.address = ", ".join(server.host for server in servers)
    return model


def _connect_replicas(
    connection: _Connection, servers: Sequence[ServerOrigin], name: str, options: Mapping[str, str]
) -> ServerClient:
    from snellen.models.remote.replicas import ReplicatedClient

    clients = [connection.client(name, options, connection.setup.concurrency, server) for server in servers]
    return ReplicatedClient(clients, [server.base_url for server in servers])


def served_models(address: str, options: Mapping[str, str]) -> list[str]:
    """Names of the models that a server lists at its complete URL now.

    Raises UsageError (options, key, a server that cannot be reached) and MissingExtra.
    """
    settings = {**options, "base_url": address}
    connection = _read_connection(address.partition(":")[0], settings)
    require_aiohttp(address)
    client = connection.client("", settings, 1)

    async def names() -> list[str]:
        try:
            return await list_models(client)
        except ModelError as error:
            raise UsageError(explain_error(error, connection.origin)) from error
        finally:
            await client.close()

    return run_coroutine(names())


def _read_connection(provider: str, settings: Mapping[str, str]) -> _Connection:
    """The server of a provider, with options as typed. Raises UsageError (option, key, URL)."""
    profile = profiles()[provider]
    setup = read_setup(provider, profile, settings)
    _check(provider, profile, setup)
    if "revision" in settings and profile.key_needed:
        raise UsageError(
            f"{provider} serves models of its own, which have dates in their names instead of "
            "commits; leave out the revision, and name the dated model"
        )
    origin = find_origin(provider, profile, settings)
    key = find_key(origin, profile, settings)
    if key is None and (other := find_credentials(profile)) is not None:
        origin = origin._replace(key_env=(other.source,))
    return _Connection(profile, setup, origin, key)


def _check(provider: str, profile: ProviderProfile, setup: Setup) -> None:
    """Raises UsageError for options that this provider does not support."""
    if profile.effort_in == "tokens" and setup.effort and not setup.effort.isdecimal():
        raise UsageError(f"option reasoning_effort={setup.effort!r} of {provider} models: expected a number of tokens")
    if profile.dialect == "chat" and profile.effort_in == "words" and setup.effort.isdecimal():
        raise UsageError(
            f"option reasoning_effort={setup.effort} of {provider} models: expected a word, such as low, medium or "
            "high; the API takes no number of tokens"
        )
    if setup.native_video and profile.video == "none":
        raise UsageError(f"option video=native: {provider} takes no whole videos, only frames")
    if setup.images == "video" and (profile.video == "none" or profile.dialect != "chat"):
        raise UsageError(f"option images=video: {provider} takes no frames as a video")
    if setup.batch:
        _check_batch(provider, profile, setup)
    if profile.dialect == "converse" and setup.stream:
        raise UsageError(f"option stream=yes: the streams of {provider} are not read; leave it out")
    if profile.dialect != "chat" and (setup.endpoint != "chat" or setup.rank != "off"):
        raise UsageError(f"{provider} has one endpoint and ranks nothing; leave out endpoint, rank")


def _check_batch(provider: str, profile: ProviderProfile, setup: Setup) -> None:
    """Raises UsageError if the provider, or this use of it, cannot be asked in batches."""
    if profile.batch is None:
        known = ", ".join(name for name, each in profiles().items() if each.batch is not None)
        raise UsageError(f"option batch=yes: {provider} has no endpoint for batches; leave it out (known: {known})")
    barred = {"stream=yes": setup.stream, f"endpoint={setup.endpoint}": setup.endpoint == "images"}
    barred |= {"draws=yes": setup.draws, f"rank={setup.rank}": setup.rank != "off"}
    barred |= {"replicas": bool(setup.replicas)}
    for option, is_set in barred.items():
        if is_set:
            raise UsageError(f"option batch=yes asks one server for whole texts; leave out batch=yes, or {option}")


def _dialect(config: RemoteModelConfig) -> Dialect:
    profile, setup = config.profile, config.setup
    adaptive = has_adaptive_thinking(profile, config.model)
    if profile.dialect == "anthropic":
        return Anthropic(setup.effort, adaptive)
    if profile.dialect == "google":
        return Google()
    if profile.dialect == "converse":
        return Converse(setup.effort, adaptive)
    return Completions() if setup.endpoint == "completions" else Chat()
