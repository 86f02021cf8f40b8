"""Outputs of models, typed by request, the answers that are parsed from them, and what their tokens cost.

A failure is never text. An answer is a value and the rule that parsed it, or why there is none.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

StopReason = Literal["stop", "length", "refusal"]

FailureKind = Literal[
    "request",  # no answer, or none that could be understood
    "connection",  # the server could not be reached, or hung up
    "timeout",  # no answer in time
    "rate_limit",  # more requests or tokens than the account may have
    "server",  # error of the server (HTTP 5xx)
    "authentication",  # no key, or an invalid one
    "too_long",  # more tokens than the model's context holds
    "media",  # an image could not be read or decoded
    "unsupported",  # the model cannot take this request
    "out_of_memory",
    "nan",  # log-likelihoods that are not numbers
    "missing",  # no recorded prediction for this question
]


class Usage(Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens as the model counts them; an image counts as its tokens in the prompt."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Reasoning included."""
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    """Tokens of the prompt that the server had cached, which are cheaper."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cached_tokens + other.cached_tokens,
        )


class Generated(Struct, frozen=True, gc=False, tag="generated", tag_field="type", omit_defaults=True):
    text: str
    stop_reason: StopReason = "stop"
    reasoning: str | None = None
    """Reasoning before the answer, split off: recorded and displayed, never scored."""
    first_logprobs: dict[str, float] = {}
    """Log-probabilities (nats) of the likeliest first tokens, if `Generation.logprobs` requests
    them and the model supports it."""
    usage: Usage | None = None
    seconds: float | None = None
    """Wall time of the call; for a batch, its fraction of the batch."""
    image_sizes: tuple[tuple[int, int], ...] = ()
    """Width and height of each image as the model saw it, in the order of the prompt, if these are
    not the sizes of the data and are known."""

    @property
    def is_refusal(self) -> bool:
        """Whether a provider's filter wrote, cut or withheld the text: whatever option letters it
        holds, the model chose none."""
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
    """Images that a model drew, named by the SHA-256 of their bytes.

    `data` holds the bytes on their way from the model to the store, which keeps each image once;
    records hold the names alone (`without_data`).
    """

    images: tuple[str, ...]
    text: str = ""
    """Text of the reply in addition to the images."""
    data: dict[str, bytes] = {}
    usage: Usage | None = None
    seconds: float | None = None

    def without_data(self) -> Drawn:
        return Drawn(self.images, self.text, {}, self.usage, self.seconds)


class Compared(Struct, frozen=True, gc=False, tag="compared", tag_field="type", omit_defaults=True):
    similarities: tuple[float, ...]
    """Cosine similarity of each candidate and the image, -1..1, in the order of the request."""
    seconds: float | None = None
    usage: Usage | None = None


class Failure(Struct, frozen=True, gc=False, tag="failure", tag_field="type", omit_defaults=True):
    """Not an answer: never cached, never scored, asked again on resume."""

    kind: FailureKind
    message: str
    sent: int = 1
    """Times the request was sent."""
    traceback: str = ""
    """Traceback of the error that the user's own model raised, as Python prints it."""


Output = Generated | Ranked | Drawn | Compared | Failure


Outcome = Literal[
    "answered",
    "no_match",
    "unparsed",
    "refused",
    "truncated",
    "empty",
    "failed",
    "missing",
    "unsupported",
    "other_space",
    "malformed_place",
    "outside",
    "other_count",
]
"""How a question ended. `failed`, `missing` and `unsupported` (the model cannot take the question,
so it was not asked) are left out of scores; all others except `answered` count as wrong (MMBench
Sec. 4.1, MMT-Bench Sec. 4.1: pseudo choice Z). The last four are of places (`Misplaced`)."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
RETRYABLE: tuple[Literal["failed"], Literal["missing"]] = ("failed", "missing")
"""Outcomes that say nothing about the model; these samples are asked again on resume."""


DRAWN = "drawn at random"
"""Rule of an answer that was drawn, because a script that guesses finds none in the reply."""


class ParsedAnswer(Struct, frozen=True, gc=False, tag="found", tag_field="type", omit_defaults=True):
    """The value that a rule parsed from the reply."""

    value: str
    rule: str
    """Name of the parsing rule."""
    span: tuple[int, int] | None = None
    """Start and end of the matched text in the reply, in characters."""


class NoMatch(Struct, frozen=True, gc=False, tag="no_match", tag_field="type"):
    """The reply was parsed but matches no option: MMBench's pseudo choice Z."""

    rule: str


class Unparsed(Struct, frozen=True, gc=False, tag="unparsed", tag_field="type"):
    """No rule could parse the reply: MMT-Bench's Z. Never replaced by a random option."""


Misplacement = Literal["other_space", "malformed_place", "outside", "other_count"]
"""`other_space`: numbers that cannot be in the declared coordinate space; `malformed_place`: numbers
that are no place, such as NaN or a right edge left of the left one; `outside`: a place beyond the
picture or the video; `other_count`: not as many places as the question asks for."""


class Misplaced(Struct, frozen=True, gc=False, tag="misplaced", tag_field="type", omit_defaults=True):
    """The reply names places, but not such as were asked for. Never read in another space."""

    problem: Misplacement
    rule: str
    value: str = ""
    """The numbers as the reply has them."""
    span: tuple[int, int] | None = None


class Refused(Struct, frozen=True, gc=False, tag="refused", tag_field="type"):
    """The model declined to answer."""

    rule: str


class Truncated(Struct, frozen=True, gc=False, tag="truncated", tag_field="type"):
    """The reply reached the token limit before an answer could be parsed."""


class Empty(Struct, frozen=True, gc=False, tag="empty", tag_field="type"):
    """The reply holds no text."""


Answer = ParsedAnswer | NoMatch | Unparsed | Misplaced | Refused | Truncated | Empty


_OUTCOME_OF: dict[type, Outcome] = {
    ParsedAnswer: "answered",
    NoMatch: "no_match",
    Unparsed: "unparsed",
    Refused: "refused",
    Truncated: "truncated",
    Empty: "empty",
}


def outcome_of(answer: Answer) -> Outcome:
    """The outcome that an answer is counted under."""
    # By class, as comparing one with several takes time.
    return _OUTCOME_OF.get(type(answer)) or (answer.problem if isinstance(answer, Misplaced) else "unparsed")


_TOKENS_PER_PRICE = 1_000_000


class Price(Struct, frozen=True, omit_defaults=True):
    """A provider's price list for one model, per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """For tokens of the prompt that the server had cached; None if they cost the same."""
    currency: str = "USD"
    date: str = ""
    """When the list was read, ISO 8601."""
    source: str = ""
    """Where the price was found: a URL, or who provided it."""


def cost(usage: Usage, price: Price) -> float:
    """Cost of a reply, in the price's currency."""
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    uncached_cost = (usage.prompt_tokens - cached) * price.input
    cached_cost = cached * (price.input if price.cached is None else price.cached)
    return (uncached_cost + cached_cost + usage.completion_tokens * price.output) / _TOKENS_PER_PRICE
