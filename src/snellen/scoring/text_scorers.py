"""The text scorers that an `eval.yaml` of the Hugging Face hub may name: `includes`, `match`,
`exact` and `f1`, as Inspect (inspect_ai) documents them.

Restated from https://inspect.aisi.org.uk/scorers.html; `tests/scoring/test_text_scorers.py` holds
verdicts of inspect_ai 0.3.285. Numbers in letters other than ASCII digits are not read.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Literal

from snellen.core.literals import parse_finite

Location = Literal["begin", "end", "any", "exact"]

_EDGE = string.whitespace + string.punctuation
_NUMBER_EDGE = "!?:;()[]{}'\"`"
_NUMBER_SIGNS = re.compile(r"\\?[$€£,*_]")
_LONE_DOT = re.compile(r"\.(?!\d)")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def includes(reply: str, golds: Sequence[str], *, ignore_case: bool = True) -> bool:
    """Whether a gold stands anywhere in the reply."""
    if ignore_case:
        reply, golds = reply.casefold(), [gold.casefold() for gold in golds]
    return any(gold in reply for gold in golds)


def match(
    reply: str, golds: Sequence[str], *, location: Location = "end", ignore_case: bool = True, numeric: bool = False
) -> bool:
    """Whether the reply begins or ends with a gold, holds it, or is it, without punctuation at its
    ends. With `numeric`, a gold that is a number equals the first, last, any or only number."""
    return any(_matches(reply, gold, location, ignore_case, numeric) for gold in golds)


def exact(reply: str, golds: Sequence[str]) -> bool:
    """Whether the reply is a gold after case, articles and punctuation are removed."""
    bare = _words(reply)
    return any(bare == words for gold in golds if (words := _words(gold)))


def f1(reply: str, golds: Sequence[str]) -> float:
    """The best F1 of words counted with repetition over the golds, 0 to 1 in hundredths."""
    ours = Counter(_words(reply))
    best = 0.0
    for gold in golds:
        theirs = Counter(_words(gold))
        shared = (ours & theirs).total()
        if shared:
            best = max(best, 2 * shared / (ours.total() + theirs.total()))
    return round(best, 2)


def _matches(reply: str, gold: str, location: Location, ignore_case: bool, numeric: bool) -> bool:
    value, target = reply.strip(), gold.strip()
    if ignore_case:
        value, target = value.casefold(), target.casefold()
    if numeric:
        target = _plain_number_text(target)
        wanted = _number(target)
        if wanted is not None:
            return wanted in _numbers_at(_plain_number_text(value), location)
    value, target = value.strip(_EDGE), target.strip(_EDGE)
    if location == "begin":
        return value.startswith(target)
    if location == "end":
        return value.endswith(target)
    return value == target if location == "exact" else target in value


def _numbers_at(text: str, location: Location) -> list[str]:
    """The numbers that count at a location, in a form in which equal ones are equal."""
    if location == "exact":
        return _drop_none([_number(text, trim=False)])
    numbers = _drop_none(map(_number, text.split()))
    if location == "any":
        return numbers
    return numbers[:1] if location == "begin" else numbers[-1:]


def _drop_none(numbers: Iterable[str | None]) -> list[str]:
    return [number for number in numbers if number is not None]


def _plain_number_text(text: str) -> str:
    """Without currency signs, thousands separators and marks of bold or italics."""
    return _LONE_DOT.sub("", _NUMBER_SIGNS.sub("", text))


def _number(word: str, trim: bool = True) -> str | None:
    """A number to five significant digits; None if the word is not a number."""
    try:
        value = float(word.strip(_NUMBER_EDGE) if trim else word)
    except ValueError:
        return None
    return format(value, ".5g") if isfinite(value) else None


def _words(text: str) -> list[str]:
    """Words in lower case without punctuation and articles; numbers as numbers."""
    words: list[str] = []
    for token in re.split("[ -]", text):
        words += _normalise(token).split()
    return words


def _normalise(token: str) -> str:
    token = token.casefold()
    for candidate in (token, token.strip(_EDGE)):
        value = parse_finite(candidate)
        if value is not None:
            return str(value)
    bare = token.translate(_WITHOUT_PUNCTUATION)
    value = parse_finite(bare)
    return _ARTICLES.sub(" ", bare) if value is None else str(value)
