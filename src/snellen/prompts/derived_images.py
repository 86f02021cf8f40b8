"""Pictures made of others right before a question is asked: stitched, boxed or black.

A made picture is a medium of its own, named by the hash of its own bytes. The bytes are PNG and
the same each time for the same pictures and the same version of Pillow.
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
    from PIL.Image import Image as Picture

_PLACEHOLDER = re.compile(r"<image ?(\d*)>")


@dataclass(frozen=True, slots=True)
class UnavailableImage:
    """In place of a picture that could not be made: reading it fails its sample, typed."""

    problem: str

    def read(self) -> bytes:
        raise MediaError(self.problem)


def load_image(ref: MediaRef) -> Picture:
    """The picture in RGB, upright. Raises MediaError."""
    return decode_image(ref.source.read(), max_image_pixels())


def derived_image(image: Picture) -> MediaRef:
    """A drawn picture as a medium."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=6)
    data = buffer.getvalue()
    return MediaRef(digest_bytes(data), InlineSource(data))


def unavailable_image(refs: Sequence[MediaRef], problem: str) -> MediaRef:
    """A medium that fails when read, named after the pictures it would have been made of."""
    joined = ":".join(("unmade", *(ref.digest for ref in refs)))
    return MediaRef(hashlib.sha256(joined.encode()).hexdigest(), UnavailableImage(problem))


def rename_placeholders(sample: Sample, names: Sequence[str]) -> Sample:
    """Texts whose `<image>` and `<image 2>` are replaced by words, for pictures that no longer
    stand there. Placeholders are counted through question, hint and options."""
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
