"""A model behind the user's own OpenAI client: its address, key, headers, proxy and token provider.

Prompts and replies are those of `openai/...` models; the client only carries them. It is neither
changed nor closed. A plain client is called in threads. An async one keeps connections for one
event loop, and every run has a loop of its own: if its HTTP client is the library's default, each
run opens and closes a new one; a client that the user configured is used without keeping
connections open.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from snellen.core.errors import ModelError, UsageError
from snellen.core.model import Identity
from snellen.core.secret import Secret
from snellen.models.naming.provider import read_options
from snellen.models.naming.spec import refuse_password
from snellen.models.remote.address import ServerOrigin
from snellen.models.remote.chat import Chat
from snellen.models.remote.dialect import RemoteModelConfig
from snellen.models.remote.errors import error_from_status
from snellen.models.remote.http import decode_object
from snellen.models.remote.json_reply import quote
from snellen.models.remote.model import ServerModel
from snellen.models.remote.options import EXTRA_PREFIX, OPTIONS, read_setup
from snellen.models.remote.profile import ProviderProfile, profiles

_ANY_SERVER = "http"
"""Profile of a server of which only the protocol is known."""
_ASKING_OPTIONS = frozenset(
    {
        "concurrency",
        "first_timeout",
        "image_size",
        "images",
        "logprobs",
        "max_new_tokens",
        "rank",
        "reasoning",
        "reasoning_effort",
        "sampling",
        "video",
        "video_frames",
    }
)
"""Options of `openai/...` models that do not concern address, key or transport."""
_DEFAULT_HTTP_CLIENT = "AsyncHttpxClientWrapper"
"""The library's default HTTP client."""


class SdkClient:
    """Sends each request once, through an `openai.OpenAI` or `AsyncOpenAI` client."""

    remarks: tuple[str, ...] = ()

    def __init__(self, client: Any, secret: Secret | None) -> None:
        self.on_reply: Callable[[Mapping[str, Any]], object] = lambda reply: None
        self._client = client
        self._secret = secret
        """Stored to redact it from messages."""
        self._is_async = asyncio.iscoroutinefunction(client.post)
        has_default = type(getattr(client, "_client", None)).__name__ == _DEFAULT_HTTP_CLIENT
        self._opens_connections = self._is_async and has_default
        self._headers = {"Connection": "close"} if self._is_async and not has_default else {}
        self._sender: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, path: str, body: bytes) -> dict[str, Any]:
        """POST a JSON body and decode the JSON object of the reply."""
        reply = decode_object(await self._send("post", path, body=json.loads(body)))
        self.on_reply(reply)
        return reply

    async def get(self, path: str) -> dict[str, Any]:
        """GET a path and decode the JSON object of the reply."""
        return decode_object(await self._send("get", path))

    async def fetch(self, url: str) -> bytes:
        """Refuse to download what a reply names: the client is for its own server alone."""
        raise ModelError("a reply names an image by its URL, which this client does not fetch")

    async def events(self, path: str, body: bytes) -> AsyncIterator[dict[str, Any]]:
        """Yield the reply at once: nothing is streamed."""
        yield await self.post(path, body)

    async def on_each(self, check: Callable[[str], Awaitable[None]]) -> None:
        """Check the server."""
        await check("")

    async def close(self) -> None:
        """Close the connections that were opened for the running event loop."""
        sender, self._sender = self._sender, None
        if sender is not None and self._opens_connections:
            await sender.close()

    async def _send(self, method: str, path: str, **how: Any) -> bytes:
        """The bytes of the reply. Raises ModelError and ReplyBlocked."""
        import openai

        call = getattr(self._loop_sender(), method)
        options = {"headers": self._headers}
        try:
            if self._is_async:
                reply: bytes = await call(f"/{path}", cast_to=bytes, options=options, **how)
                return reply
            return await _in_thread(lambda: call(f"/{path}", cast_to=bytes, options=options, **how))
        except openai.APIStatusError as error:
            response = error.response
            raise error_from_status(response.status_code, response.headers, response.content) from error
        except openai.APITimeoutError as error:
            raise ModelError(f"no reply in time: {quote(str(error))}", "timeout") from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise ModelError(f"the connection broke: {quote(str(cause))}", "connection") from error
        except openai.OpenAIError as error:
            raise ModelError(quote(str(error))) from error

    def _loop_sender(self) -> Any:
        """The client without retries of its own (the engine decides), for the running loop."""
        loop = asyncio.get_running_loop()
        if self._sender is None or (self._is_async and self._loop is not loop):
            self._loop = loop
            changes: dict[str, Any] = {"max_retries": 0}
            if self._opens_connections:
                import openai

                changes["http_client"] = openai.DefaultAsyncHttpxClient()
            self._sender = self._client.copy(**changes)
        return self._sender


