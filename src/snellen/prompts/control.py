"""Blind controls: is the picture needed? (MMT-Bench Appendix I.2, Table A13)

`blind` shows no picture at all, so that text-only models can be asked too; `black` shows a black
picture of the same size, for models that must have one.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Literal

from snellen.core.errors import MediaError
from snellen.core.sample import MediaRef, Sample
from snellen.prompts.made import decoded, made, rename_placeholders, unmade

Control = Literal["blind", "black"]


def controlled(sample: Sample, control: Control) -> Sample:
    """The sample as the control shows it."""
    return blind(sample) if control == "blind" else black(sample)


def blind(sample: Sample) -> Sample:
    """The sample without its media."""
    return replace(rename_placeholders(sample, ()), media=())


def black(sample: Sample) -> Sample:
    """The sample with black pictures in place of its images; other media are left out."""
    images = tuple(ref for ref in sample.media if ref.kind == "image")
    return replace(sample, media=tuple(map(_blackened, images)))


def _blackened(ref: MediaRef) -> MediaRef:
    try:
        width, height = decoded(ref).size
    except MediaError as error:
        return unmade((ref,), str(error))
    return _black(width, height)


@functools.lru_cache(maxsize=256)
def _black(width: int, height: int) -> MediaRef:
    from PIL import Image

    return made(Image.new("RGB", (width, height)))
