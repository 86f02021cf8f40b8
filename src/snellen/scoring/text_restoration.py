"""VCR: how well covered text was restored (Zhang et al. 2024, https://arxiv.org/abs/2406.06462,
Sec. 4.1): exact match and Jaccard similarity of words, for each covered text.

The part of the reply that is scored is the run of words with the length of the gold that is most
similar to it; a refusal scores 0. The authors split words with spaCy's English and Chinese models.
Here English is split by a rule (words, numbers, punctuation, contractions as two) and Chinese into
single characters, which needs no model. spaCy 3 splits 5,993 of 6,000 captions of Flickr30k into
the same words; Jaccard for Chinese is over characters instead of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_DECLINES = ("i can't", "i cannot", "sorry", "无法", "抱歉")
_ENGLISH = re.compile(
    r"(?:[a-z]\.){2,}|\d+(?:st|nd|rd|th)\b|\d+(?:[.,:]\d+)*|can(?=not\b)|\w+(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|d|ll|m)\b|\w+|[^\w\s]",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"[A-Za-z]+|\d+(?:[.,]\d+)*|[^\sA-Za-z\d]")


class RestorationScore(NamedTuple):
    """Scores of one covered text, each 0..1."""

    exact: float
    jaccard: float


def score_restoration(reply: str, gold: str, *, chinese: bool = False) -> RestorationScore:
    """Score the run of words in the reply that is most similar to the gold."""
    low = reply.lower()
    if any(phrase in low for phrase in _DECLINES):
        return RestorationScore(0.0, 0.0)
    rule = _CHINESE if chinese else _ENGLISH
    reply_words, gold_words = rule.findall(reply), rule.findall(gold)
    best = _nearest_window(reply_words, gold_words, "" if chinese else " ")
    if not best:
        return RestorationScore(0.0, 0.0)
    shared, both = set(best) & set(gold_words), set(best) | set(gold_words)
    return RestorationScore(float(list(best) == gold_words), len(shared) / len(both))


def _nearest_window(
    reply_words: Sequence[str], gold_words: Sequence[str], separator: str
) -> Sequence[str]:
    """The window most similar to the gold by characters; the first of equals."""
    if not gold_words:
        return ()
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(separator.join(gold_words))
    best: tuple[float, Sequence[str]] = (0.0, ())
    for window in _windows(reply_words, gold_words):
        matcher.set_seq1(separator.join(window))
        if matcher.real_quick_ratio() <= best[0] or matcher.quick_ratio() <= best[0]:
            continue
        ratio = matcher.ratio()
        if ratio > best[0]:
            best = (ratio, window)
    return best[1]


def _windows(reply_words: Sequence[str], gold_words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Runs with the length of the gold that share a word with it; a shorter reply is one run."""
    words, length = set(gold_words), len(gold_words)
    for start in range(max(1, len(reply_words) - length + 1)):
        window = reply_words[start : start + length]
        if not words.isdisjoint(window):
            yield window
