"""Whether two images show the same, by local features: corners that lie alike in both.

ORB (E. Rublee, V. Rabaud, K. Konolige, G. Bradski, "ORB: an efficient alternative to SIFT or SURF",
ICCV 2011) of grey images reduced to 320 pixels; matches that are mutually nearest; the affine map
that most of them follow (RANSAC). The images are then laid on each other by that map and compared
where they overlap: letters and axes that two drawings share make corners that match as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from snellen.core.errors import MediaError
from snellen.core.media import decode_image
from snellen.core.sample import MediaRef
from snellen.settings import max_image_pixels
from snellen_curate.duplicates.image_rule import Array
from snellen_curate.duplicates.report import ImageMatch

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
    """Compares images, named by their digests."""

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
