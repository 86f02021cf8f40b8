"""ROUGE-L of a caption (Lin 2004, https://aclanthology.org/W04-1013, Sec. 3.1) as the COCO caption
tools compute it: precision and recall of the longest common subsequence of words, each the best
over the references, in an F measure with beta = 1.2. The corpus score is the mean."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

BETA = 1.2


def rouge_l(caption: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """ROUGE-L of one caption, 0..1; 0 if it has no words."""
    if not caption:
        return 0.0
    common = [(LCSseq.similarity(caption, reference), len(reference)) for reference in references if reference]
    precision = max((shared / len(caption) for shared, _ in common), default=0.0)
    recall = max((shared / length for shared, length in common), default=0.0)
    if not precision or not recall:
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)
