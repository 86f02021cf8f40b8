"""What an extractor is, and what it is shown."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from snellen.core.errors import MediaError
from snellen.core.flow import Steps
from snellen.core.media import InlineSource, decode_image, digest_bytes
from snellen.core.model import AnyModel
from snellen.core.sample import MediaRef
from snellen.curate.questions.extraction import Aspect, Box, Instance, VisualFacts
from snellen.settings import max_image_pixels

_MIN_CROP = 8
"""Pixels that a crop is wide and high at least: smaller segments show nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A picture, or a frame of a video, and what is known of it so far."""

    picture: str
    """Id of the picture or video."""
    ref: MediaRef
    width: int
    height: int
    second: float | None = None
    """When the frame was taken; None for a picture."""
    words: tuple[str, ...] = ()
    """Nouns of the captions: what may be in it."""
    instances: tuple[Instance, ...] = ()
    """Instances that were found before."""

    def crops(self, most: int) -> Iterator[tuple[Instance, MediaRef]]:
        """The largest instances with a box, each as a picture of its own."""
        boxed = [instance for instance in self.instances if instance.box is not None]
        largest = sorted(boxed, key=lambda instance: -_area(instance.box or (0, 0, 0, 0)))[:most]
        image = decode_image(self.ref.source.read(), max_image_pixels())
        for instance in largest:
            assert instance.box is not None
            edges = clip_box(instance.box, self.width, self.height)
            if edges[2] - edges[0] < _MIN_CROP or edges[3] - edges[1] < _MIN_CROP:
                continue
            out = io.BytesIO()
            image.crop((int(edges[0]), int(edges[1]), int(edges[2]), int(edges[3]))).save(
                out, "PNG"
            )
            data = out.getvalue()
            yield instance, MediaRef(digest_bytes(data), InlineSource(data))


class Extractor(Protocol):
    """Finds some aspects of what is to be seen.

    A plug-in is an entry point of the group `snellen.extractors`: a function of what stands behind
    the colon, and of the aspects that the user wants (empty: whatever it finds), that returns one.
    """

    @property
    def name(self) -> str:
        """As the user wrote it."""
        ...

    @property
    def aspects(self) -> frozenset[Aspect]:
        """What it finds."""
        ...

    @property
    def at_once(self) -> bool:
        """Whether one call of `find` finds all aspects. If not, each has a call of its own, once
        what it builds on is known: the instances before their labels."""
        ...

    @property
    def model(self) -> AnyModel | None:
        """The model that `find` asks; None if it asks none."""
        ...

    def find(self, view: View, aspects: frozenset[Aspect], role: str) -> Steps[VisualFacts]:
        """Find these aspects, asking the model as `role`. Raises MediaError and AskFailed."""
        ...


def clip_box(box: Sequence[float], width: int, height: int) -> Box:
    """A box with its corners in order and inside the picture."""
    left, right = sorted((box[0], box[2]))
    top, bottom = sorted((box[1], box[3]))
    return (
        min(max(left, 0.0), width),
        min(max(top, 0.0), height),
        min(max(right, 0.0), width),
        min(max(bottom, 0.0), height),
    )


def read_size(ref: MediaRef) -> tuple[int, int]:
    """Width and height of a picture that can be decoded. Raises MediaError."""
    image = decode_image(ref.source.read(), max_image_pixels())
    if min(image.size) < 1:
        raise MediaError("the picture has no pixels")
    return image.size


def only(extraction: VisualFacts, aspects: Collection[str]) -> VisualFacts:
    """The extraction without what was not asked for."""
    return VisualFacts(
        extraction.width,
        extraction.height,
        extraction.captions if "caption" in aspects else (),
        extraction.instances if {"instances", "labels", "attributes"} & {*aspects} else (),
        extraction.dense if "dense" in aspects else (),
        extraction.texts if "text" in aspects else (),
        extraction.moments,
        extraction.sources,
    )


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
