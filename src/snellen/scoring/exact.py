"""Equality and containment of short answers, as the benchmarks of the field define them."""

from __future__ import annotations

from collections.abc import Sequence


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


def _normalise(text: str) -> str:
    return text.strip().lower().replace(".", "")
