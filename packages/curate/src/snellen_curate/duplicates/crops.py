"""Images of which one may be a part of the other: cropped, with a border or bar, or with
something drawn over it. Candidates come from the stored small copies; `local_features` verifies.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from snellen_curate.duplicates.hash_index import HashIndex, ImageQueries
from snellen_curate.duplicates.image_hashes import REDUCED, Hashes, low_coefficients, phash
from snellen_curate.duplicates.image_rule import THUMB_SIDE, Array, brightness, is_plain
from snellen_curate.duplicates.index_format import HAS_COPY, HAS_PHASH, IS_FLAT

RADIUS = 14
"""Bits in which the pHashes of candidates may differ, and ..."""
LIKENESS = 0.7
"""... the least correlation of their small copies, both once one image is cut. Fitted on
photographs (docs/curate/evidence.md): the copies of the fitted half have at least 0.78."""
_ALL_SIDES = (0.025, 0.05, 0.075, 0.1, 0.125)
_ONE_SIDE = (0.05, 0.1, 0.15)


class Part(NamedTuple):
    """A part of an image, in shares of its width and height."""

    left: float
    top: float
    right: float
    bottom: float


WHOLE = Part(0, 0, 1, 1)
BOXES = (
    WHOLE,
    *(Part(cut, cut, 1 - cut, 1 - cut) for cut in _ALL_SIDES),
    *(
        box
        for cut in _ONE_SIDE
        for box in (Part(cut, 0, 1, 1), Part(0, cut, 1, 1), Part(0, 0, 1 - cut, 1), Part(0, 0, 1, 1 - cut))
    ),
)
"""What is cut off one of two images. Between two of these cuts the hashes still match."""


def crop_pairs(index: HashIndex, other: HashIndex) -> set[tuple[int, int]]:
    """Pairs of rows of two indexes, or of one with itself, of which one, cut, may be like the
    other."""
    found = _crop_candidates(index.queries(), other)
    swapped = found if other is index else _crop_candidates(other.queries(), index)
    return found | {(row, query) for query, row in swapped}


def _crop_candidates(queries: ImageQueries, index: HashIndex) -> set[tuple[int, int]]:
    """Pairs of a query and a row of the index where the query, cut, may be like the row."""
    found: set[tuple[int, int]] = set()
    if queries.copies is None:
        return found
    wanted = HAS_PHASH | HAS_COPY
    has_copy = (queries.flags & (wanted | IS_FLAT)) == wanted
    usable = np.flatnonzero(has_copy & ~is_plain(queries.copies))
    for box in BOXES:
        copies = queries.copies[usable] if box == WHOLE else cut_copies(queries.copies[usable], box)
        hashes = queries.phash[usable] if box == WHOLE else _hash_copies(copies)
        near = index.near_hashes(hashes, RADIUS)
        alike = index.likeness(copies, near.query, near.row) >= LIKENESS
        who, rows = usable[near.query[alike]], near.row[alike]
        found.update(zip(who.tolist(), rows.tolist(), strict=True))
    return found


def cut_copies(copies: Array, box: Part) -> Array:
    """Small copies (n, 16, 16, 3) of a part of each image, from those of the whole."""
    across = _sampling(box.left, box.right)
    down = _sampling(box.top, box.bottom)
    cut = np.tensordot(copies.astype(np.float32), across, axes=([2], [1]))  # (n, 16, 3, 16)
    cut = np.tensordot(cut, down, axes=([1], [1]))  # (n, 3, 16, 16), columns before rows
    return cut.transpose(0, 3, 2, 1).round().astype(np.uint8)


def _hash_copies(copies: Array) -> Hashes:
    """pHashes from small copies: within 2 bits of those of the images for 9 of 10."""
    rise = _rise()
    return phash(low_coefficients(rise @ brightness(copies) @ rise.T))


@cache
def _sampling(low: float, high: float) -> Array:
    """Weights (16, 16) by which the part from `low` to `high` of 16 values is sampled again."""
    edges = np.linspace(low * THUMB_SIDE, high * THUMB_SIDE, THUMB_SIDE + 1)
    pixels = np.arange(THUMB_SIDE)
    covered = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    weights: Array = np.maximum(covered, 0).astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


@cache
def _rise() -> Array:
    """Weights (32, 16) of a linear interpolation between pixel centres."""
    place = np.clip((np.arange(REDUCED) + 0.5) / 2 - 0.5, 0, THUMB_SIDE - 1)
    weights: Array = np.maximum(0, 1 - np.abs(place[:, None] - np.arange(THUMB_SIDE)))
    return weights.astype(np.float32)
