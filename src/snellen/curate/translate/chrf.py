"""chrF, the F-score of character n-grams by which a back-translation is compared with its source.

chrF (Popović 2015, WMT): n-grams of 1 to 6 characters, white space left out, recall weighted twice
(beta 2). It needs no words, so it works for every script. The numbers are those of sacrebleu's
sentence chrF with its defaults, here from 0 to 1; tests hold a table of its values.
"""

from __future__ import annotations

from collections import Counter

ORDER = 6
BETA = 2


def chrf(hypothesis: str, reference: str) -> float:
    """The F-score of `hypothesis` against `reference`, 0 to 1.

    Orders for which one of the texts has no n-gram are left out of the averages; 0 if all are.
    """
    hypothesis, reference = "".join(hypothesis.split()), "".join(reference.split())
    precision = recall = 0.0
    orders = 0
    for length in range(1, ORDER + 1):
        ours, theirs = _ngrams(hypothesis, length), _ngrams(reference, length)
        if not ours or not theirs:
            continue
        matches = (ours & theirs).total()
        precision += matches / ours.total()
        recall += matches / theirs.total()
        orders += 1
    if not orders or not precision + recall:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def _ngrams(text: str, length: int) -> Counter[str]:
    return Counter(text[start : start + length] for start in range(len(text) - length + 1))
