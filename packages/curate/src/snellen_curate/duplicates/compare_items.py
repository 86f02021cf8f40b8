"""Whether two items about the same image ask the same, and whether their keys agree."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct
from rapidfuzz import fuzz

from snellen_curate.duplicates.item_facts import ItemFacts
from snellen_curate.duplicates.question_words import compare_content
from snellen_curate.duplicates.texts import jaccard

RelationKind = Literal["contradiction", "possible contradiction", "duplicate", "possible duplicate"]
TextRule = Literal["same question", "same question, other options", "near question"]


_MIN_OPTIONS = 3
"""Options from which on a shared set of them, with the same key, says that items may ask the same:
"What is the man holding?" and "What is the man holding in his hand?"."""


class TextThresholds(Struct, frozen=True):
    """When two texts count as near duplicates."""

    similarity: float = 0.8
    """Least Jaccard similarity of the shingles of question and options of a possible duplicate."""
    characters: float = 0.85
    """Least similarity of two questions of which one is dropped, letter by letter (Indel), as a
    whole or of the shorter one with the best place in the longer one."""


class Relation(NamedTuple):
    """How two items about the same image are related."""

    kind: RelationKind
    rule: TextRule
    similarity: float
    """Jaccard similarity of question and options, without the text that most items share."""


def relate(one: ItemFacts, other: ItemFacts, same_pixels: bool, thresholds: TextThresholds) -> Relation | None:
    """How two items are related whose images are the same or near duplicates; None if they ask
    different things.

    Equal questions with different keys contradict each other: for certain if the images have the
    same pixels and one item's answer is among the other's options, or both are yes or no. Different
    open answers may mean the same, and a near duplicate may be cropped: possible contradictions.

    A near question is a duplicate if key and options agree and two methods do: no word that counts
    differs (`compare_content`), and letter by letter they are nearly the same, or the shorter one
    stands in the longer one, without the text that most items share (`core`). If one of them has
    doubts it is a possible duplicate. With another key it is another question ("Is there one
    person?", "Is there one cat?").
    """
    agree = not (one.key and other.key) or bool(one.key & other.key)
    if one.question == other.question:
        return _relate_equal(one, other, same_pixels, agree)
    if not agree:
        return None
    wording = compare_content(one.content, other.content)
    if wording == "different":
        return None
    similarity = jaccard(one.shingles, other.shingles)
    alike = max(fuzz.ratio(one.core, other.core), fuzz.partial_ratio(one.core, other.core))
    sure = one.options == other.options and alike >= 100 * thresholds.characters
    if wording == "same" and sure:
        return Relation("duplicate", "near question", similarity)
    holds = sure and bool(one.key) and len(one.options) >= _MIN_OPTIONS
    if wording == "same" or holds or similarity >= thresholds.similarity:
        return Relation("possible duplicate", "near question", similarity)
    return None


def _relate_equal(one: ItemFacts, other: ItemFacts, same_pixels: bool, agree: bool) -> Relation | None:
    """How items with the same question are related."""
    similarity = jaccard(one.shingles, other.shingles)
    if one.options == other.options:
        rule: TextRule = "same question"
    else:
        rule = "same question, other options"
        if not (one.key and other.key):
            # "Which of these is right?": the options say what is asked.
            return Relation("possible duplicate", rule, similarity)
    if agree:
        return Relation("duplicate", rule, similarity)
    excluded = one.kind == other.kind == "yes_no" or bool(one.key & other.options or other.key & one.options)
    certain = same_pixels and excluded
    return Relation("contradiction" if certain else "possible contradiction", rule, similarity)
