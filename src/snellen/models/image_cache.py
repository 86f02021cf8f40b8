"""Decoded images, cached while further questions about them are likely."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from snellen.core.errors import MediaError
from snellen.core.media import Source, decode_image
from snellen.core.recent import RecentValues
from snellen.settings import max_image_pixels

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

DEFAULT_MAX_PIXELS = 48_000_000
"""Pixels that are cached by default: 144 MB in RGB."""


class ImageCache:
    """Least recently used cache of decoded images; the latest image is always kept."""

    def __init__(self, max_pixels: int = DEFAULT_MAX_PIXELS) -> None:
        self._images: RecentValues[PILImage] = RecentValues(max_pixels, lambda image: image.width * image.height)

    def get(self, digest: str, sources: Mapping[str, Source]) -> PILImage:
        """The image with a digest, decoded from its source unless cached. Raises MediaError."""
        image = self._images.get(digest)
        if image is not None:
            return image
        source = sources.get(digest)
        if source is None:
            raise MediaError(f"the bytes of image {digest[:12]} did not come with the request")
        return self._images.put(digest, decode_image(source.read(), max_image_pixels()))
