"""VQA accuracy: agreement of a short answer with the answers of ten people.

Antol et al. 2015 (https://arxiv.org/abs/1505.00468, Sec. 5), as the authors' evaluation code does
it: leave one human answer out, accuracy = min(1, matches among the others / 3), and average over
the answer left out. With ten answers 0, 1, 2, 3 and 4 matches give 0, 0.3, 0.6, 0.9 and 1. TextVQA,
OK-VQA and VizWiz are scored by the same rule.

Both sides are normalised: punctuation, number words, articles, contractions. The rule follows the
authors' code including its oddities: a sign is deleted if it stands next to a blank anywhere in the
text, or if the text contains digit-comma-digit, and is replaced by a blank otherwise; a dot is
deleted unless a digit follows, so that "2012." is "2012". Three scripts differ from ours:

`vqa_accuracy_authors`     VQA's (vqaEval.py): normalised only if the answers are not all alike.
`vqa_accuracy_m4c`         TextVQA's (the evaluator of M4C and Pythia, which LLaVA and lmms-eval
                           use): commas and question marks go first, and "'s" is a word.
`vqa_accuracy_vlmevalkit`  a dot next to any digit is kept, and with one gold nothing is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from snellen.core.literals import digits_by_word

_SIGNS = ';/[]"{}()=+\\_-><@`,?!'
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_LONE_DOT = re.compile(r"(?<!\d)\.(?!\d)")
_DOT_NOT_BEFORE_DIGIT = re.compile(r"\.(?!\d)")
_MAX_DOTS = 32
"""How many dots are deleted: the authors' code passes a regex flag (re.UNICODE = 32) as the
count."""
_ARTICLES = frozenset({"a", "an", "the"})
_DIGITS = {**digits_by_word(10), "none": "0"}
_CONTRACTIONS = (
    "ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't "
    "haven't he'd he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't "
    "mightn't've might've mustn't must've needn't not've o'clock oughtn't shan't she'd've "
    "should've shouldn't shouldn't've somebody'd've somebody'll somebody's someone'd someone'd've "
    "someone'll someone's something'd something'd've something'll that's there'd there'd've "
    "there're there's they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't "
    "what'll what're what's what've when's where'd where's where've who'd who'd've who'll who's "
    "who've why'll why're why's won't would've wouldn't wouldn't've y'all y'all'll y'all'd've "
    "you'd you'd've you'll you're you've"
)
_MATCHES_FOR_FULL = 3


def vqa_accuracy(answer: str, golds: Sequence[str]) -> float:
    """Leave-one-out accuracy against human answers, 0..1. With a single gold answer: equality after
    normalising."""
    return _leave_one_out(normalise_vqa(answer), [normalise_vqa(gold) for gold in golds])


def vqa_accuracy_authors(answer: str, golds: Sequence[str]) -> float:
    """VQA accuracy by the authors' script, 0..1: human answers that are all alike are compared
    without normalising."""
    answer_line, gold_lines = _one_line(answer), [_one_line(gold) for gold in golds]
    if len(set(gold_lines)) > 1:
        return vqa_accuracy(answer, golds)
    return _leave_one_out(answer_line, gold_lines)


def vqa_accuracy_m4c(answer: str, golds: Sequence[str]) -> float:
    """VQA accuracy by TextVQA's script, 0..1."""
    return vqa_accuracy(_split_words(answer), [_split_words(gold) for gold in golds])


def vqa_accuracy_vlmevalkit(answer: str, golds: Sequence[str]) -> float:
    """VQA accuracy by VLMEvalKit's `vqa_eval.py`, 0..1."""
    if len(golds) < 2:
        return 0.0
    normalised_golds = [normalise_vqa(gold, lone_dots=True) for gold in golds]
    return _leave_one_out(normalise_vqa(answer, lone_dots=True), normalised_golds)


def _leave_one_out(answer: str, golds: Sequence[str]) -> float:
    """Mean accuracy over the gold answer left out, 0..1."""
    equal = [answer == gold for gold in golds]
    if len(equal) < 2:
        return float(any(equal))
    matches = sum(equal)
    parts = (min(1.0, (matches - own) / _MATCHES_FOR_FULL) for own in equal)
    return sum(parts) / len(equal)


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ").strip()


def _split_words(text: str) -> str:
    return text.lower().replace(",", "").replace("?", "").replace("'s", " 's")


@lru_cache(maxsize=65536)
def normalise_vqa(text: str, *, lone_dots: bool = False) -> str:
    """Normalise an answer for comparison.

    A dot is deleted unless a digit follows. With `lone_dots` a dot that follows a digit is kept
    too: the authors' code intends this (its look-behind is mistyped) and VLMEvalKit's does it.
    """
    plain = _one_line(text)
    has_number_comma = _COMMA_IN_NUMBER.search(plain) is not None
    result = plain
    for sign in _SIGNS:
        is_next_to_blank = f"{sign} " in plain or f" {sign}" in plain
        result = result.replace(sign, "" if has_number_comma or is_next_to_blank else " ")
    dot = _LONE_DOT if lone_dots else _DOT_NOT_BEFORE_DIGIT
    result = dot.sub("", result, count=_MAX_DOTS)
    words = [_DIGITS.get(word, word) for word in result.lower().split()]
    return " ".join(_EXPANDED.get(word, word) for word in words if word not in _ARTICLES)


def _drop_one_apostrophe(word: str) -> Iterator[str]:
    """The word without one of its apostrophes, for each apostrophe."""
    return (word[:index] + word[index + 1 :] for index, sign in enumerate(word) if sign == "'")


_EXPANDED = {bare: word for word in _CONTRACTIONS.split() for bare in _drop_one_apostrophe(word)} | {
    "ow's'at": "'ow's'at",
    "'ows'at": "'ow's'at",
    "'ow'sat": "'ow's'at",
    "somebody'd": "somebodyd",  # reversed in the authors' list
}
