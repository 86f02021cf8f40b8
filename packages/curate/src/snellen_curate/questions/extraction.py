"""What is to be seen in an image or video, as text: captions, instances, descriptions of regions,
and text in the image (SEED-Bench-H, Sec. 3.4.1.1); and what an extractor is, which finds it.

Boxes are in pixels of the image: left, top, right, bottom, from the top left corner.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from snellen.core.errors import MediaError
from snellen.core.media import InlineSource, decode_image, digest_bytes
from snellen.core.model import AnyModel
from snellen.core.record import Steps
from snellen.core.sample import MediaRef
from snellen.settings import max_image_pixels

Aspect = Literal["caption", "instances", "labels", "attributes", "dense", "text"]
"""What an extractor finds: a caption of the whole image, instances with boxes, labels of segments
that have none, attributes of instances, a description of each region, the text in the image."""
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)

Box = tuple[float, float, float, float]


class Instance(Struct, frozen=True, omit_defaults=True):
    """Something that a detector or a segmenter found. Without a label it is a segment."""

    label: str = ""
    box: Box | None = None
    attributes: tuple[str, ...] = ()
    score: float | None = None


class RegionText(Struct, frozen=True, omit_defaults=True):
    """A description of a region, or a line of text that stands there."""

    text: str
    box: Box | None = None
    score: float | None = None


class Moment(Struct, frozen=True, omit_defaults=True):
    """What a video shows around a moment: a caption for each second, and for every five seconds
    descriptions with boxes (Sec. 3.3.1)."""

    start: float
    """Seconds from the beginning."""
    end: float
    captions: tuple[str, ...] = ()
    dense: tuple[RegionText, ...] = ()


class AspectSource(Struct, frozen=True, omit_defaults=True):
    """Who found an aspect."""

    aspect: str
    extractor: str


class VisualFacts(Struct, frozen=True, omit_defaults=True):
    """All that extractors found in one image or video."""

    width: int = 0
    height: int = 0
    captions: tuple[str, ...] = ()
    instances: tuple[Instance, ...] = ()
    dense: tuple[RegionText, ...] = ()
    texts: tuple[RegionText, ...] = ()
    moments: tuple[Moment, ...] = ()
    """Of videos alone."""
    sources: tuple[AspectSource, ...] = ()

    def join(self, other: VisualFacts) -> VisualFacts:
        """Both extractions; captions that are equal stand once."""
        return VisualFacts(
            self.width or other.width,
            self.height or other.height,
            tuple(dict.fromkeys((*self.captions, *other.captions))),
            (*self.instances, *other.instances),
            (*self.dense, *other.dense),
            (*self.texts, *other.texts),
            (*self.moments, *other.moments),
            (*self.sources, *other.sources),
        )

    def with_sources(self, aspects: Iterable[str], extractor: str) -> VisualFacts:
        """The same with the extractor that found these aspects."""
        found = tuple(AspectSource(aspect, extractor) for aspect in aspects)
        return replace(self, sources=(*self.sources, *found))

    def has(self, need: str) -> bool:
        """Whether it has what a dimension needs: an aspect, `moments`, `pair` (two instances), or
        `seconds` (captions of several moments)."""
        return NEEDS[need](self)


NEEDS: Mapping[str, Callable[[VisualFacts], bool]] = {
    "caption": lambda facts: bool(facts.captions),
    "instances": lambda facts: any(instance.label for instance in facts.instances),
    "pair": lambda facts: sum(bool(instance.label) for instance in facts.instances) > 1,
    "attributes": lambda facts: any(instance.attributes for instance in facts.instances) or bool(facts.dense),
    "dense": lambda facts: bool(facts.dense),
    "text": lambda facts: bool(facts.texts),
    "moments": lambda facts: len({moment.start for moment in facts.moments}) > 1,
}
"""What a dimension may need, and whether facts have it."""


def describe(extraction: VisualFacts) -> str:
    """The extraction as the lines that a language model reads in place of the image."""
    return "\n".join(_lines(extraction))


def _lines(extraction: VisualFacts) -> Iterator[str]:
    """A heading and a list for each aspect that was found; a video's moments in order."""
    if extraction.width:
        yield f"Size: {extraction.width} x {extraction.height} pixels."
    if extraction.captions:
        yield "Captions:"
        yield from (f"- {caption}" for caption in extraction.captions)
    labelled = [instance for instance in extraction.instances if instance.label]
    if labelled:
        yield "Instances, with box [left, top, right, bottom] in pixels and attributes:"
        for instance in labelled:
            attributes = f": {', '.join(instance.attributes)}" if instance.attributes else ""
            yield f"- {instance.label}{_box(instance.box)}{attributes}"
    if extraction.dense:
        yield "Descriptions of regions:"
        yield from (f"- {region.text}{_box(region.box)}" for region in extraction.dense)
    if extraction.texts:
        yield "Text in the picture:"
        yield from (f'- "{line.text}"{_box(line.box)}' for line in extraction.texts)
    for moment in extraction.moments:
        yield from _moment_lines(moment)


