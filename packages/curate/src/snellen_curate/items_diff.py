"""Compare two versions of a data set item by item."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
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
    before = {item.id: (_field_digests(item), _ability(item)) for item in old}
    after: dict[str, tuple[bytes, str]] = {}
    differing: dict[str, Item] = {}
    for item in new:
        after[item.id] = (_field_digests(item), _ability(item))
        if item.id in before and before[item.id][0] != after[item.id][0]:
            differing[item.id] = item
    renamed = _find_renamed(before, after)
    new_names = set(renamed.values())
    added = [name for name in after if name not in before and name not in new_names]
    removed = [name for name in before if name not in after and name not in renamed]
    changed = [*_changes(old, differing)]
    fields = Counter(name for change in changed for name in change.fields)
    counts = (
        Counter(ability for _, ability in before.values()),
        Counter(ability for _, ability in after.values()),
        Counter(after[name][1] for name in added),
        Counter(before[name][1] for name in removed),
        Counter(change.ability for change in changed),
    )
    abilities = sorted({*counts[0], *counts[1]})
    return DataDiff(
        old=old_name,
        new=new_name,
        old_digest=old.digest,
        new_digest=new.digest,
        same=len(before.keys() & after.keys()) - len(changed),
        added=added,
        removed=removed,
        renamed=renamed,
        changed=changed,
        by_field={name: fields[name] for name in FIELDS if fields[name]},
        by_ability={name: AbilityChange(*(count[name] for count in counts)) for name in abilities},
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


def _find_renamed(before: Mapping[str, tuple[bytes, str]], after: Mapping[str, tuple[bytes, str]]) -> dict[str, str]:
    """Ids of the old version whose item, otherwise the same, is there under one other id."""
    old_names, new_names = defaultdict[bytes, list[str]](list), defaultdict[bytes, list[str]](list)
    for items, others, names in ((before, after, old_names), (after, before, new_names)):
        for name, (digests, _) in items.items():
            if name not in others:
                names[digests].append(name)
    return {
        names[0]: new_names[digests][0]
        for digests, names in old_names.items()
        if len(names) == len(new_names.get(digests, ())) == 1
    }


def _ability(item: Item) -> str:
    return item.label("category") or item.label("l2-category")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode() if value else ""
