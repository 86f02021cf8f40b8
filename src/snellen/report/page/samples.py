"""Which samples a page shows, and how a record is described to the page's script."""

from __future__ import annotations

import hashlib
import heapq
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Literal, Protocol

import msgspec

from snellen.core.answer_text import READABLE, answer_text, answer_texts
from snellen.core.output import (
    RETRYABLE,
    Answer,
    Compared,
    Drawn,
    Failure,
    Generated,
    Misplaced,
    NoMatch,
    ParsedAnswer,
    Ranked,
    Refused,
    outcome_of,
)
from snellen.core.record import CutReply, Pass, Record, Verdict
from snellen.core.request import Message, Text
from snellen.core.sample import Kind
from snellen.report.place_drawing import draw_places
from snellen.report.side_by_side import DRAWN_KINDS, draw_side_by_side

MAX_SAMPLES = 500

Result = Literal["right", "partly", "wrong", "unscored"]

_DIGITS = re.compile(r"\d+|\D+")
_BUCKETS = 5
_WRONG, _UNREAD, _FAILED, _UNSCORED, _RIGHT = range(_BUCKETS)


def select_samples(records: Iterable[Record], max_samples: int = MAX_SAMPLES) -> list[Record]:
    """Select at most `max_samples` records: wrong, unparsed (refused, truncated, ...) and failed
    ones before those without gold and right ones.

    If there are too many of the former, each kind gets an equal number. Within a kind the hash of
    the id decides: a random sample that is the same on every call, drawn in one pass that holds at
    most `max_samples` records of a kind in memory.
    """
    # A heap for each bucket keeps the records of the smallest keys: the largest negated ones.
    buckets: list[list[tuple[int, int, Record]]] = [[] for _ in range(_BUCKETS)]
    for position, record in enumerate(records):
        bucket = buckets[_bucket(record)]
        negated_key = -int.from_bytes(hashlib.sha256(record.id.encode()).digest()[:8])
        if len(bucket) < max_samples:
            heapq.heappush(bucket, (negated_key, position, record))
        elif bucket[0][0] <= negated_key:
            heapq.heapreplace(bucket, (negated_key, position, record))
    selected: list[Record] = []
    sizes = _bucket_sizes([len(bucket) for bucket in buckets], max_samples)
    for bucket, size in zip(buckets, sizes, strict=True):
        sampled = sorted(bucket, reverse=True)[:size]
        selected += [record for _, _, record in sorted(sampled, key=lambda entry: entry[1])]
    return selected


def in_data_order(records: Iterable[Record]) -> list[Record]:
    """The records in the order of their questions in the data. Where positions were not recorded,
    ids decide: 10 stands after 9."""
    ordered = list(records)
    if all(record.position is not None for record in ordered):
        return sorted(ordered, key=lambda record: record.position or 0)
    return sorted(ordered, key=lambda record: natural_key(record.id))


def natural_key(name: str) -> list[tuple[bool, int, str]]:
    """Sort key for ids: digits count as numbers."""
    pieces = _DIGITS.findall(name)
    return [(piece.isdecimal(), int(piece) if piece.isdecimal() else 0, piece) for piece in pieces]


def prompt_media(record: Record) -> list[str]:
    """Digests of the media in a sample's first prompt."""
    messages = record.passes[0].prompt if record.passes else ()
    return [part.digest for message in messages for part in message.media()]


def page_media(records: Iterable[Record], max_samples: int = MAX_SAMPLES) -> list[str]:
    """Digests of the media on a page: those of the selected samples and of the first sample."""
    iterator = iter(records)
    first = next(iterator, None)
    if first is None:
        return []
    selected = select_samples(chain((first,), iterator), max_samples)
    return list(dict.fromkeys(digest for each in (first, *selected) for digest in each.media))


def _bucket(record: Record) -> int:
    if record.outcome in RETRYABLE:
        return _FAILED
    if record.outcome == "unsupported":
        return _UNSCORED
    if record.outcome != "answered":
        return _UNREAD
    if record.score is None:
        return _UNSCORED
    return _RIGHT if record.score >= 1 else _WRONG


