"""English words for the numbers from zero to twenty."""

from __future__ import annotations

NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
    "twenty",
)
"""Each at the place that is its number."""


def digits_by_word(last: int) -> dict[str, str]:
    """The words from zero to `last`, each with its number in digits."""
    return {word: str(number) for number, word in enumerate(NUMBER_WORDS[: last + 1])}
