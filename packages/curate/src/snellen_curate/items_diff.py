"""Compare two versions of a data set item by item."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from snellen.data_sets.items import Item, ItemTable, item_kind

FIELDS = ("question", "hint", "options", "pictures", "kind", "key", "abilities", "unit", "other cells")
_DIGEST_BYTES = 8
"""Enough for telling two versions of one field apart; a million items fit into memory."""


class ItemChange(Struct, frozen=True):
    """An item that both versions have, with the fields that differ: text before and after."""

    id: str
    ability: str
    """In the new version."""
    fields: dict[str, tuple[str, str]]


class AbilityChange(Struct, frozen=True):
    """Numbers of items of one ability."""

    before: int = 0
    after: int = 0
    added: int = 0
    removed: int = 0
    changed: int = 0


class DataDiff(Struct, frozen=True):
    """The differences between two versions of a data set."""

    old: str
    new: str
    old_digest: str
    new_digest: str
    same: int
    added: list[str]
    removed: list[str]
    renamed: dict[str, str]
    """Old to new id of items that only have another id; not among those added or removed."""
    changed: list[ItemChange]
    by_field: dict[str, int]
    by_ability: dict[str, AbilityChange]

    @property
    def is_empty(self) -> bool:
        """Whether both versions have the same items."""
        return not (self.added or self.removed or self.renamed or self.changed)


def compare_tables(old: ItemTable, new: ItemTable, old_name: str, new_name: str) -> DataDiff:
    """Compare two tables. Both are read one by one, the old one again for what has changed."""
    before: dict[str, bytes] = {}
    abilities: dict[str, str] = {}
    for item in old:
        before[item.id] = _field_digests(item)
        abilities[item.id] = _ability(item)
    new_ids: dict[str, None] = {}
    added: dict[str, tuple[bytes, str]] = {}
    differing: dict[str, Item] = {}
    new_abilities: Counter[str] = Counter()
    for item in new:
        new_ids[item.id] = None
        new_abilities[_ability(item)] += 1
        digests = _field_digests(item)
        if item.id not in before:
            added[item.id] = (digests, _ability(item))
        elif before[item.id] != digests:
            differing[item.id] = item
    removed = {name: digests for name, digests in before.items() if name not in new_ids}
    renamed = _find_renamed(removed, {name: digests for name, (digests, _) in added.items()})
    changed = [*_changes(old, differing)]
    new_names = set(renamed.values())
    plain_added = [name for name in added if name not in new_names]
    plain_removed = [name for name in removed if name not in renamed]
    fields = Counter(name for change in changed for name in change.fields)
    counts = (
        Counter(abilities.values()),
        new_abilities,
        Counter(added[name][1] for name in plain_added),
        Counter(abilities[name] for name in plain_removed),
        Counter(change.ability for change in changed),
    )
    return DataDiff(
        old=old_name,
        new=new_name,
        old_digest=old.digest,
        new_digest=new.digest,
        same=len(new_ids) - len(added) - len(changed),
        added=plain_added,
        removed=plain_removed,
        renamed=renamed,
        changed=changed,
        by_field={name: fields[name] for name in FIELDS if fields[name]},
        by_ability={
            name: AbilityChange(*(count[name] for count in counts)) for name in sorted({*counts[0], *counts[1]})
        },
    )


def field_texts(item: Item) -> dict[str, str]:
    """The fields of an item as texts, for comparison and display."""
    sample = item.sample
    return {
        "question": sample.question,
        "hint": sample.hint,
        "options": "; ".join(f"{label}. {text}" for label, text in sample.options.items()),
        "pictures": ", ".join(ref.digest for ref in sample.media),
        "kind": item_kind(item),
        "key": _json(list(sample.gold)) if len(sample.gold) != 1 else sample.gold[0],
        "abilities": _json(dict(sorted(sample.groups.items()))),
        "unit": sample.unit,
        "other cells": _json(dict(sorted(item.cells.items()))),
    }


def _field_digests(item: Item) -> bytes:
    return b"".join(
        hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:_DIGEST_BYTES]
        for text in field_texts(item).values()
    )


def _changes(old: ItemTable, differing: Mapping[str, Item]) -> Iterable[ItemChange]:
    """The changes, in the order of the old version."""
    for item in old if differing else ():
        after = differing.get(item.id)
        if after is None:
            continue
        texts = zip(field_texts(item).items(), field_texts(after).values(), strict=True)
        fields = {name: (text, other) for (name, text), other in texts if text != other}
        yield ItemChange(item.id, _ability(after), fields)


def _find_renamed(removed: Mapping[str, bytes], added: Mapping[str, bytes]) -> dict[str, str]:
    """Removed ids whose item, otherwise the same, is there under one other id."""
    by_content: dict[bytes, list[str]] = {}
    for name, digests in added.items():
        by_content.setdefault(digests, []).append(name)
    counts = Counter(removed.values())
    return {
        name: by_content[digests][0]
        for name, digests in removed.items()
        if len(by_content.get(digests, ())) == 1 and counts[digests] == 1
    }


def _ability(item: Item) -> str:
    return item.label("category") or item.label("l2-category")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode() if value else ""
