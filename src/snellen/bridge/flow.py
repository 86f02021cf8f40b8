"""How one question of another tool is asked and scored: the model, then the tool's code, with judges
between where that code asks one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Struct, structs

from snellen.benchmarks.protocol.flows import Circular, PlannedPass, planned_passes
from snellen.benchmarks.protocol.judged_flows import build_record
from snellen.benchmarks.protocol.judging import JUDGE
from snellen.bridge.protocol import JudgeQuestion, MessageData, NextTurn, PartData, SampleScore
from snellen.bridge.scorer import SCORER, ScoreReply, ScoreRequest, key_of
from snellen.core.errors import DataError
from snellen.core.media import FileSource, Source
from snellen.core.output import Failure, Generated, Output, ParsedAnswer
from snellen.core.record import KEPT, Flow, Pass, Record, Steps, Verdict
from snellen.core.request import Generate, Generation, Media, Message, Part, Ref, Text
from snellen.core.sample import MediaRef, Sample
from snellen.extract.unanswered import non_answer

_MOST_ROUNDS = 24
"""Times that one score may wait for a judge."""
MAX_NEW_TOKENS = 2048
"""Longest reply where the tool does not say it."""


class Kept(Struct, frozen=True, omit_defaults=True):
    """What the numbers of the whole run need of a sample, in `Record.metadata`."""

    index: int
    replies: tuple[str, ...]
    values: dict[str, float]
    state: object = None
    order: tuple[int, ...] = ()
    """Positions of the options as they were shown; () for the order of the tool's row."""


class PutQuestion(NamedTuple):
    """A question of the tool: its place in the task, and how it is put."""

    place: int
    messages: tuple[MessageData, ...]
    generation: Mapping[str, Any] = {}
    """Settings of this question, where the tool says other ones than for its task."""
    order: tuple[int, ...] = ()
    fixed: str = ""
    """Why its options cannot stand in the order that was asked for."""


@dataclass(frozen=True, slots=True)
class BridgedFlow:
    """What the flow of every sample needs."""

    task: str
    find: Callable[[Sample, Mapping[str, str], Sequence[str]], PutQuestion]
    """The question of a sample with these options and this gold answer."""
    next_turn: Callable[[int, Sequence[str]], NextTurn] | None
    """What follows the replies so far, if conversations have several turns."""
    generation: Mapping[str, Any]
    """Settings of the task, of questions without their own."""
    longest: int | None
    """Longest reply in tokens that the user wants; None: what the tool says."""
    has_judge: bool
    circular: Circular = "off"

    def __call__(self, sample: Sample) -> Flow:
        """Ask, then score; circularly in each rotation of the options."""
        passes = planned_passes(sample) if self.circular != "off" else [PlannedPass(sample.options, sample.gold)]
        done: list[Record] = []
        for number, planned in enumerate(passes):
            try:
                question = self.find(sample, planned.options, planned.gold)
                if question.fixed and done:
                    passes = passes[:1]
                    break
                why = question.fixed
            except DataError as error:
                why = str(error)
            if why:
                return build_record(sample, (Pass((), Failure("request", why), gold=planned.gold),))
            done.append((yield from self._ask(sample, planned, question, number)))
            if done[-1].unscored is not None or (self.circular == "early" and done[-1].score != 1.0):
                break
        return done[0] if self.circular == "off" else _join_passes(sample, done, len(passes))

    def _ask(self, sample: Sample, planned: PlannedPass, question: PutQuestion, number: int) -> Steps[Record]:
        """Ask one pass, and have it scored."""
        settings = generation_of(question.generation or self.generation, self.longest)
        replies: list[str] = []
        messages: tuple[Message, ...] = with_media(question.messages, sample.media)
        media: Mapping[str, Source] = sample.sources()
        while True:
            output: Output = yield Generate(
                messages=messages,
                ref=Ref(sample.id, number + len(replies)),
                settings=settings,
                media=media,
                choices=tuple(planned.options) if sample.kind == "choice" else (),
            )
            if not isinstance(output, Generated):
                return build_record(sample, (Pass(messages, output, gold=planned.gold),))
            replies.append(output.text)
            following = self.next_turn(question.place, replies) if self.next_turn else NextTurn(done=True)
            if following.done:
                break
            messages, media = as_messages(following.messages), media_of(following.messages)
        moved = dict(planned.options) if planned.options is not sample.options else {}
        result = Pass(messages, output, gold=planned.gold, options=moved)
        return (yield from self._score(sample, result, question, replies))

    def _score(self, sample: Sample, result: Pass, question: PutQuestion, replies: Sequence[str]) -> Flow:
        """Have the tool's code score the replies, as often as it asks a judge."""
        judged: dict[str, str] = {}
        verdicts: list[Verdict] = []
        for turn in range(_MOST_ROUNDS):
            order = question.order or UNSET
            request = ScoreRequest(self.task, question.place, tuple(replies), judged, order)
            text = Text(msgspec.json.encode(request, order="sorted").decode())
            output: Output = yield Generate(messages=(Message("user", (text,)),), ref=Ref(sample.id, turn), to=SCORER)
            if not isinstance(output, Generated):
                failed = structs.replace(result, verdicts=(*verdicts, Verdict(SCORER, output)))
                return build_record(sample, (failed,), failure_of=output)
            reply = _read_reply(output.text)
            if isinstance(reply, Failure):
                return build_record(sample, (result,), failure_of=reply)
            if reply.scored is not None:
                verdicts.append(Verdict(SCORER, output, values=_numbers(reply.scored), text=reply.scored.answer))
                kept = Kept(question.place, tuple(replies), _numbers(reply.scored), reply.scored.state, question.order)
                return _score_record(sample, structs.replace(result, verdicts=tuple(verdicts)), kept, reply.scored)
            if not self.has_judge:
                return build_record(sample, (result,), unscored="ungraded")
            for asked in reply.asks:
                answer = yield from _ask_judge(asked, Ref(sample.id, len(verdicts)))
                verdicts.append(Verdict(JUDGE, answer))
                if not isinstance(answer, Generated):
                    failed = structs.replace(result, verdicts=tuple(verdicts))
                    return build_record(sample, (failed,), failure_of=answer)
                judged[key_of(asked)] = answer.text
        endless = Failure("request", f"the tool's code asked a judge more than {_MOST_ROUNDS} times about one reply")
        return build_record(sample, (structs.replace(result, verdicts=tuple(verdicts)),), failure_of=endless)


