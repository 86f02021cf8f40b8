"""Extractors by name: those that come with Snellen, those of plug-ins, and any model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from snellen.core.entry_points import load_entry_point, plugin_entry_points
from snellen.core.errors import UsageError
from snellen.curate.questions.extraction import ASPECTS, Aspect
from snellen.curate.questions.extractors.extractor import Extractor
from snellen.curate.questions.extractors.ocr import open_rapidocr
from snellen.curate.questions.extractors.pipelines import open_pipeline
from snellen.curate.questions.extractors.prompted import DEFAULT_ASPECTS, PromptedExtractor
from snellen.curate.questions.extractors.recorded import open_recorded

ENTRY_POINTS = "snellen.extractors"

OpenExtractor = Callable[[str, frozenset[Aspect]], Extractor]
EXTRACTORS: Mapping[str, OpenExtractor] = {
    "pipeline": open_pipeline,
    "rapidocr": open_rapidocr,
    "file": open_recorded,
}
_SPEC = re.compile(rf"((?:all|{'|'.join(ASPECTS)})(?:,(?:{'|'.join(ASPECTS)}))*)=(.+)", re.DOTALL)


def open_extractor(spec: str) -> Extractor:
    """Open `[ASPECT,...=]KIND[:ARGUMENT]`, e.g. `text=rapidocr`,
    `caption=pipeline:image-to-text@MODEL`, `file:extractions.jsonl`; any other name is that of a
    model, which is asked. Raises UsageError."""
    match = _SPEC.fullmatch(spec)
    aspects = _aspects(match[1]) if match else frozenset[Aspect]()
    name = match[2] if match else spec
    kind, _, argument = name.partition(":")
    if kind in EXTRACTORS:
        return EXTRACTORS[kind](argument, aspects)
    plugin = plugin_entry_points(ENTRY_POINTS).get(kind)
    if plugin is not None:
        made: Extractor = load_entry_point(plugin)(argument, aspects)
        return made
    if "labels" in aspects:
        raise UsageError(
            f"{spec}: a model names the instances that it finds; give instances={name}"
        )
    return PromptedExtractor(name=name, aspects=aspects or DEFAULT_ASPECTS, model=name)


def _aspects(text: str) -> frozenset[Aspect]:
    """Aspects by name; `all` leaves them to the extractor."""
    if text == "all":
        return frozenset()
    return frozenset(aspect for aspect in ASPECTS if aspect in text.split(","))
