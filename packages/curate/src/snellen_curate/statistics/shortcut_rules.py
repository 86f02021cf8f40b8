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
from itertools import chain, pairwise
from typing import NamedTuple

from snellen_curate.statistics.words import split_lines, split_terms

Picks = Sequence[int]
"""Indices of the options that a rule picks, in order; empty if it does not apply."""

_DETAIL = re.compile(r"\d+(?:[.,:]\d+)*|(?<=\S[ ])[A-Z]\w*|[(,;\"%°$€£«“（，；]|\w-\w")
"""Numbers, capitalised words inside a text, and the signs of an aside or a unit."""
_NUMBER = re.compile(r"[^\d\s.+−-]{0,3}\s*([-+−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+−]?\d*\.?\d+)\s*([^\d\s]*)")
_COORDINATE = re.compile(r"\s*\d+(?:\.\d+)?\s*")
_DIGIT = re.compile(r"\d")
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
    """The texts of a question and its options, taken apart once for all rules."""

    options: Sequence[str]
    lengths: Sequence[int]
    """Characters of each option, without surrounding white space."""
    question_terms: Sequence[str]
    option_terms: Sequence[Sequence[str]]
    shared_parts: Sequence[float]
    """For each option the share of its words that an average other option has; empty if no word is
    in two options."""
    numbers: Sequence[float]
    """The options as numbers, if all are; see `read_numbers`."""
    lines: str
    """All options, one a line."""
    boxes: Sequence[Sequence[float]] = ()
    """The options as left, top, right and bottom of boxes, if all are; see `read_boxes`."""
    phrased: Sequence[str] = ()
    """The options, if any may hold a phrase such as "all of the above"."""


def choice_texts(question: str, options: Sequence[str]) -> ChoiceTexts:
    """Take the texts of a question apart."""
    lines = "\n".join(options)
    in_one_line = lines.count("\n") < len(options)
    terms = split_lines(lines) if in_one_line else list(map(split_terms, options))
    return ChoiceTexts(
        options,
        [len(option.strip()) for option in options],
        split_terms(question),
        terms,
        _shared_parts(terms),
        read_numbers(options) if _DIGIT.search(lines) else (),
        lines,
        read_boxes(options) if lines.count(",") >= 3 * len(options) else (),
        # Most options hold none of these words, which is quickly seen.
        options if not lines.isascii() or any(map(lines.lower().__contains__, _LAST_WORDS)) else (),
    )


def _count_details(texts: ChoiceTexts) -> Sequence[float]:
    """Numbers, names, asides and units of each option."""
    if not _DETAIL.search(texts.lines):
        return ()
    return [len(_DETAIL.findall(option)) for option in texts.options]


def _count_repeated(texts: ChoiceTexts) -> Sequence[float]:
    """Words of the question, of four letters or more, that each option repeats."""
    if set(texts.question_terms).isdisjoint(chain(*texts.option_terms)):
        return ()
    words = set(long_terms(texts))
    return [len(words.intersection(terms)) for terms in texts.option_terms]


def _find_phrase(pattern: re.Pattern[str], texts: ChoiceTexts) -> Sequence[float]:
    """Whether each option holds a phrase such as "all of the above"."""
    return [pattern.search(option) is not None for option in texts.phrased]


def _find_at_border(texts: ChoiceTexts) -> Sequence[float]:
    """Whether each box begins at 0 or ends at a number of the question, such as the picture's
    width."""
    sizes = {float(term) for term in texts.question_terms if term.isdecimal()}
    return [left == 0 or top == 0 or right in sizes or bottom in sizes for left, top, right, bottom in texts.boxes]


def _centrality(texts: ChoiceTexts) -> Sequence[float]:
    """How near the middle of each box is to the mean of all."""
    middles = [((left + right) / 2, (top + bottom) / 2) for left, top, right, bottom in texts.boxes]
    mean = [sum(axis) / len(middles) for axis in zip(*middles, strict=True)]
    return [-math.dist(middle, mean) for middle in middles]


