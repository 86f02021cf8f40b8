"""Whether a text keeps to a constraint that a program can check: MM-IFEval's 18 checks.

Ding et al. 2025 (https://arxiv.org/abs/2504.07957), Sec. 4.2; the names and parameters are those in
their data. A paragraph is a part between empty lines, a word a run between blanks once all signs
but word characters, dots and hyphens are taken away, and all bounds belong to their range.

Sentences end at `.`, `!` or `?` before a blank. The authors' code has NLTK's trained model split
them, which knows more abbreviations than are listed here, and is not part of Snellen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

Check = Callable[..., bool]
"""A text and the parameters of the data, to whether the text keeps to the constraint."""

_EMPTY_LINES = re.compile(r"\n\s*\n")
_NO_WORD = re.compile(r"[^\w\s.-]")
# `(?<!...)` and `++` keep the searches linear in long runs of dots and digits.
_SENTENCE_END = re.compile(r"(?<![.!?])[.!?]++[\"')\]}”’]*+(?=\s)")
_SIGN = re.compile(r"\S")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:mr|mrs|ms|dr|prof|st|vs|etc|no|fig|e\.g|i\.e|u\.s|[a-z])\.$", re.IGNORECASE
)
_LONGEST_ABBREVIATION = 8
"""Characters, with the sign before it: the longest that is listed is "prof."."""
_PERCENTAGE = re.compile(r"(?<!\d)(\d+\.\d+|\d+)\s*%")
_NUMBER = re.compile(r"(?<!\w)[+-]?(?:\d{1,3}(?:,\d{3})*(?:\.\d+)?|\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?%?(?!\w)")
_DIGITS = re.compile(
    r"(?<![.\w])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?%?|\d+\.\d+%?|\d+%?|\d+(?:\.\d+)?[eE][+-]?\d+)"
    r"(?![.\w])"
)


def split_paragraphs(text: str) -> list[str]:
    """The parts between empty lines, every line without the blanks around it."""
    return [part for part in _EMPTY_LINES.split(_strip_lines(text)) if part.strip()]


def split_sentences(text: str) -> list[str]:
    """The sentences of a text. A dot ends none behind an abbreviation or an initial, nor before a
    small letter."""
    sentences, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        if end[0].startswith("."):
            following = _SIGN.search(text, end.end())
            last_word = text[max(start, end.end() - _LONGEST_ABBREVIATION) : end.end()]
            if (following and following[0].islower()) or _ABBREVIATION.search(last_word):
                continue
        sentences.append(text[start : end.end()].strip())
        start = end.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def keeps_constraint(text: str, check: str, parameters: Sequence[Any]) -> bool | None:
    """Whether the text passes a check, by its name in the data; None for a check that is not
    known, or for parameters that it does not take."""
    function = CHECKS.get(check)
    if function is None:
        return None
    try:
        return function(text, *parameters)
    except (TypeError, ValueError, AttributeError):
        return None


def _strip_lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines()).strip()


def _count_words(text: str) -> int:
    return len(_NO_WORD.sub("", text).split())


def _count_sentences(text: str) -> int:
    return len(split_sentences(text))


def _whole_in_range(count: Callable[[str], int], text: str, low: int, high: int) -> bool:
    return low <= count(text) <= high


def _each_paragraph_in_range(count: Callable[[str], int], text: str, low: int, high: int) -> bool:
    return all(low <= count(paragraph) <= high for paragraph in split_paragraphs(text))


def _sentences_by_paragraph(text: str, ranges: Sequence[Sequence[int]]) -> bool:
    """Whether each paragraph has a number of sentences in its range; as many ranges as
    paragraphs."""
    paragraphs = split_paragraphs(text)
    return len(paragraphs) == len(ranges) and all(
        low <= _count_sentences(paragraph) <= high for paragraph, (low, high) in zip(paragraphs, ranges, strict=True)
    )


def _each_part(split: Callable[[str], Sequence[str]], holds: Callable[[str, str], bool], text: str, part: str) -> bool:
    return all(holds(piece, part) for piece in split(text))


def _lacks_all(text: str, parts: Sequence[str]) -> bool:
    return all(part not in text for part in parts)


def _count_keyword(text: str, keyword: str) -> int:
    """How often a keyword stands in the text as a word, whatever its case."""
    return len(re.findall(rf"\b{re.escape(keyword.lower())}\b", _strip_lines(text).lower()))


def _each_keyword(text: str, keywords: Sequence[str], low: int, high: int) -> bool:
    return all(low <= _count_keyword(text, keyword) <= high for keyword in keywords)


def _keywords_together(text: str, keywords: Sequence[str], low: int, high: int) -> bool:
    return low <= sum(_count_keyword(text, keyword) for keyword in keywords) <= high


def _percentages_have_digits(text: str, digits: int) -> bool:
    """Whether each percentage has so many digits behind a point; one without a point has none, and
    fails."""
    return all("." in number and len(number.partition(".")[2]) == digits for number in _PERCENTAGE.findall(text))


def _numbers_have_digits(text: str, digits: int) -> bool:
    """Whether each number has so many digits behind the point, before its exponent."""
    mantissas = (re.split("[eE]", match[0].replace(",", "").rstrip("%"))[0] for match in _NUMBER.finditer(text))
    return all(len(mantissa.partition(".")[2]) == digits for mantissa in mantissas)


def _has_no_number(text: str) -> bool:
    return _DIGITS.search(text) is None


def _split_stripped(text: str) -> list[str]:
    return split_sentences(_strip_lines(text))


CHECKS: Mapping[str, Check] = {
    "check_whether_response_paragraph_number_in_range": partial(
        _whole_in_range, lambda text: len(split_paragraphs(text))
    ),
    "check_whether_response_sentence_number_in_range": partial(
        _whole_in_range, lambda text: len(_split_stripped(text))
    ),
    "check_whether_each_paragraph_sentence_number_in_range": partial(_each_paragraph_in_range, _count_sentences),
    "check_whether_each_paragraph_sentence_number_in_range_list": _sentences_by_paragraph,
    "check_whether_response_word_count_in_range": partial(_whole_in_range, _count_words),
    "check_whether_each_paragraph_word_count_in_range": partial(_each_paragraph_in_range, _count_words),
    "check_whether_whole_response_not_contain_certain_substrings": _lacks_all,
    "check_whether_whole_response_not_contain_certain_substring": lambda text, part: part not in text,
    "check_whether_each_sentence_begin_with_certain_substring": partial(_each_part, _split_stripped, str.startswith),
    "check_whether_each_paragraph_begin_with_certain_substring": partial(_each_part, split_paragraphs, str.startswith),
    "check_whether_each_paragraph_end_with_certain_substring": partial(_each_part, split_paragraphs, str.endswith),
    "check_whether_each_sentence_end_with_certain_substring": partial(_each_part, _split_stripped, str.endswith),
    "check_whether_whole_response_begin_with_certain_substring": lambda text, part: text.strip().startswith(part),
    "check_whether_whole_response_end_with_certain_substring": lambda text, part: text.strip().endswith(part),
    "check_whether_each_keyword_in_list_metioned_in_range": _each_keyword,
    "check_whether_total_keyword_in_list_metioned_in_range": _keywords_together,
    "check_percentage_number_precision_in_response": _percentages_have_digits,
    "check_number_precision_in_response": _numbers_have_digits,
    "check_whether_has_no_arabic_number_in_response": _has_no_number,
}
"""Every check by its name in the data, spelt as there."""
