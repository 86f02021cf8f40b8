"""Whether runs are equally good within a margin: non-inferiority and equivalence.

Two one-sided tests (D. J. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987)),
each by the method that tests the difference, with a margin instead of 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from snellen.stats.paired import PairedMean, holm_of_sides


class Margin(Struct, frozen=True):
    """One-sided p-values, small if the claim holds; the `_holm` ones are adjusted over all pairs of
    all benchmarks in the comparison."""

    points: float
    second_no_worse: float
    """For the claim that the second run is not worse than the first by more than the margin."""
    first_no_worse: float
    second_no_worse_holm: float = 1.0
    first_no_worse_holm: float = 1.0

    @property
    def equivalent_holm(self) -> float:
        """For the claim that neither run is worse than the other by more than the margin."""
        return max(self.second_no_worse_holm, self.first_no_worse_holm)


def margin_of(points: float, scaled: float, lower: PairedMean, upper: PairedMean) -> Margin | None:
    """Test a margin. `lower` and `upper` test the difference against the true values -`scaled` and
    +`scaled`, the margin on the scale of the difference. None if there is no test."""
    if lower.p is None or upper.p is None:
        return None
    return Margin(points, _one_sided(lower.p, lower.mean > -scaled), _one_sided(upper.p, upper.mean < scaled))


def _one_sided(p: float, claim_holds: bool) -> float:
    return p / 2 if claim_holds else 1 - p / 2


def adjust_margins(margins: Sequence[Margin | None]) -> list[Margin | None]:
    """Adjust by Holm's method; at most one of the two claims of a pair can be wrong, which it
    uses."""
    sides = [(margin.second_no_worse, margin.first_no_worse) for margin in margins if margin is not None]
    adjusted = iter(holm_of_sides(sides))
    return [None if margin is None else _with_holm(margin, *next(adjusted)) for margin in margins]


def _with_holm(margin: Margin, second: float, first: float) -> Margin:
    return msgspec.structs.replace(margin, second_no_worse_holm=second, first_no_worse_holm=first)
