"""`protocol_card`: what a benchmark asks, parses and counts."""

from __future__ import annotations

from snellen.analysis.card_file import stored_cards
from snellen.analysis.cards import ProtocolCard, build_card
from snellen.benchmarks.declaration.registry import JUDGE_PROMPT, open_benchmark, split_spec
from snellen.core.benchmark import Variant


def protocol_card(spec: str) -> ProtocolCard:
    """The protocol card of a benchmark.

    The stored one, if there is one for the version; for a variant or a data file of the user's it
    is made from the first rows. Raises a UsageError subclass if the name is unknown, or the data of
    a variant are not on this machine.
    """
    options = split_spec(spec).options
    benchmark = open_benchmark(spec, Variant(judges=int(JUDGE_PROMPT in options)))
    variant_text = ",".join(f"{name}={value}" for name, value in sorted(options.items()))
    key = f"{benchmark.name}@{variant_text}" if variant_text else benchmark.name
    stored = stored_cards().get(key)
    if stored is not None and stored.version == benchmark.version:
        return stored
    return build_card(benchmark, benchmark.open())
