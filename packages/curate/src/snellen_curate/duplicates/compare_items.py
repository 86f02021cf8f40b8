"""Whether two items about the same image ask the same: by the words that differ, not by how much is
alike; and whether their keys agree.

A question is reduced to the words that decide what is asked: sentences that only say how to
answer, words that ask nothing, and spellings of one word are taken out by `question_words.toml`.
If the same words are left in the same order, the questions are the same ("Is A left of B?" and "Is
B left of A?" hold the same words). Words in no list count, so that in a language without lists only
equal texts are the same.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from msgspec import Struct
from rapidfuzz import fuzz

from snellen.core.sample import MediaRef
from snellen.data.media.sources import BrokenSource
from snellen.data.toml_files import read_packaged
from snellen.data_sets.items import Item, ItemTable
from snellen_curate.duplicates.listing import ListEntry, Listing
from snellen_curate.duplicates.texts import jaccard, normalise_text, shared_ends, shingles, tokens

Words = tuple[str, ...]
Verdict = Literal["same", "doubtful", "different"]

_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|(?<=[。！？；])|\n+")
_MIN_STEM = 3


class _Rules(NamedTuple):
    """The lists of `question_words.toml`; phrases are tokens between single blanks."""

    read_as: dict[str, str]
    phrases: re.Pattern[str]
    edges: re.Pattern[str]
    imperatives: frozenset[str]
    instructions: frozenset[str]
    light: frozenset[str]
    negations: frozenset[str]


def content_words(text: str) -> Words:
    """The words that decide what a question asks, in order; all its words if none would be left."""
    rules = _rules()
    sentences = (_read(sentence, rules) for sentence in _SENTENCE_END.split(text))
    asking = (words for words in sentences if not _is_instruction(words, rules))
    return tuple(word for words in asking for word in _trim(words, rules)) or tuple(tokens(text))


def compare_content(one: Words, other: Words) -> Verdict:
    """Whether two questions ask the same, by their `content_words`.

    `doubtful`: the same words in another order, or words that only one of them has, if these are no
    negations, or endings ("dog", "dogs"). Other numbers, and words on both sides that differ, such
    as "red" and "white", make another question.
    """
    if one == other:
        return "same"
    left, right = set(one).difference(other), set(other).difference(one)
    _drop_endings(left, right)
    if left and right and not _rules().light.issuperset((*left, *right)):
        return "different"
    if _numbers(one) != _numbers(other) or not _rules().negations.isdisjoint((*left, *right)):
        return "different"
    return "doubtful"


def _numbers(words: Words) -> list[str]:
    return [word for word in words if word[0].isdigit()]


def _drop_endings(left: set[str], right: set[str]) -> None:
    """Take out pairs of words that differ in their ending alone."""
    by_head = {word[:_MIN_STEM]: word for word in sorted(right)}
    for word in sorted(left):
        match = by_head.get(word[:_MIN_STEM], "")
        stem = max(_MIN_STEM, len(word) - 3, len(match) - 3)
        if match in right and len(word) >= stem and word[:stem] == match[:stem]:
            left.remove(word)
            right.remove(match)


def _read(sentence: str, rules: _Rules) -> list[str]:
    """The words of a sentence, as they are read by the lists. The second pass reads phrases whose
    words were replaced in the first."""
    words = " ".join(tokens(sentence)).replace("n't", " not").split()
    for _ in range(2):
        words = rules.phrases.sub(lambda found: rules.read_as[found[0]], f" {' '.join(words)} ").split()
    return words


def _is_instruction(words: Sequence[str], rules: _Rules) -> bool:
    first, others = words[:1], words[1:]
    return rules.imperatives.issuperset(first) and rules.instructions.issuperset(others)


def _trim(words: list[str], rules: _Rules) -> list[str]:
    """A sentence without what opens and closes it; the sentence itself if nothing would be left."""
    trimmed, before = f" {' '.join(words)} ", ""
    while trimmed != before:
        trimmed, before = rules.edges.sub(" ", trimmed), trimmed
    return trimmed.split() or words


@functools.cache
def _rules() -> _Rules:
    tables = read_packaged(__package__, "question_words.toml").values()

    def entries(name: str) -> list[list[str]]:
        """The alternatives of each entry."""
        listed = [entry.split("|") for table in tables for entry in table.get(name, ())]
        return [[" ".join(tokens(phrase)) for phrase in entry] for entry in listed]

    def any_of(phrases: Iterable[str]) -> str:
        return "|".join(map(re.escape, sorted(phrases, key=len, reverse=True)))

    def words_of(name: str) -> frozenset[str]:
        return frozenset(word for table in tables for word in table.get(name, "").split())

    read_as = {phrase: first for first, *others in entries("same") for phrase in others}
    read_as |= {phrase: "" for (phrase,) in entries("drop")}
    starts, ends = (any_of(phrase for (phrase,) in entries(name)) for name in ("start", "end"))
    return _Rules(
        read_as,
        re.compile(f"(?<= )(?:{any_of(read_as)})(?= )"),
        re.compile(f"^ (?:{starts}) | (?:{ends}) $"),
        words_of("imperatives"),
        words_of("instructions"),
        words_of("light"),
        words_of("negations"),
    )


@dataclass
class ItemFacts:
    """One item as it is compared with others."""

    id: str
    kind: str
    media: tuple[str, ...]
    """Digests of its images and videos, in order."""
    question: str
    """Hint and question, normalised, and the regions that they refer to."""
    options: frozenset[str]
    """Texts of the options, normalised."""
    key: frozenset[str]
    """The right answers as normalised texts, not as letters: options may stand in another order.
    Empty if they are not known."""
    raw_question: str
    raw_key: str
    hint: str = ""
    regions: str = ""
    core: str = ""
    """The question without the first and last words that most items of the data set share; the
    whole question if nothing else is left."""

    @cached_property
    def shingles(self) -> frozenset[str]:
        """Shingles of `core` and the options; the order of the options does not count."""
        return shingles(self.core.split()).union(*(shingles(one.split()) for one in self.options))

    @cached_property
    def content(self) -> Words:
        """The words that decide what is asked, and the regions that the question refers to."""
        return (*content_words(f"{self.hint}\n{self.raw_question}"), *self.regions.split())


@dataclass(frozen=True)
class ReadItems:
    """The items of a data set, and where each of their media lies."""

    table: ItemTable
    items: list[ItemFacts]
    images: dict[str, MediaRef]
    """By digest, in the order of first use."""
    problems: dict[str, str]
    """Id to why an item cannot be asked."""
    missing: frozenset[str]
    """Digests that stand for media which are not there: they say nothing about what they hold."""

    @cached_property
    def users(self) -> dict[str, list[ItemFacts]]:
        """The items that each image or video belongs to, by its digest."""
        users: dict[str, list[ItemFacts]] = defaultdict(list)
        for item in self.items:
            for digest in dict.fromkeys(item.media):
                users[digest].append(item)
        return users

    def listing(self) -> Listing:
        """The images as a list to be hashed, named by their digests."""
        refs = self.images.values()
        return Listing(self.table.spec, "items", lambda: (ListEntry(ref.digest, ref.source) for ref in refs))


def read_items(table: ItemTable) -> ReadItems:
    """Read all items. About 1 kB of memory an item; images are not read."""
    items, images, problems, missing = [], dict[str, MediaRef](), {}, set()
    for item in table:
        items.append(item_facts(item))
        if item.problem:
            problems[item.id] = item.problem
        for ref in item.sample.media:
            if ref.kind == "image":
                images.setdefault(ref.digest, ref)
            if isinstance(ref.source, BrokenSource):
                missing.add(ref.digest)
    questions = [item.question.split() for item in items]
    for one, words, (first, last) in zip(items, questions, shared_ends(questions), strict=True):
        one.core = " ".join(words[first:last]) or one.question
    return ReadItems(table, items, images, problems, frozenset(missing))


def item_facts(item: Item) -> ItemFacts:
    """What is compared of an item."""
    sample = item.sample
    options = {label: _text(option) for label, option in sample.options.items()}
    options |= {label: ref.digest for label, ref in sample.option_images.items() if not options.get(label)}
    # A question about a region is another question than the same words about another region.
    regions = " ".join(f"[{' '.join(f'{side:g}' for side in box)}]" for box in sample.regions)
    question = " ".join(filter(None, (normalise_text(sample.hint), _text(sample.question))))
    key = frozenset(options.get(gold.strip()) or _text(gold) for gold in sample.gold)
    gold = ", ".join(f"{gold}: {sample.options[gold]}" if gold in sample.options else gold for gold in sample.gold)
    return ItemFacts(
        sample.id,
        sample.kind,
        tuple(ref.digest for ref in sample.media),
        f"{question} {regions}".strip(),
        frozenset(filter(None, options.values())),
        frozenset(filter(None, key)),
        sample.question,
        gold,
        sample.hint,
        regions,
    )


def _text(text: str) -> str:
    """The normalised text; the text itself if it has neither letter nor number."""
    return normalise_text(text) or text.strip()


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
