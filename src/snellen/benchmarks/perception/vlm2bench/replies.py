"""VLM2-Bench (Zhang et al. 2025, arXiv:2502.12084, Section 4): pairs of statements, counts, groups.

A count that is wrong earns the less, the larger its error is beside the largest possible one, and
the fewer pictures there are: 1 - (4 / pictures) * (relative error ** 0.1), not below 0.
"""

from __future__ import annotations

import re

from snellen.core.number_words import NUMBER_WORDS

PAIRED = ("gc-mat", "gc-trk", "oc-cpr", "pc-cpr")
COUNTED = ("oc-cnt", "pc-cnt")
GROUPED = ("oc-grp", "pc-grp")
TASKS = (*PAIRED, *COUNTED, *GROUPED)
DEFAULT_PICTURES = 2
_MOST_PICTURES = 4
_ROOT = 0.1
_TRUTH = re.compile(r"\b(?:t|f|true|false)\b", re.IGNORECASE)
_UNITS = {word: number for number, word in enumerate(NUMBER_WORDS[:20])}
_TENS = {
    name: 10 * value
    for value, name in enumerate(
        ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), start=2
    )
}
_SCALES = {"hundred": 100, "thousand": 1000}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join((*_UNITS, *_TENS, *_SCALES))})\b")
_DIGITS = re.compile(r"\d+")
_MAX_DIGITS = 18
_LABELLED = re.compile(r"\([A-Z]\)")


def parse_truth(text: str) -> str | None:
    """T or F, if exactly one such word stands in the text."""
    words = _TRUTH.findall(text)
    return words[0][0].upper() if len(words) == 1 else None


def parse_single_count(text: str) -> int | None:
    """The only number of a text; all number words together are one. None if there are several."""
    low = text.lower()
    numbers = [int(digits[:_MAX_DIGITS]) for digits in _DIGITS.findall(low)]
    words = _NUMBER_WORD.findall(low)
    in_words = _value_of_words(words)
    if in_words:
        numbers.append(in_words)
    return numbers[0] if len(numbers) == 1 else None


def _value_of_words(words: list[str]) -> int:
    total = current = 0
    for word in words:
        if word in _SCALES:
            total += max(current, 1) * _SCALES[word]
            current = 0
        else:
            current += _UNITS.get(word, _TENS.get(word, 0))
    return total + current


def count_credit(count: int, gold: int, pictures: int) -> float:
    """1 for the right count, else by its error."""
    if count == gold:
        return 1.0
    largest = max(gold - 1, pictures - gold, 1)
    penalty: float = _MOST_PICTURES / pictures * (abs(count - gold) / largest) ** _ROOT
    return max(1 - penalty, 0.0)


def clean_label(text: str) -> str:
    """What stands before the first closing bracket."""
    return text.partition(")")[0].strip()


def names_several(text: str) -> bool:
    """Whether more than one label stands there in brackets."""
    return len(_LABELLED.findall(text)) > 1
