"""Whether two items about the same picture ask the same, and whether their keys agree."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from snellen.curate.duplicates.item_facts import ItemFacts
from snellen.curate.duplicates.texts import differ_in_numbers, jaccard

RelationKind = Literal["contradiction", "possible contradiction", "duplicate"]
TextRule = Literal["same question", "same question, other options", "near question"]

_MIN_OPTIONS = 3
"""Options from which on a shared set of them, with the same key, says that items ask the same."""


class TextThresholds(Struct, frozen=True):
    """When two texts count as near duplicates."""

    similarity: float = 0.8
    """Least Jaccard similarity of the shingles of question and options."""
    containment: float = 0.85
    """Or the share of the shorter question's shingles that stand in the other one, if picture,
    options and key are the same: "Look closely. What is this?" repeats "What is this?"."""


class Relation(NamedTuple):
    """How two items about the same picture are related."""

    kind: RelationKind
    rule: TextRule
    similarity: float
    """Jaccard similarity of question and options."""


def relate(
    one: ItemFacts, other: ItemFacts, same_pixels: bool, thresholds: TextThresholds
) -> Relation | None:
    """How two items are related whose pictures are the same or near duplicates; None if they ask
    different things.

    Equal questions with different keys contradict each other: for certain if the pictures have the
    same pixels and one item's answer is among the other's options, or both are yes or no. Different
    open answers may mean the same, and a near duplicate may be cropped: possible contradictions.
    A near question with another key is another question ("Is there one person?", "Is there one
    cat?"), and so is one with other numbers.
    """
    agree = not (one.key and other.key) or bool(one.key & other.key)
    if one.question == other.question:
        similarity = jaccard(one.shingles, other.shingles)
        rule: TextRule = (
            "same question" if one.options == other.options else "same question, other options"
        )
        if agree:
            return Relation("duplicate", rule, similarity)
        excluded = one.kind == other.kind == "yes_no" or bool(
            one.key & other.options or other.key & one.options
        )
        certain = same_pixels and excluded
        return Relation("contradiction" if certain else "possible contradiction", rule, similarity)
    if not agree or differ_in_numbers(one.words, other.words):
        return None
    similarity = jaccard(one.shingles, other.shingles)
    if similarity >= thresholds.similarity or _repeats(one, other, thresholds.containment):
        return Relation("duplicate", "near question", similarity)
    return None


def _repeats(one: ItemFacts, other: ItemFacts, share: float) -> bool:
    """Whether one question holds the other, with the same options and key."""
    if one.options != other.options or len(one.options) < _MIN_OPTIONS or not one.key:
        return False
    left, right = one.question_shingles, other.question_shingles
    shorter = min(len(left), len(right))
    return shorter > 0 and len(left & right) / shorter >= share
