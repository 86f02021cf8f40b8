"""OCRBench's rule (Liu et al. 2023, https://arxiv.org/abs/2305.07895, Sec. 3): right if any gold
answer is contained in the reply.

Text is compared in lower case with line breaks as blanks, expressions of mathematics in their own
case without any blanks. Containment favours long replies: one that transcribes the whole picture
is right wherever it holds the answer. lmms-eval also folds full-width letters; the authors do not.
"""

from __future__ import annotations

from collections.abc import Sequence

EXPRESSIONS = "Handwritten Mathematical Expression Recognition"
"""The category whose golds are LaTeX; the authors' file names the data set `HME100k`."""


def contains_a_gold(answer: str, golds: Sequence[str], *, expression: bool = False) -> bool:
    """Whether a gold stands in the answer. An empty gold never does."""
    form = _normalise_expression if expression else _normalise_text
    normalised = form(answer)
    return any(gold in normalised for gold in map(form, golds) if gold)


def _normalise_text(text: str) -> str:
    return text.lower().strip().replace("\n", " ")


def _normalise_expression(text: str) -> str:
    return text.strip().replace("\n", " ").replace(" ", "")
