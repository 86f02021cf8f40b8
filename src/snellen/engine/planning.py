"""What a run would ask and cost, told without asking: its flows are driven by stored replies and,
where none is stored, by the reply that makes the flow go on longest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from msgspec import Struct

from snellen.benchmarks.flows import turns
from snellen.core.errors import MediaError
from snellen.core.message import Media, Text
from snellen.core.output import CandidateScore, Compared, Drawn, Failure, Generated, Output, Ranked
from snellen.core.record import Record
from snellen.core.request import Compare, Draw, Generate, Rank, Request, request_digest
from snellen.core.sample import Sample
from snellen.engine.asking import MAIN, Party
from snellen.engine.run import Plan, chosen_ids, flow_of
from snellen.models.picture_tokens import PictureRule
from snellen.store.responses import ResponseStore

CHARACTERS_PER_TOKEN = 4
ENOUGH = 30
"""Stored replies from which an average is taken."""
_MEASURED_PICTURES = 200
_ROW_BYTES = 120
"""Of a row of the store beside its reply: keys and their index."""


class Assumptions(Struct, frozen=True, kw_only=True):
    """What is taken for granted where nothing was measured."""

    accuracy: float = 0.6
    """Share of passes answered right, each independent of the others."""
    picture_tokens: int = 1000
    reply_tokens: int = 64
    reply_bytes: int = 400


class Estimate(Struct, frozen=True, kw_only=True):
    """What is still to be asked of the model, and what that takes. None: nobody knows."""

    samples: int
    most_requests: int
    """If every pass were answered right."""
    requests: float
    """Expected, early stop included."""
    stored: int
    """Requests that the store answers."""
    equal: int
    """Requests that read as one before them does: they are sent once."""
    unsupported: int
    """Samples that are beyond the model."""
    asked_of_others: dict[str, int]
    """Requests to readers and judges, at most, by role."""
    prompt_tokens: float
    completion_tokens: float
    seconds: float | None
    """Of the model's own work, divided by the requests it takes at a time."""
    store_bytes: float
    said: tuple[str, ...]
    """What each number rests on."""


class _Size(NamedTuple):
    characters: int
    picture_tokens: float


@dataclass(slots=True)
class _Seen:
    """What driving the flows has shown."""

    stored: int = 0
    equal: int = 0
    unsupported: int = 0
    others: Counter[str] = field(default_factory=Counter)
    owed: dict[int, list[_Size]] = field(default_factory=lambda: defaultdict(list))
    """Requests not stored, by how many such passes of their sample come before them."""
    replies: list[Output] = field(default_factory=list)
    right: int = 0
    judged: int = 0
    digests: set[bytes] = field(default_factory=set)


def estimate(
    plan: Plan,
    store: ResponseStore,
    assumed: Assumptions,
    rule: PictureRule | None = None,
    at_a_time: int = 1,
) -> Estimate:
    """Drive every flow of a run without asking anybody. Raises as `run` does for data that
    cannot be opened."""
    table = plan.benchmark.open()
    chosen = chosen_ids(plan, table)
    drive = _Drive(plan, store, rule, assumed)
    for sample in plan.benchmark.samples(table):
        if sample.id in chosen:
            drive.sample(sample)
    drive.close()
    seen = drive.seen
    # Replies of this run tell most; others of the same model are better than none.
    replies = seen.replies
    if len(replies) < ENOUGH:
        replies = [*replies, *store.some_of(plan.model.identity, ENOUGH)]
    return _summed(seen, replies, assumed, len(chosen), at_a_time, drive.pictures_said())


class _Tokens(NamedTuple):
    prompt: float
    completion: float
    said: str


