"""Whether the options of a question are alike in length: test takers choose the longest (J.
Millman, C. Bishop and R. Ebel, "An analysis of test-wiseness", Educational and Psychological
Measurement 25, 1965)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class OptionSpread(NamedTuple):
    """Lengths of the options of one question, in characters without surrounding white space."""

    shortest: int
    longest: int
    mean: float
    deviation: float
    """Standard deviation divided by the mean; 0 if all are equally long."""

    @property
    def ratio(self) -> float:
        """The longest divided by the shortest; an empty option counts as one character."""
        return max(1, self.longest) / max(1, self.shortest)


def option_spread(options: Sequence[str]) -> OptionSpread:
    """The spread of the lengths of a question's options. Raises ValueError without options."""
    if not options:
        raise ValueError("expected at least one option, got none")
    lengths = [len(option.strip()) for option in options]
    mean = sum(lengths) / len(lengths)
    variance = sum((length - mean) ** 2 for length in lengths) / len(lengths)
    return OptionSpread(
        min(lengths), max(lengths), mean, math.sqrt(variance) / mean if mean else 0.0
    )
