"""Answers about documents of several pages: lists, unanswerable questions, and comparison by the
type of the gold answer.

DUDE: Van Landeghem et al. 2023 (https://arxiv.org/abs/2305.08455, Sec. 4.2). SlideVQA: Tanaka et
al. 2023 (https://arxiv.org/abs/2301.04883). MMLongBench-Doc: Ma et al. 2024
(https://arxiv.org/abs/2407.01523, Appendix), whose typed comparison is from MMLongBench's code.
"""

from __future__ import annotations

import itertools
import re
import string
from collections import Counter
from collections.abc import Sequence

from snellen.scoring.edit_distance import anls, fold_text, similarity

NOT_ANSWERABLE = "Not answerable"
_ABSTENTION = re.compile(
    r"\b(?:not answerable|unanswerable|can(?:not|'t) be (?:answered|determined)"
    r"|no answer|(?:is|are) not (?:(?:mentioned|provided|stated) )?in the (?:document|slides?))\b",
    re.IGNORECASE,
)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_MAX_PERMUTED = 7
"""Longest list whose best pairing is searched exhaustively; longer ones are paired greedily."""


def is_unanswerable(gold: str) -> bool:
    """Whether a gold answer is "Not answerable", in any case."""
    return fold_text(gold) == NOT_ANSWERABLE.lower()


def abstains(answer: str) -> bool:
    """Whether the answer says that the document does not contain the answer."""
    return _ABSTENTION.search(answer) is not None


def document_anls(answer: str, golds: Sequence[str]) -> float:
    """ANLS, 0..1. For the gold "Not answerable" the score is 1 if the answer abstains, else 0."""
    if any(map(is_unanswerable, golds)):
        return float(abstains(answer))
    return 0.0 if abstains(answer) else anls(answer, golds)


def list_anls(answers: Sequence[str], golds: Sequence[str]) -> float:
    """ANLS of two lists regardless of order, 0..1: the sum of the best pairing over the longer
    length."""
    if not answers or not golds:
        return float(not answers and not golds)
    short, long = sorted((list(answers), list(golds)), key=len)
    similarities = [[anls(item, [other]) for other in long] for item in short]
    return _best_pairing(similarities) / len(long)


def _best_pairing(similarities: Sequence[Sequence[float]]) -> float:
    """Largest sum of similarities (rows: shorter list, columns: longer list) with each row and
    column used at most once; greedy for long lists."""
    columns = range(len(similarities[0]))
    if len(similarities[0]) <= _MAX_PERMUTED:
        orders = itertools.permutations(columns, len(similarities))
        return max(sum(row[column] for row, column in zip(similarities, order, strict=True)) for order in orders)
    cells = sorted(
        ((mark, row, column) for row, line in enumerate(similarities) for column, mark in enumerate(line)), reverse=True
    )
    used_rows: set[int] = set()
    used_columns: set[int] = set()
    total = 0.0
    for mark, row, column in cells:
        if row not in used_rows and column not in used_columns:
            used_rows.add(row)
            used_columns.add(column)
            total += mark
    return total


def bag_of_words_f1(answer: str, golds: Sequence[str]) -> float:
    """F1 of the words of the answer and of the best gold, 0..1, as SQuAD defines it (Rajpurkar et
    al. 2016, Sec. 6.1): lower case, no punctuation, no articles, words counted with repetition."""
    return max((_f1(_squad_words(answer), _squad_words(gold)) for gold in golds), default=0.0)


def squad_equal(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer equals a gold by SQuAD's normalisation."""
    return _squad_words(answer) in [_squad_words(gold) for gold in golds]


def _f1(answer: Sequence[str], gold: Sequence[str]) -> float:
    if not answer or not gold:
        return float(not answer and not gold)
    common = sum((Counter(answer) & Counter(gold)).values())
    return 2 * common / (len(answer) + len(gold))


def _squad_words(text: str) -> list[str]:
    bare = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    return _ARTICLES.sub(" ", bare).split()


def words_f1_vlmevalkit(answer: str, gold: str) -> float:
    """VLMEvalKit's F1 for SlideVQA, capped at 1: a word repeated in the answer counts each time, so
    its recall can exceed 1. Line breaks of the gold are removed without a blank."""
    answer_words, gold_words = answer.lower().split(), _join_lines(gold).split()
    if not answer_words or not gold_words:
        return 0.0
    hits = sum(word in gold_words for word in answer_words)
    precision, recall = hits / len(answer_words), hits / len(gold_words)
    return min(1.0, 2 * precision * recall / (precision + recall)) if hits else 0.0


def equal_vlmevalkit(answer: str, gold: str) -> bool:
    """VLMEvalKit's exact match for SlideVQA."""
    return answer.lower().strip() == _join_lines(gold).strip()


def anls_vlmevalkit(answer: str, gold: str) -> float:
    """VLMEvalKit's ANLS for DUDE, 0..1: lower case, white space unchanged; a similarity of 0.5 or
    less is 0."""
    return thresholded_similarity(answer.lower(), gold.lower())


def anls_vlmevalkit_joined_lines(answer: str, gold: str) -> float:
    """VLMEvalKit's ANLS for SlideVQA, 0..1: as `anls_vlmevalkit`, with the line breaks of the gold
    removed without a blank."""
    return thresholded_similarity(answer.lower(), _join_lines(gold))


def _join_lines(gold: str) -> str:
    return gold.replace("\n", "").lower()


def thresholded_similarity(first: str, second: str) -> float:
    """ANLS of two normalised texts without further folding: 0 for a similarity of 0.5 or less."""
    value = similarity(first, second)
    return value if value > 0.5 else 0.0
