"""A model behind a server: one request, one try, typed outcomes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import msgspec

from snellen.core.errors import ModelError, UsageError
from snellen.core.message import Text, user
from snellen.core.model import Capabilities, Identity, Modality, Rendered
from snellen.core.output import Drawn, Failure, Generated, Output
from snellen.core.request import Compare, Draw, Generate, Generation, Rank, Ref, Request, Sampling
from snellen.core.secret import UNLIKE_WORDS, hide
from snellen.core.served_identity import Served
from snellen.models.remote.address import Origin
from snellen.models.remote.dialect import Asked, Dialect, with_policy
from snellen.models.remote.drawing import draw_by_chat, draw_by_images
from snellen.models.remote.errors import Unanswered, WebPage
from snellen.models.remote.http import Wire
from snellen.models.remote.logprobs import rank
from snellen.models.remote.media import Gallery, Shown, written
from snellen.models.remote.probe import explained, refuses_a_setting, rendered, served, wrong_name
from snellen.models.remote.sampling import cannot_sample
from snellen.models.remote.self_report import SelfReport

_PROBE = Generate(
    messages=(user(Text("Reply with the single letter A.")),),
    ref=Ref("preflight"),
    settings=Generation(max_new_tokens=16),
)
_PASSING = frozenset({"rate_limit", "server", "timeout", "too_long"})
"""Kinds of failure that may be over by the time the questions are asked."""


class Remote:
    """The `RemoteModel` of every server and provider; what differs is its dialect."""

    def __init__(
        self,
        identity: Identity,
        asked: Asked,
        dialect: Dialect,
        wire: Wire,
        account: str,
        origin: Origin,
    ) -> None:
        self.identity = identity
        self.capabilities = capabilities_of(asked)
        self.account = account
        self.concurrency = asked.setup.concurrency
        self.max_new_tokens = asked.setup.max_new_tokens
        self.first_timeout = asked.setup.first_timeout
        self.asked = asked
        self.wire = wire
        self._dialect = dialect
        self._origin = origin
        self._self_report = SelfReport(wire, asked.model)
        wire.heard = self._self_report.note
        self._gallery = Gallery(asked.profile.image_types, asked.setup.image_size)

    async def answer(self, request: Request) -> Output:
        """Sends the request, once. Raises ModelError with its kind, and MediaError."""
        lacking = self._lacking(request)
        if lacking:
            return Failure("unsupported", lacking)
        started = time.perf_counter()
        try:
            output = await self._answered(request)
        except Unanswered as ended:
            if not isinstance(request, Generate):
                return Failure("unsupported", f"the provider refuses: {ended}")
            text = str(ended) if ended.stop_reason == "refusal" else ""
            output = Generated(text, ended.stop_reason)
        if isinstance(output, Failure):
            return output
        seconds = round(time.perf_counter() - started, 6)
        self._self_report.look()
        return msgspec.structs.replace(_without_keys(output), seconds=seconds)

    def begin_served(self) -> None:
        """From now on, note what the server says of its model; of Azure's list, which is not of
        deployments, nothing can be taken."""
        self._self_report.begin(wanted=self._origin.provider != "azure")

    def served(self) -> Served:
        return self._self_report.said()

    def cannot_sample(self, sampling: Sampling) -> str | None:
        return cannot_sample(self.asked, sampling)

    async def check(self) -> None:
        """One tiny request, to see that address, key and model name are right. Raises UsageError
        with what to do; a server that is merely busy passes, also one that does not reply within
        half of `first_timeout`: the run waits for the rest of it."""
        self.first_timeout = self.asked.setup.first_timeout / 2
        try:
            async with asyncio.timeout(self.first_timeout):
                if self.asked.setup.endpoint == "images":
                    await served(self.wire)
                else:
                    await self._answered(_PROBE)
            self.first_timeout = self.asked.setup.first_timeout
        except (Unanswered, TimeoutError):
            return
        except ModelError as error:
            unlisted = self.asked.setup.endpoint == "images" and error.kind == "request"
            busy = error.kind in _PASSING and not isinstance(error, WebPage)
            if busy or unlisted:
                return
            wrong = None
            if error.kind == "request" and not refuses_a_setting(error):
                wrong = await wrong_name(self.wire, self._origin, self.asked.model)
            sentence = wrong or explained(error, self._origin)
            raise UsageError(f"{sentence}; nothing was asked yet") from error
        finally:
            await self.close()

    async def rendered(self, request: Request) -> Rendered | None:
        """Sizes of the pictures as sent, and the prompt where the server tells it."""
        if self._lacking(request):
            return None
        pictures = await self._shown(request)
        return await rendered(request, pictures, self.asked, self._dialect, self.wire)

    async def close(self) -> None:
        await self._self_report.close()
        await self.wire.close()

    async def _answered(self, request: Request) -> Output:
        assert not isinstance(request, Compare)
        pictures = await self._shown(request)
        if isinstance(request, Rank):
            return await rank(self.wire, request, pictures, self.asked)
        if isinstance(request, Draw):
            draw = draw_by_images if self.asked.setup.endpoint == "images" else draw_by_chat
            return await draw(self.wire, self._dialect, request, pictures, self.asked)
        call = self._dialect.call(request, pictures, self.asked)
        body = written(call.body, pictures)
        if not self.asked.setup.stream:
            return self._dialect.generated(await self.wire.post(call.path, body), self.asked)
        pieces = [piece async for piece in self.wire.events(call.path, body)]
        return self._dialect.generated(self._dialect.whole(pieces), self.asked)

    async def _shown(self, request: Request) -> Mapping[str, Shown]:
        messages = with_policy(request.messages, self.asked.setup.images)
        wanted = [part for message in messages for part in message.media()]
        return await self._gallery.shown(wanted, request.media)

    def _lacking(self, request: Request) -> str | None:
        """What the model would need for this request, or None."""
        can = self.capabilities
        if isinstance(request, Compare):
            return "a model behind a server does not compare pictures"
        if isinstance(request, Rank) and not can.log_likelihood:
            return "the server gives no log-likelihoods; the option rank says how it would"
        if isinstance(request, Draw) and "image" not in can.outputs:
            return "the model draws no pictures; endpoint=images asks one that does"
        if isinstance(request, Generate) and "text" not in can.outputs:
            return "the endpoint draws pictures and answers no questions"
        for message in request.messages:
            for part in message.media():
                if part.kind not in can.inputs:
                    return f"the model takes no {part.kind} input"
        return None


def _without_keys(output: Output) -> Output:
    """A server may well repeat in a reply what it was sent."""
    if isinstance(output, Generated):
        thoughts = output.reasoning and hide(output.reasoning, UNLIKE_WORDS)
        text = hide(output.text, UNLIKE_WORDS)
        return msgspec.structs.replace(output, text=text, reasoning=thoughts)
    if isinstance(output, Drawn):
        return msgspec.structs.replace(output, text=hide(output.text, UNLIKE_WORDS))
    return output


def capabilities_of(asked: Asked) -> Capabilities:
    """What the options say of the model; nothing is asked of the server."""
    setup, profile = asked.setup, asked.profile
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
        many_images=setup.images == "native" and "image" in inputs,
        interleaved=setup.images == "native" and "image" in inputs,
        log_likelihood=setup.rank != "off",
        interleaved_output=setup.draws,
    )
