"""Albums: several pictures of one story, and questions that relate them (SEED-Bench-H, Sec. 3.3.2:
2 to 4 of a story's pictures)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from snellen.core.sample import sampling_key
from snellen.curate.questions.extraction import VisualFacts, describe
from snellen.curate.questions.extractors.recorded import plain_extraction
from snellen.curate.questions.records import PictureRecords
from snellen.curate.questions.sources import Picture

_MIN_PICTURES, _MAX_PICTURES = 2, 4


class Album(NamedTuple):
    """Pictures of one story, in order, and what is to be seen in all of them."""

    id: str
    pictures: tuple[Picture, ...]
    extraction: VisualFacts


def find_albums(pictures: Iterable[Picture], records: PictureRecords, seed: int) -> Iterator[Album]:
    """Albums by the cell `album` (of a folder: its sub-folders), 2 to 4 pictures of each by seed,
    in their order. Pictures that were dropped are left out."""
    by_album: dict[str, list[Picture]] = defaultdict(list)
    for picture in pictures:
        if picture.cells.get("album") and picture.kind == "image" and picture.id in records:
            by_album[picture.cells["album"]].append(picture)
    for name, members in by_album.items():
        usable = [one for one in members if records.read(one.id).captions]
        if len(usable) < _MIN_PICTURES:
            continue
        key = sampling_key(f"{seed}:albums", name)
        count = min(len(usable), _MIN_PICTURES + key[0] % (_MAX_PICTURES - _MIN_PICTURES + 1))
        drawn = sorted(usable, key=lambda one: sampling_key(f"{seed}:{name}", one.id))[:count]
        chosen = tuple(one for one in usable if one in drawn)
        yield Album(f"album:{name}", chosen, _join_captions(chosen, records))


def _join_captions(pictures: Iterable[Picture], records: PictureRecords) -> VisualFacts:
    """What is to be seen in each picture, as one caption each."""
    captions = []
    for number, picture in enumerate(pictures, 1):
        text = describe(plain_extraction(records.read(picture.id))).replace("\n", " ")
        captions.append(f"Picture {number}: {text}")
    return VisualFacts(captions=tuple(captions))
