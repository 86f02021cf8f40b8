"""Any multimodal model as an extractor: it is shown the picture and asked for JSON."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

from snellen.core.flow import Steps
from snellen.core.request import Generation, Media, Text, user
from snellen.curate.asking import ask_json
from snellen.curate.questions.extraction import Aspect, Box, Instance, RegionText, VisualFacts
from snellen.curate.questions.extractors.extractor import View, clip_box, only
from snellen.curate.questions.prompt_texts import prompt_texts

DEFAULT_ASPECTS: frozenset[Aspect] = frozenset(
    {"caption", "instances", "attributes", "dense", "text"}
)
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


class SeenPicture(Struct, frozen=True):
    """What a model is asked to reply."""

    caption: str = ""
    instances: list[_SeenInstance] = []
    regions: list[_SeenText] = []
    text: list[_SeenText] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptedExtractor:
    """One request for all aspects of a picture."""

    name: str
    aspects: frozenset[Aspect]
    model: str
    at_once: bool = True

    def find(self, view: View, aspects: frozenset[Aspect], role: str) -> Steps[VisualFacts]:
        """What the model sees. Raises NotJson and AskFailed."""
        message = user(Media("image", view.ref.digest), Text(extraction_prompt(aspects)))
        seen = yield from ask_json(
            role,
            [message],
            SeenPicture,
            view.picture,
            media={view.ref.digest: view.ref.source},
            settings=_SETTINGS,
        )
        return only(_extraction(seen, view), aspects)


def extraction_prompt(aspects: Collection[Aspect]) -> str:
    """The instruction for these aspects, by `prompts.toml`."""
    texts = prompt_texts().extraction
    keys = [
        texts[aspect] for aspect in ("caption", "instances", "dense", "text") if aspect in aspects
    ]
    attributes = texts["attributes"] if "attributes" in aspects else ""
    return "\n".join(filter(None, (texts["lead"], *keys, attributes, texts["end"])))


def _extraction(seen: SeenPicture, view: View) -> VisualFacts:
    """The reply with boxes in pixels; what has no text or label is left out."""

    def pixels(box: list[float] | None) -> Box | None:
        if box is None:
            return None
        width, height = view.width / _SCALE, view.height / _SCALE
        edges = (box[0] * width, box[1] * height, box[2] * width, box[3] * height)
        return clip_box(edges, view.width, view.height)

    def regions(lines: list[_SeenText]) -> tuple[RegionText, ...]:
        return tuple(
            RegionText(line.text.strip(), pixels(line.box)) for line in lines if line.text.strip()
        )

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
