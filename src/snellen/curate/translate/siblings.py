"""Items in another language, and whether two data sets are siblings: the same ids, keys, kinds,
options and pictures in two languages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from snellen.core.sample import Rotation, Sample
from snellen.curate.items import Item
from snellen.curate.translate.contract import ANSWER, HINT, QUESTION, answer_field
from snellen.curate.translate.languages import Language
from snellen.curate.translate.pair import Mismatch

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
        rotations=tuple(_translate_rotation(each, by_text) for each in sample.rotations),
    )
    return replace(item, sample=changed, cells={**item.cells, LANGUAGE_COLUMN: language.tag})


def _translate_rotation(rotation: Rotation, by_text: Mapping[str, str]) -> Rotation:
    options = {name: by_text.get(text, text) for name, text in rotation.options.items()}
    return replace(rotation, options=options)


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
