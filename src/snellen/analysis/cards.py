"""Protocol cards: what a benchmark of a version asks, reads and counts, as text and as digests.

A card is made by rehearsal: the rows of a small file in the benchmark's own layout are asked of
nobody and answered by canonical replies. Each part of the protocol leaves a digest: what would be
sent to the model, and how long it may answer (`prompt`, `decoding`); what is shown of media
(`media`); how replies are read (`reader`); what judges are asked (`judge`); what the numbers are
(`metric`); where the data come from and which variants there are (`data`). Pictures stand in
digests by their kind and place, never by their bytes.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from snellen.benchmarks.protocol.flows import planned_passes
from snellen.core.benchmark import Benchmark, Table, final_summary
from snellen.core.flow import run_flow
from snellen.core.message import Media, Message, Text
from snellen.core.origin import origin_of
from snellen.core.output import CandidateScore, Failure, Generated, Output, Ranked
from snellen.core.record import Record
from snellen.core.request import Draw, Generate, Rank, Request
from snellen.core.sample import Sample
from snellen.core.summary import Summary
from snellen.engine.loop.request_broker import MAIN

PARTS = ("prompt", "decoding", "media", "reader", "judge", "metric", "data")
_MAX_SAMPLES = 12
"""Rows of a file that are rehearsed."""
_MAX_EXAMPLE = 1200
_DIGITS = 16
_DECIMALS = 6

RoleReplies = Mapping[str, str]
"""What others than the model answer, by role."""


class ProtocolCard(Struct, frozen=True, omit_defaults=True):
    """`digest` is over all parts; `parts` maps each to the first 16 hex of its SHA-256."""

    name: str
    version: str
    title: str
    headline: str
    digest: str
    parts: dict[str, str]
    example: str
    """The first request, pictures as <image>."""
    decoding: str
    media: str
    reader: str
    judge: str = ""
    source: str = ""
    paper: str = ""
    coverage: str = "exact"
    parameters: dict[str, str] = {}
    layout: str = ""
    """SHA-256 of the canonical file, where the card was made of one."""
    published: str = ""
    """The file with its checksum, or the data set, that the benchmark declares."""


def canonical_replies(sample: Sample, turn: int) -> dict[str, str]:
    """What a model may say to a question, by the name of its manner."""
    planned = planned_passes(sample)
    gold = planned[turn].gold if turn < len(planned) else sample.gold
    right = gold[0] if gold else ""
    return {
        "gold": right,
        "blank": "",
        "sentence": f"The answer is {right}.",
        "bracket": f"({right})",
        "marked": f"Let us look closely. Answer: {right}",
        "boxed": f"So it must be $\\boxed{{{right}}}$.",
        "first": "A",
        "wordy": "B. It can be seen in the picture, unlike in C.",
        "yes": "Yes, there is.",
        "no": "no",
        "number": "There are 42 of them, that is 3.5 %.",
        "refusal": "I'm sorry, but I cannot help with that.",
        "unread": "It depends.",
    }


REPLY_KINDS = tuple(canonical_replies(Sample(id="", kind="open", question=""), 0))


def build_card(
    benchmark: Benchmark,
    table: Table,
    roles: RoleReplies | None = None,
    layout: str = "",
    by_rule: Mapping[str, Benchmark] | None = None,
) -> ProtocolCard:
    """The card of a benchmark over its first samples; `by_rule` holds it under its other rules."""
    chosen = list(itertools.islice(benchmark.samples(table), _MAX_SAMPLES))
    origin = origin_of(table)
    prepared = [benchmark.prepare(one) if benchmark.prepare else one for one in chosen]
    requests = [_first_request(benchmark, one) for one in prepared]
    contents: dict[str, object] = {
        "prompt": [_prompt(one) for one in requests],
        "decoding": [_settings(one) for one in requests],
        "media": [_media(sample) for sample in prepared],
        "data": [
            benchmark.provenance,
            {name: list(told) for name, told in benchmark.options.items()},
        ],
        **_parts_from_replies(benchmark, chosen, roles or {}, by_rule or {}),
    }
    parts = {name: _digest(contents[name]) for name in PARTS}
    first = next((one for one in requests if one is not None), None)
    return ProtocolCard(
        name=benchmark.name,
        version=benchmark.version,
        title=benchmark.title,
        headline=benchmark.headline,
        digest=_digest(parts),
        parts=parts,
        example=_example(first),
        decoding=_settings_text(first),
        media=_media_text(prepared),
        reader=", ".join(benchmark.rules),
        judge=", ".join(benchmark.extra_roles),
        source=benchmark.provenance,
        paper=benchmark.paper,
        coverage=benchmark.coverage,
        parameters=dict(benchmark.parameters),
        layout=layout,
        published="" if origin is None else origin.published,
    )


def _parts_from_replies(
    benchmark: Benchmark,
    samples: Sequence[Sample],
    roles: RoleReplies,
    by_rule: Mapping[str, Benchmark],
) -> dict[str, object]:
    """The parts that canonical replies bring to light."""
    replier = _CannedReplies(roles)
    records = replier.records(benchmark, samples)
    others = {
        rule: _parsed_results(_CannedReplies(roles).records(other, samples))
        for rule, other in by_rule.items()
    }
    numbers = {
        manner: _numbers(final_summary(benchmark, found)) for manner, found in records.items()
    }
    declared = [benchmark.headline, benchmark.oracle, benchmark.blank, benchmark.chance]
    return {
        "reader": [_parsed_results(records), others],
        "judge": list(replier.role_requests),
        "metric": [declared, numbers],
    }


class _CannedReplies:
    """Answers by manner, and notes what others than the model are asked."""

    def __init__(self, roles: RoleReplies) -> None:
        self._roles = roles
        self.role_requests: dict[str, None] = {}

    def records(self, benchmark: Benchmark, samples: Sequence[Sample]) -> dict[str, list[Record]]:
        """What becomes of the samples, by the manner of the replies."""
        return {
            manner: [self.record(benchmark, one, manner) for one in samples]
            for manner in REPLY_KINDS
        }

    def record(self, benchmark: Benchmark, sample: Sample, reply_kind: str) -> Record:
        def answer(request: Request) -> Output:
            if request.to == MAIN:
                return _reply(sample, request, reply_kind)
            self.role_requests[
                f"{request.to}: {_digest([_prompt(request), _settings(request)])}"
            ] = None
            reply = self._roles.get(request.to)
            return Generated(reply) if reply else Failure("missing", f"no role {request.to}")

        return run_flow(benchmark.flow(sample), answer)


def _reply(sample: Sample, request: Request, reply_kind: str) -> Output:
    if isinstance(request, Generate):
        return Generated(canonical_replies(sample, request.ref.turn)[reply_kind])
    if isinstance(request, Rank):
        best = REPLY_KINDS.index(reply_kind) % max(1, len(request.candidates))
        count = len(request.candidates)
        return Ranked(tuple(CandidateScore(-float((at - best) % count), 1) for at in range(count)))
    return Failure("unsupported", "pictures are not drawn in a rehearsal")


def _first_request(benchmark: Benchmark, sample: Sample) -> Request | None:
    """The first request of a flow; None where it ends without one."""
    return next(benchmark.flow(sample), None)


def _prompt(request: Request | None) -> object:
    if request is None:
        return None
    messages = [[one.role, [_part(part) for part in one.parts]] for one in request.messages]
    if isinstance(request, Rank):
        return [messages, list(request.candidates)]
    return messages


def _part(part: Text | Media) -> str:
    return part.text if isinstance(part, Text) else f"<{part.kind}>"


def _settings(request: Request | None) -> object:
    if isinstance(request, Generate | Draw):
        return msgspec.to_builtins(request.settings)
    return type(request).__name__


def _media(sample: Sample) -> list[str]:
    return [ref.kind for ref in sample.media]


def _parsed_results(records: Mapping[str, Sequence[Record]]) -> object:
    return {manner: [*map(_parsed_result, found)] for manner, found in records.items()}


def _parsed_result(record: Record) -> object:
    return [record.outcome, record.answer, _round(record.score), record.unscored]


def _numbers(summary: Summary) -> object:
    return [
        {name: [_round(one.value), one.n, one.unit] for name, one in summary.metrics.items()},
        {
            column: {label: _round(one.value) for label, one in labels.items()}
            for column, labels in summary.groups.items()
        },
    ]


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS) + 0.0


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:_DIGITS]


def _example(request: Request | None) -> str:
    if request is None:
        return ""
    multiple = len(request.messages) > 1
    text = "\n".join(_lines(request.messages, multiple))
    return text if len(text) <= _MAX_EXAMPLE else f"{text[:_MAX_EXAMPLE]} ..."


def _lines(messages: Sequence[Message], with_roles: bool) -> Iterator[str]:
    for message in messages:
        if with_roles:
            yield f"[{message.role}]"
        yield from map(_part, message.parts)


def _settings_text(request: Request | None) -> str:
    if isinstance(request, Rank):
        return "log-likelihood of each candidate"
    if isinstance(request, Draw):
        return "a drawn picture"
    if not isinstance(request, Generate):
        return ""
    settings = request.settings
    manner = "greedy" if settings.temperature == 0 else f"temperature {settings.temperature:g}"
    return f"{manner}, at most {settings.max_new_tokens} new tokens"


def _media_text(samples: Sequence[Sample]) -> str:
    """How many media of which kind the samples show, from the fewest to the most."""
    kinds = sorted({ref.kind for sample in samples for ref in sample.media})
    texts = []
    for kind in kinds:
        counts = [sum(ref.kind == kind for ref in sample.media) for sample in samples]
        span = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        texts.append(f"{span} {kind}{'' if span == '1' else 's'} each")
    return ", ".join(texts) or "none"
