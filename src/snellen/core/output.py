"""What came back from a model: typed, and a failure is never text."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

StopReason = Literal["stop", "length", "refusal"]

FailureKind = Literal[
    "request",  # the model or server did not answer, or not so that it could be understood
    "connection",  # the server could not be reached, or hung up
    "timeout",  # no answer in time
    "rate_limit",  # more requests or tokens than the account may have
    "server",  # the server's own fault (HTTP 5xx)
    "authentication",  # no key, or one that is refused
    "too_long",  # more tokens than the model's context holds
    "media",  # a picture could not be read or decoded
    "unsupported",  # the model cannot take this request
    "out_of_memory",
    "nan",  # log-likelihoods that are not numbers
    "missing",  # no recorded prediction for this question
]


class Usage(Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens as the model counts them; an image counts as its tokens in the prompt."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    """All that was written, reasoning included."""
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompt's tokens those the server had cached, which are cheaper."""


class Generated(
    Struct, frozen=True, gc=False, tag="generated", tag_field="type", omit_defaults=True
):
    text: str
    stop_reason: StopReason = "stop"
    reasoning: str | None = None
    """Thoughts before the answer, split off: kept and shown, never scored."""
    first_logprobs: dict[str, float] = {}
    """Log-probabilities (nats) of the likeliest first tokens, where `Generation.logprobs` asked
    for them and the model gives them."""
    usage: Usage | None = None
    seconds: float | None = None
    """Wall time of the call; for a batch, its share of the batch."""

    @property
    def is_refusal(self) -> bool:
        """Whether a provider's filter wrote the words, cut them off or kept them back: whatever
        letters stand in them, the model chose none."""
        return self.stop_reason == "refusal"


class CandidateScore(Struct, frozen=True, gc=False):
    logprob: float
    """Sum of the log-probabilities (nats) of the candidate's tokens."""
    tokens: int


class Ranked(Struct, frozen=True, gc=False, tag="ranked", tag_field="type", omit_defaults=True):
    candidates: tuple[CandidateScore, ...]
    usage: Usage | None = None
    seconds: float | None = None


class Drawn(Struct, frozen=True, gc=False, tag="drawn", tag_field="type", omit_defaults=True):
    """Pictures, named by the SHA-256 of their bytes.

    `data` holds the bytes on their way from the model and out of the store, which keeps each
    picture once; records hold the names alone (`without_data`).
    """

    images: tuple[str, ...]
    text: str = ""
    """What the model said beside the pictures."""
    data: dict[str, bytes] = {}
    usage: Usage | None = None
    seconds: float | None = None

    def without_data(self) -> Drawn:
        return Drawn(self.images, self.text, {}, self.usage, self.seconds)


class Compared(Struct, frozen=True, gc=False, tag="compared", tag_field="type", omit_defaults=True):
    similarities: tuple[float, ...]
    """Cosine of each candidate with the picture, -1..1, in the order of the request."""
    seconds: float | None = None
    usage: Usage | None = None


class Failure(Struct, frozen=True, gc=False, tag="failure", tag_field="type", omit_defaults=True):
    """Not an answer: never cached, never scored, owed on the next start."""

    kind: FailureKind
    message: str
    sent: int = 1
    """Times the request was sent before it was given up."""


Output = Generated | Ranked | Drawn | Compared | Failure
