"""Well-known models by name: facts about each, with their sources (`catalog/*.toml`).

A name or alias of the catalog can be used wherever a model is named, for a checkpoint or a model
id. Settings that another tool attaches to the same name are not adopted. Facts never enter a
model's identity; options do, as if they were typed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, structs

from snellen.core.model import Modality
from snellen.models.naming.spec import split_options

FOLDER = Path(__file__).with_suffix("")
SOURCES = "sources.toml"


class FactSource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Source of facts."""

    what: str
    url: str
    read: str
    """Day it was read, ISO 8601."""
    commit: str = ""
    version: str = ""


class ListedPrice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars per million tokens, according to the provider's page."""

    input: float
    output: float
    cached: float | None = None
    page: str = ""
    note: str = ""


class CatalogEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of the catalog. Unknown facts are None or empty."""

    name: str
    spec: str
    """`provider/name`, as `-m` takes it."""
    access: Literal["open", "closed"]
    """Whether the weights are available."""
    aliases: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    """Model types of lmms-eval that load it by default. They match in lower case only: written as
    InstructBLIP, such a name does not say which checkpoint is meant."""
    inputs: tuple[Modality, ...]
    outputs: tuple[Modality, ...]
    parameters: float | None = None
    """In billions, all experts included."""
    language_model: str = ""
    vision_encoder: str = ""
    context: int | None = None
    """Maximal tokens of a prompt."""
    released: str = ""
    """ISO 8601, as precise as the source."""
    licence: str = ""
    revision: str = ""
    """A pinned commit; it enters the model's identity."""
    options: dict[str, str] = {}
    """Options of the provider that this model needs, e.g. `images=first`."""
    max_new_tokens: int | None = None
    """Maximal tokens of a reply including reasoning, for models that reason before they answer."""
    coordinates: str = ""
    """Name of the coordinate space (`core.place.Space`) in which it writes places."""
    price: ListedPrice | None = None
    sources: dict[str, str]
    """Source of each fact, by name; `names` is for name, spec and aliases."""
    family: str = ""
    """Name of its file."""

    @property
    def provider(self) -> str:
        """The provider in its spec."""
        return self.spec.partition("/")[0]

    @property
    def id(self) -> str:
        """The model's id at its provider, e.g. on the hub."""
        return self.spec.partition("/")[2]

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, aliases and types."""
        return (self.name, *self.aliases, *self.types)


class _CatalogFile(Struct, forbid_unknown_fields=True):
    model: list[CatalogEntry]


@functools.cache
def catalog() -> tuple[CatalogEntry, ...]:
    """All entries, sorted by name."""
    entries_read: list[CatalogEntry] = []
    for path in FOLDER.glob("*.toml"):
        if path.name != SOURCES:
            entries = msgspec.toml.decode(path.read_bytes(), type=_CatalogFile).model
            entries_read.extend(structs.replace(entry, family=path.stem) for entry in entries)
    return tuple(sorted(entries_read, key=lambda entry: entry.name.lower()))


@functools.cache
def sources() -> dict[str, FactSource]:
    """All sources, by their short name."""
    return msgspec.toml.decode((FOLDER / SOURCES).read_bytes(), type=dict[str, FactSource])


def find_entry(name: str) -> CatalogEntry | None:
    """Find an entry by name, alias, spec or id at its provider; only types are case-sensitive.

    Last, a name or alias matches by its letters and digits alone, if it matches those of one entry:
    `GPT-4o-20240806` is `gpt-4o-2024-08-06`.
    """
    name = name.strip()
    lower = name.lower()
    entry = _by_name().get(lower)
    if entry is not None and lower in entry.types and name != lower:
        return None
    if entry is None and "/" not in name:
        near = _by_letters().get(letters_of(name), ())
        return near[0] if len(near) == 1 else None
    return entry


def letters_of(name: str) -> str:
    """Its letters and digits, in lower case: papers and tools differ in hyphens, dots and blanks."""
    return "".join(filter(str.isalnum, name.lower()))


def facts_of(name: str) -> CatalogEntry | None:
    """Find the entry of a model by its name or by a spec with options; None if there is none."""
    return find_entry(split_options(name)[0])


def catalog_names() -> Iterable[str]:
    """Names, aliases and types, for suggestions."""
    return (name for entry in catalog() for name in entry.names)


@functools.cache
def _by_letters() -> dict[str, list[CatalogEntry]]:
    by_letters: dict[str, list[CatalogEntry]] = {}
    for entry in catalog():
        for letters in dict.fromkeys(map(letters_of, (entry.name, *entry.aliases))):
            by_letters.setdefault(letters, []).append(entry)
    return by_letters


@functools.cache
def _by_name() -> dict[str, CatalogEntry]:
    by_name: dict[str, CatalogEntry] = {}
    for entry in catalog():
        # Ids first, so that names override them: multiple providers may serve the same id.
        by_name.setdefault(entry.id.lower(), entry)
    for entry in catalog():
        by_name.update((name.lower(), entry) for name in (entry.spec, *entry.names))
    return by_name


_WAYS: Mapping[str, str] = {
    "package": "have a file call its authors' code in an environment of its own (-m {name} --serve FILE.py), "
    "or score predictions that it made there (snellen score)",
    "address": "name the server that has it: -m http://HOST:PORT/v1#NAME",
    "checkpoint": "name a checkpoint: -m hf/ORG/NAME",
    "predictions": "score predictions that it made there (snellen score)",
    "nothing": "no benchmark here asks such a model",
}


class OtherName(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names in papers and other tools that stand for no model here, or for several
    (`other_names.toml`)."""

    names: tuple[str, ...]
    what: str
    """Ends a sentence that begins with the name and "is"."""
    choose: tuple[str, ...] = ()
    """Names of the models here that it may mean."""
    way: Literal["package", "address", "checkpoint", "predictions", "nothing", ""] = ""
    """Key of `_WAYS`."""
    how: str = ""
    """How else it could be asked."""

    def sentence(self, name: str) -> str:
        """Why the name opens no model, and what to do."""
        advice = [self.how] if self.how else []
        if self.choose:
            which = "one" if self.choose[1:] else "it"
            advice.insert(0, f"name {which}: {' or '.join(f'-m {each}' for each in self.choose)}")
        if self.way:
            advice.append(_WAYS[self.way].format(name=name.replace(" ", "-")))
        return f"{name} is {self.what}; {'; '.join(advice)}"


class _OtherNamesFile(Struct, forbid_unknown_fields=True):
    model: list[OtherName]


@functools.cache
def other_names() -> tuple[OtherName, ...]:
    """All entries, in the order of the file."""
    content = Path(__file__).with_name("other_names.toml").read_bytes()
    return tuple(msgspec.toml.decode(content, type=_OtherNamesFile).model)


def find_other_name(name: str) -> OtherName | None:
    """The entry of a name, by its letters and digits alone; None if there is none."""
    letters = letters_of(name)
    return next((entry for entry in other_names() if letters in map(letters_of, entry.names)), None)
