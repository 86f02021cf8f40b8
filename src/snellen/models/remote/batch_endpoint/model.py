"""A model that is asked by its provider's endpoint for batches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import msgspec
from msgspec import Struct

from snellen.core.errors import ModelError, UsageError
from snellen.core.model import BatchedModel, BatchState, EncodedRequest
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Generate, Request
from snellen.models.remote.batch_endpoint.anthropic import AnthropicBatches
from snellen.models.remote.batch_endpoint.google import GoogleBatches
from snellen.models.remote.batch_endpoint.openai import MistralBatches, OpenAIBatches
from snellen.models.remote.batch_endpoint.protocol import BatchLine, BatchProtocol
from snellen.models.remote.dialect import RemoteModelConfig, to_generated
from snellen.models.remote.errors import ReplyBlocked
from snellen.models.remote.http import HttpClient
from snellen.models.remote.media import encode_body, sent_sizes
from snellen.models.remote.model import ServerModel, blocked_reply, hide_keys
from snellen.models.remote.probe import explain_error


class ReplyFacts(Struct, frozen=True, omit_defaults=True):
    """What a reply is read with, besides its body."""

    stops: tuple[str, ...] = ()
    """Stop strings of which the server was not told."""
    image_sizes: tuple[tuple[int, int], ...] = ()


class BatchedServerModel(ServerModel, BatchedModel):
    """A model of a server with an endpoint for batches; bodies and replies are those of its dialect."""

    def __init__(self, *arguments: Any) -> None:
        """As of `ServerModel`, whose client is an `HttpClient`, and whose profile has a batch endpoint."""
        super().__init__(*arguments)
        profile = self.config.profile.batch
        assert profile is not None
        assert isinstance(self.client, HttpClient)
        self.batch_terms = profile.terms()
        self.batch_account = f"{self._origin.provider} {self._origin.base_url}"
        self._http = self.client
        self._protocol = _protocol(self.config, self._origin.base_url)

    async def check(self) -> None:
        """As of every server, and that it has an endpoint for batches. Raises UsageError."""
        await super().check()
        try:
            await self.find_batches("", -1, float("inf"))
        except ModelError as error:
            if error.kind not in ("request", "authentication"):
                return
            raise UsageError(
                f"{self._origin.base_url} lists no batches, so that none can be left there "
                f"({explain_error(error, self._origin)}); leave out batch=yes; nothing was asked yet"
            ) from error
        finally:
            await self.close()

    async def encode_request(self, key: str, request: Request) -> EncodedRequest:
        assert isinstance(request, Generate)
        parts = self._media_of(request)
        media = await self._media_cache.encode(parts, request.media)
        call = self._dialect.build_call(request, media, self.config)
        line = encode_body(self._protocol.line(key, call), media)
        stops = () if self.config.profile.stop else request.settings.stop
        sizes = sent_sizes(parts, media) if self.config.setup.image_size else ()
        facts = msgspec.json.encode(ReplyFacts(stops, sizes)).decode() if stops or sizes else ""
        return EncodedRequest(line, facts)

    async def upload_batch(self, name: str, lines: IO[bytes]) -> str:
        with _refusals_as_errors():
            return await self._protocol.upload(self._http, name, lines)

    async def create_batch(self, name: str, upload: str, lines: IO[bytes]) -> str:
        with _refusals_as_errors():
            return await self._protocol.create(self._http, name, upload, lines)

    async def find_batches(self, name: str, count: int, since: float) -> list[str]:
        with _refusals_as_errors():
            return await self._protocol.find(self._http, name, count, since)

    async def batch_state(self, place: str) -> BatchState:
        with _refusals_as_errors():
            return await self._protocol.state(self._http, place)

    async def batch_results(self, place: str, facts: Mapping[str, str]) -> AsyncIterator[tuple[str, Output]]:
        with _refusals_as_errors():
            async for line in self._protocol.results(self._http, place):
                yield line.key, self._read(line, facts.get(line.key, ""))

    def _read(self, line: BatchLine, facts: str) -> Output:
        """The output of a result, by the reader of single replies."""
        known = msgspec.json.decode(facts or "{}", type=ReplyFacts)
        try:
            if line.error is not None:
                raise line.error
            self.client.on_reply(line.reply)
            output = to_generated(self._dialect.parse_reply(line.reply), self.config, known.stops)
        except ReplyBlocked as ended:
            output = blocked_reply(ended)
        except ModelError as error:
            return Failure(error.kind, str(error))
        read = hide_keys(output)
        return msgspec.structs.replace(read, image_sizes=known.image_sizes) if isinstance(read, Generated) else read


@contextmanager
def _refusals_as_errors() -> Iterator[None]:
    """A filter that blocks a whole batch is an error: no request of it was answered."""
    try:
        yield
    except ReplyBlocked as refused:
        raise ModelError(str(refused), "request") from refused


def _protocol(config: RemoteModelConfig, base_url: str) -> BatchProtocol:
    profile, setup = config.profile.batch, config.setup
    assert profile is not None
    if profile.api == "anthropic":
        return AnthropicBatches()
    if profile.api == "google":
        return GoogleBatches(config.model, base_url.rpartition("/")[2])
    endpoint = "/v1/completions" if setup.endpoint == "completions" else "/v1/chat/completions"
    if profile.api == "mistral":
        return MistralBatches(endpoint, config.model, profile.hours)
    return OpenAIBatches(endpoint)
