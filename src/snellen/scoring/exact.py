"""Equality and containment of short answers, as the benchmarks of the field define them."""

from __future__ import annotations

from collections.abc import Sequence


def equal_converted(answer: str, golds: Sequence[str]) -> bool:
    """Equal to a gold as it stands, once the answer is in lower case without final dots: GQA's
    `eval.py` behind the conversion of LLaVA."""
    return answer.strip().rstrip(".").lower() in golds


def equal_folded(answer: str, golds: Sequence[str]) -> bool:
    """Equal to a gold, trimmed and lower-cased (OCR-VQA; GQA in lmms-eval)."""
    return answer.strip().lower() in {gold.strip().lower() for gold in golds}


def equal_without_dot(answer: str, golds: Sequence[str]) -> bool:
    """`equal_folded` where one final dot of the answer does not count (GQA in LLaVA-1.5)."""
    return equal_folded(answer.strip().removesuffix("."), golds)


def contains_gold(answer: str, golds: Sequence[str]) -> bool:
    """A gold, trimmed and lower-cased with dots removed, stands anywhere in the answer so treated
    (MTVQA, Tang et al. 2024, https://arxiv.org/abs/2405.11985). An empty gold never does."""
    bare_answer = _normalise(answer)
    return any(gold in bare_answer for gold in map(_normalise, golds) if gold)


def contains_gold_authors(answer: str, golds: Sequence[str]) -> bool:
    """The same as MTVQA's own script has it: dots are removed from the answer alone, so that a gold
    with a dot in it is never found."""
    bare_answer = _normalise(answer)
    return any(gold.strip().lower() in bare_answer for gold in golds if gold.strip())


def _normalise(text: str) -> str:
    return text.strip().lower().replace(".", "")
