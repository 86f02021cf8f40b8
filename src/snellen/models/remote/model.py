"""A model behind a server: one attempt per request, typed outcomes."""

from __future__ import annotations

import asyncio
import time

import msgspec

from snellen.core.errors import ModelError, UsageError
from snellen.core.model import Capabilities, Identity, Modality, RemoteModel, RenderedPrompt
from snellen.core.output import Drawn, Failure, Generated, Output
from snellen.core.request import Compare, Draw, Generate, Generation, Media, Rank, Ref, Request, Sampling, Text, user
from snellen.core.secret import MIN_REPLY_LENGTH, hide
from snellen.core.served_identity import ServedIdentity
from snellen.models.remote.address import ServerOrigin
from snellen.models.remote.dialect import Dialect, RemoteModelConfig, apply_image_policy, receive_reply, to_generated
from snellen.models.remote.drawing import draw_by_chat, draw_by_images
from snellen.models.remote.errors import HtmlReply, ReplyBlocked
from snellen.models.remote.http import ServerClient
from snellen.models.remote.logprobs import rank
from snellen.models.remote.media import MediaCache, sent_sizes
from snellen.models.remote.probe import (
    explain_error,
    explain_wrong_name,
    is_sampling_refusal,
    list_models,
    render_prompt,
    with_schema_advice,
)
from snellen.models.remote.profile import has_fixed_sampling
from snellen.models.remote.self_report import SelfReport

_PROBE = Generate(
    messages=(user(Text("Reply with the single letter A.")),),
    ref=Ref("preflight"),
    settings=Generation(max_new_tokens=16),
)
_TRANSIENT = frozenset({"rate_limit", "server", "timeout", "too_long"})
"""Kinds of failure that may be over when the questions are asked."""


