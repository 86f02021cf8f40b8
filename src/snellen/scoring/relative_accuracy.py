"""Mean relative accuracy of a number (Yang et al. 2024, https://arxiv.org/abs/2412.14171, Sec. 3.2).

The share of ten thresholds, 0.5, 0.45, ..., 0.05, that the relative error does not exceed. What counts
as the reply's number is a matter of the rule:

`relative_accuracy`             the answer is the number.
`relative_accuracy_first_word`  VSI-Bench's authors: the first word, without dots behind it.
`relative_accuracy_lmms_eval`   lmms-eval: the first number in the reply, also in English words.
`relative_accuracy_vlmevalkit`  VLMEvalKit: the first of an <answer> tag, else the last number behind the
                                thinking; words up to twenty count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import takewhile

from snellen.core import lazy_re as re
from snellen.core.literals import NUMBER_WORDS, parse_finite, parse_json_or_literal

_CONFIDENCES = (*(0.5 + place * ((0.95 - 0.5) / 9) for place in range(9)), 0.95)
"""From 0.5 to 0.95, as numpy's linspace computes them."""
_TENS = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBERS_BY_WORD = {
    **{word: number for number, word in enumerate(NUMBER_WORDS)},
    **{word: 30 + 10 * number for number, word in enumerate(_TENS)},
    **{"hundred": 100, "thousand": 1000},
}
_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")
_WORD = re.compile(r"[a-z]+")
_NUMBER = r"[-+]?(?:\d*\.\d+|\d+)(?:[eE][-+]?\d+)?"
_ANY_NUMBER = re.compile(_NUMBER)
_TAGGED = re.compile(rf"<\s*answer\b[^>]*>\s*({_NUMBER})(?:[^\d<][^<]*)?<\s*/\s*answer\s*>", re.IGNORECASE | re.DOTALL)
_SMALL_WORD = re.compile(rf"\b({'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_THINKING_ENDS = (re.compile(r"</\s*think\s*>", re.IGNORECASE), re.compile(r"<\s*think\s*>", re.IGNORECASE))
_INVISIBLE = re.compile("[\u200b\u200c\u200d\ufeff]")


def mean_relative_accuracy(estimate: float | None, truth: float | None) -> float:
    """The share of the thresholds, 0..1; 0 without a number."""
    if estimate is None or truth is None:
        return 0.0
    error = abs(estimate - truth) / abs(truth) if truth else abs(estimate)
    return sum(error <= 1 - confidence for confidence in _CONFIDENCES) / len(_CONFIDENCES)


def relative_accuracy(answer: str, golds: Sequence[str]) -> float:
    return mean_relative_accuracy(parse_finite(answer.replace(",", "")), _truth(golds))


def relative_accuracy_first_word(reply: str, golds: Sequence[str]) -> float:
    return mean_relative_accuracy(_as_float(reply.split(" ")[0].rstrip(".").strip()), _truth(golds))


def relative_accuracy_lmms_eval(reply: str, golds: Sequence[str]) -> float:
    text = reply.strip().lower()
    digits = _DIGITS.search(text)
    words = list(_WORD.finditer(text))
    first = next((place for place, word in enumerate(words) if word[0] in NUMBERS_BY_WORD), None)
    if digits is not None and (first is None or digits.start() < words[first].start()):
        return mean_relative_accuracy(float(digits[0]), _truth(golds))
    if first is None:
        return 0.0
    run = takewhile(lambda word: word == "and" or word in NUMBERS_BY_WORD, (word[0] for word in words[first:]))
    return mean_relative_accuracy(_value([word for word in run if word != "and"]), _truth(golds))


def relative_accuracy_vlmevalkit(reply: str, golds: Sequence[str]) -> float:
    return mean_relative_accuracy(_number_vlmevalkit(reply), _truth(golds))


def _value(words: Sequence[str]) -> float:
    """The number that words of a numeral make."""
    total = current = 0
    for word in words:
        number = NUMBERS_BY_WORD[word]
        if number == 100:
            current = max(current, 1) * 100
        elif number == 1000:
            total, current = total + max(current, 1) * 1000, 0
        else:
            current += number
    return float(total + current)


def _number_vlmevalkit(reply: str) -> float | None:
    text = reply
    if reply.strip().startswith("[") and reply.strip().endswith("]"):
        try:
            listed = parse_json_or_literal(reply.strip())
        except ValueError:
            return None
        text = str(listed[0]) if isinstance(listed, list) and listed else reply
    text = _INVISIBLE.sub("", text.strip())
    text = _SMALL_WORD.sub(lambda word: str(NUMBERS_BY_WORD[word[1].lower()]), text)
    tagged = _TAGGED.search(text)
    if tagged is not None:
        return float(tagged[1])
    numbers = _ANY_NUMBER.findall(_behind_thinking(text)) or _ANY_NUMBER.findall(text)
    return float(numbers[-1]) if numbers else None


def _behind_thinking(text: str) -> str:
    for end in _THINKING_ENDS:
        ends = list(end.finditer(text))
        if ends:
            return text[ends[-1].end() :].strip()
    return text


def _truth(golds: Sequence[str]) -> float | None:
    return _as_float(golds[0]) if golds else None


def _as_float(text: str) -> float | None:
    """The number as Python reads it; None for what is none, also for nan."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number
