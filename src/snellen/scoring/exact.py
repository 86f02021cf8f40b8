"""Equality and containment of short answers, as the benchmarks of the field define them."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

_BRACKETS = re.compile(r"\([^)]*\)|（[^）]*）")
_CHINESE_SIGNS = "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～、，。；：《》？【】（）"
_SIGNS_TO_SPACES = str.maketrans(dict.fromkeys(string.punctuation + _CHINESE_SIGNS, " "))
_ALIASES = {
    **dict.fromkeys(("yeah", "yep", "true", "是", "是的", "有", "包含", "可以", "能", "会", "正常"), "yes"),
    **dict.fromkeys(("nope", "false", "否", "不是", "没有", "无", "不包含", "不能", "不会", "不可以"), "no"),
    **dict.fromkeys(("不正常", "异常"), "no"),
    "x ray": "xray",
}


def equal_converted(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer, in lower case without final dots, equals a gold exactly: GQA's `eval.py`
    after LLaVA's conversion."""
    return answer.strip().rstrip(".").lower() in golds


def equal_folded(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer equals a gold, both trimmed and lower-cased (OCR-VQA; GQA in
    lmms-eval)."""
    return answer.strip().lower() in {gold.strip().lower() for gold in golds}


def equal_without_commas(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer is a gold whose commas are left out, as texts (GSM8K)."""
    return answer in [gold.replace(",", "") for gold in golds]


def equal_without_dot(answer: str, golds: Sequence[str]) -> bool:
    """`equal_folded` with one final dot of the answer ignored (GQA in LLaVA-1.5)."""
    return equal_folded(answer.strip().removesuffix("."), golds)


def holds_gold(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer contains a gold, both trimmed and lower-cased (ZEROBench in VLMEvalKit)."""
    return any(gold.strip().lower() in answer.strip().lower() for gold in golds)


def equal_lowered(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer equals a gold in lower case; white space around it counts (ZEROBench)."""
    return answer.lower() in {gold.strip().lower() for gold in golds}


def contains_gold(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer contains a gold, both trimmed and lower-cased with dots removed (MTVQA,
    Tang et al. 2024, https://arxiv.org/abs/2405.11985). An empty gold never matches."""
    bare_answer = _normalise(answer)
    return any(gold in bare_answer for gold in map(_normalise, golds) if gold)


def contains_gold_authors(answer: str, golds: Sequence[str]) -> bool:
    """`contains_gold` as in MTVQA's own script: dots are removed from the answer only, so that a
    gold with a dot never matches."""
    bare_answer = _normalise(answer)
    return any(gold.strip().lower() in bare_answer for gold in golds if gold.strip())


def contains_as_written(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer contains a gold as it is written, inside longer words and numbers too
    (CountBenchQA in VLMEvalKit)."""
    return any(gold in answer for gold in golds)


def equal_first_number(answer: str, golds: Sequence[str]) -> bool:
    """Whether the first digits of the answer are those of a gold; without digits, whether the trimmed
    texts are equal (PixMo-Count in lmms-eval)."""
    return any(_first_digits(answer) == _first_digits(gold) for gold in golds)


def _first_digits(text: str) -> str:
    found = re.search(r"\d+", text)
    return found[0] if found else text.strip()


def equal_slake(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer equals a gold in small letters without punctuation and brackets, where words
    for yes and no in English and Chinese are one (SLAKE in lmms-eval)."""
    return _without_signs(answer) in set(map(_without_signs, golds))


def _without_signs(text: str) -> str:
    bare = _BRACKETS.sub(" ", text.strip().lower()).translate(_SIGNS_TO_SPACES)
    words = " ".join(bare.split())
    return _ALIASES.get(words, words)


def _normalise(text: str) -> str:
    return text.strip().lower().replace(".", "")


def equal_or_same_digits(answer: str, golds: Sequence[str]) -> bool:
    """VLMs Are Biased in lmms-eval: the reply is the gold in either case, braces aside, or both have the
    same digits, one after the other."""
    said, *written = (text.strip().lower().strip("{}").strip() for text in (answer, *golds))
    digits = "".join(filter(str.isdigit, said))
    return said in written or (bool(digits) and any(digits == "".join(filter(str.isdigit, one)) for one in written))
