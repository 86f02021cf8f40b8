"""Relaxed accuracy of ChartQA (Masry et al. 2022, https://arxiv.org/abs/2203.10244, Sec. 5.1): a
number is right within 5 % of the gold, any other answer only if it is equal.

As in the public implementations (Pix2Struct's, used by lmms-eval and VLMEvalKit): a side is a
number if Python's `float` accepts it, a text ending in % is divided by 100, commas and currency
signs are not supported, and a gold of 0 is compared as text. Years are numbers: 2018 is right if
the gold is 2019.
"""

from __future__ import annotations

from collections.abc import Sequence

TOLERANCE = 0.05


def relaxed_correct(answer: str, golds: Sequence[str], tolerance: float = TOLERANCE) -> bool:
    """Whether the answer is within `tolerance` (a fraction of the gold) of a gold, or equals it
    ignoring case."""
    return any(_correct(answer.strip(), gold.strip(), tolerance) for gold in golds)


def relaxed_untrimmed(answer: str, golds: Sequence[str]) -> bool:
    """`relaxed_correct` by Pix2Struct's function, which trims no white space: texts must be equal
    including it, and "42% " is not a number."""
    return any(_correct(answer, gold, TOLERANCE) for gold in golds)


def _correct(answer: str, gold: str, tolerance: float) -> bool:
    value, target = _parse_number(answer), _parse_number(gold)
    if value is not None and target:
        return abs(value - target) / abs(target) <= tolerance
    return answer.lower() == gold.lower()


def _parse_number(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None
