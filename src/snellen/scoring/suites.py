"""One number for several benchmarks: the plain mean of percentages of what can be reached.

VLMEvalKit (arXiv:2407.11691, Sec. 4): OCRBench, which counts to 1000, and MMBench-Video, which
counts to 3, are brought to 0..100; the average of a model is the plain mean over all members. A
model that lacks a member has no average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.scoring.ranks import competition_ranks


class Standing(NamedTuple):
    """A line of a suite's table. `values` are 0..100; None where there is no number."""

    model: str
    values: dict[str, float | None]
    average: float | None
    rank: int | None
    missing: tuple[str, ...]


def as_percent(value: float, top: float) -> float:
    return 100 * value / top


def rows_of(
    members: Sequence[str],
    table: Mapping[str, Mapping[str, float | None]],
    *,
    average: bool = True,
) -> list[Standing]:
    """The models of `table` (model to member to percentage), the best average first; those
    without one follow in the order given."""
    found: dict[str, float | None] = {}
    for model, values in table.items():
        numbers = [values.get(member) for member in members]
        known = [number for number in numbers if number is not None]
        whole = average and len(known) == len(members)
        found[model] = sum(known) / len(known) if whole else None
    ranks = competition_ranks(found)
    lines = [
        Standing(
            model,
            {member: values.get(member) for member in members},
            found[model],
            ranks.get(model),
            tuple(member for member in members if values.get(member) is None),
        )
        for model, values in table.items()
    ]
    return sorted(lines, key=lambda line: line.rank or len(lines) + 1)
