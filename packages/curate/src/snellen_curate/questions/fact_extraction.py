"""Extract the facts of one image or video: all extractors, with the rules between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as replace_struct

from snellen.core.errors import MediaError
from snellen.core.record import Steps
from snellen.core.sample import MediaRef
from snellen.data.media.frame_sampling import FrameSampling
from snellen.data.media.frames import extract_frames
from snellen.data.media.video import video_facts
from snellen.data_sets.decisions import Exclusion
from snellen.settings import Settings
from snellen_curate.questions.extraction import (
    ASPECTS,
    Aspect,
    Extractor,
    Moment,
    RegionText,
    View,
    VisualFacts,
    read_size,
)
from snellen_curate.questions.records import RecordedExtractor
from snellen_curate.questions.rules import FEW_NOUNS, TOO_LONG, check_noun_count, find_nouns
from snellen_curate.questions.sources import SourceMedium

CAPTION_EVERY = 1.0
DENSE_EVERY = 5.0
"""Seconds of a video between two captions, and of each part whose regions are described
(Sec. 3.3.1)."""
_FRAME_EDGE = 1024


@dataclass(frozen=True, slots=True)
class FactExtraction:
    """The extractors by role, and the limits of what they are asked about."""

    extractors: Mapping[str, Extractor]
    min_nouns: int
    max_seconds: float

    def extract(self, image: SourceMedium) -> Steps[VisualFacts | Exclusion]:
        """All that the extractors find, or why they were not asked further.

        Raises MediaError if the image cannot be read, NotJson and AskFailed.
        """
        return self._video(image) if image.kind == "video" else self._image(image)

    def _image(self, image: SourceMedium) -> Steps[VisualFacts | Exclusion]:
        width, height = read_size(image.medium)
        view = View(image=image.id, ref=image.medium, width=width, height=height)
        found = VisualFacts(width, height, captions=image.captions)
        if image.captions:
            found = found.with_sources(["caption"], "manifest")
        # The captions decide first whether the image is rich enough for the other extractors.
        asked: set[str] = set()
        found = yield from self._find(view, found, ("caption",), asked)
        reason = check_noun_count(found.captions, self.min_nouns)
        if reason:
            return Exclusion(FEW_NOUNS, reason)
        return (yield from self._find(view, found, ASPECTS[1:], asked))

    def _find(
        self,
        view: View,
        found: VisualFacts,
        wanted: Sequence[Aspect],
        asked: set[str],
        allowed: Sequence[Aspect] = ASPECTS,
    ) -> Steps[VisualFacts]:
        """Ask for these aspects in the order of what builds on what: captions, instances, their
        labels and attributes, regions, text. `asked` are the extractors that find all at once and
        were asked already, and `allowed` all that they are asked for."""
        for aspect in wanted:
            for role, extractor in self.extractors.items():
                if role in asked or aspect not in extractor.aspects:
                    continue
                aspects = frozenset({aspect})
                if extractor.at_once:
                    asked.add(role)
                    aspects = extractor.aspects & {*allowed}
                # Nouns of the captions stand for the tags of Tag2Text.
                nouns = dict.fromkeys(noun.lower() for caption in found.captions for noun in find_nouns(caption))
                view = replace(view, words=tuple(nouns), instances=found.instances)
                more = yield from extractor.find(view, aspects, role)
                found = _merge(found, more, aspects, extractor.name)
        return found

    def _video(self, image: SourceMedium) -> Steps[VisualFacts | Exclusion]:
        """A caption of each second's frame, and the regions of each five seconds' middle frame."""
        seconds, size = video_length(image.medium)
        if seconds > self.max_seconds:
            return Exclusion(TOO_LONG, f"the video has {seconds:.1f} s, more than {self.max_seconds:g} s")
        found = VisualFacts(*size, captions=image.captions)
        for role, extractor in self.extractors.items():
            if isinstance(extractor, RecordedExtractor):
                view = View(image=image.id, ref=image.medium, width=size[0], height=size[1])
                recorded = yield from extractor.find(view, extractor.aspects, role)
                found = found.join(recorded.with_sources(extractor.aspects, extractor.name))
        starts = _interval_starts(seconds, CAPTION_EVERY)
        for start, ref in zip(starts, sample_video(image.medium, starts), strict=True):
            frame = yield from self._frame(image, ref, start, ("caption",))
            found = _with_moment(found, frame, start, min(start + CAPTION_EVERY, seconds))
        parts = _interval_starts(seconds, DENSE_EVERY)
        middles = [(start + min(start + DENSE_EVERY, seconds)) / 2 for start in parts]
        for start, ref in zip(parts, sample_video(image.medium, middles), strict=True):
            frame = yield from self._frame(image, ref, start, ("instances", "labels", "attributes", "dense"))
            found = _with_moment(found, frame, start, min(start + DENSE_EVERY, seconds))
        ordered = sorted(found.moments, key=lambda one: (one.start, one.end))
        return replace_struct(found, moments=tuple(ordered))

    def _frame(
        self, image: SourceMedium, ref: MediaRef, second: float, aspects: Sequence[Aspect]
    ) -> Steps[VisualFacts]:
        """What the extractors find in one frame, of these aspects."""
        roles = {
            role
            for role, one in self.extractors.items()
            if not isinstance(one, RecordedExtractor) and one.aspects & {*aspects}
        }
        if not roles:
            return VisualFacts()
        width, height = read_size(ref)
        view = View(image=image.id, ref=ref, width=width, height=height, second=second)
        others = {*self.extractors} - roles
        return (yield from self._find(view, VisualFacts(), aspects, others, aspects))


def _merge(found: VisualFacts, more: VisualFacts, aspects: Iterable[str], name: str) -> VisualFacts:
    """What was found before, and what an extractor adds. One that labels instances, or describes
    them, returns them all again, in place of the others."""
    names = {*aspects}
    if more.instances and names & {"labels", "attributes"} and "instances" not in names:
        found = replace_struct(found, instances=())
    return found.join(more).with_sources(sorted(names), name)


def _with_moment(found: VisualFacts, frame: VisualFacts, start: float, end: float) -> VisualFacts:
    """Add what a frame shows as a moment of the video; instances become descriptions."""
    named = [one for one in frame.instances if one.label]
    dense = (*frame.dense, *(RegionText(" ".join((*one.attributes, one.label)), one.box) for one in named))
    if not frame.captions and not dense:
        return found
    moment = Moment(start, end, frame.captions, dense)
    sources = tuple(dict.fromkeys((*found.sources, *frame.sources)))
    return replace_struct(found, moments=(*found.moments, moment), sources=sources)


def video_length(ref: MediaRef) -> tuple[float, tuple[int, int]]:
    """Seconds and size of a video, or of the clip of it that a manifest names. Raises
    MediaError."""
    path = getattr(ref.source, "path", "")
    facts = video_facts(path or ref.source.read(), path or "the video")
    start = getattr(ref.source, "start", None) or 0.0
    end = min(getattr(ref.source, "end", None) or facts.duration, facts.duration)
    if end <= start:
        raise MediaError(f"{path or 'the video'} has no length between {start:g} s and {end:g} s")
    return end - start, (facts.width, facts.height)


def _interval_starts(seconds: float, every: float) -> list[float]:
    """0, every, 2 x every, ... before the end."""
    return [number * every for number in range(max(1, math.ceil(seconds / every - 1e-6)))]


def sample_video(ref: MediaRef, times: Sequence[float]) -> list[MediaRef]:
    """The frames at these moments. Raises MediaError, StorageError, MissingExtra."""
    sampling = FrameSampling(count=len(times), times=tuple(times), edge=_FRAME_EDGE)
    cache = Settings.from_environment().cache
    return [frame.ref for frame in extract_frames(ref, sampling, cache)]
