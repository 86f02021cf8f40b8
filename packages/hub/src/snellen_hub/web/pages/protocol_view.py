"""What the protocol card of a hosted benchmark says: how it is asked, parsed and counted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from snellen.analysis.card_file import stored_cards
from snellen.analysis.cards import ProtocolCard
from snellen.benchmarks.declaration.registry import open_benchmark, split_spec
from snellen.core.errors import SnellenError
from snellen.report import format as fmt
from snellen_hub.database.tables import HostedBenchmark
from snellen_hub.hosting import Protocol

FAILURE_POLICIES = {
    "count-wrong": "Missing, failed and unreadable replies count as wrong.",
    "exclude": "Failed and missing replies are left out of the score.",
    "withhold": "No score is given if a reply failed or is missing.",
}


def scoring_facts(benchmark: HostedBenchmark) -> dict[str, str]:
    """How replies become numbers: lines of the card. Names are texts of the page, values as they
    are."""
    protocol = msgspec.convert(benchmark.protocol, Protocol)
    card = find_card(benchmark.spec)
    return _with_value(
        {
            "Benchmark of Snellen": benchmark.spec,
            "Parsing rule": protocol.rule or (card.reader if card else "the default rule"),
            "Failures": FAILURE_POLICIES.get(protocol.failures, protocol.failures),
            "Rotated options": protocol.circular,
            "Columns of the data": ", ".join(f"{our}: {theirs}" for our, theirs in protocol.columns.items()),
            "Headline": fmt.metric_label(card.headline) if card else "",
            "Judge": card.judge if card else "",
        }
    )


def card_facts(card: ProtocolCard) -> dict[str, str]:
    """How questions are put to a model, as `scoring_facts`."""
    return _with_value(
        {
            "Decoding": card.decoding,
            "Media": card.media,
            "Data": card.source,
            "Data file": card.published,
            "Coverage": card.coverage,
            "Digest of the card": card.digest,
        }
    )


def _with_value(facts: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in facts.items() if value}


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
