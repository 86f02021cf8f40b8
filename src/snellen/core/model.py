"""The one interface to models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import IO, Any, Literal, NamedTuple, Protocol, runtime_checkable

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from snellen.core.errors import ModelError
from snellen.core.output import Output
from snellen.core.request import Request, Sampling
from snellen.core.served_identity import ServedIdentity

Modality = Literal["text", "image", "video", "audio"]


class _Modalities(frozenset[Modality]):
    """Iterates by name: the order of a set is that of Python's hash, another one in each process."""

    def __iter__(self) -> Iterator[Modality]:
        return iter(sorted(super().__iter__()))


class Capabilities(Struct, frozen=True):
    """Inputs and outputs of a model. A model that lacks what a benchmark requires is skipped with
    that reason, never scored 0."""

    inputs: frozenset[Modality] = frozenset({"text", "image"})
    outputs: frozenset[Modality] = frozenset({"text"})
    many_images: bool = True
    interleaved: bool = True
    log_likelihood: bool = False
    interleaved_output: bool = False
    """Text and images in one reply, in any order (SEED-Bench-H's level L4)."""
    similarity: bool = False
    """Compares images (`Compare`), as CLIP does."""
    clips: bool = False
    """Takes sampled frames with their times as one video (`core.media`)."""

    def __post_init__(self) -> None:
        force_setattr(self, "inputs", _Modalities(self.inputs))
        force_setattr(self, "outputs", _Modalities(self.outputs))


class Identity(Struct, frozen=True):
    """Who answers: everything about a model that can change a reply, and nothing that cannot
    (no file name, no URL, no world size). `facts` holds e.g. revision, dtype, processor."""

    provider: str
    name: str
    facts: dict[str, str] = {}

    def digest(self) -> str:
        """SHA-256 in hex of the canonical JSON."""
        import hashlib

        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


class Model(Protocol):
    """A model answers requests, one at a time (`SingleModel`) or many at once (`BatchModel`).

    An `answer` that is a plain function is run in a worker thread; an `async` one is awaited,
    up to `concurrency` at a time. The reply is a string or an `Output`. A failure may be returned
    as `Failure` or raised as `ModelError` or `MediaError`; both become typed failures. Any other
    exception fails its request too, with its line and traceback.

    Objects, classes and functions without identity or capabilities become models by
    `snellen.wrap_model`, which `evaluate` calls for everything that is not a name.
    """

    @property
    def identity(self) -> Identity: ...

    @property
    def capabilities(self) -> Capabilities: ...


AnyModel = Any
"""A model as the user passes it: a name, a function of a request, a class, an object that answers,
a `Model`, or anything else that `snellen.wrap_model` takes."""


class BatchTerms(NamedTuple):
    """What one batch of an endpoint may hold, how long it may take, and what its tokens cost."""

    requests: int
    bytes: int
    hours: int
    price: float = 1.0
    """Share of the listed price of a token."""
    cached_price: float = 1.0
    """The same for cached tokens of a prompt."""
    source: str = ""
    """Where the price was found, and when."""