async def _in_thread(work: Callable[[], bytes]) -> bytes:
    """Run a blocking call in a thread that a stopped command does not wait for."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[bytes] = loop.create_future()

    def settle(value: bytes | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value or b"")

    def run() -> None:
        value: bytes | None = None
        error: BaseException | None = None
        try:
            value = work()
        except BaseException as raised:  # noqa: BLE001 - it is raised where it is awaited
            error = raised
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:
            return  # Ctrl-C closed the loop, so no caller is waiting

    threading.Thread(target=run, name="snellen-openai", daemon=True).start()
    return await future


def wrap_client(client: Any, name: str | None, revision: str | None, options: Mapping[str, Any]) -> ServerModel:
    """The model `name` behind a client. `options` are those of `openai/...` models; `body` is a
    mapping of further fields of each request.

    At the address of a known provider, the identity is that of `provider/name`, so that replies are
    shared with it; elsewhere the address is a part of it. Raises UsageError.
    """
    if not name:
        raise UsageError(
            f"an {type(client).__name__} client needs the name of a model: snellen.wrap_model(client, 'gpt-4o')"
        )
    base_url = str(client.base_url).rstrip("/")
    refuse_password(base_url)
    provider, profile = _provider_at(client, base_url)
    settings = _settings(options)
    setup = read_setup(provider, profile, settings)
    facts = setup.identity_facts(settings)
    if provider in ("azure", _ANY_SERVER):
        facts["base_url"] = base_url
    if revision is not None:
        facts["revision"] = revision
    identity = Identity("server" if provider == _ANY_SERVER else provider, name, facts)
    key = getattr(client, "api_key", None)
    secret = Secret(key) if isinstance(key, str) and key else None
    account = f"{base_url} {(secret or Secret('')).fingerprint()}"
    return ServerModel(
        identity,
        RemoteModelConfig(name, profile, setup),
        Chat(),
        SdkClient(client, secret),
        account,
        ServerOrigin(provider, base_url, profile.key_env),
    )


def _provider_at(client: Any, base_url: str) -> tuple[str, ProviderProfile]:
    """The provider whose address the client has, with its profile; `http` for any other server."""
    known = profiles()
    if any(base.__name__ == "BaseAzureClient" for base in type(client).__mro__):
        return "azure", known["azure"]
    for name, profile in known.items():
        is_public = profile.dialect == "chat" and profile.key_needed
        if is_public and base_url in (profile.base_url.rstrip("/"), *profile.other_urls):
            return name, profile
    return _ANY_SERVER, known[_ANY_SERVER]


def _settings(options: Mapping[str, Any]) -> dict[str, str]:
    """The options as text, as if they were typed after a model's name. Raises UsageError."""
    settings: dict[str, str] = {}
    for name, value in options.items():
        if name == EXTRA_PREFIX.rstrip("."):
            if not isinstance(value, Mapping):
                raise UsageError(f"option body of a client: expected a mapping; got {value!r}")
            settings |= {f"{EXTRA_PREFIX}{key}": json.dumps(each) for key, each in value.items()}
        else:
            settings[name] = ("no", "yes")[value] if isinstance(value, bool) else str(value)
    plain = {name: value for name, value in settings.items() if not name.startswith(EXTRA_PREFIX)}
    read_options("client", plain, tuple(each for each in OPTIONS if each.name in _ASKING_OPTIONS))
    return settings
