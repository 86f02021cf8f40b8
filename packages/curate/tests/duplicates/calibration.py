"""How often near duplicates are missed, and unrelated pictures are taken for them, by threshold.

    python packages/curate/tests/duplicates/calibration.py [--photos DIR]

Prints the tables of docs/curate/duplicates.md: for each change that copies of pictures go through,
the share of copies that a rule misses; and for unrelated pictures, the pairs that it takes for near
duplicates. Scenes and cards are drawn; photographs come from a folder.
"""

from __future__ import annotations

import argparse
import io
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))

from drawn_scenes import CHANGES, draw_card, draw_scene

from snellen.core.media import InlineSource, decode_image
from snellen_curate.duplicates.hash_index import compare_hashes, hamming
from snellen_curate.duplicates.hashing import open_hasher
from snellen_curate.duplicates.image_hashes import TURNS, ImageHash
from snellen_curate.duplicates.image_rule import UNKNOWN, ImageRule, likeness, turn_copies

PHOTO_SIDE = 400
"""Photographs are reduced to this, which decoding and changing them takes long otherwise."""


class Columns(NamedTuple):
    """Hashes of pictures."""

    phash: np.ndarray
    dhash: np.ndarray
    copies: np.ndarray
    turned: np.ndarray


class Rates(NamedTuple):
    """Share of pairs that each rule accepts."""

    both: float
    """pHash and small copies, as where both pictures are at hand."""
    hashes: float
    """pHash and dHash, as where a list has both."""
    lone: float
    """pHash alone."""
    turned: float
    """`both`, with mirrored and turned pictures."""


RULE = ImageRule()


def hash_images(images: Iterable[Image.Image]) -> Columns:
    with open_hasher() as hasher:
        found = list(hasher(InlineSource(_ppm(image)) for image in images))
    whole = [one for one in found if isinstance(one, ImageHash)]
    assert len(whole) == len(found)
    return Columns(
        np.array([one.phash for one in whole], np.uint64),
        np.array([one.dhash for one in whole], np.uint64),
        np.stack([one.small_copy for one in whole]),
        np.array([one.turned for one in whole], np.uint64),
    )


def _ppm(image: Image.Image) -> bytes:
    """Without loss, and faster than PNG."""
    data = io.BytesIO()
    image.save(data, "PPM")
    return data.getvalue()


def share_found(originals: Columns, changed: Columns) -> Rates:
    """Shares of copies that are found, copy by copy."""
    phash = hamming(originals.phash, changed.phash)
    dhash = hamming(originals.dhash, changed.dhash)
    alike = likeness(originals.copies, changed.copies)
    unknown, none = np.full_like(dhash, UNKNOWN), np.full_like(alike, np.nan)
    both = turned = RULE.accept(phash, dhash, alike)
    for way in range(1, TURNS):
        alike_turned = likeness(turn_copies(originals.copies, way), changed.copies)
        near = hamming(originals.turned[:, way], changed.phash)
        turned = turned | RULE.accept(near, unknown, alike_turned)
    return Rates(
        float(both.mean()),
        float(RULE.accept(phash, dhash, none).mean()),
        float(RULE.accept(phash, unknown, none).mean()),
        float(turned.mean()),
    )


def missed_table(sets: dict[str, Sequence[Image.Image]]) -> Iterator[str]:
    """A row for each change, a column for each set: percent missed with pictures / by hashes."""
    yield f"| change | {' | '.join(sets)} |"
    yield f"| --- | {' | '.join('---:' for _ in sets)} |"
    originals = {name: hash_images(images) for name, images in sets.items()}
    for change, apply in CHANGES.items():
        cells = []
        for name, images in sets.items():
            rates = share_found(originals[name], hash_images(apply(image) for image in images))
            is_turned = change.startswith(("mirrored", "turned"))
            missed = [1 - rates.both, 1 - rates.hashes, 1 - rates.lone]
            missed += [1 - rates.turned] if is_turned else []
            cells.append(" / ".join(f"{100 * one:.1f}" for one in missed))
        yield f"| {change} | {' | '.join(cells)} |"


def false_pairs(columns: Columns) -> Rates:
    """Numbers of pairs of unrelated pictures that each rule accepts."""
    near = compare_hashes(columns.phash, columns.phash, RULE.max_radius)
    once = near.query < near.row
    near = near._replace(**{name: getattr(near, name)[once] for name in near._fields})
    dhash = hamming(columns.dhash[near.query], columns.dhash[near.row])
    alike = np.concatenate(
        [np.empty(0, np.float32)]
        + [
            likeness(columns.copies[near.query[places]], columns.copies[near.row[places]])
            for places in np.array_split(np.arange(len(near.row)), len(near.row) // 4096 + 1)
        ]
    )
    unknown, none = np.full_like(dhash, UNKNOWN), np.full_like(alike, np.nan)
    return Rates(
        float(RULE.accept(near.distance, dhash, alike).sum()),
        float(RULE.accept(near.distance, dhash, none).sum()),
        float(RULE.accept(near.distance, unknown, none).sum()),
        float((near.distance <= RULE.radius).sum()),
    )


def false_table(sets: dict[str, Columns]) -> Iterator[str]:
    yield (
        "| unrelated pictures | pairs | pHash ≤ 10 alone | pHash ≤ 10 and likeness ≥ 0.95 | "
        "pHash ≤ 6 and dHash ≤ 8 | pHash ≤ 4 |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name, columns in sets.items():
        count = len(columns.phash)
        found = false_pairs(columns)
        cells = [
            f"{count * (count - 1) // 2:,}",
            *(f"{int(one):,}" for one in (found.turned, found.both, found.hashes, found.lone)),
        ]
        yield f"| {count:,} {name} | {' | '.join(cells)} |"


def read_photos(folder: Path, count: int) -> list[Image.Image]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    random.Random(1).shuffle(paths)
    images = []
    for path in paths[:count]:
        image = decode_image(path.read_bytes())
        image.thumbnail((PHOTO_SIDE, PHOTO_SIDE))
        images.append(image)
    return images


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=1_000, help="of each set, for the copies")
    parser.add_argument("--unrelated", type=int, default=20_000, help="of each drawn set")
    parser.add_argument("--only-false", action="store_true", help="only the second table")
    parser.add_argument("--photos", type=Path, help="a folder of JPEG photographs")
    arguments = parser.parse_args()
    sets: dict[str, Sequence[Image.Image]] = {
        "scenes": [draw_scene(seed) for seed in range(arguments.images)],
        "cards": [draw_card(seed) for seed in range(arguments.images)],
    }
    if arguments.photos:
        sets = {"photographs": read_photos(arguments.photos, arguments.images), **sets}
    for line in [] if arguments.only_false else missed_table(sets):
        print(line, flush=True)
    print()
    seeds = range(arguments.unrelated)
    unrelated = {
        "scenes": hash_images(draw_scene(seed) for seed in seeds),
        "cards": hash_images(draw_card(seed) for seed in seeds),
    }
    if arguments.photos:
        photos = read_photos(arguments.photos, 1_000_000)
        unrelated = {"photographs": hash_images(photos), **unrelated}
    for line in false_table(unrelated):
        print(line, flush=True)


if __name__ == "__main__":
    main()