def _moment_lines(moment: Moment) -> Iterator[str]:
    """A second's caption as one line, the regions of five seconds below their time."""
    span = f"{moment.start:g} s" if not moment.dense else f"{moment.start:g} to {moment.end:g} s"
    for caption in moment.captions:
        yield f"{span}: {caption}"
    if moment.dense:
        regions = "; ".join(f"{region.text}{_box(region.box)}" for region in moment.dense)
        yield f"{span}, regions: {regions}"


def _box(box: Box | None) -> str:
    return "" if box is None else f" [{', '.join(f'{edge:.0f}' for edge in box)}]"


_MIN_CROP = 8
"""Pixels that a crop is wide and high at least: smaller segments show nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """An image, or a frame of a video, and what is known of it so far."""

    image: str
    """Id of the image or video."""
    ref: MediaRef
    width: int
    height: int
    second: float | None = None
    """When the frame was taken; None for an image."""
    words: tuple[str, ...] = ()
    """Nouns of the captions: what may be in it."""
    instances: tuple[Instance, ...] = ()
    """Instances that were found before."""

    def crops(self, most: int) -> Iterator[tuple[Instance, MediaRef]]:
        """The largest instances with a box, each as an image of its own."""
        boxed = [(instance, instance.box) for instance in self.instances if instance.box is not None]
        boxed.sort(key=lambda pair: (pair[1][2] - pair[1][0]) * (pair[1][1] - pair[1][3]))
        image = decode_image(self.ref.source.read(), max_image_pixels())
        for instance, box in boxed[:most]:
            edges = clip_box(box, self.width, self.height)
            if edges[2] - edges[0] < _MIN_CROP or edges[3] - edges[1] < _MIN_CROP:
                continue
            out = io.BytesIO()
            image.crop((int(edges[0]), int(edges[1]), int(edges[2]), int(edges[3]))).save(out, "PNG")
            data = out.getvalue()
            yield instance, MediaRef(digest_bytes(data), InlineSource(data))


@dataclass(frozen=True, kw_only=True)
class Extractor:
    """Finds some aspects of what is to be seen.

    A plug-in is an entry point of the group `snellen.extractors`: a function of what stands behind
    the colon, and of the aspects that the user wants (empty: whatever it finds), that returns one.
    """

    name: str
    """As the user wrote it."""
    aspects: frozenset[Aspect]
    """What it finds."""
    model: AnyModel | None = None
    """The model that `find` asks; None if it asks none."""
    at_once: bool = True
    """Whether one call of `find` finds all aspects. If not, each has a call of its own, once what
    it builds on is known: the instances before their labels."""

    def find(self, view: View, aspects: frozenset[Aspect], role: str) -> Steps[VisualFacts]:
        """Find these aspects, asking the model as `role`. Raises MediaError and AskFailed."""
        raise NotImplementedError


def clip_box(box: Sequence[float], width: int, height: int) -> Box:
    """A box with its corners in order and inside the image."""
    left, right = sorted((box[0], box[2]))
    top, bottom = sorted((box[1], box[3]))
    return (
        min(max(left, 0.0), width),
        min(max(top, 0.0), height),
        min(max(right, 0.0), width),
        min(max(bottom, 0.0), height),
    )


def read_size(ref: MediaRef) -> tuple[int, int]:
    """Width and height of an image that can be decoded. Raises MediaError."""
    image = decode_image(ref.source.read(), max_image_pixels())
    if min(image.size) < 1:
        raise MediaError("the picture has no pixels")
    return image.size


def only(extraction: VisualFacts, aspects: Collection[str]) -> VisualFacts:
    """The extraction without what was not asked for."""
    return replace(
        extraction,
        captions=extraction.captions if "caption" in aspects else (),
        instances=extraction.instances if {"instances", "labels", "attributes"} & {*aspects} else (),
        dense=extraction.dense if "dense" in aspects else (),
        texts=extraction.texts if "text" in aspects else (),
    )