class ServerModel(RemoteModel):
    """A model of any server or provider; what differs is its dialect."""

    def __init__(
        self,
        identity: Identity,
        config: RemoteModelConfig,
        dialect: Dialect,
        client: ServerClient,
        account: str,
        origin: ServerOrigin,
    ) -> None:
        """`account` identifies URL and key; `origin` is the server that requests are sent to."""
        self.identity = identity
        self.capabilities = capabilities_of(config)
        self.account = account
        self.address = origin.host
        self.concurrency = config.setup.concurrency
        self.max_new_tokens = config.setup.max_new_tokens
        self.first_timeout = config.setup.first_timeout
        self.prompt_cache = config.profile.prompt_cache
        self.config = config
        self.client = client
        self._dialect = dialect
        self._origin = origin
        self._self_report = SelfReport(client, config.model)
        client.on_reply = self._self_report.note
        self._media_cache = MediaCache(config.profile.image_types, config.setup.image_size)

    @property
    def remarks(self) -> tuple[str, ...]:
        """The servers that are left out now."""
        return self.client.remarks

    async def answer(self, request: Request) -> Output:
        """Send the request once. Raises ModelError with its kind, and MediaError."""
        unsupported = self._unsupported_reason(request)
        if unsupported:
            return Failure("unsupported", unsupported)
        started = time.perf_counter()
        try:
            output = await self._send(request)
        except ReplyBlocked as ended:
            # An outcome, not a failure that is asked again.
            refuses = ended.stop_reason == "refusal"
            if not (isinstance(request, Generate) or (refuses and isinstance(request, Draw))):
                return Failure("unsupported", f"the provider refuses: {ended}")
            output = blocked_reply(ended)
        if isinstance(output, Failure):
            return output
        seconds = round(time.perf_counter() - started, 6)
        self._self_report.request_list()
        return msgspec.structs.replace(hide_keys(output), seconds=seconds)

    def reset_served(self) -> None:
        """Forget earlier reports."""
        self._self_report.begin(list_models=self.config.profile.lists_models)

    def served_identity(self) -> ServedIdentity:
        """What the server reported since `reset_served`."""
        return self._self_report.served_identity()

    def cannot_sample(self, sampling: Sampling) -> str | None:
        """Why a setting would not reach the model; None if all do."""
        return unsupported_sampling(self.config, sampling)

    async def check(self) -> None:
        """Send a tiny request to check address, key and model name. Raises UsageError with advice.

        A server that is merely busy passes, also if it does not reply within half of
        `first_timeout`: the run waits for the other half.
        """
        self.first_timeout = self.config.setup.first_timeout / 2
        try:
            async with asyncio.timeout(self.first_timeout):
                await self.client.on_each(self._check_server)
            self.first_timeout = self.config.setup.first_timeout
        except TimeoutError:
            return
        finally:
            await self.close()

    async def _check_server(self, base_url: str) -> None:
        """Check one of several servers, or the only one, which is given no URL."""
        origin = self._origin._replace(base_url=base_url) if base_url else self._origin
        self._self_report.begin(list_models=False)
        try:
            if self.config.setup.endpoint == "images":
                await list_models(self.client)
            else:
                await self._send(_PROBE)
                await self._check_who_answered(origin)
        except ReplyBlocked:
            return
        except ModelError as error:
            unlisted = self.config.setup.endpoint == "images" and error.kind == "request"
            busy = error.kind in _TRANSIENT and not isinstance(error, HtmlReply)
            if busy or unlisted:
                return
            wrong = None
            # Azure's list is of models, and a deployment has a name of its own.
            lists = self.config.profile.lists_models
            if lists and error.kind == "request" and not is_sampling_refusal(error):
                wrong = await explain_wrong_name(self.client, origin, self.config.model)
            sentence = wrong or explain_error(error, origin)
            raise UsageError(f"{sentence}; nothing was asked yet") from error

    async def _check_who_answered(self, origin: ServerOrigin) -> None:
        """Raises UsageError if a user's server answers by a model that it lists, and does not list the
        one that was asked for: llama.cpp's answers to any name."""
        answered = self._self_report.named_models()
        names_are_known = origin.is_custom and self.config.profile.lists_models
        if not names_are_known or not answered or self.config.model in answered:
            return
        wrong = await explain_wrong_name(self.client, origin, self.config.model, answered)
        if wrong:
            raise UsageError(f"{wrong}; nothing was asked yet")

    async def render_prompt(self, request: Request) -> RenderedPrompt | None:
        """Sizes of the images as sent, and the prompt if the server renders it."""
        if self._unsupported_reason(request):
            return None
        media = await self._media_cache.encode(self._media_of(request), request.media)
        return await render_prompt(request, media, self.config, self._dialect, self.client)

    async def close(self) -> None:
        await self._self_report.close()
        await self.client.close()

    async def _send(self, request: Request) -> Output:
        assert not isinstance(request, Compare)
        parts = self._media_of(request)
        media = await self._media_cache.encode(parts, request.media)
        if isinstance(request, Rank):
            return await rank(self.client, request, media, self.config)
        if isinstance(request, Draw):
            draw = draw_by_images if self.config.setup.endpoint == "images" else draw_by_chat
            return await draw(self.client, self._dialect, request, media, self.config)
        call = self._dialect.build_call(request, media, self.config)
        try:
            reply = self._dialect.parse_reply(await receive_reply(self.client, self._dialect, call, media, self.config))
        except ModelError as error:
            raise with_schema_advice(error, request.settings.response_schema) from error
        stops = () if self.config.profile.stop else request.settings.stop
        output = to_generated(reply, self.config, stops)
        if self.config.setup.image_size and isinstance(output, Generated):
            return msgspec.structs.replace(output, image_sizes=sent_sizes(parts, media))
        return output

    def _media_of(self, request: Request) -> list[Media]:
        """The media that are sent, in the order of the prompt."""
        messages = apply_image_policy(request.messages, self.config.setup.images)
        return [part for message in messages for part in message.parts if isinstance(part, Media)]

    def _unsupported_reason(self, request: Request) -> str | None:
        """Why the model cannot take this request, or None."""
        capabilities = self.capabilities
        if isinstance(request, Compare):
            return "a model behind a server does not compare images"
        if isinstance(request, Rank) and not capabilities.log_likelihood:
            return "the server gives no log-likelihoods; the option rank says how it would"
        if isinstance(request, Draw) and "image" not in capabilities.outputs:
            return "the model draws no pictures; endpoint=images asks one that does"
        if isinstance(request, Generate) and "text" not in capabilities.outputs:
            return "the endpoint draws images and answers no questions"
        for message in request.messages:
            for part in message.parts:
                if isinstance(part, Media) and part.kind not in capabilities.inputs:
                    return f"the model takes no {part.kind} input"
        return None


