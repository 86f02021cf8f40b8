"""Which images match, and how: by bytes, pixels, hashes or local features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from snellen.core.sample import MediaRef
from snellen_curate.duplicates.crops import crop_pairs
from snellen_curate.duplicates.hash_index import HashIndex
from snellen_curate.duplicates.index_format import HAS_PIXELS, HAS_SHA256
from snellen_curate.duplicates.local_features import OverlapFinder
from snellen_curate.duplicates.report import DuplicateSettings, ImageMatch

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
