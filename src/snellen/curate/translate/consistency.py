"""Whether the same words have the same translation everywhere: options that repeat across items."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from snellen.curate.translate.pair import bare_text

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


def term_uses(
    pairs: Iterable[tuple[str, Mapping[str, str], Mapping[str, str]]],
) -> list[TermUse]:
    """Options that two or more items have, with their translations; the inconsistent ones first,
    then the most frequent. `pairs` are ids with texts and translations by field."""
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
