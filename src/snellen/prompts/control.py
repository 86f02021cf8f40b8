"""Grounding controls: does the question need an image, and this image? (MMT-Bench Appendix I.2,
Table A13)

`blind` shows no image at all, so that text-only models can take part; `black` shows a black image
of the same size, for models that require one; `blur` shows the image blurred; `wrong-image` shows
another sample's image. `shuffled-options` shows the right image and reorders the options of
multiple choice.
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
from snellen.prompts.derived_images import derived_image, load_image, rename_placeholders, unavailable_image
from snellen.prompts.rotation import is_rotatable

Control = Literal["blind", "black", "blur", "wrong-image", "shuffled-options"]

_IMAGE_PLACEHOLDER = "<image>"
"""A placeholder without a number: which image it means depends on its position."""


def remove_media(sample: Sample) -> Sample:
    """Remove the sample's media, and the placeholders for them."""
    return replace(rename_placeholders(sample, ()), media=())


def blacken_images(sample: Sample) -> Sample:
    """Replace the sample's images by black ones; other media are removed."""
    images = tuple(ref for ref in sample.media if ref.kind == "image")
    return replace(sample, media=tuple(map(_blacken, images)))


def blur_images(sample: Sample, percent: float) -> Sample:
    """Blur the sample's images; other media are removed. The radius of the Gaussian is `percent` of
    the longer side."""
    images = tuple(ref for ref in sample.media if ref.kind == "image")
    return replace(sample, media=tuple(_blur(ref, percent) for ref in images))


@dataclass(frozen=True, slots=True)
class ImagePool:
    """The media of all samples of a benchmark, from which wrong ones are drawn."""

    by_kind: Mapping[MediaKind, Sequence[MediaRef]]
    """Each medium once."""
    digests_by_unit: Mapping[str, frozenset[str]]
    """Digests of the media in the samples of a unit."""

    @classmethod
    def from_samples(cls, samples: Iterable[Sample]) -> ImagePool:
        by_kind: dict[MediaKind, dict[str, MediaRef]] = defaultdict(dict)
        units: dict[str, set[str]] = defaultdict(set)
        for sample in samples:
            for ref in sample.media:
                by_kind[ref.kind].setdefault(ref.digest, ref)
                units[sample.unit or sample.id].add(ref.digest)
        return cls(
            {kind: tuple(refs.values()) for kind, refs in by_kind.items()},
            {unit: frozenset(digests) for unit, digests in units.items()},
        )

    def swap_images(self, sample: Sample, seed: int) -> Sample:
        """Replace the sample's media by other samples' media of the same kinds, each used once and
        none from the sample's own unit. The draw depends on the seed and the unit, so that all
        questions about one image get the same wrong image.

        Raises UsageError if there are too few other media.
        """
        unit = sample.unit or sample.id
        excluded = set(self.digests_by_unit.get(unit, ())) | {ref.digest for ref in sample.media}
        rng = random.Random(f"wrong-image:{seed}:{unit}")
        swapped: list[MediaRef] = []
        for ref in sample.media:
            other = self._draw_other(ref.kind, excluded, rng)
            if other is None:
                raise UsageError(
                    f"--control wrong-image: the data hold too few other images for the sample "
                    f"{sample.id!r}, which has {len(sample.media)}; ask more samples, or use black"
                )
            excluded.add(other.digest)
            swapped.append(other)
        return replace(sample, media=tuple(swapped))

    def _draw_other(self, kind: MediaKind, excluded: set[str], rng: random.Random) -> MediaRef | None:
        pool = self.by_kind.get(kind, ())
        # Nearly always one of the first draws is allowed; only if not, the pool is filtered.
        for _ in range(4 if pool else 0):
            other = rng.choice(pool)
            if other.digest not in excluded:
                return other
        remaining = [ref for ref in pool if ref.digest not in excluded]
        return rng.choice(remaining) if remaining else None


def shuffle_options(sample: Sample, seed: int) -> Sample:
    """Reorder the options of a multiple-choice sample, never into their own order; the gold answer
    moves with its option.

    Other kinds of samples do not change, nor do options whose meaning depends on their position.
    Rotations that are rows of the data are dropped, since rotations of the new order are built
    instead.
    """
    labels = list(sample.options)
    fixed = not is_rotatable(sample.options) or any(_IMAGE_PLACEHOLDER in text for text in sample.options.values())
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
        option_images={new_label.get(label, label): ref for label, ref in sample.option_images.items()},
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
        image = load_image(ref)
    except MediaError as error:
        return unavailable_image((ref,), str(error))
    radius = percent / 100 * max(image.size)
    return derived_image(image.filter(ImageFilter.GaussianBlur(radius)))


@functools.lru_cache(maxsize=256)
def _black_image(width: int, height: int) -> MediaRef:
    from PIL import Image

    return derived_image(Image.new("RGB", (width, height)))
