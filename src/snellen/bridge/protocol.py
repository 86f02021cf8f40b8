"""What Snellen and a worker say to each other, as typed messages (docs/bridge.md).

One JSON object a line. Unknown fields of a reply are ignored, missing ones have the default of "not
said"; a reply that does not fit raises `ProtocolError`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from snellen.core.media import MediaKind
from snellen.core.request import Role

PROTOCOL = 1
FaultKind = Literal["peer", "data", "needs", "usage", "judge"]
PartKind = Literal["text", "image", "video", "audio"]


class ProtocolError(Exception):
    """A worker wrote something that is no message of the exchange."""


class PeerFacts(Struct, frozen=True):
    """Who answers."""

    protocol: int
    peer: str
    version: str = ""
    commit: str | None = None
    python: str = ""
    data: str = ""
    """Where the tool looks for data."""
    absent: tuple[str, ...] = ()
    """Packages of the tool that are not installed."""


class ListedTask(Struct, frozen=True, omit_defaults=True):
    """A task that the tool has, without its data."""

    name: str
    title: str = ""
    modality: tuple[str, ...] = ()
    kind: str | None = None
    judged: bool | None = None
    needs: tuple[str, ...] = ()
    data: str = ""
    checksum: str = ""
    """MD5 of the file at that address."""
    split: str = ""
    """Of the data set on the hub."""
    broken: str = ""
    came: str = ""
    """What came of it where it was tried, a key of `CAME`; "" if it was not."""
    why: str = ""
    """The tool's own error, where there was one."""

    def wants(self) -> tuple[str, ...]:
        """What it needs beside its data and the packages of the tool's list."""
        return (*self.needs, *(("a judge",) if self.judged else ()))

    @property
    def status(self) -> str:
        """Whether it runs, in words."""
        # What its code shows without running it says less than a proof, and a key may be all that it lacks.
        is_broken = self.broken and self.came not in ("same", "key", "needs")
        came, why = ("broken", self.broken) if is_broken else (self.came, self.why)
        return CAME.get(came, came) + (f": {why}" if why else "")


CAME = {
    "": "not tried",
    "same": "runs here",
    "data": "needs the data",
    "opens": "opens without fetched data",
    "key": "needs a key",
    "needs": "needs more",
    "no numbers": "asks here, counts nothing",
    "rows": "fails by itself on made-up rows",
    "broken": "broken there",
}
"""What came of a task: over the bridge, on made-up rows, all was the *same* as by the tool alone; its loader
stopped without data, a key or something else that it needs; the tool by itself fails on made-up rows, which may
be the rows' fault; or on its own files, which is its own."""


class TaskFacts(Struct, frozen=True):
    """A task whose data are loaded."""

    task: str
    count: int
    digest: str
    modality: tuple[str, ...] = ()
    kind: str | None = None
    metrics: tuple[str, ...] = ()
    headline: str | None = None
    judged: bool = False
    generation: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    multi_turn: bool = False


class PartData(Struct, frozen=True):
    """A text, or a file of media in the folder that `open` named."""

    type: PartKind
    text: str = ""
    path: str = ""
    media_type: str = ""

    @property
    def kind(self) -> MediaKind | None:
        return None if self.type == "text" else self.type


class MessageData(Struct, frozen=True):
    """A turn of a conversation."""

    role: Role
    parts: tuple[PartData, ...]


class SampleData(Struct, frozen=True):
    """A question as the tool puts it; what it cannot say is absent, and so are messages that are made when
    they are asked for."""

    id: str
    messages: tuple[MessageData, ...] = ()
    gold: tuple[str, ...] = ()
    options: dict[str, str] = {}
    kind: Literal["choice", "yes_no", "open"] | None = None
    question: str = ""
    groups: dict[str, str] = {}
    unit: str = ""
    generation: dict[str, Any] = {}
    row: dict[str, str | int | float | bool] = {}
    fixed: str = ""
    """Why its options cannot be shown in the order that was asked for."""


class Reordering(Struct, frozen=True):
    """Whether the options of a task may be shown in another order."""

    refused: str = ""
    """Why not; "" if they may."""


class NextTurn(Struct, frozen=True):
    """What follows the replies so far."""

    done: bool = False
    messages: tuple[MessageData, ...] = ()


class JudgeQuestion(Struct, frozen=True):
    """What the tool asks a judge."""

    messages: tuple[MessageData, ...]
    role: str = "judge"
    generation: dict[str, Any] = {}


class SampleScore(Struct, frozen=True, omit_defaults=True):
    """What the tool's code makes of the replies to one sample."""

    values: dict[str, float | bool | None] = {}
    answer: str | None = None
    correct: float | bool | None = None
    """0 to 1."""
    headline: str | None = None
    """The value that leads, by its name among `values`."""
    state: Any = None
    """What `aggregate` needs."""


class SampleValues(Struct, frozen=True):
    """Values of one sample that only the whole run decides."""

    index: int
    values: dict[str, float | bool | None] = {}
    correct: float | bool | None = None
    """0 to 1."""


class Aggregated(Struct, frozen=True, omit_defaults=True):
    """The tool's numbers of a run as a whole."""

    metrics: dict[str, float | None]
    headline: str | None = None
    groups: dict[str, dict[str, float | None]] = {}
    values: tuple[SampleValues, ...] = ()
    scales: dict[str, float] = {}
    """The highest value of a metric, where the tool says it: 1 or 100."""


class PeerError(Struct, frozen=True):
    """Why there is no result, in one sentence."""

    kind: FaultKind
    message: str
    trace: str = ""
    asks: tuple[JudgeQuestion, ...] = ()


class WorkerReply(Struct, frozen=True):
    id: int | None = None
    ask: int | None = None
    result: msgspec.Raw = msgspec.Raw()
    error: PeerError | None = None
    messages: tuple[MessageData, ...] = ()
    role: str = "judge"
    generation: dict[str, Any] = {}


T = TypeVar("T")
_decoder = msgspec.json.Decoder(WorkerReply)


def read_line(line: bytes) -> WorkerReply:
    """A line of a worker. Raises ProtocolError."""
    try:
        reply = _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProtocolError(f"it wrote {_shorten(line)}, which is no message of the exchange ({error})") from error
    if (reply.id is None) == (reply.ask is None):
        raise ProtocolError(f"it wrote {_shorten(line)}, which is neither a reply nor a question")
    return reply


def read_result(reply: WorkerReply, kind: type[T]) -> T:
    """The result of a reply. Raises ProtocolError."""
    try:
        return msgspec.convert(msgspec.json.decode(bytes(reply.result) or b"null"), kind)
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"its result does not fit: {error}") from error


def _shorten(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= 80 else f"{text[:80]}...")