def blocked_reply(ended: ReplyBlocked) -> Generated:
    """The reply that a content filter or the token limit left."""
    return Generated(str(ended) if ended.stop_reason == "refusal" else "", ended.stop_reason)


def hide_keys(output: Output) -> Output:
    """Remove keys from a reply: a server may repeat what it was sent."""
    if isinstance(output, Generated):
        thoughts = output.reasoning and hide(output.reasoning, MIN_REPLY_LENGTH)
        text, tokens = hide(output.text, MIN_REPLY_LENGTH), output.first_logprobs
        if tokens:
            tokens = {hide(token, MIN_REPLY_LENGTH): value for token, value in tokens.items()}
        elif text is output.text and thoughts is output.reasoning:
            return output
        return msgspec.structs.replace(output, text=text, reasoning=thoughts, first_logprobs=tokens)
    if isinstance(output, Drawn):
        return msgspec.structs.replace(output, text=hide(output.text, MIN_REPLY_LENGTH))
    return output


def capabilities_of(config: RemoteModelConfig) -> Capabilities:
    """Capabilities by the options; the server is not asked."""
    setup, profile = config.setup, config.profile
    inputs: set[Modality] = {"text"}
    if setup.images != "none" and setup.endpoint == "chat":
        inputs.add("image")
    if setup.native_video and profile.video != "none":
        inputs.add("video")
    outputs: set[Modality] = {"image"} if setup.endpoint == "images" else {"text"}
    if setup.draws:
        outputs.add("image")
    return Capabilities(
        inputs=frozenset(inputs),
        outputs=frozenset(outputs),
        many_images=setup.images in ("native", "video") and "image" in inputs,
        interleaved=setup.images in ("native", "video") and "image" in inputs,
        log_likelihood=setup.rank != "off",
        interleaved_output=setup.draws,
    )


def unsupported_sampling(config: RemoteModelConfig, sampling: Sampling) -> str | None:
    """Why a setting would not reach the model and what to do, as a clause; None if all do."""
    profile, setup = config.profile, config.setup
    if setup.endpoint == "images":
        return "it draws images; leave out temperature, top_p and seed"
    google, anthropic = profile.dialect == "google", profile.dialect == "anthropic"
    if sampling.seed is not None and not (google or profile.seed):
        return "its server takes no seed; leave seed out, and the draws differ by themselves"
    names = [name for name, value in msgspec.structs.asdict(sampling).items() if name != "seed" and value is not None]
    if not names:
        return None
    if not setup.sampling:
        return f"sampling=no sends no {' and no '.join(names)}; leave out one or the other"
    if not google and has_fixed_sampling(profile, config.model):
        return f"the model sets its {' and '.join(names)} itself; leave {'them' if names[1:] else 'it'} out"
    unsupported = [name for name in names if not getattr(profile, name)]
    if unsupported:
        return f"its server takes no {' and no '.join(unsupported)}"
    return _anthropic_objection(config, sampling) if anthropic else None


def _anthropic_objection(config: RemoteModelConfig, sampling: Sampling) -> str | None:
    if config.setup.effort:
        return "it takes no temperature while it thinks; leave out reasoning_effort, or these"
    if sampling.temperature is not None and sampling.temperature > 1:
        return f"its temperature goes from 0 to 1; got {sampling.temperature:g}"
    # Only one of the two is sent, and with top_p the temperature is 1.
    if sampling.top_p is not None and sampling.top_p != 1 and sampling.temperature != 1:
        return "it takes a temperature or a top_p; give top_p with temperature=1"
    return None
