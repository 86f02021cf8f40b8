"""Grounding controls: is the picture needed, and is it this picture? (MMT-Bench Appendix I.2,
Table A13)

`blind` shows no picture at all, so that text-only models can be asked too; `black` shows a black
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
from snellen.prompts.derived_images import decoded, made, rename_placeholders, unmade
from snellen.prompts.rotation import rotatable

Control = Literal["blind", "black", "blur", "wrong-image", "shuffled-options"]

_PLACE = "<image>"
"""A place for a picture that is told by its position among all such places."""


def blind(sample: Sample) -> Sample:
    """The sample without its media."""
    return replace(rename_placeholders(sample, ()), media=())


def black(sample: Sample) -> Sample:
    """The sample with black pictures in place of its images; other media are left out."""
    images = tuple(ref for ref in sample.media if ref.kind == "image")
    return replace(sample, media=tuple(map(_blackened, images)))


def blurred(sample: Sample, percent: float) -> Sample:
    """The sample with its images under a Gaussian blur whose radius is `percent` of the longer
    side; other media are left out."""
    images = tuple(ref for ref in sample.media if ref.kind == "image")
    return replace(sample, media=tuple(_blurred(ref, percent) for ref in images))


@dataclass(frozen=True, slots=True)
class Pictures:
    """The media of a benchmark's samples, for showing the wrong ones."""

    by_kind: Mapping[MediaKind, Sequence[MediaRef]]
    """Each medium once."""
    of_unit: Mapping[str, frozenset[str]]
    """Digests of the media of a unit's samples."""

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Pictures:
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

    def wrong(self, sample: Sample, seed: int) -> Sample:
        """The sample with other samples' media in place of its own: as many, each of the same
        kind, none of its own unit's and none twice. Drawn by the seed and the unit, so that all
        questions about one picture are asked about the same other one.

        Raises UsageError where there are not enough others.
        """
        unit = sample.unit or sample.id
        taken = set(self.of_unit.get(unit, ())) | {ref.digest for ref in sample.media}
        lot = random.Random(f"wrong-image:{seed}:{unit}")
        shown: list[MediaRef] = []
        for ref in sample.media:
            other = self._other(ref.kind, taken, lot)
            if other is None:
                raise UsageError(
                    f"--control wrong-image: the data hold too few other pictures for the sample "
                    f"{sample.id!r}, which has {len(sample.media)}; ask more samples, or use black"
                )
            taken.add(other.digest)
            shown.append(other)
        return replace(sample, media=tuple(shown))

    def _other(self, kind: MediaKind, taken: set[str], lot: random.Random) -> MediaRef | None:
        pool = self.by_kind.get(kind, ())
        for _ in range(4 if pool else 0):
            drawn = lot.choice(pool)
            if drawn.digest not in taken:
                return drawn
        left = [ref for ref in pool if ref.digest not in taken]
        return lot.choice(left) if left else None


def shuffled(sample: Sample, seed: int) -> Sample:
    """A multiple-choice sample whose options stand in another order, never in their own; the gold
    answer moves along. Others, and options that mean something only where they stand, stay.

    Rotations that the data hold as rows are left out: those of the new order are made instead.
    """
    labels = list(sample.options)
    fixed = not rotatable(sample.options) or any(_PLACE in one for one in sample.options.values())
    if sample.kind != "choice" or fixed:
        return sample
    order = list(labels)
    lot = random.Random(f"shuffled-options:{seed}:{sample.id}")
    while order == labels:
        lot.shuffle(order)
    place = dict(zip(order, labels, strict=True))
    return replace(
        sample,
        options={place[label]: sample.options[label] for label in order},
        gold=tuple(place.get(label, label) for label in sample.gold),
        pictures={place.get(label, label): ref for label, ref in sample.pictures.items()},
        rotations=(),
    )


def _blackened(ref: MediaRef) -> MediaRef:
    try:
        width, height = decoded(ref).size
    except MediaError as error:
        return unmade((ref,), str(error))
    return _black(width, height)


def _blurred(ref: MediaRef, percent: float) -> MediaRef:
    from PIL import ImageFilter

    try:
        picture = decoded(ref)
    except MediaError as error:
        return unmade((ref,), str(error))
    radius = percent / 100 * max(picture.size)
    return made(picture.filter(ImageFilter.GaussianBlur(radius)))


@functools.lru_cache(maxsize=256)
def _black(width: int, height: int) -> MediaRef:
    from PIL import Image

    return made(Image.new("RGB", (width, height)))
