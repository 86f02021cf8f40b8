"""Whether the right answer stands at each place equally often."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from snellen.stats.chi_square import pearson
from snellen.stats.exact_counts import exact_pearson


class PositionBalance(Struct, frozen=True):
    """Where the right options stand, and a test of whether all places are equally likely."""

    counts: Mapping[int, tuple[int, ...]]
    """By number of options: how many right options stand first, second, ..."""
    statistic: float
    """Pearson's chi-square, summed over the numbers of options."""
    freedom: int
    p: float
    """Exact where few tables are possible; counted among drawn ones where little is expected at a
    place; else from the chi-square distribution. 1 if there is nothing to test."""
    p_adjusted: float
    """`p` corrected for all tests that are made together (Holm)."""

    @property
    def n(self) -> int:
        return sum(map(sum, self.counts.values()))

    @property
    def by_place(self) -> tuple[int, ...]:
        """How many right options stand at each place, whatever the number of options."""
        places = max(self.counts, default=0)
        return tuple(
            sum(row[place] for row in self.counts.values() if place < len(row))
            for place in range(places)
        )

    @property
    def chance_by_place(self) -> tuple[float, ...]:
        """The same if every place of a question were equally likely."""
        places = max(self.counts, default=0)
        return tuple(
            sum(sum(row) / len(row) for row in self.counts.values() if place < len(row))
            for place in range(places)
        )

    def is_alarm(self, level: float = 0.05) -> bool:
        """Whether some places are right too often."""
        return self.p_adjusted <= level


def balance_of_counts(counts: Mapping[int, Iterable[int]]) -> PositionBalance:
    """Test the balance of right options, by number of options: how many stand first, second, ..."""
    rows = {options: tuple(row) for options, row in sorted(counts.items())}
    strata = [(row, [1 / options] * options) for options, row in rows.items()]
    result = exact_pearson(*strata[0]) if len(strata) == 1 else pearson(strata)
    if result is None:
        return PositionBalance(rows, 0.0, 0, 1.0, 1.0)
    return PositionBalance(rows, result.statistic, result.freedom, result.p, result.p)