def _summed(
    seen: _Seen,
    replies: Sequence[Output],
    assumed: Assumptions,
    samples: int,
    at_a_time: int,
    pictures: str,
) -> Estimate:
    share, why = assumed.accuracy, "assumed"
    if seen.judged >= ENOUGH:
        share, why = seen.right / seen.judged, f"from {seen.judged} stored replies"
    expected = sum(share**before * len(sizes) for before, sizes in seen.owed.items())
    most = sum(map(len, seen.owed.values()))
    said = [f"{share:.0%} of passes are right ({why})"] if len(seen.owed) > 1 else []
    answered = [one for one in replies if not isinstance(one, Failure)]
    tokens = _tokens(seen, answered, assumed, share, pictures)
    if most:
        said.append(f"tokens: {tokens.said}")
    times = [one.seconds for one in answered if one.seconds]
    seconds = expected * sum(times) / len(times) / at_a_time if times else None
    if most and times:
        said.append(f"time: from {len(times)} stored replies, {at_a_time} at a time")
    size = float(assumed.reply_bytes)
    if answered:
        size = sum(len(msgspec.json.encode(one)) for one in answered) / len(answered)
    return Estimate(
        samples=samples,
        most_requests=most,
        requests=expected,
        stored=seen.stored,
        equal=seen.equal,
        unsupported=seen.unsupported,
        asked_of_others=dict(seen.others),
        prompt_tokens=tokens.prompt,
        completion_tokens=tokens.completion,
        seconds=seconds if most else 0.0,
        store_bytes=expected * (size + _ROW_BYTES),
        said=tuple(said),
    )


def _tokens(
    seen: _Seen,
    answered: Sequence[Generated | Ranked | Drawn | Compared],
    assumed: Assumptions,
    share: float,
    pictures: str,
) -> _Tokens:
    """Of the expected requests: as stored replies had, or by characters and pictures."""
    weights = [(share**before, size) for before, sizes in seen.owed.items() for size in sizes]
    expected = sum(weight for weight, _ in weights)
    used = [one.usage for one in answered if one.usage is not None]
    if len(used) >= ENOUGH:
        prompt = sum(one.prompt_tokens for one in used) / len(used)
        reply = sum(one.completion_tokens for one in used) / len(used)
        return _Tokens(expected * prompt, expected * reply, f"from {len(used)} stored replies")
    prompt = sum(
        weight * (size.characters / CHARACTERS_PER_TOKEN + size.picture_tokens)
        for weight, size in weights
    )
    said = (
        f"{CHARACTERS_PER_TOKEN} characters a token; {pictures}{assumed.reply_tokens} tokens a "
        "reply (assumed)"
    )
    return _Tokens(prompt, expected * assumed.reply_tokens, said)


class _Drive:
    """Goes through the flows with what the store has."""

    def __init__(
        self, plan: Plan, store: ResponseStore, rule: PictureRule | None, assumed: Assumptions
    ) -> None:
        self.seen = _Seen()
        self._plan, self._store = plan, store
        self._rule, self._assumed = rule, assumed
        self._flow = flow_of(plan)
        self._early = plan.benchmark.parameters.get("circular") == "early"
        self._nowhere = ResponseStore(None)
        models = {MAIN: plan.model, **plan.roles}
        self._parties = {role: Party(model, self._nowhere) for role, model in models.items()}
        self._pictures: dict[str, int] = {}

    def close(self) -> None:
        for party in self._parties.values():
            party.close()
        self._nowhere.close()

    def sample(self, sample: Sample) -> None:
        flow = self._flow(sample)
        known: list[bool] = []
        owed = 0
        try:
            request = next(flow)
            while True:
                stored = self._stored(request)
                if request.to == MAIN:
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
        return f"{self._assumed.picture_tokens} tokens a picture (assumed); "

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
        if len(record.passes) == len(known):
            judged = [
                one.correct
                for one, stored in zip(record.passes, known, strict=True)
                if stored and one.correct is not None
            ]
            self.seen.judged += len(judged)
            self.seen.right += sum(judged)

    def _size(self, request: Request) -> _Size:
        parts = [part for message in request.messages for part in message.parts]
        return _Size(
            sum(len(part.text) for part in parts if isinstance(part, Text)),
            sum(self._tokens(part, request) for part in parts if isinstance(part, Media)),
        )

    def _tokens(self, part: Media, request: Request) -> float:
        if part.digest not in self._pictures:
            if len(self._pictures) >= _MEASURED_PICTURES:
                return sum(self._pictures.values()) / len(self._pictures)
            self._pictures[part.digest] = self._measured(part, request.media)
        return self._pictures[part.digest]

    def _measured(self, part: Media, media: Mapping[str, object]) -> int:
        source = media.get(part.digest)
        if self._rule is None or part.kind != "image" or source is None:
            return self._assumed.picture_tokens
        import io

        from PIL import Image

        try:
            with Image.open(io.BytesIO(source.read())) as image:  # type: ignore[attr-defined]
                return self._rule.tokens(*image.size)
        except (MediaError, OSError, ValueError):
            return self._assumed.picture_tokens


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
