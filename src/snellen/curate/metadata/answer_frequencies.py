"""How often each answer is right, so that it can be wrong as often.

A label that is always wrong, or a count that is rarely right, tells a reader without the picture
which option it is not. If wrong options are drawn with the probabilities with which answers are
right, then none of the options of an item is likelier than another: for a right answer g and wrong
answers w, p(g) p(w1) p(w2) ... is the same whichever of them is called g.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from random import Random
from typing import NamedTuple


class AnswerFrequencies(NamedTuple):
    """Of the records of one source that a template takes."""

    counts: Mapping[str, float] = {}
    """Records by answer."""
    records: int = 0

    def order(self, texts: Iterable[str], rng: Random, unseen: float = 0.0) -> list[str]:
        """The texts in random order, the likelier ones earlier: the first n are drawn without
        replacement, each with the frequency of the answer as its weight. An answer that is never
        right has the weight `unseen`; those without a weight come last.
        """
        # Exponential variables with these rates end in this order (Efraimidis and Spirakis 2006).
        times = []
        for place, text in enumerate(texts):
            weight = self.counts.get(text, 0) + unseen
            draw = -math.log(1.0 - rng.random())
            times.append((weight == 0, draw / (weight or 1.0), place, text))
        return [text for _, _, _, text in sorted(times)]

    def prefer_seen(self, texts: Iterable[str]) -> list[str]:
        """The texts in their order, those that are never right behind the others."""
        return sorted(texts, key=lambda text: text not in self.counts)

    def odds_of_presence(self) -> AnswerFrequencies:
        """For labels of which one that is absent is drawn: with these weights a label is asked for
        as often where it is absent as where it is present."""
        odds = {label: count / max(1, self.records - count) for label, count in self.counts.items()}
        return AnswerFrequencies(odds, self.records)


NO_FREQUENCIES = AnswerFrequencies()
"""Of a source about which nothing is known."""
