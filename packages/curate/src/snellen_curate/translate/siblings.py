"""Items in another language; whether two data sets are siblings: the same ids, keys, kinds, options
and images in two languages; and whether options that repeat have the same translation everywhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from snellen.core.sample import Sample
from snellen.data_sets.items import Item
from snellen_curate.translate.instructions import ANSWER, HINT, QUESTION, answer_field
from snellen_curate.translate.languages import Language
from snellen_curate.translate.pair import Mismatch, bare_text

LANGUAGE_COLUMN = "language"


def sibling_item(item: Item, texts: Mapping[str, str], language: Language) -> Item:
    """The item with these texts in place of its own. Id, key, kind, media, groups and the other
    cells stay; rotated copies take the same translations."""
    sample = item.sample
    options = {name: texts.get(name, text) for name, text in sample.options.items()}
    by_text = {text: options[name] for name, text in sample.options.items()}
    gold = sample.gold
    if ANSWER in texts:
        gold = tuple(texts.get(answer_field(index), each) for index, each in enumerate(gold))
    changed = replace(
        sample,
        question=texts.get(QUESTION, sample.question),
        hint=texts.get(HINT, sample.hint),
        options=options,
        gold=gold,
        rotations=tuple(
            replace(each, options={name: by_text.get(text, text) for name, text in each.options.items()})
            for each in sample.rotations
        ),
    )
    return replace(item, sample=changed, cells={**item.cells, LANGUAGE_COLUMN: language.tag})


class SiblingPair(NamedTuple):
    """An item and its translation; either is None where a data set lacks the id."""

    id: str
    source: Item | None
    target: Item | None


def pair_siblings(sources: Iterable[Item], targets: Iterable[Item]) -> Iterator[SiblingPair]:
    """The items of two data sets by id, in the order of the first, then those only the second has.

    The items of the second are held in memory.
    """
    left = {item.id: item for item in targets}
    for source in sources:
        yield SiblingPair(source.id, source, left.pop(source.id, None))
    for name, target in left.items():
        yield SiblingPair(name, None, target)


def check_kinship(source: Sample, target: Sample) -> Iterator[Mismatch]:
    """What must be the same in both languages: kind, key, labels of options, media."""
    if source.kind != target.kind:
        yield Mismatch("kind", "all", "wrong", f"a {target.kind} question, was {source.kind}")
    elif (source.kind != "open" or source.options) and source.gold != target.gold:
        before, after = (", ".join(gold) or "none" for gold in (source.gold, target.gold))
        yield Mismatch("key", "all", "wrong", f"the right answer is {after}, was {before}")
    ours, theirs = list(source.options), list(target.options)
    if ours != theirs:
        text = f"options {', '.join(theirs) or 'none'}; the source has {', '.join(ours) or 'none'}"
        yield Mismatch("option labels", "all", "wrong", text)
    if [ref.digest for ref in source.media] != [ref.digest for ref in target.media]:
        text = f"{len(target.media)} media, not the {len(source.media)} of the source byte for byte"
        yield Mismatch("media", "all", "doubtful", text)


_MAX_TERM = 60
"""Characters of the longest option that counts as a term."""


class TermUse(Struct, frozen=True):
    """A text that several items have as an option, and how it was translated."""

    term: str
    translations: dict[str, int]
    """Translation to the number of items with it, the most frequent first."""
    items: dict[str, list[str]]
    """Translation to ids of items with it (at most ten)."""

    @property
    def is_consistent(self) -> bool:
        return len(self.translations) == 1


class ItemTexts(NamedTuple):
    """The texts of an item and their translations, by field."""

    id: str
    source: Mapping[str, str]
    target: Mapping[str, str]


_CLEAR_USES = 3
"""Items that a term's usual translation needs."""


def term_uses(pairs: Iterable[ItemTexts]) -> list[TermUse]:
    """Options that two or more items have, with their translations; the inconsistent ones first,
    then the most frequent."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    spelling: dict[str, str] = {}
    items: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, source, target in pairs:
        seen: set[str] = set()
        for field, text in source.items():
            term, translation = bare_text(text), target.get(field, "").strip()
            if len(field) != 1 or not translation or len(text) > _MAX_TERM or term in seen:
                continue
            seen.add(term)
            spelling.setdefault(term, text.strip())
            counts[term][translation] += 1
            if len(items[term, translation]) < 10:
                items[term, translation].append(name)
    uses = [
        TermUse(
            spelling[term],
            dict(each.most_common()),
            {translation: items[term, translation] for translation, _ in each.most_common()},
        )
        for term, each in counts.items()
        if each.total() > 1
    ]
    return sorted(uses, key=lambda use: (use.is_consistent, -sum(use.translations.values())))


def displaced_options(pairs: Iterable[ItemTexts], uses: Iterable[TermUse]) -> Iterator[tuple[str, Mismatch]]:
    """Options whose translation is the usual one of another option of the same item: ids with what
    is wrong. A translation is usual if three items have it, and twice as many as any other."""
    usual = {bare_text(use.term): word for use in uses if (word := _usual_translation(use))}
    for name, source, target in pairs:
        labels = [field for field in source if len(field) == 1 and field in target]
        expected = {label: usual.get(bare_text(source[label]), "") for label in labels}
        for label in labels:
            text = bare_text(target[label])
            if not expected[label] or text == bare_text(expected[label]):
                continue
            other = next(
                (each for each in labels if expected[each] and each != label and bare_text(expected[each]) == text),
                None,
            )
            if other is not None:
                clause = (
                    f"'{target[label].strip()}' is elsewhere the translation of {other}, and "
                    f"'{source[label].strip()}' is '{expected[label]}'"
                )
                yield name, Mismatch("swapped", label, "wrong", clause)


def _usual_translation(use: TermUse) -> str:
    (word, count), *others = use.translations.items()
    is_clear = count >= _CLEAR_USES and all(2 * other <= count for _, other in others)
    return word if is_clear else ""
