"""Decoded pictures, kept while they are likely to be asked about again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from snellen.core.errors import MediaError
from snellen.core.media import Source, decode_image
from snellen.settings import most_pixels

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

LIMIT = 48_000_000
"""Pixels kept: 144 MB in RGB."""


class PictureCache:
    """Least recently used pictures leave first; one picture is always kept."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pixels = 0
        self._pictures: OrderedDict[str, Picture] = OrderedDict()

    def get(self, digest: str, sources: Mapping[str, Source]) -> Picture:
        """The picture of that digest, read and decoded at most once while kept.

        Raises MediaError."""
        picture = self._pictures.get(digest)
        if picture is None:
            source = sources.get(digest)
            if source is None:
                raise MediaError(f"the bytes of image {digest[:12]} did not come with the request")
            picture = decode_image(source.read(), most_pixels())
            self._pictures[digest] = picture
            self._pixels += picture.width * picture.height
        self._pictures.move_to_end(digest)
        while self._pixels > self._limit and len(self._pictures) > 1:
            _, oldest = self._pictures.popitem(last=False)
            self._pixels -= oldest.width * oldest.height
        return picture
