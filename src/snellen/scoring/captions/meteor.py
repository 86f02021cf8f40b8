"""METEOR 1.5 of captions (Denkowski and Lavie 2014, https://aclanthology.org/W14-3348) with the
parameters for English that the COCO caption tools use.

The authors' program aligns a caption with each of its references, by equal words, equal stems,
WordNet synonyms and a table of paraphrases, and prints the counts of the best one (see
`meteor_program`). The score of these counts is computed here. Over a corpus counts are summed
before any division, so the counts of parts of a corpus add up.

A matched word has the weight of its match type (1, 0.6, 0.8, 0.6) times 0.75, or 0.25 for a
function word; words are weighted 0.75 and 0.25 in the lengths too. With precision P and recall R of
these sums, the score is (1 - 0.6 (c / m)^0.2) P R / (0.85 P + 0.15 R): m the number of matched
words, c the number of contiguous runs they form. A caption that matches a reference from end to end
in one run counts as 0 runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_ALPHA, _BETA, _GAMMA, _DELTA = 0.85, 0.20, 0.60, 0.75
_WEIGHTS = (1.0, 0.6, 0.8, 0.6)
"""Weights of words, stems, synonyms and paraphrases."""
_FIELDS = 4 + 4 * len(_WEIGHTS) + 3


@dataclass(frozen=True, slots=True)
class MeteorCounts:
    """Counts for METEOR; those of two captions add up."""

    matched: float = 0.0
    """Weighted words of the caption that match."""
    length: float = 0.0
    """Weighted words of the caption."""
    gold_matched: float = 0.0
    gold_length: float = 0.0
    """Weighted words of the best reference; `gold_matched` are those that match."""
    runs: float = 0.0
    words: float = 0.0
    """Unweighted words that match: the mean of caption and reference."""

    def __add__(self, other: MeteorCounts) -> MeteorCounts:
        return MeteorCounts(*(a + b for a, b in zip(self.sums(), other.sums(), strict=True)))

    def sums(self) -> tuple[float, ...]:
        """The counts in the order of the fields."""
        return (self.matched, self.length, self.gold_matched, self.gold_length, self.runs, self.words)

    def score(self) -> float:
        """METEOR, 0..1; 0 if nothing matches."""
        if not self.matched or not self.gold_matched:
            return 0.0
        precision, recall = self.matched / self.length, self.gold_matched / self.gold_length
        mean = precision * recall / (_ALPHA * precision + (1 - _ALPHA) * recall)
        return float((1 - _GAMMA * (self.runs / self.words) ** _BETA) * mean)


def meteor_counts(line: str) -> MeteorCounts:
    """Counts from a line of the program: lengths and function words of caption and reference, per
    match type the content and function words matched in each, runs, and words matched in each.
    Raises ValueError for any other line."""
    numbers = [float(field) for field in line.split()]
    if len(numbers) != _FIELDS:
        raise ValueError(f"expected {_FIELDS} numbers, got {len(numbers)}")
    words, gold_words, function, gold_function = numbers[:4]
    *stages, runs, matches, gold_matches = numbers[4:]
    is_full_match = runs == 1 and matches == words and gold_matches == gold_words
    return MeteorCounts(
        _matched_weight(stages[0::4], stages[2::4]),
        _weigh(words - function, function),
        _matched_weight(stages[1::4], stages[3::4]),
        _weigh(gold_words - gold_function, gold_function),
        0.0 if is_full_match else runs,
        (matches + gold_matches) / 2,
    )


def _matched_weight(content: Sequence[float], function: Sequence[float]) -> float:
    ways = zip(_WEIGHTS, content, function, strict=True)
    return sum(weight * _weigh(content_words, function_words) for weight, content_words, function_words in ways)


def _weigh(content: float, function: float) -> float:
    return _DELTA * content + (1 - _DELTA) * function
