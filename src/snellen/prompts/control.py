"""Grounding controls: is the picture needed, and is it this picture? (MMT-Bench Appendix I.2,
Table A13)

`remove_media` shows no picture at all, so that text-only models can be asked too; `blacken_images` shows a black
picture of the same size, for models that must have one; `blur` shows the picture blurred;
`wrong-image` shows another sample's picture. `shuffled-options` shows the right picture and puts
the options of multiple choice into another order.
"""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from snellen.core.errors import MediaError, UsageError
from snellen.core.media import MediaKind
from snellen.core.sample import MediaRef, Sample
from snellen.prompts.derived_images import (
    derived_image,
    load_image,
    rename_placeholders,
    unavailable_image,
)
from snellen.prompts.rotation import is_rotatable

Control = Literal["blind", "black", "blur", "wrong-image", "shuffled-options"]

_IMAGE_PLACEHOLDER = "<image>"
"""A place for a picture that is told by its position among all such places."""


def remove_media(sample: Sample) -> Sample:
    """The sample without its media."""
    return replace(rename_placeholders(sample, ()), media=())


def blacken_images(sample: Sample) -> Sample:
    """The sample with black pictures in place of its images; other media are left out."""
    images = tuple(ref for ref in sample.media if ref.kind == "image")
    return replace(sample, media=tuple(map(_blacken, images)))


def blur_images(sample: Sample, percent: float) -> Sample:
    """The sample with its images under a Gaussian blur whose radius is `percent` of the longer
    side; other media are left out."""
    images = tuple(ref for ref in sample.media if ref.kind == "image")
    return replace(sample, media=tuple(_blur(ref, percent) for ref in images))


@dataclass(frozen=True, slots=True)
class ImagePool:
    """The media of a benchmark's samples, for showing the wrong ones."""

    by_kind: Mapping[MediaKind, Sequence[MediaRef]]
    """Each medium once."""
    digests_by_unit: Mapping[str, frozenset[str]]
    """Digests of the media of a unit's samples."""

    @classmethod
    def from_samples(cls, samples: Iterable[Sample]) -> ImagePool:
        found: dict[MediaKind, dict[str, MediaRef]] = defaultdict(dict)
        units: dict[str, set[str]] = defaultdict(set)
        for sample in samples:
            for ref in sample.media:
                found[ref.kind].setdefault(ref.digest, ref)
                units[sample.unit or sample.id].add(ref.digest)
        return cls(
            {kind: tuple(refs.values()) for kind, refs in found.items()},
            {unit: frozenset(digests) for unit, digests in units.items()},
        )

    def swap_images(self, sample: Sample, seed: int) -> Sample:
        """The sample with other samples' media in place of its own: as many, each of the same
        kind, none of its own unit's and none twice. Drawn by the seed and the unit, so that all
        questions about one picture are asked about the same other one.

        Raises UsageError where there are not enough others.
        """
        unit = sample.unit or sample.id
        excluded = set(self.digests_by_unit.get(unit, ())) | {ref.digest for ref in sample.media}
        rng = random.Random(f"wrong-image:{seed}:{unit}")
        swapped: list[MediaRef] = []
        for ref in sample.media:
            other = self._draw_other(ref.kind, excluded, rng)
            if other is None:
                raise UsageError(
                    f"--control wrong-image: the data hold too few other pictures for the sample "
                    f"{sample.id!r}, which has {len(sample.media)}; ask more samples, or use black"
                )
            excluded.add(other.digest)
            swapped.append(other)
        return replace(sample, media=tuple(swapped))

    def _draw_other(
        self, kind: MediaKind, excluded: set[str], rng: random.Random
    ) -> MediaRef | None:
        pool = self.by_kind.get(kind, ())
        for _ in range(4 if pool else 0):
            drawn = rng.choice(pool)
            if drawn.digest not in excluded:
                return drawn
        left = [ref for ref in pool if ref.digest not in excluded]
        return rng.choice(left) if left else None


def shuffle_options(sample: Sample, seed: int) -> Sample:
    """A multiple-choice sample whose options stand in another order, never in their own; the gold
    answer moves along. Others, and options that mean something only where they stand, stay.

    Rotations that the data hold as rows are left out: those of the new order are made instead.
    """
    labels = list(sample.options)
    fixed = not is_rotatable(sample.options) or any(
        _IMAGE_PLACEHOLDER in one for one in sample.options.values()
    )
    if sample.kind != "choice" or fixed:
        return sample
    order = list(labels)
    rng = random.Random(f"shuffled-options:{seed}:{sample.id}")
    while order == labels:
        rng.shuffle(order)
    new_label = dict(zip(order, labels, strict=True))
    return replace(
        sample,
        options={new_label[label]: sample.options[label] for label in order},
        gold=tuple(new_label.get(label, label) for label in sample.gold),
        option_images={
            new_label.get(label, label): ref for label, ref in sample.option_images.items()
        },
        rotations=(),
    )


def _blacken(ref: MediaRef) -> MediaRef:
    try:
        width, height = load_image(ref).size
    except MediaError as error:
        return unavailable_image((ref,), str(error))
    return _black_image(width, height)


def _blur(ref: MediaRef, percent: float) -> MediaRef:
    from PIL import ImageFilter

    try:
        picture = load_image(ref)
    except MediaError as error:
        return unavailable_image((ref,), str(error))
    radius = percent / 100 * max(picture.size)
    return derived_image(picture.filter(ImageFilter.GaussianBlur(radius)))


@functools.lru_cache(maxsize=256)
def _black_image(width: int, height: int) -> MediaRef:
    from PIL import Image

    return derived_image(Image.new("RGB", (width, height)))
