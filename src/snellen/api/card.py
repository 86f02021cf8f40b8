"""`protocol_card`: what a benchmark asks, reads and counts."""

from __future__ import annotations

from snellen.analysis.card_file import stored_cards
from snellen.analysis.cards import ProtocolCard, build_card
from snellen.benchmarks.declaration.registry import open_benchmark, split_spec


def protocol_card(spec: str) -> ProtocolCard:
    """The card of a benchmark by name; of a variant or a data file of one's own it is made of its
    first rows.

    Raises a UsageError subclass where the name is not known, or the data of a variant are not
    here.
    """
    benchmark = open_benchmark(spec)
    options = split_spec(spec).options
    variant_text = ",".join(f"{name}={value}" for name, value in sorted(options.items()))
    key = f"{benchmark.name}@{variant_text}" if variant_text else benchmark.name
    stored = stored_cards().get(key)
    if stored is not None and stored.version == benchmark.version:
        return stored
    return build_card(benchmark, benchmark.open())
