"""Flows driven without asking: by stored replies and, where none is stored, by the reply that makes
the flow go on longest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from snellen.benchmarks.protocol.flows import turns
from snellen.core.errors import MediaError
from snellen.core.media import picture_size
from snellen.core.message import Media, Text
from snellen.core.model import RemoteModel
from snellen.core.output import CandidateScore, Compared, Drawn, Generated, Output, Ranked
from snellen.core.record import Record
from snellen.core.request import Compare, Draw, Generate, Rank, Request, request_digest
from snellen.core.sample import Sample
from snellen.engine.loop.plan import Plan, flow_of
from snellen.engine.loop.request_broker import MAIN, Party
from snellen.models.naming.image_tokens import PictureRule
from snellen.settings import most_pixels
from snellen.store.responses import ResponseStore

_MEASURED_PICTURES = 200


class Size(NamedTuple):
    characters: int
    picture_tokens: float


@dataclass(slots=True)
class Seen:
    """What driving the flows has shown."""

    stored: int = 0
    equal: int = 0
    unsupported: int = 0
    others: Counter[str] = field(default_factory=Counter)
    owed: dict[int, list[Size]] = field(default_factory=lambda: defaultdict(list))
    """Requests not stored, by how many such passes of their sample come before them."""
    replies: list[Output] = field(default_factory=list)
    right: int = 0
    judged: int = 0
    digests: set[bytes] = field(default_factory=set)
    passes: Counter[int] = field(default_factory=Counter)
    """Samples whose score is not known, by how many passes they have."""
    scores: list[float] = field(default_factory=list)
    """Of samples whose every reply is stored."""

    def mean_score(self, share: float) -> float | None:
        """What the mean score will be where this share of the passes is right, and a sample counts
        when all of its passes are; None without samples."""
        samples = len(self.scores) + self.passes.total()
        likely = sum(count * share**passes for passes, count in self.passes.items())
        return (sum(self.scores) + likely) / samples if samples else None


class DryDrive:
    """Goes through the flows with what the store has."""

    def __init__(
        self,
        plan: Plan,
        store: ResponseStore,
        rule: PictureRule | None,
        picture_tokens: int,
    ) -> None:
        self.seen = Seen()
        self._plan, self._store = plan, store
        self._rule, self._picture_tokens = rule, picture_tokens
        self._flow = flow_of(plan)
        self._early = plan.benchmark.parameters.get("circular") == "early"
        self._nowhere = ResponseStore(None)
        models = {MAIN: plan.model, **plan.roles}
        self._parties = {
            role: Party(model, self._nowhere, fresh=plan.fresh) for role, model in models.items()
        }
        self._pictures: dict[str, int] = {}

    def close(self) -> None:
        for party in self._parties.values():
            party.close()
        self._nowhere.close()

    def sample(self, sample: Sample) -> None:
        flow = self._flow(sample)
        known: list[bool] = []
        owed = repeat = 0
        try:
            request = next(flow)
            while True:
                stored = self._stored(request)
                if request.to == MAIN:
                    if repeat != getattr(request, "repeat", repeat):
                        # A draw begins anew: no pass of it was asked yet.
                        owed, repeat = 0, repeat + 1
                    known.append(stored is not None)
                    owed += self._note(request, stored, owed if self._early else 0)
                elif stored is None:
                    self.seen.others[request.to] += 1
                request = flow.send(_likely(request, sample) if stored is None else stored)
        except StopIteration as end:
            self._finished(end.value, known)
        except MediaError:
            # Its pictures cannot be read: the run will call it failed, unasked.
            return

    def pictures_said(self) -> str:
        if not self._pictures:
            return ""
        if self._rule is not None:
            return f"pictures by {self._rule.source}; "
        return f"{self._picture_tokens} tokens a picture (assumed); "

    def _stored(self, request: Request) -> Output | None:
        party = self._parties.get(request.to)
        if party is None:
            return None
        return self._store.get(request_digest(request, party.identity_for(request)))

    def _note(self, request: Request, stored: Output | None, before: int) -> int:
        """Count a request; 1 if it is one that must be sent."""
        if stored is not None:
            self.seen.stored += 1
            self.seen.replies.append(stored)
            return 0
        digest = request_digest(request, self._parties[MAIN].identity_for(request))
        if digest in self.seen.digests:
            self.seen.equal += 1
            return 0
        self.seen.digests.add(digest)
        self.seen.owed[before].append(self._size(request))
        return 1

    def _finished(self, record: Record, known: Sequence[bool]) -> None:
        self.seen.unsupported += record.unscored == "unsupported"
        if record.score is not None and all(known):
            self.seen.scores.append(record.score)
        elif record.unscored is None:
            self.seen.passes[len(known) // self._plan.repeats] += 1
        if len(record.passes) == len(known):
            judged = [
                one.correct
                for one, stored in zip(record.passes, known, strict=True)
                if stored and one.correct is not None
            ]
            self.seen.judged += len(judged)
            self.seen.right += sum(judged)

    def _size(self, request: Request) -> Size:
        """A server reads the prompt once more for every candidate that it ranks."""
        parts = [part for message in request.messages for part in message.parts]
        characters = sum(len(part.text) for part in parts if isinstance(part, Text))
        pictures = sum(self._tokens(part, request) for part in parts if isinstance(part, Media))
        if not isinstance(request, Rank):
            return Size(characters, pictures)
        read = 1 + len(request.candidates) if isinstance(self._plan.model, RemoteModel) else 1
        return Size(read * characters + sum(map(len, request.candidates)), read * pictures)

    def _tokens(self, part: Media, request: Request) -> float:
        if part.digest not in self._pictures:
            if len(self._pictures) >= _MEASURED_PICTURES:
                return sum(self._pictures.values()) / len(self._pictures)
            self._pictures[part.digest] = self._measured(part, request.media)
        return self._pictures[part.digest]

    def _measured(self, part: Media, media: Mapping[str, object]) -> int:
        source = media.get(part.digest)
        if self._rule is None or part.kind != "image" or source is None:
            return self._picture_tokens
        try:
            size = picture_size(source.read(), most_pixels())  # type: ignore[attr-defined]
        except (MediaError, OSError, ValueError):
            return self._picture_tokens
        return self._rule.tokens(*size)


def _likely(request: Request, sample: Sample) -> Output:
    """A reply with which a circular flow goes on: the gold of the pass that is asked."""
    if isinstance(request, Generate):
        planned = turns(sample) if sample.options else []
        turn = request.ref.turn
        gold = planned[turn].gold if turn < len(planned) else sample.gold
        if request.to == MAIN and gold:
            return Generated(gold[0])
        return Generated(request.choices[0] if request.choices else "0")
    if isinstance(request, Rank):
        return Ranked(tuple(CandidateScore(-float(n), 1) for n in range(len(request.candidates))))
    if isinstance(request, Draw):
        return Drawn(("0" * 64,))
    assert isinstance(request, Compare)
    return Compared((0.0,) * len(request.candidates))
