"""Rules by which an option is chosen without the image, and even without understanding.

Most are those of test-wise examinees: J. Millman, C. Bishop and R. Ebel, Educational and
Psychological Measurement 25 (1965); T. Haladyna, S. Downing and M. Rodriguez, Applied Measurement
in Education 15 (2002), rules 22 to 31. A rule sees the question and its options and picks some of
them: all that are tied, or none where it does not tell the options apart.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, compress
from operator import attrgetter, gt, lt, ne, not_
from typing import Any, NamedTuple

import numpy as np
from numpy import bool_, int64
from numpy.typing import NDArray

from snellen_curate.statistics.words import split_all_terms

_DETAIL = re.compile(r"\d+(?:[.,:]\d+)*|(?<=\S[ ])[A-Z]\w*|[(,;\"%°$€£«“（，；]|\w-\w")
"""Numbers, capitalised words inside a text, and the signs of an aside or a unit."""
_UNPLAIN = np.isin(np.arange(256), list(b'?(,;"%$.:-' + bytes(range(ord("A"), ord("Z") + 1))))
"""The bytes where details may be other than runs of digits; ? stands for what is not ASCII."""
_NUMBER = re.compile(r"[^\d\s.+−-]{0,3}\s*([-+−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+−]?\d*\.?\d+)\s*([^\d\s]*)")
_COORDINATE = re.compile(r"\s*\d+(?:\.\d+)?\s*")
_ALL = re.compile(
    r"(?:all|both|each|every one) (?:of )?(?:the |these )?(?:above|options|answers|choices|these)\b"
    r"|以上(?:都|皆|全)(?:是|对|正确)|(?:全部|都)(?:正确|是)$",
    re.IGNORECASE | re.MULTILINE,
)
_NONE = re.compile(
    r"(?:none|neither|not any) (?:of )?(?:the |these )?(?:above|options|answers|choices|these)\b"
    r"|以上(?:都|皆|全)(?:不|非|错)|(?:都不是|均不是)$",
    re.IGNORECASE | re.MULTILINE,
)
_LAST_WORDS = ("above", "options", "answers", "choices", "these")
"""Words with which the English phrases end."""
_MIN_TERM = 4
"""Letters of the shortest word of a question that counts as one that an option repeats: shorter
ones are mostly function words."""


class ChoiceTexts(NamedTuple):
    """The texts of many questions and their options, taken apart once for all rules: what all options have, one
    after the other, and by the number of the question what few have."""

    sizes: NDArray[int64]
    """Number of options of each question."""
    lengths: NDArray[int64]
    """Characters of each option, without surrounding white space."""
    details: NDArray[int64]
    """Numbers, names, asides and units of each option."""
    question_terms: Sequence[Sequence[str]]
    option_terms: Sequence[Sequence[str]]
    """Words of all options of each question."""
    shared_parts: Mapping[int, Sequence[float]]
    """For each option the share of its words that an average other option has, if a word is in two options."""
    repeated: Mapping[int, Sequence[float]]
    """Words of the question, of four letters or more, that each option repeats, if an option has one of its words."""
    numbers: Mapping[int, Sequence[float]]
    """The options as numbers, if all are; see `read_numbers`."""
    boxes: Mapping[int, Sequence[Sequence[float]]]
    """The options as left, top, right and bottom of boxes, if all are; see `read_boxes`."""
    phrased: Mapping[int, Sequence[str]]
    """The options, if any may hold a phrase such as "all of the above"."""


def choice_texts(questions: Sequence[str], options: Sequence[Sequence[str]]) -> ChoiceTexts:
    """Take the texts of questions apart, those of all together where that takes less time than one by one."""
    flat = list(chain.from_iterable(options))
    asked, offered = split_all_terms(questions), split_all_terms(list(map(" ".join, options)))
    words = list(map(set, offered))
    # Most questions have no word twice in their options, and none of their own words there.
    alike = list(compress(range(len(words)), map(ne, map(len, words), map(len, offered))))
    echoed = list(compress(range(len(words)), map(not_, map(set.isdisjoint, words, asked))))
    terms = {number: split_all_terms(options[number]) for number in {*alike, *echoed}}
    shared = ((number, _shared_parts(terms[number])) for number in alike)
    firsts = [each[0] if each else "" for each in options]
    may_be_numbers = compress(range(len(firsts)), map(_NUMBER.match, map(str.strip, firsts)))
    numbers = ((number, read_numbers(options[number])) for number in may_be_numbers)
    boxes = ((number, read_boxes(options[number])) for number, text in enumerate(firsts) if text.count(",") == 3)
    return ChoiceTexts(
        np.fromiter(map(len, options), np.int64),
        np.fromiter(map(len, map(str.strip, flat)), np.int64),
        _count_details(flat),
        asked,
        offered,
        {number: parts for number, parts in shared if parts},
        {number: _count_repeated(asked[number], terms[number]) for number in echoed},
        {number: each for number, each in numbers if each},
        {number: each for number, each in boxes if each},
        _phrased_options(options),
    )


def _count_details(options: Sequence[str]) -> NDArray[int64]:
    """The matches of `_DETAIL` in each option: in plain ones the runs of digits."""
    signs = np.frombuffer("\n".join([*options, ""]).encode("ascii", "replace"), np.uint8)
    sizes = np.fromiter(map(len, options), np.int64) + 1
    starts = np.cumsum(sizes) - sizes
    if not len(starts):
        return starts
    begins = (signs >= ord("0")) & (signs <= ord("9"))
    begins[1:] &= ~begins[:-1]
    counts: NDArray[int64] = np.add.reduceat(begins, starts, dtype=np.int64)
    for number in np.flatnonzero(np.add.reduceat(_UNPLAIN[signs], starts)).tolist():
        counts[number] = len(_DETAIL.findall(options[number]))
    return counts


def _count_repeated(question_terms: Sequence[str], option_terms: Sequence[Sequence[str]]) -> Sequence[float]:
    words = set(long_terms(question_terms))
    return list(map(len, map(words.intersection, option_terms)))


def _phrased_options(options: Sequence[Sequence[str]]) -> dict[int, Sequence[str]]:
    """The options that may hold a phrase: most hold none of its words, which is quickly seen."""
    lines = list(map("\n".join, options))
    text = "\n".join(lines)
    lowered = text.lower()
    words = [word for word in _LAST_WORDS if word in lowered]
    return {
        number: options[number]
        for number, line in enumerate(lines if words or not text.isascii() else ())
        if not line.isascii() or any(map(line.lower().__contains__, words))
    }


def _find_phrase(pattern: re.Pattern[str], texts: ChoiceTexts) -> RuleValues:
    """Whether each option holds a phrase such as "all of the above"."""
    return {number: [pattern.search(each) is not None for each in own] for number, own in texts.phrased.items()}


def _are_between(texts: ChoiceTexts) -> RuleValues:
    """Whether each number is between the least and the greatest."""
    return {number: [min(own) < each < max(own) for each in own] for number, own in texts.numbers.items()}


def _find_at_border(texts: ChoiceTexts) -> RuleValues:
    """Whether each box begins at 0 or ends at a number of the question, such as the picture's
    width."""
    found = {}
    for number, boxes in texts.boxes.items():
        sizes = {float(term) for term in texts.question_terms[number] if term.isdecimal()}
        found[number] = [
            left == 0 or top == 0 or right in sizes or bottom in sizes for left, top, right, bottom in boxes
        ]
    return found


def _centralities(texts: ChoiceTexts) -> RuleValues:
    """How near the middle of each box is to the mean of all."""
    return {number: _centrality(boxes) for number, boxes in texts.boxes.items()}


def _centrality(boxes: Sequence[Sequence[float]]) -> list[float]:
    middles = [((left + right) / 2, (top + bottom) / 2) for left, top, right, bottom in boxes]
    mean = [sum(axis) / len(middles) for axis in zip(*middles, strict=True)]
    return [-math.dist(middle, mean) for middle in middles]


def _areas(texts: ChoiceTexts) -> RuleValues:
    return {
        number: [(right - left) * (bottom - top) for left, top, right, bottom in boxes]
        for number, boxes in texts.boxes.items()
    }


RuleValues = NDArray[int64] | Mapping[int, Sequence[float]]
"""The number that a rule gives each option, of all questions, or by the number of the question."""


class ShortcutRule(NamedTuple):
    """A rule picks the options to which it gives the greatest number, or the `least`."""

    values: Callable[[ChoiceTexts], RuleValues]
    least: bool = False


SHORTCUT_RULES: Mapping[str, ShortcutRule] = {
    "longest": ShortcutRule(attrgetter("lengths")),
    "shortest": ShortcutRule(attrgetter("lengths"), least=True),
    "most detailed": ShortcutRule(attrgetter("details")),
    # Numbers between the least and the greatest, if every option is a number.
    "middle number": ShortcutRule(_are_between),
    # Wrong options are often made by changing parts of the right one.
    "most alike": ShortcutRule(attrgetter("shared_parts")),
    "odd one out": ShortcutRule(attrgetter("shared_parts"), least=True),
    "words of the question": ShortcutRule(attrgetter("repeated")),
    "all of the above": ShortcutRule(partial(_find_phrase, _ALL)),
    "none of the above": ShortcutRule(partial(_find_phrase, _NONE)),
    "largest box": ShortcutRule(_areas),
    "smallest box": ShortcutRule(_areas, least=True),
    "box at the border": ShortcutRule(_find_at_border),
    "middle box": ShortcutRule(_centralities),
}
"""Every rule by its name."""


class OptionPicks(NamedTuple):
    """Which options the rules pick of many questions."""

    options: NDArray[bool_]
    """Of every option of every question, one after the other: shape (rules, options)."""
    counts: NDArray[int64]
    """Number of options that each rule picks of a question; 0 where it does not apply. Shape (rules, questions)."""
    starts: NDArray[int64]
    """The first option of each question; shape (questions,)."""


def pick_options(texts: ChoiceTexts, rules: Sequence[str] = tuple(SHORTCUT_RULES)) -> OptionPicks:
    """The options that each rule picks: all that are tied, none if all of several are equal."""
    sizes = texts.sizes
    starts = np.cumsum(sizes) - sizes
    filled = np.flatnonzero(sizes)
    picks = OptionPicks(np.zeros((len(rules), sizes.sum()), np.bool_), np.zeros((len(rules), len(sizes)), int), starts)
    for row, rule in enumerate(rules):
        values = SHORTCUT_RULES[rule].values(texts)
        if not len(values):
            continue
        if isinstance(values, Mapping):
            which, numbers = np.array(list(values), int), np.array(list(chain.from_iterable(values.values())))
            where = np.repeat(starts[which], sizes[which])
            where += np.arange(len(where)) - np.repeat(np.cumsum(sizes[which]) - sizes[which], sizes[which])
        else:
            which, numbers, where = filled, values, np.arange(len(values))
        numbers = -numbers if SHORTCUT_RULES[rule].least else numbers
        picks.options[row, where], picks.counts[row, which] = _greatest(numbers, sizes[which])
    return picks


def _greatest(numbers: NDArray[Any], sizes: NDArray[int64]) -> tuple[NDArray[bool_], NDArray[int64]]:
    """Of each question the options with the greatest number, and how many; none if all of several are equal."""
    starts = np.cumsum(sizes) - sizes
    is_top = numbers == np.repeat(np.maximum.reduceat(numbers, starts), sizes)
    ties = np.add.reduceat(is_top, starts, dtype=np.int64)
    applies = (ties < sizes) | (sizes == 1)
    return is_top & np.repeat(applies, sizes), ties * applies


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


def read_boxes(options: Sequence[str]) -> list[list[float]]:
    """The options as boxes, if each is `[left, top, right, bottom]`; else nothing."""
    boxes = []
    for option in options:
        numbers = option.strip().removeprefix("[").removesuffix("]").split(",")
        if len(numbers) != 4 or not all(map(_COORDINATE.fullmatch, numbers)):
            return []
        left, top, right, bottom = map(float, numbers)
        if left >= right or top >= bottom:
            return []
        boxes.append([left, top, right, bottom])
    return boxes


def sorted_orders(texts: ChoiceTexts, options: Sequence[Sequence[str]]) -> NDArray[int64]:
    """For each question 1 if its options ascend, -1 if they descend, as numbers where all are numbers, else by
    alphabet; 0 in any other order, and if two are equal or there is one."""
    folded = list(map(str.casefold, map(str.strip, chain.from_iterable(options))))
    orders = _orders(folded, texts.sizes)
    if texts.numbers:
        which = list(texts.numbers)
        orders[which] = _orders(list(chain.from_iterable(texts.numbers.values())), texts.sizes[which])
    return orders


def _orders(values: Sequence[Any], sizes: NDArray[int64]) -> NDArray[int64]:
    """1 where all values of a question but the last are less than the next, -1 where greater, else 0."""
    ends = np.cumsum(sizes)
    # A last pair is added, so that there are as many pairs as values.
    pairs = [np.fromiter(chain(map(relation, values, values[1:]), (False,)), np.int64) for relation in (lt, gt)]
    rising, falling = (np.concatenate(([0], np.cumsum(found)))[:, None] for found in pairs)
    counts = np.concatenate((rising, falling), axis=1)
    inside = counts[np.maximum(ends - 1, ends - sizes)] - counts[ends - sizes]
    is_order = (inside == sizes[:, None] - 1) & (sizes[:, None] > 1)
    orders: NDArray[int64] = is_order[:, 0].astype(np.int64) - is_order[:, 1]
    return orders


def _shared_parts(option_terms: Sequence[Sequence[str]]) -> list[float]:
    """For each option the share of its words that an average other option has; nothing if no word
    is in two options."""
    words = list(map(set, option_terms))
    if len(set().union(*words)) == sum(map(len, words)):
        return []
    holders = Counter(word for option in words for word in option)
    others = len(words) - 1
    return [sum(holders[word] - 1 for word in option) / (others * len(option)) if option else 0.0 for option in words]


def long_terms(question_terms: Sequence[str]) -> list[str]:
    """The words of a question that are not, by their length, function words: of four letters or
    more, numbers, and all that are not ASCII."""
    return [term for term in question_terms if len(term) >= _MIN_TERM or not term.isascii() or not term.isalpha()]
