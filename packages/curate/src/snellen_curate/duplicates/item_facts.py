"""What is compared of an item: its images, its question and options normalised, its key."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from snellen.core.sample import MediaRef
from snellen.data.media.sources import BrokenSource
from snellen.data_sets.items import Item, ItemTable
from snellen_curate.duplicates.listing import ListEntry, Listing
from snellen_curate.duplicates.question_words import Words, content_words
from snellen_curate.duplicates.texts import normalise_text, shared_ends, shingles


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
