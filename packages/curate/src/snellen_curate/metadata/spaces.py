"""Category spaces: which labels are near each other, which hold at the same time, and whether two
options say the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from snellen.core.literals import digits_by_word

_NUMBER = re.compile(r"([-+]?\d[\d,]*(?:\.\d+)?|[-+]?\.\d+)\s*(.*)", re.DOTALL)
_ARTICLE = re.compile(r"^(?:an?|the)\s+")
_PUNCTUATION = re.compile(r"[^\w\s+\-*/%=<>$€£#@&°\[\](){},.:]|(?<!\d)[.,:]|[.,:](?!\d)")
_VALUES = digits_by_word(20)


def option_key(text: str) -> str:
    """The form in which options are compared: two options with the same key say the same.

    Case, compatibility characters, white space, outer punctuation, a leading article, number words
    and the way of writing a number do not count ("The dog." = "dog", "three" = "3" = "3.0").
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = " ".join(_PUNCTUATION.sub(" ", plain).split())
    plain = _ARTICLE.sub("", plain)
    plain = _VALUES.get(plain, plain)
    number = _NUMBER.fullmatch(plain)
    if number:
        value = float(number[1].replace(",", ""))
        return f"{value:.12g} {number[2]}".strip()
    # What is nothing but punctuation is compared as it stands.
    return plain or text.strip()


class CategoryTree:
    """The labels of a category space with their places in a hierarchy, e.g. cat: `animal/pet`."""

    def __init__(self, space: Mapping[str, str]) -> None:
        self.labels = tuple(space)
        self.places = space
        self._paths = {label: tuple(filter(None, path.split("/"))) for label, path in space.items()}
        self._below: dict[str, list[str]] = {}
        for label, path in self._paths.items():
            for name in path:
                self._below.setdefault(option_key(name), []).append(label)

    def also_true(self, label: str) -> tuple[str, ...]:
        """What an image of `label` may also be said to show: its ancestors (a poodle is a dog)
        and its descendants (a dog may be a poodle)."""
        return (*self._paths.get(label, ()), *self._below.get(option_key(label), ()))

    def distance(self, one: str, other: str) -> int:
        """Edges between two labels in the hierarchy: 2 for siblings."""
        first, second = (*self._paths.get(one, ()), one), (*self._paths.get(other, ()), other)
        shared = 0
        for name, name_of_other in zip(first, second, strict=False):
            if name != name_of_other:
                break
            shared += 1
        return len(first) + len(second) - 2 * shared

    def nearest_by_hierarchy(self, label: str) -> list[tuple[float, str]]:
        """All labels with their distance, nearest first."""
        return sorted((float(self.distance(label, other)), other) for other in self.labels)

    def nearest_by_text(self, label: str) -> list[tuple[float, str]]:
        """All labels with 1 - similarity of the spelling (normalised indel), nearest first."""
        from rapidfuzz.distance import Indel

        return sorted((1.0 - Indel.normalized_similarity(label, other), other) for other in self.labels)
