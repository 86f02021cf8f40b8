"""The tool's scorer as a model: a run asks the role `scorer`, and its outputs are stored like replies.

So a reply is scored once, whatever happens later, and a run can be read without the tool.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import LifoQueue
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from snellen.bridge.process import PeerFault, PeerLost, Session
from snellen.bridge.protocol import JudgeQuestion, SampleScore
from snellen.core.model import Capabilities, Identity, ModelDefaults
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Request

SCORER = "scorer"
"""Role of the tool's code."""
VERSION = "1"
"""Changes whenever the same reply could be scored otherwise by this side of the exchange."""


class ScoreRequest(Struct, frozen=True):
    """The text of a request to the scorer."""

    task: str
    index: int
    replies: tuple[str, ...]
    judged: dict[str, str] = {}
    """The judge's answers that are known, by `key_of` what was asked."""
    order: tuple[int, ...] | UnsetType = UNSET
    """Positions of the options as they were shown, where that is not the order of the tool's row."""


class ScoreReply(Struct, frozen=True, omit_defaults=True):
    """The text of its output: a score, or what a judge must answer first."""

    scored: SampleScore | None = None
    asks: tuple[JudgeQuestion, ...] = ()


def key_of(asked: JudgeQuestion) -> str:
    """A name for a question to a judge: media count by their content, wherever they lie."""
    named = [
        (message.role, [(part.type, part.text, Path(part.path).name) for part in message.parts])
        for message in asked.messages
    ]
    return hashlib.sha256(msgspec.json.encode((named, asked.generation), order="sorted")).hexdigest()[:32]


class ScorerModel(ModelDefaults):
    """Scores replies in the workers of its sessions, each one reply after another. A worker is started when
    all others are at work."""

    def __init__(self, sessions: Sequence[Session], facts: Mapping[str, str]) -> None:
        session = sessions[0]
        self._sessions = sessions
        self._idle: LifoQueue[Session] = LifoQueue()
        for one in reversed(sessions):
            self._idle.put(one)
        self.concurrency = len(sessions)
        self._threads = ThreadPoolExecutor(len(sessions), thread_name_prefix=SCORER)
        self.capabilities = Capabilities(inputs=frozenset({"text"}))
        self.identity = Identity("bridge", f"{session.command.peer}/{session.task}", {**facts, "bridge": VERSION})

    async def answer(self, request: Request) -> Output:
        """Score the replies that the text of the request holds."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, request)
        except asyncio.CancelledError:
            # After Ctrl-C nobody waits for what still runs.
            for session in self._sessions:
                session.stop()
            raise

    def _answer(self, request: Request) -> Output:
        session = self._idle.get()
        try:
            return self._score(session, request)
        finally:
            self._idle.put(session)

    def _score(self, session: Session, request: Request) -> Output:
        asked = msgspec.json.decode(request.text(), type=ScoreRequest)
        given: dict[str, Any] = {"index": asked.index, "replies": asked.replies, "order": asked.order or ()}
        try:
            scored = session.call(SampleScore, "score", judge=lambda one: asked.judged.get(key_of(one)), **given)
        except PeerFault as error:
            if error.fault.kind == "judge":
                return _as_output(ScoreReply(asks=error.fault.asks))
            return Failure("request", f"{session.command.peer} cannot score this reply: {error}")
        except PeerLost as error:
            return Failure("request", str(error))
        return _as_output(ScoreReply(scored))


def _as_output(reply: ScoreReply) -> Generated:
    return Generated(msgspec.json.encode(reply).decode())
