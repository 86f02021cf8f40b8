"""SlideVQA's own comparison (Tanaka et al. 2023, https://arxiv.org/abs/2301.04883): F1 and equality
of words after a normalisation that goes further than SQuAD's.

Phrases such as "it is" and "because" and the word percent are removed, "and" and & become commas,
the unit that the question asks for ("how many boats", "which city") is removed, an answer that
begins with yes or no is reduced to that word, and number words to nineteen become digits.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from snellen.core.number_words import digits_by_word

_DIGITS = digits_by_word(19)
_REPLACED = (
    ("this is ", ""),
    ("it is ", ""),
    ("&", ","),
    ("and", ","),
    ("percent", ""),
    ("organisation", "organization"),
    ("because of", ""),
    ("because", ""),
    ("due to", ""),
    ("hours", "hrs"),
    ("minites", "min"),
)
_NO_SIGNS = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def f1_authors(answer: str, gold: str, question: str) -> float:
    """F1 of words counted with repetition, 0..1; the question names the unit."""
    answer_words, gold_words = _words(answer, question), _words(gold, question)
    shared = sum((Counter(answer_words) & Counter(gold_words)).values())
    return 2 * shared / (len(answer_words) + len(gold_words)) if shared else 0.0


def equal_authors(answer: str, gold: str, question: str) -> bool:
    """Whether answer and gold are the same words in the same order; two empty answers are not
    equal."""
    answer_words = _words(answer, question)
    return answer_words != [] and answer_words == _words(gold, question)


def _words(text: str, question: str) -> list[str]:
    text = text.lower()
    for old, new in _REPLACED:
        text = text.replace(old, new)
    for phrase in ("how many", "which"):
        text = _remove_unit(text, question, phrase)
    text = _ARTICLES.sub(" ", text.translate(_NO_SIGNS))
    if text.startswith(("yes", "no")):
        text = text.split()[0]
    return [_DIGITS.get(word, word) for word in text.split()]


def _remove_unit(text: str, question: str, phrase: str) -> str:
    """Remove the word that follows `phrase` in the question wherever it occurs in the text."""
    _, match, after_phrase = question.partition(phrase)
    unit = after_phrase.split()[:1] if match else []
    return text.replace(unit[0], "") if unit else text
