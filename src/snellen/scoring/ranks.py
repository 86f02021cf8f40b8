"""Ranks of systems, and averages of ranks over tasks."""

from __future__ import annotations

from collections.abc import Mapping


def competition_ranks(values: Mapping[str, float | None]) -> dict[str, int]:
    """1 + the number of strictly higher values: equal values share the smaller rank.

    A system without a value gets no rank and does not lower that of others.
    """
    present = {name: value for name, value in values.items() if value is not None}
    return {name: 1 + sum(other > value for other in present.values()) for name, value in present.items()}


def average_ranks(table: Mapping[str, Mapping[str, float | None]]) -> dict[str, float]:
    """Mean competition rank of each system over the tasks; `table` maps a task to its systems.

    Systems without a value in some task are left out: averages over different tasks do not compare.
    """
    ranked = [competition_ranks(values) for values in table.values()]
    if not ranked:
        return {}
    everywhere = set(ranked[0]).intersection(*ranked[1:])
    return {name: sum(ranks[name] for ranks in ranked) / len(ranked) for name in ranked[0] if name in everywhere}