def _bucket_sizes(sizes: list[int], max_samples: int) -> list[int]:
    """How many records of each bucket to take: equal parts of the wrong, unparsed and failed ones,
    then the others in turn."""
    shares = [0] * len(sizes)
    remaining = max_samples
    troubled = (_FAILED, _UNREAD, _WRONG)
    for rank, bucket in enumerate(sorted(troubled, key=lambda bucket: sizes[bucket])):
        shares[bucket] = min(sizes[bucket], remaining // (len(troubled) - rank))
        remaining -= shares[bucket]
    for bucket in (_UNSCORED, _RIGHT):
        shares[bucket] = min(sizes[bucket], remaining)
        remaining -= shares[bucket]
    return shares


def describe(record: Record) -> dict[str, Any]:
    """A record as JSON for the page's script, with the keys of `report.js`."""
    return {
        "id": record.id,
        "kind": record.kind,
        "question": record.question,
        "outcome": record.outcome,
        "result": record_result(record),
        "score": record.score,
        "answer": record.answer if record.kind not in READABLE else _answer_text(record.answer, record.kind),
        "gold": list(record.gold if record.kind not in READABLE else answer_texts(record.gold, record.kind)),
        "options": record.options,
        "groups": record.groups,
        "media": list(record.media),
        "values": record.values,
        "saved": record.saved,
        **_describe_remarks(record),
        "passes": _describe_passes(record, record.passes),
        "draws": [
            {
                "result": record_result(draw),
                "outcome": draw.outcome,
                "score": draw.score,
                "answer": draw.answer if record.kind not in READABLE else _answer_text(draw.answer, record.kind),
                "failure": draw.failure,
                "passes": _describe_passes(record, draw.passes),
            }
            for draw in record.repeats
        ],
    }


def _answer_text(answer: str | None, kind: Kind) -> str | None:
    return None if answer is None else answer_text(answer, kind)


def _describe_remarks(record: Record) -> dict[str, Any]:
    """What only some samples have; absent in the others, which keeps pages small."""
    remarks = {
        "unscored": record.unscored,
        "failure": record.failure,
        "unit": record.unit,
        "derived": record.data_media is not None,
        "asked_once": record.asked_once,
        "lacking": record.lacking,
        "holds_verdict": record.holds_verdict,
        "places": draw_places(record.gold, record.answer) if record.kind == "place" else None,
        "beside": draw_side_by_side(record) if record.kind in DRAWN_KINDS else None,
    }
    described: dict[str, Any] = {name: value for name, value in remarks.items() if value}
    return described if record.position is None else {**described, "position": record.position}


def _describe_passes(record: Record, passes: Sequence[Pass]) -> list[dict[str, Any]]:
    return [
        _describe_pass(turn, record.kind, turn.options or ({} if index else record.options))
        for index, turn in enumerate(passes)
    ]


class _HasScore(Protocol):
    @property
    def score(self) -> float | None: ...


def record_result(record: _HasScore) -> Result:
    """Whether the sample was right; a score of None is neither right nor wrong."""
    if record.score is None:
        return "unscored"
    if record.score >= 1:
        return "right"
    return "wrong" if record.score <= 0 else "partly"


def _describe_pass(turn: Pass, kind: Kind, options: dict[str, str]) -> dict[str, Any]:
    """`options` are the options in this pass; the first pass may leave them to the record."""
    return {
        "prompt": describe_prompt(turn),
        "output": _describe_output(turn, options),
        "answer": _describe_answer(turn.answer, kind),
        "gold": list(turn.gold if kind not in READABLE else answer_texts(turn.gold, kind)),
        "correct": turn.correct,
        "credit": turn.credit,
        "options": options,
        "row": turn.row,
        **(_describe_cut_reply(turn, turn.cut_reply) if turn.cut_reply is not None else {}),
        **(_describe_helpers(turn, kind) if turn.extraction is not None or turn.verdicts else {}),
    }


def _describe_cut_reply(turn: Pass, cut_reply: CutReply) -> dict[str, Any]:
    """The reply that was cut, of a model that was asked again with a larger limit."""
    cut = msgspec.structs.replace(turn, output=cut_reply.output, answer=None)
    return {"cut_reply": _describe_output(cut, {}), "cut_at": cut_reply.max_new_tokens}


def _describe_helpers(turn: Pass, kind: Kind) -> dict[str, Any]:
    """What an extractor and judges made of a reply."""
    helpers: dict[str, Any] = {}
    if turn.extraction is not None:
        helpers["extraction"] = _describe_output(msgspec.structs.replace(turn, output=turn.extraction, answer=None), {})
        helpers["by_rules"] = _describe_answer(turn.by_rules, kind)
    if turn.verdicts:
        helpers["verdicts"] = [_describe_verdict(turn, verdict) for verdict in turn.verdicts]
    return helpers


def _describe_verdict(turn: Pass, verdict: Verdict) -> dict[str, Any]:
    plain = msgspec.structs.replace(turn, output=verdict.output, answer=None)
    return {
        "judge": verdict.judge,
        "step": verdict.step,
        "values": verdict.values,
        "text": verdict.text,
        "tries": verdict.tries,
        "repeat": verdict.repeat,
        "legible": verdict.is_legible,
        "output": _describe_output(plain, {}),
    }


def describe_prompt(turn: Pass) -> list[dict[str, Any]]:
    """The prompt, message by message and part by part."""
    return [_describe_message(message) for message in turn.prompt]


def _describe_message(message: Message) -> dict[str, Any]:
    parts = [
        {"text": part.text} if isinstance(part, Text) else {"kind": part.kind, "digest": part.digest}
        for part in message.parts
    ]
    return {"role": message.role, "parts": parts}


def _describe_output(turn: Pass, options: dict[str, str]) -> dict[str, Any]:
    """Describe an output. The reply is split around its evidence here, because JavaScript counts
    characters differently."""
    output = turn.output
    if isinstance(output, Failure):
        failure = {"type": "failure", "kind": output.kind, "message": output.message}
        return {**failure, "sent": output.sent}
    if isinstance(output, Ranked):
        labels = list(options)
        rows = [
            {
                "label": labels[index] if len(labels) == len(output.candidates) else str(index + 1),
                "logprob": score.logprob,
                "tokens": score.tokens,
            }
            for index, score in enumerate(output.candidates)
        ]
        return {"type": "ranked", "candidates": rows}
    if isinstance(output, Drawn):
        return {"type": "drawn", "images": list(output.images), "text": output.text}
    if isinstance(output, Compared):
        rows = [
            {"label": label, "similarity": similarity}
            for label, similarity in zip(options, output.similarities, strict=False)
        ]
        return {"type": "compared", "candidates": rows}
    start, end = _evidence(turn, output)
    text = output.text
    return {
        "type": "generated",
        "text": [text[:start], text[start:end], text[end:]],
        "stop": output.stop_reason,
        "reasoning": output.reasoning,
        "tokens": output.usage.completion_tokens if output.usage else None,
        "prompt_tokens": output.usage.prompt_tokens if output.usage else None,
        "reasoning_tokens": output.usage.reasoning_tokens if output.usage else None,
        "seconds": output.seconds,
    }


def _evidence(turn: Pass, output: Generated) -> tuple[int, int]:
    length = len(output.text)
    if not isinstance(turn.answer, ParsedAnswer | Misplaced) or turn.answer.span is None:
        return length, length
    start, end = turn.answer.span
    return (start, end) if 0 <= start < end <= length else (length, length)


def _describe_answer(answer: Answer | None, kind: Kind) -> dict[str, Any] | None:
    if answer is None:
        return None
    described: dict[str, Any] = {"type": type(answer).__struct_config__.tag}
    if isinstance(answer, ParsedAnswer):
        described["value"] = answer.value if kind not in READABLE else answer_text(answer.value, kind)
    if isinstance(answer, Misplaced):
        described |= {"type": outcome_of(answer), "value": answer.value}
    if isinstance(answer, ParsedAnswer | NoMatch | Refused | Misplaced):
        described["rule"] = answer.rule
    return described
