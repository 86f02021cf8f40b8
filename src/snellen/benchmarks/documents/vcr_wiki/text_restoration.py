"""VCR: how well covered text was restored (Zhang et al. 2024, https://arxiv.org/abs/2406.06462,
Sec. 4.1): exact match and Jaccard similarity of words, for each covered text.

The part of the reply that is scored is the run of words with the length of the gold that is most
similar to it; a refusal scores 0.

`score_restoration` is Snellen's: English is split by a rule (words, numbers, punctuation,
contractions as two), white space means nothing. `score_restoration_published` is the code of the
authors and of VLMEvalKit: words are those of spaCy's English model, white space but for a single
blank is a word too, and what stands before the last "Assistant: " is left out. Chinese both split
into single characters: the published words are those of spaCy's model `zh_core_web_sm`, whose
segmentation is learnt and stands in no package of its own, so that Jaccard for Chinese is another
number, and a run of words may be another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from snellen.benchmarks.documents.vcr_wiki.spacy_words import split_like_spacy

_DECLINES = ("i can't", "i cannot", "sorry", "无法", "抱歉")
_DECLINES_PUBLISHED = ("I can't", "I cannot", "无法", "抱歉")
_SPEAKER = "Assistant: "
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
    separator = "" if chinese else " "
    best = _nearest_window(_windows(reply_words, gold_words, or_less=True), separator.join(gold_words), separator)
    return _compare(best, gold_words)


def score_restoration_published(reply: str, gold: str, *, chinese: bool = False) -> RestorationScore:
    """Score as the authors' code, but for Chinese words (see above)."""
    said = reply.rpartition(_SPEAKER)[2]
    if any(phrase in said for phrase in _DECLINES_PUBLISHED) or "sorry" in said.lower():
        return RestorationScore(0.0, 0.0)
    split = _CHINESE.findall if chinese else split_like_spacy
    reply_words, gold_words = split(said), split(gold)
    windows = _windows(reply_words, gold_words)
    return _compare(_nearest_window(windows, gold, "" if chinese else " "), gold_words)


def _compare(best: Sequence[str], gold_words: Sequence[str]) -> RestorationScore:
    if not best:
        return RestorationScore(0.0, 0.0)
    shared, both = set(best) & set(gold_words), set(best) | set(gold_words)
    return RestorationScore(float(list(best) == list(gold_words)), len(shared) / len(both))


def _nearest_window(windows: Iterable[Sequence[str]], gold: str, separator: str) -> Sequence[str]:
    """The window most similar to the gold by characters; the first of equals."""
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(gold)
    best: tuple[float, Sequence[str]] = (0.0, ())
    for window in windows:
        matcher.set_seq1(separator.join(window))
        if matcher.real_quick_ratio() <= best[0] or matcher.quick_ratio() <= best[0]:
            continue
        ratio = matcher.ratio()
        if ratio > best[0]:
            best = (ratio, window)
    return best[1]


def _windows(
    reply_words: Sequence[str], gold_words: Sequence[str], *, or_less: bool = False
) -> Iterator[Sequence[str]]:
    """Runs with the length of the gold that share a word with it; with `or_less`, a shorter reply
    is one run."""
    words, length = set(gold_words), len(gold_words)
    count = len(reply_words) - length + 1
    for start in range(max(1, count) if or_less else count):
        window = reply_words[start : start + length]
        if not words.isdisjoint(window):
            yield window
