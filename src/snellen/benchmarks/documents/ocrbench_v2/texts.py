"""How alike two longer texts are, as OCRBench v2 scores pages, translations and short answers: the mean of
BLEU, METEOR, the F1 of their words and 1 - edits (Fu et al. 2024, https://arxiv.org/abs/2501.00321, Sec. 4).

Words are parted by white space; as soon as one of the texts has a Chinese sign, jieba parts both. METEOR is
that of NLTK, with its stemmer and the synonyms of WordNet.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence

from snellen.core import lazy_re as re
from snellen.core.errors import DataError, MissingExtra
from snellen.scoring.edit_distance import similarity

_CHINESE = re.compile("[\u4e00-\u9fa5]")
_LONGEST = 4
"""Words of the longest sequences that BLEU counts."""


def check_text_packages() -> None:
    """Raises MissingExtra without the packages, DataError without WordNet, that long texts are compared
    with."""
    try:
        import jieba
        import nltk.data
    except ImportError as error:
        raise MissingExtra("comparing the texts of pages", "documents", error.name or "nltk") from None
    del jieba
    for place in ("corpora/wordnet", "corpora/wordnet.zip"):
        try:
            nltk.data.find(place)
        except LookupError:
            continue
        return
    raise DataError(
        "METEOR needs the synonyms of WordNet 3.0, which are not on this machine; fetch them once with: "
        "python -m nltk.downloader wordnet"
    )


def text_similarity(reply: str, gold: str) -> float:
    """The mean of the four measures, 0..1. A text without a word shares none."""
    ours, theirs = split_words(reply, gold)
    if not reply or not gold:
        return 0.0
    parts = (_bleu(ours, theirs), _meteor(ours, theirs), _f1(ours, theirs), similarity(reply, gold))
    return math.fsum(parts) / len(parts)


def split_words(reply: str, gold: str) -> tuple[list[str], list[str]]:
    """The words of two texts."""
    if not _CHINESE.search(gold + reply):
        return reply.split(), gold.split()
    import logging

    import jieba

    jieba.setLogLevel(logging.WARNING)
    return jieba.lcut(reply), jieba.lcut(gold)


def _bleu(reply: Sequence[str], gold: Sequence[str]) -> float:
    """BLEU-4 of one text (Papineni et al. 2002), 0 if no word is shared; lengths of which no sequence is
    shared count as the smallest number, as in NLTK without smoothing."""
    logs = []
    for size in range(1, _LONGEST + 1):
        counts, shared = _sequences(reply, size), _sequences(gold, size)
        matched = (counts & shared).total()
        if size == 1 and not matched:
            return 0.0
        logs.append(math.log(matched / counts.total() if matched else sys.float_info.min))
    penalty = 1.0 if len(reply) > len(gold) else math.exp(1 - len(gold) / len(reply))
    return penalty * math.exp(math.fsum(logs) / _LONGEST)


def _sequences(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[first : first + size]) for first in range(len(words) - size + 1))


def _meteor(reply: Sequence[str], gold: Sequence[str]) -> float:
    from nltk.translate.meteor_score import single_meteor_score

    return float(single_meteor_score(gold, reply))


def _f1(reply: Sequence[str], gold: Sequence[str]) -> float:
    """F1 of the different words."""
    ours, theirs = set(reply), set(gold)
    common = len(ours & theirs)
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0
