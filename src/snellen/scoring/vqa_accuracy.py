"""VQA accuracy: how far a short answer agrees with those of ten people.

Antol et al. 2015 (https://arxiv.org/abs/1505.00468, Sec. 5), as the authors' evaluation code does
it: leave one human answer out, accuracy = min(1, matches among the others / 3), and average over
the answer left out. With ten answers 0, 1, 2, 3 and 4 matches give 0, 0.3, 0.6, 0.9 and 1.
TextVQA, OK-VQA and VizWiz are scored by the same rule.

Both sides are normalised: punctuation, number words, articles, contractions. The authors' code
does so only where the ten answers are not all the same; here it is always done, as in VLMEvalKit
and LLaVA. The rule is theirs down to its oddities: a sign is deleted where the text anywhere has
it beside a blank, or has digit-comma-digit, and becomes a blank elsewhere.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

_SIGNS = ';/[]"{}()=+\\_-><@`,?!'
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_LONE_DOT = re.compile(r"(?<!\d)\.(?!\d)")
_DOT_NOT_BEFORE_DIGIT = re.compile(r"\.(?!\d)")
_MOST_DOTS = 32
"""How many dots are deleted: in the authors' code a flag stands in the place of the count."""
_ARTICLES = frozenset({"a", "an", "the"})
_DIGITS = {
    word: str(number)
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
} | {"none": "0"}
_CONTRACTED = (
    "ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't "
    "haven't he'd he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't "
    "mightn't've might've mustn't must've needn't not've o'clock oughtn't ow's'at shan't she'd've "
    "should've shouldn't shouldn't've somebody'd've somebody'll somebody's someone'd someone'd've "
    "someone'll someone's something'd something'd've something'll that's there'd there'd've "
    "there're there's they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't "
    "what'll what're what's what've when's where'd where's where've who'd who'd've who'll who's "
    "who've why'll why're why's won't would've wouldn't wouldn't've y'all y'all'll y'all'd've "
    "you'd you'd've you'll you're you've"
)
_MATCHES_FOR_FULL = 3


def vqa_accuracy(answer: str, golds: Sequence[str], *, authors_dots: bool = False) -> float:
    """Leave-one-out accuracy against human answers, 0..1.

    With a single gold there is nobody to leave out: equality after normalising. (VLMEvalKit
    gives 0 there.) `authors_dots` deletes dots as the authors' code does, see `normalised`.
    """
    said = normalised(answer, authors_dots=authors_dots)
    equal = [said == normalised(gold, authors_dots=authors_dots) for gold in golds]
    if len(equal) < 2:
        return float(any(equal))
    matches = sum(equal)
    parts = (min(1.0, (matches - own) / _MATCHES_FOR_FULL) for own in equal)
    return sum(parts) / len(equal)


@lru_cache(maxsize=65536)
def normalised(text: str, *, authors_dots: bool = False) -> str:
    """The form in which answers are compared.

    A dot is deleted unless a digit stands before or after it. The authors' code means the same,
    but its look-behind is mistyped: a dot goes wherever no digit follows (`authors_dots`).
    """
    plain = text.replace("\n", " ").replace("\t", " ").strip()
    joined = _COMMA_IN_NUMBER.search(plain) is not None
    out = plain
    for sign in _SIGNS:
        beside_blank = f"{sign} " in plain or f" {sign}" in plain
        out = out.replace(sign, "" if joined or beside_blank else " ")
    dot = _DOT_NOT_BEFORE_DIGIT if authors_dots else _LONE_DOT
    out = dot.sub("", out, count=_MOST_DOTS)
    words = (_DIGITS.get(word, word) for word in out.lower().split())
    return " ".join(_EXPANDED.get(word, word) for word in words if word not in _ARTICLES)


def _without_some_marks(word: str) -> Iterator[str]:
    """The word without one or more of its apostrophes."""
    parts = word.split("'")
    for marks in itertools.product(("", "'"), repeat=len(parts) - 1):
        if "" in marks:
            yield parts[0] + "".join(
                mark + part for mark, part in zip(marks, parts[1:], strict=True)
            )


_EXPANDED = {bare: word for word in _CONTRACTED.split() for bare in _without_some_marks(word)}
