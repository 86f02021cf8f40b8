"""OCRBench's rule (Liu et al. 2023, https://arxiv.org/abs/2305.07895, Sec. 3): right if the reply
contains any gold answer.

Text is compared in lower case with line breaks as blanks; mathematical expressions in their own
case without blanks. Containment favours long replies: a reply that transcribes the whole image is
right whenever the answer is in it. lmms-eval also folds full-width letters; the authors do not.
"""

from __future__ import annotations

from collections.abc import Sequence

EXPRESSIONS = "Handwritten Mathematical Expression Recognition"
"""The category whose golds are LaTeX; the authors' file calls the data set `HME100k`."""


def contains_a_gold(answer: str, golds: Sequence[str], *, expression: bool = False) -> bool:
    """Whether the answer contains a gold. An empty gold never matches."""
    form = _normalise_expression if expression else _normalise_text
    normalised = form(answer)
    return any(gold in normalised for gold in map(form, golds) if gold)


def _normalise_text(text: str) -> str:
    return text.lower().strip().replace("\n", " ")


def _normalise_expression(text: str) -> str:
    return text.strip().replace("\n", " ").replace(" ", "")
