"""ANLS: average normalised Levenshtein similarity of an answer and its nearest gold answer.

Biten et al. 2019 (https://arxiv.org/abs/1907.00490, Sec. 3.3): similarity = 1 - edits / length of
the longer text; below the threshold of 0.5 it is 0, because the answer is then a different answer,
not a misspelt one. Case is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

THRESHOLD = 0.5


def similarity(first: str, second: str) -> float:
    """1 - edits / length of the longer text, 0..1; 1 for two empty texts."""
    return float(Levenshtein.normalized_similarity(first, second))


def anls(answer: str, golds: Sequence[str], *, threshold: float = THRESHOLD) -> float:
    """The highest similarity with a gold answer, 0..1, or 0 below the threshold.

    Texts are trimmed and lower-cased and their inner white space is collapsed (the DocVQA task,
    Mathew et al. 2021, Sec. 5).
    """
    folded_answer = fold_text(answer)
    best = max((similarity(folded_answer, fold_text(gold)) for gold in golds), default=0.0)
    return best if best >= threshold else 0.0


def anls_by_script(answer: str, golds: Sequence[str]) -> float:
    """ANLS as in the script of the DocVQA and InfographicVQA competitions, VLMEvalKit and
    lmms-eval: edits are counted between the folded texts but divided by the longer length before
    trimming and collapsing, so that white space raises the similarity."""
    folded_answer = fold_text(answer)
    ratios = [Levenshtein.distance(folded_answer, fold_text(gold)) / max(len(answer), len(gold), 1) for gold in golds]
    best = 1.0 - min(ratios, default=1.0)
    return best if best >= THRESHOLD else 0.0


def fold_text(text: str) -> str:
    """Lower case, white space trimmed and collapsed."""
    return " ".join(text.lower().split())