def _areas(texts: ChoiceTexts) -> list[float]:
    return [(right - left) * (bottom - top) for left, top, right, bottom in texts.boxes]


class ShortcutRule(NamedTuple):
    """The number that a rule gives every option, and the field of `ChoiceTexts` without which it does not apply."""

    of: str
    values: Callable[[ChoiceTexts], Sequence[float]]

    def pick(self, texts: ChoiceTexts) -> Picks:
        """The options that the rule picks."""
        return _greatest(self.values(texts)) if getattr(texts, self.of) else ()


SHORTCUT_RULES: Mapping[str, ShortcutRule] = {
    "longest": ShortcutRule("lengths", lambda texts: texts.lengths),
    "shortest": ShortcutRule("lengths", lambda texts: [-length for length in texts.lengths]),
    "most detailed": ShortcutRule("lines", _count_details),
    # Numbers between the least and the greatest, if every option is a number.
    "middle number": ShortcutRule(
        "numbers", lambda texts: [min(texts.numbers) < each < max(texts.numbers) for each in texts.numbers]
    ),
    # Wrong options are often made by changing parts of the right one.
    "most alike": ShortcutRule("shared_parts", lambda texts: texts.shared_parts),
    "odd one out": ShortcutRule("shared_parts", lambda texts: [-part for part in texts.shared_parts]),
    "words of the question": ShortcutRule("question_terms", _count_repeated),
    "all of the above": ShortcutRule("phrased", partial(_find_phrase, _ALL)),
    "none of the above": ShortcutRule("phrased", partial(_find_phrase, _NONE)),
    "largest box": ShortcutRule("boxes", _areas),
    "smallest box": ShortcutRule("boxes", lambda texts: [-area for area in _areas(texts)]),
    "box at the border": ShortcutRule("boxes", _find_at_border),
    "middle box": ShortcutRule("boxes", _centrality),
}
"""Every rule by its name."""
_PARTS = [(rule.of, rule.values) for rule in SHORTCUT_RULES.values()]


def pick_options(texts: ChoiceTexts) -> list[Picks]:
    """The options that each of `SHORTCUT_RULES` picks; most rules do not apply, and are not called."""
    return [_greatest(values(texts)) if getattr(texts, of) else () for of, values in _PARTS]


def _greatest(values: Sequence[float]) -> Picks:
    """The options with the greatest number; none if all are equal."""
    if not values:
        return ()
    top = max(values)
    ties = values.count(top)
    if ties == 1:
        return (values.index(top),)
    if ties == len(values):
        return ()
    return [index for index, value in enumerate(values) if value == top]


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


def sorted_order(texts: ChoiceTexts) -> int:
    """1 if the options ascend, -1 if they descend, as numbers where all are numbers, else by
    alphabet; 0 in any other order, and if two are equal or there is one."""
    values: Sequence[float] | Sequence[str] = texts.numbers or [option.strip().casefold() for option in texts.options]
    if len(values) < 2 or values[0] == values[1]:
        return 0
    if values[0] < values[1]:  # type: ignore[operator]
        return int(all(first < second for first, second in pairwise(values)))  # type: ignore[operator]
    return -int(all(first > second for first, second in pairwise(values)))  # type: ignore[operator]


def _shared_parts(option_terms: Sequence[Sequence[str]]) -> list[float]:
    """For each option the share of its words that an average other option has; nothing if no word
    is in two options."""
    words = list(map(set, option_terms))
    if len(set().union(*words)) == sum(map(len, words)):
        return []
    holders = Counter(word for option in words for word in option)
    others = len(words) - 1
    return [sum(holders[word] - 1 for word in option) / (others * len(option)) if option else 0.0 for option in words]


def long_terms(texts: ChoiceTexts) -> list[str]:
    """The words of a question that are not, by their length, function words: of four letters or
    more, numbers, and all that are not ASCII."""
    return [term for term in texts.question_terms if len(term) >= _MIN_TERM or not term.isascii() or not term.isalpha()]
