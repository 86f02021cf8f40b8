"""Questions of which several options may be right: an answer is a set of labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LABELS = re.compile(r"(?<![A-Za-z])[A-E]+(?![A-Za-z])")
_IN_BRACKETS = re.compile(r"\(([a-eA-E])\)")
_ANYWHERE = re.compile("[a-eA-E]")
_LEAD_INS = (
    *("The best answer is", "The correct answer is", "The answer is", "The answer"),
    *("The best option isThe correct option is", "Best answer:Best option:"),
)


def same_labels(answer: str, golds: Sequence[str]) -> bool:
    """Whether the capitals A to E that stand alone in the answer, or together as "AC", are those of
    a gold answer."""
    said = set("".join(_LABELS.findall(answer)))
    return bool(said) and any(said == set(gold) for gold in golds)


def same_letters_anywhere(answer: str, golds: Sequence[str]) -> bool:
    """`same_labels` as XLRS-Bench's scorers in VLMEvalKit and lmms-eval have it (arXiv:2503.23771):
    the letters in brackets in either case, else all letters of all words; none without a capital."""
    text = answer.strip()
    for lead_in in _LEAD_INS:
        text = text.replace(lead_in, "")
    letters = _IN_BRACKETS.findall(text) or _ANYWHERE.findall(text)
    said = set("".join(letters).upper()) if re.search("[A-E]", text) else set()
    return any(said == set(gold) for gold in golds)
