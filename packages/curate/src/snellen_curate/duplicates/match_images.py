"""Which images match, and how: by bytes, pixels or hashes; or one a part of the other, cropped, with a
border or bar, or with something drawn over it. Candidates for the latter come from the stored small
copies, and are verified by local features.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from snellen.core.errors import MediaError
from snellen.core.media import decode_image
from snellen.core.sample import MediaRef
from snellen.settings import max_image_pixels
from snellen_curate.duplicates.hash_index import (
    HAS_COPY,
    HAS_PHASH,
    HAS_PIXELS,
    HAS_SHA256,
    IS_FLAT,
    HashIndex,
    ImageQueries,
)
from snellen_curate.duplicates.image_hashes import REDUCED, low_coefficients, phash
from snellen_curate.duplicates.image_rule import THUMB_SIDE, Array, brightness, is_plain
from snellen_curate.duplicates.report import DuplicateSettings, ImageMatch

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
        copies, hashes = queries.copies[usable], queries.phash[usable]
        if box != WHOLE:
            copies = cut_copies(copies, box)
            # pHashes from small copies: within 2 bits of those of the images for 9 of 10.
            hashes = phash(low_coefficients(_rise() @ brightness(copies) @ _rise().T))
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


MIN_POINTS = 30
"""Corners that must follow the map. Unrelated photographs have at most 14, copies 69 or more."""
MIN_OVERLAP = 0.5
"""Share of the larger image that both show."""
MIN_CORRELATION = 0.95
"""Of the blurred grey values where the images overlap."""
_SIDE, _FEATURES, _BITS = 320, 300, 64
_BLUR, _MARGIN = 3.0, 13
_KEPT_IMAGES = 2_000
"""Images whose features are kept in memory, 100 kB each."""


class _Features(NamedTuple):
    grey: Array
    points: Array
    """(n, 2), in pixels of `grey`."""
    descriptors: Array
    """(n, 32)."""


class OverlapFinder:
    """Compares images, named by their digests, by corners that lie alike in both.

    ORB (E. Rublee, V. Rabaud, K. Konolige, G. Bradski, "ORB: an efficient alternative to SIFT or
    SURF", ICCV 2011) of grey images reduced to 320 pixels; matches that are mutually nearest; the
    affine map that most of them follow (RANSAC). The images are then laid on each other by that map
    and compared where they overlap: letters and axes that two drawings share make corners that
    match as well.
    """

    def __init__(self, images: Mapping[str, MediaRef]) -> None:
        import cv2

        self._images = images
        self._cv: Any = cv2
        self._detector: Any = self._cv.ORB_create(
            nfeatures=_FEATURES, nlevels=6, fastThreshold=5, edgeThreshold=16, patchSize=24
        )
        self._matcher: Any = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True)
        self._features = lru_cache(_KEPT_IMAGES)(self._detect)

    def compare(self, left: str, right: str) -> ImageMatch | None:
        """How two images match; None if they do not show the same."""
        one, other = self._features(left), self._features(right)
        if one is None or other is None:
            return None
        matches = [each for each in self._matcher.match(one.descriptors, other.descriptors) if each.distance <= _BITS]
        if len(matches) < MIN_POINTS:
            return None
        affine, follows = self._cv.estimateAffine2D(
            one.points[[match.queryIdx for match in matches]],
            other.points[[match.trainIdx for match in matches]],
            ransacReprojThreshold=3.0,
        )
        if affine is None or (points := int(follows.sum())) < MIN_POINTS:
            return None
        share, correlation = self._compare_greys(one, other, affine)
        if share < MIN_OVERLAP or correlation < MIN_CORRELATION:
            return None
        return ImageMatch("overlap", likeness=round(correlation, 4), points=points, share=round(share, 4))

    def _compare_greys(self, one: _Features, other: _Features, affine: Array) -> tuple[float, float]:
        """Share of the larger image that both show, and the correlation of the blurred grey
        values there, the first laid on the second."""
        cv, size = self._cv, other.grey.shape[::-1]
        laid = cv.warpAffine(one.grey, affine, size, flags=cv.INTER_AREA)
        covered = cv.warpAffine(np.full_like(one.grey, 255), affine, size)
        area = abs(np.linalg.det(affine[:, :2])) * one.grey.size
        share = float((covered > 250).sum() / max(area, other.grey.size))
        # Not where the blur takes in what lies outside, such as a white border.
        inner = cv.erode(covered, np.ones((_MARGIN, _MARGIN), np.uint8), borderValue=0) > 250
        if share < MIN_OVERLAP or not inner.any():
            return share, 0.0
        values = [cv.GaussianBlur(grey, (0, 0), _BLUR)[inner] for grey in (laid, other.grey)]
        # One value has no correlation with another.
        return share, float(np.corrcoef(*values)[0, 1]) if all(map(np.ptp, values)) else 0.0

    def _detect(self, digest: str) -> _Features | None:
        """The features of an image; None if it has too few to be verified by, or is broken."""
        from PIL.Image import Resampling

        try:
            data = self._images[digest].source.read()
            image = decode_image(data, max_image_pixels()).convert("L")
        except MediaError:
            return None
        image.thumbnail((_SIDE, _SIDE), Resampling.BILINEAR)
        grey = np.asarray(image)
        corners, descriptors = self._detector.detectAndCompute(grey, None)
        if len(corners) < MIN_POINTS:
            return None
        return _Features(grey, self._cv.KeyPoint_convert(corners), descriptors)


SAME_BYTES, SAME_PIXELS = ImageMatch("bytes"), ImageMatch("pixels", 0, 0, 1.0)
EXACT = ("bytes", "pixels")

Matches = dict[tuple[int, int], ImageMatch]
"""A row of an index and a row of another, or of the same, to how their images match."""


def match_images(
    index: HashIndex, other: HashIndex, settings: DuplicateSettings, images: Mapping[str, MediaRef] | None
) -> Matches:
    """The pairs of images of two indexes that match, each by its nearest way; of an index with
    itself each pair once, the lower row first.

    `images`: those of both indexes by their names, among which cropped and framed copies are looked
    for; None if they are not at hand.
    """
    found: Matches = {}

    def add(query: int, row: int, match: ImageMatch) -> None:
        if other is not index or query < row:
            found.setdefault((query, row), match)

    flags = index.column("flags")
    for column, flag, match in (("sha256", HAS_SHA256, SAME_BYTES), ("pixels", HAS_PIXELS, SAME_PIXELS)):
        rows = np.flatnonzero(flags & flag)
        for query, row in other.search_digests(index.column(column)[rows], column):
            add(int(rows[query]), row, match)
    for (query, row), match in other.search(index.queries(), settings.images).items():
        add(query, row, match)
    if settings.images.crops and images is not None:
        finder: OverlapFinder | None = None
        for query, row in sorted(crop_pairs(index, other) - found.keys()):
            if other is not index or query < row:
                finder = finder or OverlapFinder(images)
                overlap = finder.compare(index.text("names", query), other.text("names", row))
                if overlap is not None:
                    add(query, row, overlap)
    return found


class ImageGraph:
    """Which images of a data set are the same, and which are near duplicates."""

    def __init__(self, digests: Sequence[str], matches: Matches, missing: frozenset[str]) -> None:
        self._missing = missing
        self._node_of = {digest: digest for digest in digests}
        """Digest of an image to that of the first image with the same pixels."""
        self.near: dict[str, dict[str, ImageMatch]] = defaultdict(dict)
        """Node to its near duplicates."""
        pairs = [(digests[one], digests[other], matches[one, other]) for one, other in sorted(matches)]
        for left, right, match in pairs:
            if match.how in EXACT and self._node_of[right] == right:
                self._node_of[right] = self._node_of[left]
        for left, right, match in pairs:
            one, other = self.node(left), self.node(right)
            if one != other and other not in self.near[one]:
                self.near[one][other] = self.near[other][one] = match

    def node(self, digest: str) -> str:
        return self._node_of.get(digest, digest)

    def match(self, left: str, right: str) -> ImageMatch | None:
        """How two images match; None if they do not, or if there is none to compare."""
        if left == right:
            return None if left in self._missing else SAME_BYTES
        one, other = self.node(left), self.node(right)
        return SAME_PIXELS if one == other else self.near.get(one, {}).get(other)
