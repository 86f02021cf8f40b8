"""`random`: picks one of the valid replies at random; the score that every model must beat."""

from __future__ import annotations

import random
from collections.abc import Mapping

from snellen.core.errors import UnknownName, UsageError
from snellen.core.model import Capabilities, Identity, Model, ModelDefaults
from snellen.core.output import CandidateScore, Failure, Generated, Output, Ranked
from snellen.core.request import Generate, Rank, Request, Sampling, request_digest
from snellen.models.naming.provider import ModelListing, ModelOption, Provider, read_options

OPTIONS = (ModelOption("seed", "a whole number; the same seed gives the same answers"),)


class Random(ModelDefaults):
    """Chooses uniformly among `request.choices`; scores candidates by standard normal numbers.

    A reply depends on the seed and the request's digest only, so that order, batches and restarts
    change nothing. A request without choices gets an empty reply.
    """

    concurrency = 64

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.identity = Identity("random", "random", {"seed": str(seed)})
        self.capabilities = Capabilities(inputs=frozenset({"text", "image", "video", "audio"}), log_likelihood=True)

    def cannot_sample(self, sampling: Sampling) -> str | None:
        if sampling.temperature is None and sampling.top_p is None:
            return None
        return "it picks replies at random, without a temperature or top_p; leave them out"

    async def answer(self, request: Request) -> Output:
        draw = random.Random(request_digest(request, str(self.seed)))
        if isinstance(request, Rank):
            scores = (CandidateScore(draw.gauss(), 1) for _ in request.candidates)
            return Ranked(tuple(scores))
        if not isinstance(request, Generate):
            return Failure("unsupported", "random answers with text alone")
        return Generated(draw.choice(request.choices) if request.choices else "")


def open_random(name: str, options: Mapping[str, str]) -> Model:
    """Open `random`. Raises UnknownName for a model behind it, UsageError for a bad seed."""
    if name:
        raise UnknownName("model", f"random/{name}", ["random"])
    seed = read_options("random", options, OPTIONS).get("seed", "0")
    try:
        return Random(int(seed))
    except ValueError:
        raise UsageError(f"option seed={seed!r} of random: expected a whole number") from None


PROVIDER = Provider(
    name="random",
    open=open_random,
    options=OPTIONS,
    models=(ModelListing("random", "Picks a valid reply at random; option seed (default 0)."),),
)
