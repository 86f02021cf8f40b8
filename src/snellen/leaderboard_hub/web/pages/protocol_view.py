"""What the protocol card of a hosted benchmark says: how it is asked, parsed and counted."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import msgspec

from snellen.analysis.card_file import stored_cards
from snellen.analysis.cards import ProtocolCard
from snellen.benchmarks.declaration.registry import open_benchmark, split_spec
from snellen.core.errors import SnellenError
from snellen.leaderboard_hub.database.tables import HostedBenchmark
from snellen.leaderboard_hub.hosting import Protocol
from snellen.report import format as fmt

FAILURE_POLICIES = {
    "count-wrong": "Missing, failed and unreadable replies count as wrong.",
    "exclude": "Failed and missing replies are left out of the score.",
    "withhold": "No score is given if a reply failed or is missing.",
}


class ScoringFact(NamedTuple):
    """A line of the card; both are texts of the page, values as they are."""

    name: str
    value: str


def scoring_facts(benchmark: HostedBenchmark) -> list[ScoringFact]:
    """How replies become numbers."""
    protocol = msgspec.convert(benchmark.protocol, Protocol)
    card = find_card(benchmark.spec)
    facts = [
        ScoringFact("Benchmark of Snellen", benchmark.spec),
        ScoringFact("Parsing rule", protocol.rule or (card.reader if card else "the default rule")),
        ScoringFact("Failures", FAILURE_POLICIES.get(protocol.failures, protocol.failures)),
        ScoringFact("Rotated options", protocol.circular or ""),
        ScoringFact(
            "Columns of the data",
            ", ".join(f"{ours}: {theirs}" for ours, theirs in protocol.columns.items()),
        ),
        ScoringFact("Headline", fmt.metric_label(card.headline) if card else ""),
        ScoringFact("Judge", card.judge if card else ""),
    ]
    return [fact for fact in facts if fact.value]


@cache
def find_card(spec: str) -> ProtocolCard | None:
    """The protocol card that comes with Snellen; None for data of the owner's, and variants."""
    if not spec:
        return None
    try:
        name, options = open_benchmark(spec).name, split_spec(spec).options
    except SnellenError:
        return None
    variant = ",".join(f"{option}={value}" for option, value in sorted(options.items()))
    cards = stored_cards()
    return cards.get(f"{name}@{variant}" if variant else name) or cards.get(name)


def card_facts(card: ProtocolCard) -> list[ScoringFact]:
    """How questions are put to a model."""
    facts = [
        ScoringFact("Answers", card.decoding),
        ScoringFact("Media", card.media),
        ScoringFact("Data", card.source),
        ScoringFact("Data file", card.published),
        ScoringFact("Coverage", card.coverage),
        ScoringFact("Digest of the card", card.digest),
    ]
    return [fact for fact in facts if fact.value]
