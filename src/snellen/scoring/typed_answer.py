"""MMLongBench-Doc's comparison by the type of the gold answer (Ma et al. 2024,
https://arxiv.org/abs/2407.01523, Appendix B.3): Int, Float, Str, List or None.

The rules are those of the authors' script. If it would raise (a list that cannot be parsed, a
number that is not one), the answer is wrong. The script intends to strip units such as "miles" and
"million" but has no effect, so they are kept here too. `typed_score` accepts every way to abstain
for the gold "Not answerable"; the script compares characters (`typed_score_by_script`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from snellen.core.literals import parse_finite, parse_literal
from snellen.scoring.document import NOT_ANSWERABLE, abstains, thresholded_similarity

# Matches only at the start of a run of blanks, so that scanning stays linear.
_PARENTHESES = re.compile(r"(?<!\s)\s*\([^)]*\)")
_EDGE_QUOTES = re.compile(r"^['\"]|['\"]$")
_WHOLE_NUMBERS = re.compile(r"\d+(?:[-\s]\d+)?")
_TIME = re.compile(r"a\.m\.|p\.m\.")
_DATE = re.compile(r"\d{4}[-\s]\d{2}([-\s]\d{2})?")
_EMAIL = re.compile(r"[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}")
_LIST = re.compile(r"\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|([^,\[\]]+))")
_TOLERANCE = 0.01


def typed_score(answer: str, gold: str, answer_format: str) -> float:
    """Score of an answer, 0..1. `answer_format` is that of the data: Int, Float, Str, List or None.

    For the gold "Not answerable" the answer must abstain, in any words.
    """
    if gold == NOT_ANSWERABLE:
        return float(abstains(answer))
    if abstains(answer):
        return 0.0
    return _BY_TYPE.get(answer_format, _score_text)(answer, gold)


def typed_score_by_script(answer: str, gold: str, answer_format: str, *, none_is_list: bool = False) -> float:
    """The authors' own score of an extracted answer, 0..1. "Not answerable" is an ordinary text, so
    "not answered" scores its similarity. VLMEvalKit treats golds of the format None as lists
    (`none_is_list`), which only a list of one item matches."""
    if answer_format == "None" and not none_is_list:
        return _score_text(answer, gold)
    if answer_format in ("List", "None"):
        answers = _parse_python_list(answer)
        return 0.0 if answers is None else _score_lists(answers, parse_items(gold))
    return _BY_TYPE.get(answer_format, _score_text)(answer, gold)


def _score_integer(answer: str, gold: str) -> float:
    """1 if the gold equals the answer truncated to an integer: 3.9 is right for 3."""
    value, target = parse_finite(answer), parse_finite(gold)
    if value is None or target is None:
        return 0.0
    return float(int(value) == int(target))


def score_number(answer: str, gold: str) -> float:
    """1 if the answer is within 1 % of the gold, of the gold / 100 or of the gold * 100 (percent),
    or equal after rounding to the fewer decimals of the two, at least two. Both are clean texts."""
    value, target = parse_finite(answer), parse_finite(gold)
    if value is None or target is None:
        return 0.0
    return float(any(_is_close(value, scaled) for scaled in (target, target / 100, target * 100)))


def _is_close(value: float, target: float) -> bool:
    decimals = max(2, min(_decimals(value), _decimals(target)))
    return math.isclose(value, target, rel_tol=_TOLERANCE) or round(value, decimals) == round(target, decimals)


def _score_number(answer: str, gold: str) -> float:
    return score_number(clean_text(answer), clean_text(gold))


def score_text(answer: str, gold: str) -> float:
    """Equality with golds of the exact kind, else the similarity above 0.5. Both are clean texts."""
    return float(answer == gold) if is_exact(gold) else thresholded_similarity(answer, gold)


def _score_text(answer: str, gold: str) -> float:
    return score_text(clean_text(answer), clean_text(gold))


def _score_list(answer: str, gold: str) -> float:
    return _score_lists(parse_items(answer), parse_items(gold))


def _score_lists(answers: Sequence[str], golds: Sequence[str]) -> float:
    """Score lists of equal length, sorted. If the first gold is a number or of the exact kind all
    items must be equal, otherwise the score is that of the worst pair."""
    answer_texts, targets = sorted(map(clean_text, answers)), sorted(map(clean_text, golds))
    if len(answer_texts) != len(targets) or not targets:
        return 0.0
    if parse_finite(targets[0]) is not None or is_exact(targets[0]):
        return float(answer_texts == targets)
    return min(thresholded_similarity(text, gold) for text, gold in zip(answer_texts, targets, strict=True))


_BY_TYPE: Mapping[str, Callable[[str, str], float]] = {
    "Int": _score_integer,
    "Float": _score_number,
    "Str": _score_text,
    "List": _score_list,
    "None": _score_list,
}


def clean_text(text: str) -> str:
    """Lower case, without parts in parentheses, outer quotes, a leading $ and a trailing %."""
    text = text.lower().strip()
    # After the last ")" nothing can match, but every "(" would be scanned to the end of the text.
    end = text.rfind(")") + 1
    text = _PARENTHESES.sub("", text[:end]) + text[end:]
    text = _EDGE_QUOTES.sub("", text.strip()).strip()
    return text.lstrip("$").strip().rstrip("%").strip()


def parse_items(text: str) -> Sequence[str]:
    """The items of a list in Python or JSON syntax; any other text is one item."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return [text] if text else []
    parts = ("".join(part or "" for part in groups) for groups in _LIST.findall(text[1:-1]))
    return [item.strip() for item in parts if item.strip()]


def _parse_python_list(text: str) -> list[str] | None:
    """The items of a Python list literal; other text is one item. None if it starts with a bracket
    and is not valid Python."""
    if not text.startswith("["):
        return [text]
    try:
        value = parse_literal(text)
    except ValueError:
        return None
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def is_exact(text: str) -> bool:
    """Whether a text is compared exactly: URLs, code files, pages, numbers, times, dates and e-mail
    addresses."""
    return (
        "https://" in text
        or text.endswith((".py", "ipynb"))
        or text.startswith("page")
        or _WHOLE_NUMBERS.fullmatch(text) is not None
        or _TIME.search(text) is not None
        or _DATE.fullmatch(text) is not None
        or _EMAIL.fullmatch(text) is not None
    )


def _decimals(value: float) -> int:
    """Decimals of a number as Python writes it."""
    return len(str(value).partition(".")[2])
