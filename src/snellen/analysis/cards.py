"""Protocol cards: the prompts, parsing and scoring of a benchmark version, as text and as digests.

A card is built without a model: the rows of a small file in the benchmark's own layout are run
through its flow, and canonical replies take the place of the model's. Each part of the protocol has
a digest: what would be sent to the model and how long it may answer (`prompt`, `decoding`); the
media of the samples (`media`); how replies are parsed (`reader`); the requests to judges (`judge`);
the numbers (`metric`); the source of the data and the variants (`data`). Images enter a digest by
kind and position, never by their bytes.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from snellen.benchmarks.protocol.flows import planned_passes
from snellen.core.benchmark import Benchmark, DataTable, final_summary
from snellen.core.output import CandidateScore, Failure, Generated, Output, Ranked
from snellen.core.record import Record, run_flow
from snellen.core.request import MAIN, Draw, Generate, Media, Message, Rank, Request, Text
from snellen.core.sample import Sample, origin_of
from snellen.core.summary import Summary

PARTS = ("prompt", "decoding", "media", "reader", "judge", "metric", "data")
_MAX_SAMPLES = 12
"""Rows of a file that a card is built from."""
_MAX_EXAMPLE = 1200
_DIGITS = 16
_DECIMALS = 6

RoleReplies = Mapping[str, str]
"""Replies of models other than the measured one, by role."""


class ProtocolCard(Struct, frozen=True, omit_defaults=True):
    """`digest` covers all parts; `parts` maps each to the first 16 hex digits of its SHA-256."""

    name: str
    version: str
    title: str
    headline: str
    digest: str
    parts: dict[str, str]
    example: str
    """The first request, with images as <image>."""
    decoding: str
    media: str
    reader: str
    judge: str = ""
    source: str = ""
    paper: str = ""
    coverage: str = "exact"
    parameters: dict[str, str] = {}
    layout: str = ""
    """SHA-256 of the canonical file, if the card was built from one."""
    published: str = ""
    """The file with its checksum, or the data set, that the benchmark declares."""


REPLIES: Mapping[str, str] = {
    "gold": "{gold}",
    "blank": "",
    "sentence": "The answer is {gold}.",
    "bracket": "({gold})",
    "marked": "Let us look closely. Answer: {gold}",
    "boxed": "So it must be $\\boxed{{gold}}$.",
    "first": "A",
    "wordy": "B. It can be seen in the picture, unlike in C.",
    "yes": "Yes, there is.",
    "no": "no",
    "number": "There are 42 of them, that is 3.5 %.",
    "refusal": "I'm sorry, but I cannot help with that.",
    "unread": "It depends.",
}
"""Replies that a model may give to a question, by the kind of reply."""


def canonical_reply(sample: Sample, turn: int, kind: str) -> str:
    """The reply of that kind in a pass over a question, with its first gold answer filled in."""
    planned = planned_passes(sample)
    gold = planned[turn].gold if turn < len(planned) else sample.gold
    return REPLIES[kind].replace("{gold}", gold[0] if gold else "")


def build_card(
    benchmark: Benchmark,
    table: DataTable,
    roles: RoleReplies | None = None,
    layout: str = "",
    by_rule: Mapping[str, Benchmark] | None = None,
) -> ProtocolCard:
    """Build the card of a benchmark from its first samples; `by_rule` holds the benchmark under its
    other parsing rules."""
    chosen = list(itertools.islice(benchmark.samples(table), _MAX_SAMPLES))
    origin = origin_of(table)
    prepared = [benchmark.prepare(sample) if benchmark.prepare else sample for sample in chosen]
    # None of a flow that ends without a request.
    requests = [next(benchmark.flow(sample), None) for sample in prepared]
    contents: dict[str, object] = {
        "prompt": [_prompt(request) for request in requests],
        "decoding": [_settings(request) for request in requests],
        "media": [[ref.kind for ref in sample.media] for sample in prepared],
        "data": [benchmark.provenance, {name: list(values) for name, values in benchmark.options.items()}],
        **_parts_from_replies(benchmark, chosen, roles or {}, by_rule or {}),
    }
    parts = {name: _digest(contents[name]) for name in PARTS}
    first = next((request for request in requests if request is not None), None)
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
    benchmark: Benchmark, samples: Sequence[Sample], roles: RoleReplies, by_rule: Mapping[str, Benchmark]
) -> dict[str, object]:
    """The parts that depend on replies: parsing, judge requests and numbers."""
    replier = _CannedReplies(roles)
    records = replier.records(benchmark, samples)
    others = {rule: _parsed_results(_CannedReplies(roles).records(other, samples)) for rule, other in by_rule.items()}
    numbers = {reply_kind: _numbers(final_summary(benchmark, of_kind)) for reply_kind, of_kind in records.items()}
    declared = [benchmark.headline, benchmark.oracle, benchmark.blank, benchmark.chance]
    return {
        "reader": [_parsed_results(records), others],
        "judge": list(replier.role_requests),
        "metric": [declared, numbers],
    }


class _CannedReplies:
    """Answers requests with canonical replies and records the requests to other roles."""

    def __init__(self, roles: RoleReplies) -> None:
        self._roles = roles
        self.role_requests: dict[str, None] = {}

    def records(self, benchmark: Benchmark, samples: Sequence[Sample]) -> dict[str, list[Record]]:
        """The records of the samples, by the kind of reply."""
        return {
            reply_kind: [self.record(benchmark, sample, reply_kind) for sample in samples] for reply_kind in REPLIES
        }

    def record(self, benchmark: Benchmark, sample: Sample, reply_kind: str) -> Record:
        def answer(request: Request) -> Output:
            if request.to == MAIN:
                return _reply(sample, request, reply_kind)
            self.role_requests[f"{request.to}: {_digest([_prompt(request), _settings(request)])}"] = None
            reply = self._roles.get(request.to)
            return Generated(reply) if reply else Failure("missing", f"no role {request.to}")

        return run_flow(benchmark.flow(sample), answer)


def _reply(sample: Sample, request: Request, reply_kind: str) -> Output:
    if isinstance(request, Generate):
        return Generated(canonical_reply(sample, request.ref.turn, reply_kind))
    if isinstance(request, Rank):
        best = list(REPLIES).index(reply_kind) % max(1, len(request.candidates))
        count = len(request.candidates)
        return Ranked(tuple(CandidateScore(-float((index - best) % count), 1) for index in range(count)))
    return Failure("unsupported", "no image is generated for a card")


def _prompt(request: Request | None) -> object:
    if request is None:
        return None
    messages = [[message.role, [_part(part) for part in message.parts]] for message in request.messages]
    if isinstance(request, Rank):
        return [messages, list(request.candidates)]
    return messages


def _part(part: Text | Media) -> str:
    return part.text if isinstance(part, Text) else f"<{part.kind}>"


def _settings(request: Request | None) -> object:
    if isinstance(request, Generate | Draw):
        return msgspec.to_builtins(request.settings)
    return type(request).__name__


def _parsed_results(records: Mapping[str, Sequence[Record]]) -> object:
    return {reply_kind: [*map(_parsed_result, of_kind)] for reply_kind, of_kind in records.items()}


def _parsed_result(record: Record) -> object:
    return [record.outcome, record.answer, _round(record.score), record.unscored]


def _numbers(summary: Summary) -> object:
    return [
        {name: [_round(metric.value), metric.n, metric.unit] for name, metric in summary.metrics.items()},
        {
            column: {label: _round(metric.value) for label, metric in labels.items()}
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
    sampling = "greedy" if settings.temperature == 0 else f"temperature {settings.temperature:g}"
    return f"{sampling}, at most {settings.max_new_tokens} new tokens"


def _media_text(samples: Sequence[Sample]) -> str:
    """How many media of each kind the samples have, lowest to highest."""
    kinds = sorted({ref.kind for sample in samples for ref in sample.media})
    texts = []
    for kind in kinds:
        counts = [sum(ref.kind == kind for ref in sample.media) for sample in samples]
        span = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        texts.append(f"{span} {kind}{'' if span == '1' else 's'} each")
    return ", ".join(texts) or "none"