def _read_reply(text: str) -> ScoreReply | Failure:
    """What the scorer said; a plan is made with replies that say nothing."""
    try:
        return msgspec.json.decode(text, type=ScoreReply)
    except msgspec.MsgspecError as error:
        return Failure("request", f"the scorer's output cannot be read: {error}")


def _ask_judge(asked: JudgeQuestion, ref: Ref) -> Steps[Output]:
    settings, media = generation_of(asked.generation), media_of(asked.messages)
    return (yield Generate(messages=as_messages(asked.messages), ref=ref, settings=settings, media=media, to=JUDGE))


def generation_of(given: Mapping[str, Any], longest: int | None = None) -> Generation:
    """Settings that a tool names, in the exchange's words; `longest` is the user's own limit in tokens."""
    named: dict[str, Any] = {
        "max_new_tokens": int(longest or given.get("max_new_tokens") or given.get("max_tokens") or MAX_NEW_TOKENS),
        "temperature": float(given.get("temperature") or 0.0),
    }
    if stop := given.get("stop"):
        named["stop"] = (stop,) if isinstance(stop, str) else tuple(map(str, stop))
    if named["temperature"]:
        # Of one candidate there is nothing to draw.
        draws = {"top_p": float, "top_k": int}
        named |= {name: kind(given[name]) for name, kind in draws.items() if given.get(name) is not None}
    usual = Generation()
    # What equals a default stays that very object: digests leave out defaults by identity.
    changes = {name: value for name, value in named.items() if value != getattr(usual, name)}
    return structs.replace(usual, **changes)


