"""Ask a model: look the digest up; if absent, ask and store before the flow sees the output."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from snellen.core.errors import MediaError, ModelError, UsageError
from snellen.core.media import check_image
from snellen.core.message import Media
from snellen.core.model import BatchModel, Model, SingleModel
from snellen.core.output import Compared, Drawn, Failure, Generated, Output, Ranked
from snellen.core.request import Compare, Draw, Generate, Rank, Request, request_digest
from snellen.engine.batch import Batcher
from snellen.store.responses import ResponseStore

MAIN = "model"
"""The role of the model that is measured; other roles are e.g. `extractor` and `judge`."""

Send = Callable[[Request], Awaitable[Output]]

_ANSWER_TO: dict[type, type] = {
    Generate: Generated,
    Rank: Ranked,
    Draw: Drawn,
    Compare: Compared,
}


@dataclass(slots=True)
class Traffic:
    """What the answers of one start cost."""

    sent: int = 0
    reused: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def note(self, output: Output) -> None:
        if isinstance(output, Failure):
            self.failed += 1
        elif output.usage is not None:
            self.prompt_tokens += output.usage.prompt_tokens
            self.completion_tokens += output.usage.completion_tokens


class Asked(NamedTuple):
    digest: bytes
    output: Output


class Party:
    """One model that is asked: how it is reached, and what its replies are stored under."""

    def __init__(self, model: Model, store: ResponseStore) -> None:
        self._identity = model.identity.digest()
        self._by_row = getattr(model, "by_row", False) is True
        self.key = store.model_key(model.identity)
        self.traffic = Traffic()
        self._batcher: Batcher | None = None
        self._send: Send = self._sender(model)

    def identity_for(self, request: Request) -> str:
        """Who answers a request. A recording (`by_row`) answers rows, not words: two questions
        that read the same have each a reply of their own."""
        if not self._by_row:
            return self._identity
        ref = request.ref
        return f"{self._identity}/{ref.sample}/{ref.turn}/{ref.row}"

    async def answer(self, request: Request) -> Output:
        """The model's own output; whatever goes wrong on its side is a Failure."""
        self.traffic.sent += 1
        try:
            return fitting(request, await self._send(request))
        except MediaError as error:
            return Failure("media", str(error))
        except ModelError as error:
            return Failure("request", str(error))
        except UsageError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code: its fault is data
            return Failure("request", f"{type(error).__name__}: {error}")

    def close(self) -> None:
        if self._batcher is not None:
            self._batcher.close()

    def _sender(self, model: Model) -> Send:
        if isinstance(model, BatchModel):
            self._batcher = Batcher(model.answer_batch, model.batch_size)
            return self._batcher.answer
        if not isinstance(model, SingleModel):
            raise TypeError(f"{type(model).__name__} has neither `answer` nor `answer_batch`")
        if inspect.iscoroutinefunction(model.answer):
            return _typed(model.answer)
        single = model
        self._batcher = Batcher(lambda requests: [as_output(single.answer(requests[0]))], 1)
        return self._batcher.answer


