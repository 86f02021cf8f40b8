"""Spatial457's rule (Wang et al. 2025, https://arxiv.org/abs/2502.08636), as in VLMEvalKit's copy
of the authors' code."""

from __future__ import annotations

from collections.abc import Sequence

_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
_SHAPES = {
    "car": ("suv", "wagon", "minivan", "sedan", "truck", "addi", "car"),
    "bus": ("articulated", "regular", "double", "school", "bus"),
    "motorbike": ("chopper", "dirtbike", "scooter", "cruiser", "motorbike"),
    "aeroplane": ("jet", "fighter", "biplane", "airliner", "aeroplane"),
    "bicycle": ("road", "utility", "mountain", "tandem", "bicycle"),
}
_KIND = {shape: kind for kind, shapes in _SHAPES.items() for shape in shapes}


def equal_spatial457(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer matches a gold: the same word ignoring case, a number and its word, "none"
    or 0 for No, a count from 1 to 9 for yes, or shapes of one kind by their first words (a jet is
    an airliner)."""
    return any(_equal(answer, gold) for gold in golds)


def _equal(answer: str, gold: str) -> bool:
    answer_text, gold_text = "no" if answer.lower() == "none" else answer, gold.lower()
    return (
        answer_text.lower() == gold_text
        or (answer_text == "0" and gold == "No")
        or _NUMBERS.get(answer_text.lower()) == gold
        or (gold_text == "yes" and answer_text in tuple("123456789"))
        or (_kind(answer_text) is not None and _kind(answer_text) == _kind(gold))
    )


def _kind(text: str) -> str | None:
    return _KIND.get(text.lower().split(" ")[0])