def _join_passes(sample: Sample, done: Sequence[Record], count: int) -> Record:
    """The record of a question that was asked in several rotations: right if every one is, as in
    `protocol.flows.circular_flow`. What the tool counts as a whole are the first."""
    first = done[0]
    failed = next((one for one in done if one.unscored is not None), None)
    passes = tuple(result for one in done for result in one.passes)
    if failed is not None:
        return structs.replace(failed, passes=passes, answer=first.answer)
    values = {**first.values, "vanilla": first.score or 0.0}
    kept = structs.replace(msgspec.json.decode(first.metadata[KEPT], type=Kept), values=values)
    deciding = next((one for one in done if one.score != 1.0), done[-1])
    return structs.replace(
        first,
        score=min(one.score or 0.0 for one in done),
        outcome=deciding.outcome,
        values=values,
        passes=passes,
        saved=count - len(done),
        asked_once=sample.kind == "choice" and count == 1,
        metadata={**first.metadata, KEPT: msgspec.json.encode(kept).decode()},
    )


def find_order(
    own: Mapping[str, str], gold: Sequence[str], asked: Mapping[str, str], its_gold: Sequence[str]
) -> tuple[int, ...]:
    """Where each of the options that are shown stands among the tool's own, () if they stand as there. Of
    options of one text, the gold one is the gold one."""
    if (dict(own), tuple(gold)) == (dict(asked), tuple(its_gold)) or set(own) != set(asked):
        return ()
    labels = list(own)
    left = [label for label in labels if label not in gold]
    order = []
    for label, text in asked.items():
        found = gold[0] if label in its_gold and gold else next(one for one in left if own[one] == text)
        order.append(labels.index(found))
        left = [one for one in left if one != found]
    return tuple(order)


def _score_record(sample: Sample, result: Pass, kept: Kept, scored: SampleScore) -> Record:
    """The record of a sample that the tool's code has scored; without a right or wrong of one row it
    has values alone."""
    values = kept.values
    output = result.output
    assert isinstance(output, Generated)
    read = ParsedAnswer(scored.answer if scored.answer is not None else output.text.strip(), SCORER)
    correct = None if scored.correct is None else min(1.0, max(0.0, float(scored.correct)))
    is_whole = correct in (0.0, 1.0)
    result = structs.replace(
        result,
        answer=non_answer(output) or read,
        correct=None if correct is None else correct == 1.0,
        credit=correct if not is_whole else None,
    )
    if correct is None:
        record = build_record(sample, (result,), unscored="ungraded")
        record = structs.replace(record, values=values)
    else:
        record = build_record(sample, (result,), score=correct, values=values)
    return structs.replace(record, metadata={**record.metadata, KEPT: msgspec.json.encode(kept).decode()})


def _numbers(scored: SampleScore) -> dict[str, float]:
    return {name: float(value) for name, value in scored.values.items() if value is not None}


def as_messages(messages: Sequence[MessageData]) -> tuple[Message, ...]:
    """Messages whose media are named by their content."""
    return tuple(Message(message.role, tuple(map(_part, message.parts))) for message in messages)


def media_of(messages: Sequence[MessageData]) -> dict[str, Source]:
    """Where the media of messages are."""
    return {ref.digest: ref.source for ref in media_refs(messages)}


def media_refs(messages: Sequence[MessageData]) -> Iterator[MediaRef]:
    """The media of messages in order; their files are named by the SHA-256 of their bytes."""
    for message in messages:
        for part in message.parts:
            if part.kind is not None:
                yield MediaRef(_digest(part), FileSource(part.path), part.kind)


def with_media(messages: Sequence[MessageData], media: Sequence[MediaRef]) -> tuple[Message, ...]:
    """Messages that show a sample's media, which a control may have changed: each in its place, none
    where there are none, and in front of the text where their number is another."""
    built = as_messages(messages)
    count = sum(len(message.media()) for message in built)
    shown = [Media(ref.kind, ref.digest) for ref in media]
    in_place = iter(shown if len(shown) == count else ())
    changed = [Message(one.role, tuple(_replace_media(one.parts, in_place))) for one in built]
    if shown and len(shown) != count:
        at = next((place for place, one in enumerate(changed) if one.role == "user"), 0)
        changed[at] = Message(changed[at].role, (*shown, *changed[at].parts))
    return tuple(changed)


def _replace_media(parts: Sequence[Part], media: Iterator[Media]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, Text):
            yield part
        elif (shown := next(media, None)) is not None:
            yield shown


def _part(part: PartData) -> Part:
    return Text(part.text) if part.kind is None else Media(part.kind, _digest(part))


def _digest(part: PartData) -> str:
    return Path(part.path).stem
