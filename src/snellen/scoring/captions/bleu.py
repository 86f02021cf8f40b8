"""Corpus BLEU as the COCO caption tools compute it (Papineni et al. 2002, ACL; Chen et al. 2015,
https://arxiv.org/abs/1504.00325, Sec. 3.2).

Counts are summed over the corpus before any division, so the `BleuCounts` of two parts of a corpus
add up. The reference length is that of the reference nearest in length, the shorter of two equally
near ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

MAX_ORDER = 4
_TINY, _SMALL = 1e-15, 1e-9
"""Added above and below, so that a count of 0 gives no error: the tools' own numbers."""

Words = Sequence[str]


@dataclass(frozen=True, slots=True)
class BleuCounts:
    """Counts for BLEU: words of the caption, words of the nearest references, and for n = 1..4 the
    number of n-grams of the caption and how many of them are in a reference."""

    words: float = 0
    reference: float = 0
    guessed: tuple[float, ...] = (0,) * MAX_ORDER
    correct: tuple[float, ...] = (0,) * MAX_ORDER

    def __add__(self, other: BleuCounts) -> BleuCounts:
        return BleuCounts(
            self.words + other.words,
            self.reference + other.reference,
            tuple(a + b for a, b in zip(self.guessed, other.guessed, strict=True)),
            tuple(a + b for a, b in zip(self.correct, other.correct, strict=True)),
        )

    def scores(self) -> tuple[float, ...]:
        """BLEU-1 to BLEU-4, 0..1."""
        ratio = (self.words + _TINY) / (self.reference + _SMALL)
        brevity = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
        product, scores = 1.0, []
        for order, (right, all_) in enumerate(zip(self.correct, self.guessed, strict=True), 1):
            product *= (right + _TINY) / (all_ + _SMALL)
            scores.append(brevity * product ** (1 / order))
        return tuple(scores)


def bleu_counts(caption: Words, references: Sequence[Words]) -> BleuCounts:
    """The counts of one caption. Raises ValueError without references."""
    if not references:
        raise ValueError("BLEU needs at least one reference")
    reference_counts: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        reference_counts |= ngrams(reference)
    guessed, correct = [0] * MAX_ORDER, [0] * MAX_ORDER
    for gram, count in ngrams(caption).items():
        guessed[len(gram) - 1] += count
        correct[len(gram) - 1] += min(count, reference_counts[gram])
    nearest = min((abs(len(reference) - len(caption)), len(reference)) for reference in references)[1]
    return BleuCounts(len(caption), nearest, tuple(guessed), tuple(correct))


def ngrams(words: Words, max_order: int = MAX_ORDER) -> Counter[tuple[str, ...]]:
    """Every run of 1 to `max_order` words with its count."""
    return Counter(
        tuple(words[start : start + size]) for size in range(1, max_order + 1) for start in range(len(words) - size + 1)
    )
