"""F1 of the words or characters of a transcript, whatever their order.

The "Eval-Trans" protocol of CC-OCR (Yang et al. 2024, https://arxiv.org/abs/2412.02210): both texts
become multisets of tokens, and a token of the gold counts as often as the transcript has it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_UNREADABLE = ("###", "***")
"""What some data sets put for unreadable text."""
_WHITE_SPACE = re.compile(r"\s+")
_NOT_ALPHANUMERIC = re.compile("[^A-Za-z0-9]+")


class WordOverlap(NamedTuple):
    """Tokens that both texts have, those of the transcript, those of the gold."""

    common: int
    reply: int
    gold: int

    def f1(self) -> float:
        """Harmonic mean of precision and recall, 0..1; 0 if nothing is in common."""
        return 2 * self.common / (self.reply + self.gold) if self.common else 0.0


def transcript_tokens(text: str, *, characters: bool, alphanumeric: bool) -> list[str]:
    """Lower-case tokens: words between white space, or single characters.

    `alphanumeric` keeps only ASCII letters and digits of each. Marks of unreadable text are
    dropped.
    """
    text = text.strip()
    for mark in _UNREADABLE:
        text = text.replace(mark, "")
    text = _WHITE_SPACE.sub(" ", text)
    tokens = [token.lower() for token in (text.replace(" ", "") if characters else text.split(" "))]
    if alphanumeric:
        tokens = [_NOT_ALPHANUMERIC.sub("", token) for token in tokens]
    return [token for token in tokens if token]


def count_tokens(reply: Sequence[str], gold: Sequence[str]) -> WordOverlap:
    common = Counter(reply) & Counter(gold)
    return WordOverlap(common.total(), len(reply), len(gold))
