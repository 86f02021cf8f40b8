"""Shared by backends that draw: seeds, unsupported settings, and images as outputs."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal

from snellen.core.media import digest_bytes
from snellen.core.output import Drawn
from snellen.core.request import Draw, Drawing, request_digest

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

DrawingSetting = Literal["size", "steps", "guidance", "seed"]


def requested_settings(settings: Drawing) -> list[DrawingSetting]:
    """The settings of a request that differ from the model's defaults."""
    requested: dict[DrawingSetting, bool] = {
        "size": settings.width is not None or settings.height is not None,
        "steps": settings.steps is not None,
        "guidance": settings.guidance is not None,
        "seed": settings.seed != 0,
    }
    return [name for name, is_requested in requested.items() if is_requested]


def unsupported_settings(settings: Drawing, subject: str, supported: Collection[DrawingSetting]) -> str | None:
    """A sentence about requested settings that `subject` does not support, or None. No requested
    setting is ignored silently."""
    unsupported = [name for name in requested_settings(settings) if name not in supported]
    if not unsupported:
        return None
    return f"{subject} draws without a choice of {' and '.join(unsupported)}; leave it out"


def request_seed(request: Draw) -> int:
    """A seed derived from everything in a request that can change its image, so that order, other
    requests and restarts change nothing."""
    return int.from_bytes(hashlib.sha256(request_digest(request, "")).digest()[:7])


def as_drawn(images: Sequence[PILImage], text: str = "") -> Drawn:
    """Encode images as PNG, named by the digests of their bytes."""
    files = [_png(image) for image in images]
    digests = tuple(map(digest_bytes, files))
    return Drawn(digests, text, dict(zip(digests, files, strict=True)))


def _png(image: PILImage) -> bytes:
    out = io.BytesIO()
    image.convert("RGB").save(out, "PNG")
    return out.getvalue()
