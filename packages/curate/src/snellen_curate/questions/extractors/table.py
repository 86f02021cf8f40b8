"""Extractors by name: those that come with Snellen, those of plug-ins, and any model."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Annotated

from msgspec import Meta, Struct

from snellen.core.entry_points import load_entry_point, plugin_entry_points
from snellen.core.errors import UsageError
from snellen.core.record import Steps
from snellen.core.request import Generation, Media, Text, user
from snellen_curate.asking import ask_json
from snellen_curate.questions.extraction import (
    ASPECTS,
    Aspect,
    Box,
    Extractor,
    Instance,
    RegionText,
    View,
    VisualFacts,
    clip_box,
    only,
)
from snellen_curate.questions.extractors.local_models import open_pipeline, open_rapidocr
from snellen_curate.questions.extractors.recorded import open_recorded
from snellen_curate.questions.writing import prompt_texts

DEFAULT_ASPECTS: frozenset[Aspect] = frozenset({"caption", "instances", "attributes", "dense", "text"})
_SETTINGS = Generation(max_new_tokens=2048)
_SCALE = 1000.0
"""Models are asked for boxes in thousandths of width and height, as most are trained to give."""

_Edges = Annotated[list[float], Meta(min_length=4, max_length=4)]


class _SeenInstance(Struct, frozen=True):
    label: str
    box: _Edges | None = None
    attributes: list[str] = []


class _SeenText(Struct, frozen=True):
    text: str
    box: _Edges | None = None


class SeenImage(Struct, frozen=True):
    """What a model is asked to reply."""

    caption: str = ""
    instances: list[_SeenInstance] = []
    regions: list[_SeenText] = []
    text: list[_SeenText] = []


class PromptedExtractor(Extractor):
    """One request for all aspects of an image."""

    def find(self, view: View, aspects: frozenset[Aspect], role: str) -> Steps[VisualFacts]:
        """What the model sees. Raises NotJson and AskFailed."""
        message = user(Media("image", view.ref.digest), Text(extraction_prompt(aspects)))
        seen = yield from ask_json(
            role, [message], SeenImage, view.image, media={view.ref.digest: view.ref.source}, settings=_SETTINGS
        )
        return only(_extraction(seen, view), aspects)


def extraction_prompt(aspects: Collection[Aspect]) -> str:
    """The instruction for these aspects, by `prompts.toml`."""
    texts = prompt_texts().extraction
    keys = [texts[aspect] for aspect in ("caption", "instances", "dense", "text") if aspect in aspects]
    attributes = texts["attributes"] if "attributes" in aspects else ""
    return "\n".join(filter(None, (texts["lead"], *keys, attributes, texts["end"])))


def _extraction(seen: SeenImage, view: View) -> VisualFacts:
    """The reply with boxes in pixels; what has no text or label is left out."""

    def pixels(box: list[float] | None) -> Box | None:
        if box is None:
            return None
        width, height = view.width / _SCALE, view.height / _SCALE
        edges = (box[0] * width, box[1] * height, box[2] * width, box[3] * height)
        return clip_box(edges, view.width, view.height)

    def regions(lines: list[_SeenText]) -> tuple[RegionText, ...]:
        return tuple(RegionText(line.text.strip(), pixels(line.box)) for line in lines if line.text.strip())

    return VisualFacts(
        view.width,
        view.height,
        (seen.caption.strip(),) if seen.caption.strip() else (),
        tuple(
            Instance(one.label.strip(), pixels(one.box), tuple(one.attributes))
            for one in seen.instances
            if one.label.strip()
        ),
        regions(seen.regions),
        regions(seen.text),
    )


ENTRY_POINTS = "snellen.extractors"

OpenExtractor = Callable[[str, frozenset[Aspect]], Extractor]
EXTRACTORS: Mapping[str, OpenExtractor] = {"pipeline": open_pipeline, "rapidocr": open_rapidocr, "file": open_recorded}
_SPEC = re.compile(rf"((?:all|{'|'.join(ASPECTS)})(?:,(?:{'|'.join(ASPECTS)}))*)=(.+)", re.DOTALL)


def open_extractor(spec: str) -> Extractor:
    """Open `[ASPECT,...=]KIND[:ARGUMENT]`, e.g. `text=rapidocr`,
    `caption=pipeline:image-to-text@MODEL`, `file:extractions.jsonl`; any other name is that of a
    model, which is asked. Raises UsageError."""
    match = _SPEC.fullmatch(spec)
    # `all` leaves the aspects to the extractor.
    named = match[1].split(",") if match and match[1] != "all" else ()
    aspects, name = frozenset(aspect for aspect in ASPECTS if aspect in named), match[2] if match else spec
    kind, _, argument = name.partition(":")
    if kind in EXTRACTORS:
        return EXTRACTORS[kind](argument, aspects)
    plugin = plugin_entry_points(ENTRY_POINTS).get(kind)
    if plugin is not None:
        made: Extractor = load_entry_point(plugin)(argument, aspects)
        return made
    if "labels" in aspects:
        raise UsageError(f"{spec}: a model names the instances that it finds; give instances={name}")
    return PromptedExtractor(name=name, aspects=aspects or DEFAULT_ASPECTS, model=name)
