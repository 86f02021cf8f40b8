"""Well-known models by name: facts about each, and where these were read (`catalog/*.toml`).

A name or alias of the catalog may stand wherever a model is named. It stands for a checkpoint or
a model id; settings that another tool joins to the same name are not taken over. Facts never
enter a model's identity; options do, as if they were typed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, structs

from snellen.core.model import Modality

FOLDER = Path(__file__).with_suffix("")
SOURCES = "sources.toml"


class FactSource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where facts were read."""

    what: str
    url: str
    read: str
    """Day it was read, ISO 8601."""
    commit: str = ""
    version: str = ""


class ListedPrice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars per million tokens as `page`, the provider's own, states them."""

    input: float
    output: float
    cached: float | None = None
    page: str = ""
    note: str = ""


class CatalogEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model. What was read nowhere is None or empty."""

    name: str
    spec: str
    """`provider/name`, as `-m` takes it."""
    access: Literal["open", "closed"]
    """Whether the weights can be had."""
    aliases: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    """Model types of lmms-eval that load it by default. They hold in lower case only: as words,
    such as InstructBLIP, they do not say which checkpoint is meant."""
    inputs: tuple[Modality, ...]
    outputs: tuple[Modality, ...]
    parameters: float | None = None
    """Billions, all experts counted."""
    language_model: str = ""
    vision_encoder: str = ""
    context: int | None = None
    """Most tokens of a prompt."""
    released: str = ""
    """ISO 8601, as exact as the source is."""
    licence: str = ""
    revision: str = ""
    """A pinned commit; it enters the model's identity."""
    options: dict[str, str] = {}
    """Options of the provider that this model needs, e.g. `images=first`."""
    max_new_tokens: int | None = None
    """Longest reply, thoughts included, for models that think before they answer."""
    price: ListedPrice | None = None
    sources: dict[str, str]
    """Name of the source of each fact; `names` is that of name, spec and aliases."""
    family: str = ""
    """The file it stands in."""

    @property
    def provider(self) -> str:
        return self.spec.partition("/")[0]

    @property
    def id(self) -> str:
        """The model's id at its provider, e.g. on the hub."""
        return self.spec.partition("/")[2]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases, *self.types)


class _CatalogFile(Struct, forbid_unknown_fields=True):
    model: list[CatalogEntry]


@functools.cache
def catalog() -> tuple[CatalogEntry, ...]:
    """Every entry, by name."""
    entries_read: list[CatalogEntry] = []
    for path in FOLDER.glob("*.toml"):
        if path.name != SOURCES:
            entries = msgspec.toml.decode(path.read_bytes(), type=_CatalogFile).model
            entries_read.extend(structs.replace(entry, family=path.stem) for entry in entries)
    return tuple(sorted(entries_read, key=lambda entry: entry.name.lower()))


@functools.cache
def sources() -> dict[str, FactSource]:
    """Every source by its short name."""
    return msgspec.toml.decode((FOLDER / SOURCES).read_bytes(), type=dict[str, FactSource])


def find_entry(name: str) -> CatalogEntry | None:
    """The entry of a name, an alias, a spec or an id at its provider; case matters for types."""
    name = name.strip()
    lower = name.lower()
    entry = _by_name().get(lower)
    if entry is not None and lower in entry.types and name != lower:
        return None
    return entry


def facts_of(name: str) -> CatalogEntry | None:
    """What is known of a model by its name or by a spec, options and all; None if nothing is."""
    from snellen.models.naming.registry import split_options

    return find_entry(split_options(name)[0])


def catalog_names() -> Iterable[str]:
    """Names and aliases, for suggestions."""
    return (name for entry in catalog() for name in entry.names)


@functools.cache
def _by_name() -> dict[str, CatalogEntry]:
    by_name: dict[str, CatalogEntry] = {}
    for entry in catalog():
        # Ids are weakest: two providers may serve the same one.
        by_name.setdefault(entry.id.lower(), entry)
    for entry in catalog():
        by_name.update((name.lower(), entry) for name in (entry.spec, *entry.names))
    return by_name
