"""A row of a data file, its origin, and the sample made of it: one question, ready to be asked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, structs

from snellen.core.media import MediaKind, Source
from snellen.core.place import Box, Space, Span, load_places, parse_space, points_in, units_per_second, write_places

OriginKind = Literal["published", "custom", "unverified", "own", "predictions"]
"""`published`: the file (by its checksum), the data set of the hub, or the data of this package;
`custom`: the user's file in its place; `unverified`: a file of the published name without a known
checksum; `own`: the benchmark is this file; `predictions`: rows of a predictions file that holds
the gold answers as well."""


class Origin(Struct, frozen=True, omit_defaults=True):
    kind: OriginKind
    note: str = ""
    """A sentence for readers of a score; empty if the data are those that the benchmark's name
    stands for."""
    published: str = ""
    """The data that the benchmark declares: a file with its checksum, or a data set."""
    file: str = ""
    """Absolute path of the file, or the data set; empty if the rows come from multiple files."""
    columns: dict[str, str] = {}
    """Columns of the file: our name to theirs."""
    spec: str = ""
    """Absolute path of the TOML description by which the file was opened, if any."""


def origin_of(table: object) -> Origin | None:
    """The origin of a table; None if the table has none, such as that of a plug-in."""
    origin = getattr(table, "origin", None)
    return origin if isinstance(origin, Origin) else None


def is_own_data(table: object) -> bool:
    """Whether the rows are those of a user's own file, in the columns that Snellen reads."""
    origin = origin_of(table)
    return origin is not None and origin.kind == "own" and not origin.spec


def sampling_key(seed: int | str, name: str) -> bytes:
    """Sort key for seeded sampling: SHA-256 of seed and name.

    Smaller samples are prefixes of larger ones (100 samples are part of 200).
    """
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()


Kind = Literal["choice", "yes_no", "open", "place", "fields", "page"]


class MediaRef(Struct, frozen=True, gc=False):
    """A medium of a row: its hash and the location of its bytes."""

    digest: str
    source: Source
    kind: MediaKind = "image"


class Row(Struct, frozen=True, gc=False):
    """One row of a data source: text cells by column name, and its media.

    Column names are those of the file, except that synonyms of other tools are unified by
    `snellen.data`. Empty cells are absent.
    """

    index: int
    """Position in the source, from 0; messages to users count from 1."""
    cells: Mapping[str, str]
    media: tuple[MediaRef, ...] = ()


ROTATION_STRIDE = 1_000_000
"""MMBench's files hold rotation r of question i as the row with index i + r * 1,000,000."""


def rotation_row(sample: str, turn: int) -> str:
    """The id of the row that answers pass `turn` of a question (0: its own), where the data have no
    row for it; a question whose id is no number gets it in words."""
    if turn == 0:
        return sample
    is_number = sample.isascii() and sample.isdecimal()
    return str(int(sample) + turn * ROTATION_STRIDE) if is_number else f"{sample} rotation {turn}"


class Rotation(Struct, frozen=True, gc=False):
    """One circular pass that the data file holds as a separate row."""

    row: str
    options: Mapping[str, str]
    gold: str | None


class Sample(Struct, frozen=True, gc=False):
    """One question. `gold` holds every accepted answer; empty means no gold (a hidden split).

    For `choice`, `options` maps labels A, B, ... to their texts and `gold` holds one label;
    `options` may be empty when only labels are known (predictions scored without the data).
    For `place`, each gold answer is the text of a `Places`; for `fields`, a record as JSON; for
    `page`, the text of a `Page`.
    """

    id: str
    kind: Kind
    question: str
    gold: tuple[str, ...] = ()
    options: Mapping[str, str] = {}
    media: tuple[MediaRef, ...] = ()
    hint: str = ""
    groups: Mapping[str, str] = {}
    """Groups that the sample counts in: column name to label, e.g. {"category": "colour"}."""
    rotations: tuple[Rotation, ...] = ()
    option_images: Mapping[str, MediaRef] = {}
    """Images of options, by label, which a drawn answer is compared with. Not in the prompt."""
    regions: tuple[Box, ...] = ()
    """Regions of the first image that the question refers to, if the data list them."""
    extent: tuple[float, ...] = ()
    """`Places.extent` of its answers: width and height of the first picture, or the duration of the
    video; empty if unknown or if it asks for no place."""
    space: str = ""
    """Name of the coordinate space in which it asks for a place (`core.place.parse_space`), or the
    `core.place.TimeUnit` of spans; empty: seconds."""
    fps: float = 0.0
    """Frames of each second of the video, where it asks for a span; 0 if unknown."""
    asks_points: bool = False
    """Whether a reply is to name points, whatever the shape of the gold places."""
    metadata: Mapping[str, str] = {}
    """Cells of the user's data that are neither asked nor scored, by column."""
    unit: str = ""
    """Samples of one unit belong together (the two questions about an MME image): a limit keeps
    or drops all of them, intervals resample them together. Empty: a unit of this sample alone."""

    def sources(self) -> dict[str, Source]:
        """Locations of the media, by digest."""
        return {ref.digest: ref.source for ref in self.media}

    def written_gold(self, gold: str, *, exact: bool = True) -> str:
        """A gold answer as a model is to write it: a place in the space that is asked for
        (`core.place.write_places`)."""
        if self.kind == "page":
            from snellen.core.page import load_page

            return load_page(gold).markdown()
        if self.kind != "place":
            return gold
        places = load_places(gold)
        if places.spans:
            scale = units_per_second(self.space, self.extent, self.fps)
            spans = tuple(Span(span.start * scale, span.end * scale) for span in places.spans)
            return write_places(structs.replace(places, spans=spans), Space(), exact=exact)
        space = parse_space(self.space) if self.space else Space()
        return write_places(points_in(places) if self.asks_points else places, space, exact=exact)
