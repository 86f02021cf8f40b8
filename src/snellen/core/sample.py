"""One question, ready to be asked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Literal, NamedTuple

from msgspec import Struct

from snellen.core.media import MediaKind, Source


def sampling_key(seed: int | str, name: str) -> bytes:
    """What names are sorted by: SHA-256 of seed and name. The first of an order are also the first
    of every longer one (100 samples are part of 200)."""
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()


Kind = Literal["choice", "yes_no", "open"]


class MediaRef(Struct, frozen=True, gc=False):
    """A medium of a row: its hash, and where its bytes are."""

    digest: str
    source: Source
    kind: MediaKind = "image"


class Row(Struct, frozen=True, gc=False):
    """One row of a data source: text cells by column name, and its media.

    Column names are those of the file, except that other tools' names for the same thing are
    joined by the data room. Empty cells are absent.
    """

    index: int
    """Position in the source, from 0; messages to users count from 1."""
    cells: Mapping[str, str]
    media: tuple[MediaRef, ...] = ()


class Rotation(Struct, frozen=True, gc=False):
    """One circular pass that the data file holds as a row of its own."""

    row: str
    options: Mapping[str, str]
    gold: str | None


class Region(NamedTuple):
    """A rectangle by its corners, in pixels from the top left."""

    left: float
    top: float
    right: float
    bottom: float


class Sample(Struct, frozen=True, gc=False):
    """One question. `gold` holds every accepted answer; empty means no gold (a hidden split).

    For `choice`, `options` maps labels A, B, ... to their texts and `gold` holds one label;
    `options` may be empty when only labels are known (predictions scored without the data).
    """

    id: str
    kind: Kind
    question: str
    gold: tuple[str, ...] = ()
    options: Mapping[str, str] = {}
    media: tuple[MediaRef, ...] = ()
    hint: str = ""
    groups: Mapping[str, str] = {}
    """Where the sample is counted: column name to label, e.g. {"category": "colour"}."""
    rotations: tuple[Rotation, ...] = ()
    option_images: Mapping[str, MediaRef] = {}
    """Options that are pictures, by label: what a drawn answer is compared with. Not shown."""
    regions: tuple[Region, ...] = ()
    """Places in the first image that the question speaks of, where the data hold them apart."""
    unit: str = ""
    """Samples of one unit belong together (the two questions about an MME image): a limit keeps
    or drops them as one, intervals resample them as one. Empty: the sample is its own unit."""

    def sources(self) -> dict[str, Source]:
        return {ref.digest: ref.source for ref in self.media}
