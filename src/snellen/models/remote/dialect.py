"""What the dialects of servers have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from snellen.core.errors import ModelError
from snellen.core.message import Message, Part, Text
from snellen.core.output import Generated, StopReason
from snellen.core.request import Draw, Generate
from snellen.models.image_policy import first_image
from snellen.models.reasoning import split_reasoning
from snellen.models.remote.errors import reported
from snellen.models.remote.json_reply import quoted
from snellen.models.remote.media import Shown
from snellen.models.remote.options import Setup
from snellen.models.remote.profile import Profile

Body = dict[str, Any]
Reply = Mapping[str, Any]
Pictures = Mapping[str, Shown]
"""Media of a request by digest, encoded."""


class Asked(NamedTuple):
    """One model of one provider, and how it is asked."""

    model: str
    profile: Profile
    setup: Setup


class Call(NamedTuple):
    """One POST."""

    path: str
    body: Body


class Said(NamedTuple):
    """What a reply holds, before thoughts in tags are split off."""

    text: str
    stop_reason: StopReason
    reasoning: str | None = None
    images: tuple[str, ...] = ()
    """Pictures as data URLs or addresses."""


class Dialect(Protocol):
    """How one kind of server is asked for text, and how its replies are read."""

    def call(self, request: Generate | Draw, pictures: Pictures, asked: Asked) -> Call: ...

    def said(self, reply: Reply) -> Said:
        """Raises ModelError for a reply without an answer, Unanswered where a filter spoke."""
        ...

    def generated(self, reply: Reply, asked: Asked) -> Generated: ...

    def whole(self, pieces: Sequence[Reply]) -> Reply:
        """The pieces of a stream as the reply that would have come at once."""
        ...


def merged(parts: Sequence[Part]) -> list[Part]:
    """Neighbouring texts as one, a line each: some servers run them together."""
    found: list[Part] = []
    for part in parts:
        last = found[-1] if found else None
        if isinstance(part, Text) and isinstance(last, Text):
            found[-1] = Text(f"{last.text}\n{part.text}")
        else:
            found.append(part)
    return found


def with_policy(messages: Sequence[Message], images: str) -> tuple[Message, ...]:
    """The messages with the pictures that the option `images` lets through."""
    return first_image(messages) if images == "first" else tuple(messages)


def finished(said: Said, asked: Asked) -> Said:
    """The reply with its thoughts split off, by tags where the server did not do it."""
    if said.reasoning or not asked.setup.split_thoughts or said.stop_reason == "refusal":
        return said
    split = split_reasoning(said.text, said.stop_reason, asked.setup.thought_opened)
    return Said(split.text, split.stop_reason, split.reasoning, said.images)


_LARGEST = 1 << 53
"""No server counts so many tokens, and JSON holds no larger number exactly."""


def whole_number(value: object) -> int:
    return value if type(value) is int and 0 <= value < _LARGEST else 0


def number(value: object) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_LARGEST < value < _LARGEST else None


def mapping(value: object) -> Reply:
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text_of(value: object, name: str) -> str:
    """A field of a reply that is text wherever it is not null. Raises ModelError (`server`)."""
    if value is None or isinstance(value, str):
        return value or ""
    raise unreadable(name, value)


def unreadable(name: str, value: object) -> ModelError:
    """A reply whose shape no protocol knows: the server's fault, and no answer."""
    return ModelError(f"the reply's {name} is unreadable: {quoted(value, 120)}", "server")


def require_end(reply: Reply, ended: object) -> None:
    """To be called for a reply without content. Raises ModelError and Unanswered where it reports
    an error, and ModelError (`server`) where nothing says that the model came to an end."""
    problem = reported(reply)
    if problem is not None:
        raise problem
    if not ended:
        raise ModelError("the reply holds neither content nor a reason why it ended", "server")
