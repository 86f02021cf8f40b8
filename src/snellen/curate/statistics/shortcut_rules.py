"""Rules by which an option is chosen without the image, and even without understanding.

Most are those of test-wise examinees: J. Millman, C. Bishop and R. Ebel, Educational and
Psychological Measurement 25 (1965); T. Haladyna, S. Downing and M. Rodriguez, Applied Measurement
in Education 15 (2002), rules 22 to 31. A rule sees the question and its options and picks some of
them: all that are tied, or none where it does not tell the options apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from snellen.curate.statistics.words import split_terms

Picks = Sequence[int]
"""Indices of the options that a rule picks, in order; empty if it does not apply."""

_DETAIL = re.compile(r"\d+(?:[.,:]\d+)*|(?<=\S[ ])[A-Z]\w*|[(,;\"%°$€£«“（，；]|\w-\w")
"""Numbers, capitalised words inside a text, and the signs of an aside or a unit."""
_NUMBER = re.compile(
    r"[^\d\s.+−-]{0,3}\s*([-+−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+−]?\d*\.?\d+)\s*([^\d\s]*)"
)
_ALL = re.compile(
    r"(?:all|both|each|every one) (?:of )?(?:the |these )?(?:above|options|answers|choices|these)\b"
    r"|以上(?:都|皆|全)(?:是|对|正确)|(?:全部|都)(?:正确|是)$",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"(?:none|neither|not any) (?:of )?(?:the |these )?(?:above|options|answers|choices|these)\b"
    r"|以上(?:都|皆|全)(?:不|非|错)|(?:都不是|均不是)$",
    re.IGNORECASE,
)
_MIN_TERM = 4
"""Letters of the shortest word of a question that counts as one that an option repeats: shorter
ones are mostly function words."""


def pick_longest(question: str, options: Sequence[str]) -> Picks:
    """The option with the most characters."""
    return _most([len(option.strip()) for option in options])


def pick_shortest(question: str, options: Sequence[str]) -> Picks:
    """The option with the fewest characters."""
    return _most([-len(option.strip()) for option in options])


def pick_most_detailed(question: str, options: Sequence[str]) -> Picks:
    """The most specific option: with the most numbers, names, asides and units."""
    return _most([len(_DETAIL.findall(option)) for option in options])


def pick_middle_number(question: str, options: Sequence[str]) -> Picks:
    """The numbers between the least and the greatest, if every option is a number."""
    numbers = read_numbers(options)
    if len(numbers) < 3:
        return ()
    low, high = min(numbers), max(numbers)
    return _proper([index for index, number in enumerate(numbers) if low < number < high], numbers)


def pick_most_alike(question: str, options: Sequence[str]) -> Picks:
    """The option that shares most of its words with the others: wrong options are often made by
    changing parts of the right one."""
    return _most(_shared_parts(options))


def pick_odd_one_out(question: str, options: Sequence[str]) -> Picks:
    """The option that shares least of its words with the others."""
    return _most([-part for part in _shared_parts(options)])


def pick_from_question(question: str, options: Sequence[str]) -> Picks:
    """The option that repeats the most words of the question, of four letters or more."""
    words = {term for term in split_terms(question) if _tells(term)}
    if not words:
        return ()
    return _most([len(words.intersection(split_terms(option))) for option in options])


def pick_all_of_above(question: str, options: Sequence[str]) -> Picks:
    """ "All of the above"."""
    return _matching(_ALL, options)


def pick_none_of_above(question: str, options: Sequence[str]) -> Picks:
    """ "None of the above"."""
    return _matching(_NONE, options)


SHORTCUT_RULES: Mapping[str, Callable[[str, Sequence[str]], Picks]] = {
    "longest": pick_longest,
    "shortest": pick_shortest,
    "most detailed": pick_most_detailed,
    "middle number": pick_middle_number,
    "most alike": pick_most_alike,
    "odd one out": pick_odd_one_out,
    "words of the question": pick_from_question,
    "all of the above": pick_all_of_above,
    "none of the above": pick_none_of_above,
}
"""Every rule by its name."""


def read_numbers(options: Sequence[str]) -> list[float]:
    """The options as numbers, if each is one number, perhaps with a sign of currency before it or
    one unit, the same for all, behind it; else nothing."""
    numbers, units = [], set()
    for option in options:
        match = _NUMBER.fullmatch(option.strip().rstrip("."))
        if match is None:
            return []
        numbers.append(float(match[1].replace(",", "").replace("−", "-")))
        units.add(match[2])
    return numbers if len(units) == 1 else []


def sorted_order(options: Sequence[str]) -> int:
    """1 if the options ascend, -1 if they descend, as numbers where all are numbers, else by
    alphabet; 0 in any other order and if two are equal."""
    values: Sequence[float] | Sequence[str] = read_numbers(options) or [
        option.strip().casefold() for option in options
    ]
    pairs = list(pairwise(values))
    if not pairs:
        return 0
    if all(first < second for first, second in pairs):  # type: ignore[operator]
        return 1
    return -all(first > second for first, second in pairs)  # type: ignore[operator]


def _shared_parts(options: Sequence[str]) -> list[float]:
    """For each option the mean share of its words that another option has."""
    words = [set(split_terms(option)) for option in options]
    holders = Counter(word for option in words for word in option)
    if len(holders) == sum(map(len, words)):
        return []
    return [
        sum(holders[word] - 1 for word in option) / len(option) if option else 0.0
        for option in words
    ]


def _tells(term: str) -> bool:
    return len(term) >= _MIN_TERM or not term.isascii() or not term.isalpha()


def _matching(pattern: re.Pattern[str], options: Sequence[str]) -> Picks:
    matches = [index for index, option in enumerate(options) if pattern.search(option)]
    return _proper(matches, options)


def _most(values: Sequence[float]) -> Picks:
    """Indices of the greatest value; empty if all are equal."""
    if not values:
        return ()
    top = max(values)
    return _proper([index for index, value in enumerate(values) if value == top], values)


def _proper(indices: list[int], options: Sequence[object]) -> Picks:
    """The indices, unless they are all options."""
    return indices if len(indices) < len(options) else ()
