"""What backends that draw have in common: seeds, and pictures as outputs."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal

from snellen.core.media import digest_bytes
from snellen.core.output import Drawn
from snellen.core.request import Draw, Drawing, request_digest

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

DrawingSetting = Literal["size", "steps", "guidance", "seed"]


def requested_settings(settings: Drawing) -> list[DrawingSetting]:
    """What a request asks for beyond the model's own ways of drawing."""
    requested: dict[DrawingSetting, bool] = {
        "size": settings.width is not None or settings.height is not None,
        "steps": settings.steps is not None,
        "guidance": settings.guidance is not None,
        "seed": settings.seed != 0,
    }
    return [name for name, given in requested.items() if given]


def unsupported_settings(
    settings: Drawing, subject: str, supported: Collection[DrawingSetting]
) -> str | None:
    """One sentence on what a request asks for and `subject` cannot do, or None: nothing that was
    asked for is ignored."""
    unsupported = [name for name in requested_settings(settings) if name not in supported]
    if not unsupported:
        return None
    return f"{subject} draws without a choice of {' and '.join(unsupported)}; leave it out"


def request_seed(request: Draw) -> int:
    """A seed of the request's own, made of its settings' seed and everything else that can change
    the picture: neighbours, order and restarts change nothing."""
    return int.from_bytes(hashlib.sha256(request_digest(request, "")).digest()[:7])


def as_drawn(images: Sequence[Picture], text: str = "") -> Drawn:
    """Pictures as PNG, named by their bytes."""
    data = [_png(picture) for picture in images]
    names = tuple(digest_bytes(one) for one in data)
    return Drawn(names, text, dict(zip(names, data, strict=True)))


def _png(image: Picture) -> bytes:
    out = io.BytesIO()
    image.convert("RGB").save(out, "PNG")
    return out.getvalue()