class Asker:
    """Answers requests from the store or from the model of their role (`request.to`); each
    distinct request is sent once. Lives inside one event loop; `close` ends worker threads."""

    def __init__(self, models: Mapping[str, Model], store: ResponseStore) -> None:
        self._store = store
        self.parties = {role: Party(model, store) for role, model in models.items()}
        self._in_flight: dict[bytes, asyncio.Future[Output]] = {}
        self._complaints: dict[str, str | None] = {}

    async def ask(self, request: Request) -> Asked:
        """The output: stored, shared with an equal request in flight, or fresh and stored."""
        party = self.parties[request.to]
        digest = request_digest(request, party.identity_for(request))
        stored = self._store.get(digest)
        if stored is not None:
            party.traffic.reused += 1
            return Asked(digest, stored)
        shared = self._in_flight.get(digest)
        if shared is not None:
            party.traffic.reused += 1
            return Asked(digest, await asyncio.shield(shared))
        return Asked(digest, await self._fresh(digest, request, party))

    def close(self) -> None:
        for party in self.parties.values():
            party.close()

    async def _fresh(self, digest: bytes, request: Request, party: Party) -> Output:
        future = asyncio.get_running_loop().create_future()
        self._in_flight[digest] = future
        try:
            output = self._bad_medium(request) or await party.answer(request)
            if not isinstance(output, Failure):
                self._store.put(digest, output, party.key)
            party.traffic.note(output)
            future.set_result(output)
            return output
        finally:
            del self._in_flight[digest]
            if not future.done():
                future.cancel()

    def _bad_medium(self, request: Request) -> Failure | None:
        """A picture that cannot be opened fails its sample before any model sees it."""
        for message in request.messages:
            for part in message.media():
                if part.digest not in self._complaints:
                    self._complaints[part.digest] = _complaint(part, request)
                complaint = self._complaints[part.digest]
                if complaint is not None:
                    return Failure("media", complaint)
        return None


def concurrency_of(model: Model) -> int:
    """How many flows to drive at once: enough to fill batches of like length, or the model's
    own `concurrency`."""
    if isinstance(model, BatchModel):
        return 4 * model.batch_size
    return int(getattr(model, "concurrency", 16))


def as_output(value: object) -> Output:
    """A model may return plain text for a `Generated`. Raises ModelError for anything else."""
    if isinstance(value, str):
        return Generated(value)
    if isinstance(value, Generated | Ranked | Drawn | Compared | Failure):
        return value
    raise ModelError(
        f"the model returned {type(value).__name__}; expected text or an Output "
        "(Generated, Ranked, Drawn, Compared or Failure)"
    )


def fitting(request: Request, output: Output) -> Output:
    """The output, if it is an answer to that kind of request; else a Failure.

    Log-likelihoods and similarities that are no finite numbers are one of kind `nan`: nothing
    could be ranked by them, and JSON cannot keep them.
    """
    if not isinstance(output, (_ANSWER_TO[type(request)], Failure)):
        got, asked = type(output).__name__, type(request).__name__
        return Failure("unsupported", f"the model answered {asked} with {got}")
    numbers: list[float] = []
    if isinstance(output, Generated):
        return _readable(output)
    if isinstance(output, Ranked):
        numbers = [candidate.logprob for candidate in output.candidates]
    elif isinstance(output, Compared):
        numbers = list(output.similarities)
    elif isinstance(output, Drawn):
        given = {name: output.data.get(name) for name in output.images}
        if not given or any(data is None for data in given.values()):
            return Failure("request", "the model drew nothing, or named pictures it did not give")
    if isinstance(request, Rank | Compare) and not isinstance(output, Failure):
        wanted = len(request.candidates)
        if len(numbers) != wanted:
            return Failure("request", f"{len(numbers)} scores came back for {wanted} candidates")
    if all(map(math.isfinite, numbers)):
        return output
    return Failure("nan", "the model's scores of the candidates are not all finite numbers")


def _readable(output: Generated) -> Output:
    """The reply with half surrogate pairs (an emoji cut at the token limit) replaced by U+FFFD:
    neither JSON nor the store can keep them."""
    if not isinstance(output.text, str):
        return Failure("request", f"the reply is {type(output.text).__name__}; expected text")
    try:
        output.text.encode()
    except UnicodeEncodeError:
        text = output.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return msgspec.structs.replace(output, text=text)
    return output


def _typed(answer: Callable[[Request], object]) -> Send:
    async def send(request: Request) -> Output:
        value = answer(request)
        return as_output(await value if inspect.isawaitable(value) else value)

    return send


def _complaint(part: Media, request: Request) -> str | None:
    try:
        data = request.media[part.digest].read()
        if part.kind == "image":
            check_image(data)
    except MediaError as error:
        return str(error)
    return None
