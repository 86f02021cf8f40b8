"""Counts in a reply, as CG-AV-Counting compares them (Lu et al. 2025, https://arxiv.org/abs/2506.05328), by
lmms-eval's commit 75571cfe: the first number, else the sum of all words for numbers, else 0."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from snellen.core import lazy_re as re
from snellen.core.literals import parse_finite
from snellen.scoring.relative_accuracy import NUMBERS_BY_WORD

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_WORD = re.compile(r"[a-z]+")
_ADDED = {word: number for word, number in NUMBERS_BY_WORD.items() if number < 100}


def equal_count(reply: str, golds: Sequence[str], most: float = 1e-5) -> bool:
    """Whether the reply's count is a gold answer, or at `most` so far from one."""
    count = read_count(reply)
    return any(abs(gold - count) <= most for gold in map(parse_finite, golds) if gold is not None)


within_one = partial(equal_count, most=1)


def read_count(reply: str) -> float:
    """The count that a reply states, behind its thinking; 0 where it states none."""
    text = reply.strip().lower().replace(",", "").rpartition("</think>")[2]
    if number := _NUMBER.search(text):
        return float(number[0])
    return float(sum(_ADDED.get(word, 0) for word in _WORD.findall(text)))
