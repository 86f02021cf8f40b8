"""PhyX without a judge, as VLMEvalKit compares strings (Shen et al. 2025,
https://arxiv.org/abs/2505.15929)."""

from __future__ import annotations

from collections.abc import Sequence


def equal_phyx(answer: str, golds: Sequence[str], *, separator: str) -> bool:
    """Whether the gold equals the extracted answer or the reply ignoring case, or occurs anywhere
    in the reply (a gold of 5 is in 15). `separator` separates extracted answer and reply in
    `answer`."""
    extracted, _, reply = answer.rpartition(separator)
    folded = (extracted.strip().lower(), reply.strip().lower())
    return any(gold.strip().lower() in folded or gold in reply for gold in golds)