class PromptCache(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a provider caches the beginnings of prompts, without being asked to."""

    tokens: int
    """Fewest tokens of a beginning that is cached."""
    step: int = 1
    """Cached tokens are counted in steps of so many."""
    source: str = ""
    read: str = ""


class ModelDefaults:
    """Base of models: every optional ability with its default.

    Models of users need not inherit it: `abilities` reads theirs.
    """

    address: str = ""
    """Host and port of the server that answers, for readers: no part of the identity. Empty for
    models on this machine and servers that Snellen starts."""
    batch_terms: BatchTerms | None = None
    """Terms of its endpoint for batches, if it is asked by that; None if requests are answered at once."""
    batch_limit: int = 0
    """Requests that no batch exceeds, however far `batch_size` grows; 0 if it does not grow."""
    by_row: bool = False
    """Whether it answers by the data row, as a recording does, and not by the prompt."""
    concurrency: int = 16
    """Most requests in flight."""
    coordinates: str = ""
    """Name of the coordinate space in which it writes places, as the user declares it; "" leaves it
    to the catalog."""
    first_timeout: float = 600.0
    """Seconds to wait for the first reply of any kind; then the run ends."""
    max_new_tokens: int | None = None
    """Maximal tokens of a reply, in place of the benchmark's, for models that reason before they
    answer. None leaves it to the benchmark."""
    prompt_cache: PromptCache | None = None
    """How its provider caches prompts; None if it does not, or how is not known."""
    route_remark: str = ""
    """What answers in place of what was named, said when a run begins: a converted twin of the
    checkpoint, or its own code."""

    @property
    def largest_batch(self) -> int:
        """Prompts of the largest batch that was computed; 0 if unknown."""
        return 0

    @property
    def remarks(self) -> tuple[str, ...]:
        """What readers of the results should know about how they were computed."""
        return ()

    def load(self) -> object:
        """Load the weights now instead of with the first request."""
        return None


def abilities(model: object) -> ModelDefaults:
    """The optional abilities of a model: the model itself if it inherits `ModelDefaults`, else its
    attributes of the same names, with defaults for those that it lacks."""
    return model if isinstance(model, ModelDefaults) else _UserAbilities(model)


class _UserAbilities(ModelDefaults):
    """What a model that does not inherit `ModelDefaults` says of itself."""

    def __init__(self, model: object) -> None:
        self.address = str(getattr(model, "address", self.address))
        self.batch_limit = int(getattr(model, "batch_limit", self.batch_limit))
        self.by_row = getattr(model, "by_row", self.by_row) is True
        self.concurrency = int(getattr(model, "concurrency", self.concurrency))
        self.coordinates = str(getattr(model, "coordinates", self.coordinates))
        self.first_timeout = float(getattr(model, "first_timeout", self.first_timeout))
        self.max_new_tokens = getattr(model, "max_new_tokens", self.max_new_tokens)
        self.route_remark = str(getattr(model, "route_remark", self.route_remark))
        self._model = model

    @property
    def largest_batch(self) -> int:
        return int(getattr(self._model, "largest_batch", 0))

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(getattr(self._model, "remarks", ()))

    def load(self) -> object:
        load = getattr(self._model, "load", None)
        return None if load is None else load()


class RenderedPrompt(Struct, frozen=True):
    """What the model receives for a request."""

    text: str | None
    """The prompt after the chat template; None if unknown."""
    image_sizes: tuple[tuple[int, int], ...]
    """Width and height in pixels of the images as passed to the model's processor or server, which
    may shrink them."""
    image_pixels: tuple[str, ...] | None = None
    """`pixel_digest` of these images; None if unknown."""


@runtime_checkable
class PromptRenderer(Protocol):
    """A model that can render its prompts for inspection."""

    async def render_prompt(self, request: Request) -> RenderedPrompt | None:
        """Render a request; None if that is impossible for it."""
        ...


@runtime_checkable
class BatchModel(Model, Protocol):
    """A local model that answers a batch in one call, outputs in the order of the requests."""

    batch_size: int

    def answer_batch(self, requests: Sequence[Request]) -> Sequence[Output | str]:
        """Answer a batch; outputs (a string is the reply's text) in the order of the requests."""
        ...


@runtime_checkable
class PreparingModel(BatchModel, Protocol):
    """A local model that can prepare requests while it computes others."""

    def prepare(self, request: Request) -> None:
        """Called on the event loop's thread for a request that follows soon; must not block."""
        ...


@runtime_checkable
class SingleModel(Model, Protocol):
    """A model that answers one request: `async` (then `concurrency` are in flight) or not."""

    def answer(self, request: Request) -> object:
        """Answer with an `Output`, a string (the reply's text), or an awaitable of these."""
        ...


class RemoteModel(ModelDefaults):
    """Base of models behind a server. Each call of `answer` sends one request, once: the engine
    decides how many are in flight and which are sent again."""

    identity: Identity
    capabilities: Capabilities
    account: str
    """Whose limits it shares: models of one account are slowed down together."""
    servers: int = 1
    """How many servers share the requests to it."""

    async def answer(self, request: Request) -> Output:
        """Send the request. Raises ModelError with its kind."""
        raise NotImplementedError

    async def close(self) -> None:
        """End the connections; called inside the event loop that `answer` ran in."""


class EncodedRequest(NamedTuple):
    """A request as a line of a batch, and what its reply is read with: JSON, "" if nothing."""

    line: bytes
    facts: str = ""


class BatchState(NamedTuple):
    """Whether the server is done with a batch, and what made all of it fail."""

    is_ended: bool
    problem: ModelError | None = None


class BatchedModel(RemoteModel):
    """Base of models whose server takes many requests at once and answers within hours.

    A batch is uploaded, created and read by its place, the server's name for it. Methods that ask
    the server raise ModelError with its kind, once; the engine decides what is tried again.
    """

    batch_terms: BatchTerms
    batch_account: str
    """Which server the batches are at, without the key."""

    async def encode_request(self, key: str, request: Request) -> EncodedRequest:
        """The request as a line, under a key of 64 characters. Raises MediaError."""
        raise NotImplementedError

    async def upload_batch(self, name: str, lines: IO[bytes]) -> str:
        """Upload the lines; returns what `create_batch` needs: "" where that sends the lines itself."""
        raise NotImplementedError

    async def create_batch(self, name: str, upload: str, lines: IO[bytes]) -> str:
        """Create the batch under a name by which it is found; returns its place."""
        raise NotImplementedError

    async def find_batches(self, name: str, count: int, since: float) -> list[str]:
        """Places of the batch of this name, or, where batches have no names, of all that may be it:
        of so many requests, created since about then (seconds since 1970)."""
        raise NotImplementedError

    async def batch_state(self, place: str) -> BatchState:
        """How far a batch is."""
        raise NotImplementedError

    def batch_results(self, place: str, facts: Mapping[str, str]) -> AsyncIterator[tuple[str, Output]]:
        """Outputs of a batch that has ended, by key; `facts` are those of the requests, by key."""
        raise NotImplementedError


@runtime_checkable
class RestrictedSampler(Protocol):
    """A model that does not support every temperature, top_p or seed. Models without this method
    receive any."""

    def cannot_sample(self, sampling: Sampling) -> str | None:
        """Why it does not support these settings and what to do, as a clause; None if it does."""
        ...


@runtime_checkable
class CheckableModel(Protocol):
    """A model that can be checked before anything is spent on it."""

    async def check(self) -> None:
        """Raises UsageError if it could answer nothing: no such server, key or model."""
        ...


@runtime_checkable
class MutableModel(Protocol):
    """A model in memory whose weights may change between two runs, by training for example."""

    def refresh(self) -> Model:
        """The model with its present identity; called when a command begins."""
        ...


@runtime_checkable
class SelfReportingModel(Protocol):
    """A model whose server reports what it serves, in its list of models and in its replies."""

    def reset_served(self) -> None:
        """Forget earlier reports; called when a run begins."""
        ...

    def served_identity(self) -> ServedIdentity:
        """What the server reported since `reset_served`."""
        ...


@runtime_checkable
class EnvironmentModel(Protocol):
    """A model whose server runs in an environment that Snellen made for it."""

    def environment_files(self) -> Mapping[str, bytes]:
        """What the environment was made of, by file name: the server's file and its lock; empty
        before the server has started."""
        ...
