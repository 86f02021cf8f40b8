"""What backends that draw have in common: seeds, and pictures as outputs."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from snellen.core.media import digest_bytes
from snellen.core.output import Drawn
from snellen.core.request import Draw, request_digest

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


def seed_of(request: Draw) -> int:
    """A seed of the request's own, made of its settings' seed and everything else that can change
    the picture: neighbours, order and restarts change nothing."""
    return int.from_bytes(hashlib.sha256(request_digest(request, "")).digest()[:7])


def as_drawn(pictures: Sequence[Picture], text: str = "") -> Drawn:
    """Pictures as PNG, named by their bytes."""
    data = [_png(picture) for picture in pictures]
    names = tuple(digest_bytes(one) for one in data)
    return Drawn(names, text, dict(zip(names, data, strict=True)))


def _png(picture: Picture) -> bytes:
    out = io.BytesIO()
    picture.convert("RGB").save(out, "PNG")
    return out.getvalue()
