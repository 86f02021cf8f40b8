"""Decoded images, cached while further questions about them are likely."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from snellen.core.errors import MediaError
from snellen.core.media import Source, decode_image
from snellen.settings import max_image_pixels

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

DEFAULT_MAX_PIXELS = 48_000_000
"""Pixels that are cached by default: 144 MB in RGB."""


class ImageCache:
    """Least recently used cache of decoded images; the latest image is always kept."""

    def __init__(self, max_pixels: int = DEFAULT_MAX_PIXELS) -> None:
        self._max_pixels = max_pixels
        self._pixels = 0
        self._images: OrderedDict[str, PILImage] = OrderedDict()

    def get(self, digest: str, sources: Mapping[str, Source]) -> PILImage:
        """The image with a digest, decoded from its source unless cached. Raises MediaError."""
        image = self._images.get(digest)
        if image is None:
            source = sources.get(digest)
            if source is None:
                raise MediaError(f"the bytes of image {digest[:12]} did not come with the request")
            image = decode_image(source.read(), max_image_pixels())
            self._images[digest] = image
            self._pixels += image.width * image.height
        self._images.move_to_end(digest)
        while self._pixels > self._max_pixels and len(self._images) > 1:
            _, oldest = self._images.popitem(last=False)
            self._pixels -= oldest.width * oldest.height
        return image
