"""Images derived from others just before a question is asked: stitched, with boxes, or black.

A derived image is a medium like any other, named by the hash of its bytes. The bytes are PNG, and
equal for equal images and versions of Pillow.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from snellen.core.errors import MediaError
from snellen.core.media import InlineSource, decode_image, digest_bytes
from snellen.core.sample import MediaRef, Sample
from snellen.settings import max_image_pixels

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_PLACEHOLDER = re.compile(r"<image ?(\d*)>")


@dataclass(frozen=True, slots=True)
class UnavailableImage:
    """Stands in for an image that could not be derived: reading it raises MediaError, which fails
    its sample."""

    problem: str

    def read(self) -> bytes:
        raise MediaError(self.problem)


def load_image(ref: MediaRef) -> PILImage:
    """Decode the image to RGB, upright. Raises MediaError."""
    return decode_image(ref.source.read(), max_image_pixels())


def derived_image(image: PILImage) -> MediaRef:
    """A medium of its own for `image`."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=6)
    data = buffer.getvalue()
    return MediaRef(digest_bytes(data), InlineSource(data))


def unavailable_image(refs: Sequence[MediaRef], problem: str) -> MediaRef:
    """A medium that fails when it is read, with a digest derived from `refs`."""
    name = ":".join(("unmade", *(ref.digest for ref in refs)))
    return MediaRef(hashlib.sha256(name.encode()).hexdigest(), UnavailableImage(problem))


def rename_placeholders(sample: Sample, names: Sequence[str]) -> Sample:
    """Replace the placeholders `<image>` and `<image 2>` by names, for images that are no longer
    there. Placeholders are counted through question, hint and options."""
    texts = (sample.question, sample.hint, *sample.options.values())
    if not any("<image" in text for text in texts):
        return sample
    seen = 0

    def new_name(match: re.Match[str]) -> str:
        nonlocal seen
        position = int(match[1]) - 1 if match[1] else seen
        seen += 1
        return names[position] if 0 <= position < len(names) else ""

    question, hint, *options = (_PLACEHOLDER.sub(new_name, text) for text in texts)
    renamed = dict(zip(sample.options.values(), options, strict=True))
    return replace(
        sample,
        question=question.strip(),
        hint=hint.strip(),
        options={label: renamed[text] for label, text in sample.options.items()},
        rotations=tuple(
            replace(turn, options={k: renamed.get(text, text) for k, text in turn.options.items()})
            for turn in sample.rotations
        ),
    )
