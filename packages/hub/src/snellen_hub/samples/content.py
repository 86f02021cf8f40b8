"""A question as pages and the API show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError
from snellen.core.sample import MediaRef, Sample
from snellen_hub.database.tables import HostedItem

MAX_NAME = 200
"""Characters of an id."""
_MAX_CATEGORY = 200
_CATEGORY = "category"


class MediumLink(Struct, frozen=True, omit_defaults=True):
    """A picture or video of a question."""

    kind: Literal["image", "video"]
    digest: str = ""
    """SHA-256 of its bytes; empty if it could not be read."""
    start: float | None = None
    """Seconds at which the clip of a video begins."""
    end: float | None = None


class ItemContent(Struct, frozen=True, omit_defaults=True):
    """What is stored of a question besides its id, position and category."""

    kind: str
    question: str
    hint: str = ""
    options: dict[str, str] = {}
    gold: tuple[str, ...] = ()
    groups: dict[str, str] = {}
    unit: str = ""
    media: tuple[MediumLink, ...] = ()
    option_images: dict[str, str] = {}
    """Digests of the pictures of options, by label."""


class IndexedItem(NamedTuple):
    """A question, its id and its category."""

    name: str
    category: str
    content: ItemContent


LinkMedia = Callable[[Iterable[MediaRef]], tuple[MediumLink, ...]]


def index_sample(sample: Sample, link_media: LinkMedia) -> IndexedItem:
    """The item of a sample; `link_media` stores its media. Raises DataError for an id that is too
    long to stand in an address."""
    if len(sample.id) > MAX_NAME:
        raise DataError(f"the id {sample.id[:40]!r}... has {len(sample.id):,} characters; expected at most {MAX_NAME}")
    content = ItemContent(
        kind=sample.kind,
        question=_clean(sample.question),
        hint=_clean(sample.hint),
        options={label: _clean(text) for label, text in sample.options.items()},
        gold=tuple(map(_clean, sample.gold)),
        groups={column: _clean(text) for column, text in sample.groups.items()},
        unit=_clean(sample.unit),
        media=link_media(sample.media),
        option_images={label: link.digest for label, ref in sample.option_images.items() for link in link_media([ref])},
    )
    return IndexedItem(_clean(sample.id), _category(content)[:_MAX_CATEGORY], content)


def item_row(benchmark_id: int, position: int, item: IndexedItem) -> dict[str, Any]:
    """The item as values of the table of items."""
    content = item.content
    searched = (item.name, content.question, content.hint, *content.options.values(), *content.gold)
    return {
        "benchmark_id": benchmark_id,
        "position": position,
        "name": item.name,
        "category": item.category,
        "text": "\n".join(filter(None, searched)).lower(),
        "content": msgspec.to_builtins(content),
    }


def read_content(row: HostedItem) -> ItemContent:
    return msgspec.convert(row.content, ItemContent)


def changed_fields(before: ItemContent, after: ItemContent) -> tuple[str, ...]:
    """Names of the fields in which two contents differ."""
    return tuple(name for name in ItemContent.__struct_fields__ if getattr(before, name) != getattr(after, name))


def _category(content: ItemContent) -> str:
    """The finest grouping of a question by ability."""
    groups = {name: text for name, text in content.groups.items() if name != "split"}
    return groups.get(_CATEGORY) or next(iter(groups.values()), "")


def _clean(text: str) -> str:
    """The text without the one character that databases refuse."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
