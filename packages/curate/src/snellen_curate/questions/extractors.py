"""Extractors by name (SEED-Bench-H, Sec. 3.4.1.1): those that come with Snellen, those of plug-ins, and
any model.

`pipeline:TASK@MODEL`: tasks of the transformers library on any checkpoint for them:

image-to-text                    a caption; as `dense`, one of each instance's crop
object-detection                 instances with labels and boxes
zero-shot-object-detection       the same, looking for the nouns of the captions
mask-generation                  segments without labels (SAM)
zero-shot-image-classification   labels for segments (or attributes), of crops
image-classification             labels or attributes, of crops

`rapidocr`: text in images by RapidOCR (PP-OCR, the models of PaddleOCR, on ONNX Runtime), the
extra `ocr`. Its weights come with the package, so that nothing is downloaded.

Both are models like any other here: their replies, `VisualFacts` as JSON, are stored under a digest
of weights, task and image.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from snellen.core.entry_points import load_entry_point, plugin_entry_points
from snellen.core.errors import MediaError, MissingExtra, UsageError
from snellen.core.media import decode_image
from snellen.core.model import Capabilities, Identity, ModelDefaults
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Steps
from snellen.core.request import Generate, Generation, Media, Request, Text, user
from snellen.core.sample import MediaRef
from snellen.data.toml_files import read_packaged
from snellen.models.hf.checkpoint import Checkpoint, find_checkpoint
from snellen.models.hf.loading import choose_device, require, silence_library
from snellen.settings import max_image_pixels
from snellen_curate.asking import ask_json, ask_text
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
from snellen_curate.questions.records import open_recorded
from snellen_curate.questions.writing import prompt_texts

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

TASKS: Mapping[str, tuple[Aspect, ...]] = {
    "image-to-text": ("caption", "dense"),
    "object-detection": ("instances",),
    "zero-shot-object-detection": ("instances",),
    "mask-generation": ("instances",),
    "zero-shot-image-classification": ("labels", "attributes"),
    "image-classification": ("labels", "attributes"),
}
"""What each task can find; the first is what it finds unless the user says otherwise."""

MAX_CROPS = 12
"""Instances, the largest first, of which a crop is described."""
_MAX_CAPTION_TOKENS = 48
_ATTRIBUTES = read_packaged("snellen_curate.questions", "words.toml")["attributes"].split()
_OCR_LIBRARIES = ("rapidocr", "onnxruntime")
_MIN_TEXT_SCORE = 0.5


class FactsModel(ModelDefaults):
    """An image in, `VisualFacts` as JSON out."""

    batch_size = 1
    identity: Identity

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        if not isinstance(request, Generate):
            return Failure("unsupported", f"{self.identity.name} describes pictures alone")
        begun = time.perf_counter()
        (ref,) = request.messages[0].media()
        try:
            image = decode_image(request.media[ref.digest].read(), max_image_pixels())
        except MediaError as error:
            return Failure("media", str(error))
        text = msgspec.json.encode(self.find(image, request.messages[0].text())).decode()
        return Generated(text, seconds=round(time.perf_counter() - begun, 6))

    def find(self, image: PILImage, text: str) -> VisualFacts:
        """What is to be seen in an image, by what a request says."""
        raise NotImplementedError


def _ask_facts(role: str, image: str, ref: MediaRef, words: Sequence[str] | None = None) -> Steps[VisualFacts]:
    """Ask the model of a role about an image, with the labels to choose from if it takes any."""
    parts = [] if words is None else [Text(msgspec.json.encode({"labels": list(words)}).decode())]
    message = user(Media("image", ref.digest), *parts)
    reply = yield from ask_text(role, [message], image, media={ref.digest: ref.source})
    return msgspec.json.decode(reply, type=VisualFacts)


@dataclass(frozen=True, kw_only=True)
class PipelineExtractor(Extractor):
    """An extractor whose model is a checkpoint for one task."""

    task: str
    at_once: bool = False

    def find(self, view: View, aspects: frozenset[Aspect], role: str) -> Steps[VisualFacts]:
        """Captions and detections of the whole image, everything else of each crop."""
        found = VisualFacts(view.width, view.height)
        is_zero_shot = self.task.startswith("zero-shot")
        if "caption" in aspects:
            found = found.join((yield from _ask_facts(role, view.image, view.ref, ())))
        if "instances" in aspects and (view.words or not is_zero_shot):
            words = view.words if is_zero_shot else ()
            found = found.join((yield from _ask_facts(role, view.image, view.ref, words)))
        for aspect in ("labels", "attributes", "dense"):
            if aspect in aspects:
                found = found.join((yield from self._describe_crops(view, aspect, role)))
        return replace(found, width=view.width, height=view.height)

    def _describe_crops(self, view: View, aspect: Aspect, role: str) -> Steps[VisualFacts]:
        """What the task says of each instance's crop: its label, attributes or a sentence."""
        instances = list(view.instances)
        dense: list[RegionText] = []
        for instance, crop in list(view.crops(MAX_CROPS)):
            if aspect == "labels" and (instance.label or not view.words):
                continue
            words = {"labels": view.words, "attributes": _ATTRIBUTES}.get(aspect, ())
            result = yield from _ask_facts(role, view.image, crop, words)
            if aspect == "dense":
                dense += [RegionText(caption, instance.box) for caption in result.captions]
                continue
            best = next((one for one in result.instances if one.label), None)
            if best and aspect == "labels":
                instances[instances.index(instance)] = replace(instance, label=best.label, score=best.score)
            elif best:
                attributes = (*instance.attributes, best.label)
                instances[instances.index(instance)] = replace(instance, attributes=attributes)
        return VisualFacts(dense=tuple(dense), instances=() if dense else tuple(instances))


class PipelineModel(FactsModel):
    """A checkpoint for one task; weights load with the first image."""

    def __init__(self, task: str, checkpoint: Checkpoint, device: str) -> None:
        self.task = task
        facts = {"revision": checkpoint.revision, "task": task, "processor": "pil"}
        self.identity = Identity("pipeline", checkpoint.name, facts)
        self.capabilities = Capabilities(inputs=frozenset({"text", "image"}), many_images=False, interleaved=False)
        self._checkpoint, self._device = checkpoint, device
        self._loaded: Any = None

    def find(self, image: PILImage, text: str) -> VisualFacts:
        words = msgspec.json.decode(text)["labels"]
        with silence_library():
            if self._loaded is None:
                self._loaded = _load(self.task, self._checkpoint, self._device)
            if self.task == "image-to-text":
                model, processor = self._loaded
                return VisualFacts(*image.size, captions=(_caption(model, processor, image),))
            if self.task == "mask-generation":
                return VisualFacts(*image.size, instances=_segments(self._loaded(image)))
            arguments = {"candidate_labels": words} if "zero-shot" in self.task else {}
            result: list[dict[str, Any]] = self._loaded(image, **arguments)
        return VisualFacts(*image.size, instances=_instances(result, image))


def open_pipeline(argument: str, aspects: frozenset[Aspect]) -> PipelineExtractor:
    """Open `TASK@MODEL`. Raises UsageError for another task, or aspects that it cannot find, and
    MissingExtra."""
    task, at, name = argument.partition("@")
    if task not in TASKS or not at or not name:
        raise UsageError(
            f"pipeline:{argument}: expected pipeline:TASK@MODEL, MODEL a checkpoint of the hub or "
            f"a folder, TASK one of {', '.join(TASKS)}"
        )
    aspects = aspects or frozenset(TASKS[task][:1])
    if not aspects <= {*TASKS[task]}:
        raise UsageError(
            f"pipeline:{task} finds {' or '.join(TASKS[task])}, not {', '.join(sorted(aspects - {*TASKS[task]}))}"
        )
    require(f"pipeline:{argument}", "torch", "transformers")
    if task == "mask-generation" and find_spec("torchvision") is None:
        raise UsageError(
            "pipeline:mask-generation joins masks by torchvision, which is not installed: pip install torchvision"
        )
    model = PipelineModel(task, find_checkpoint(name, needs_tokenizer=False), choose_device("auto"))
    return PipelineExtractor(name=f"pipeline:{argument}", aspects=aspects, model=model, task=task)


def _load(task: str, checkpoint: Checkpoint, device: str) -> Any:
    """A pipeline; for captions the model and its processor, as the library's own task for them was
    removed in version 5."""
    import transformers

    folder = checkpoint.fetch()
    try:
        if task != "image-to-text":
            return transformers.pipeline(task, model=folder, device=device)
        model = transformers.AutoModelForImageTextToText.from_pretrained(folder)
        return model.eval().to(device), transformers.AutoProcessor.from_pretrained(folder)
    except (OSError, ValueError, ImportError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UsageError(f"{checkpoint.name} cannot be used for {task}: {reason}") from error


def _caption(model: Any, processor: Any, image: PILImage) -> str:
    import torch

    inputs = processor(images=image, return_tensors="pt").to(model.device)
    with torch.inference_mode():
        tokens = model.generate(**inputs, max_new_tokens=_MAX_CAPTION_TOKENS, do_sample=False)
    text: str = processor.batch_decode(tokens, skip_special_tokens=True)[0]
    return text.strip()


def _instances(result: Sequence[Mapping[str, Any]], image: PILImage) -> tuple[Instance, ...]:
    """Detections (above the library's own threshold), or labels in the order of their scores."""
    found = []
    for one in result:
        box = one.get("box")
        edges = (box["xmin"], box["ymin"], box["xmax"], box["ymax"]) if box is not None else None
        clipped = None if edges is None else clip_box(edges, *image.size)
        found.append(Instance(str(one["label"]), clipped, score=round(float(one["score"]), 4)))
    return tuple(found)


def _segments(result: Mapping[str, Any]) -> tuple[Instance, ...]:
    """The bounding boxes of masks, (height, width) of booleans each."""
    import numpy

    found = []
    for mask in result["masks"]:
        rows, columns = numpy.nonzero(numpy.asarray(mask))
        if len(rows):
            box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            found.append(Instance(box=(float(box[0]), float(box[1]), float(box[2]), float(box[3]))))
    return tuple(found)


class OcrExtractor(Extractor):
    def find(self, view: View, aspects: frozenset[Aspect], role: str) -> Steps[VisualFacts]:
        """The lines of text, in the order of reading."""
        return _ask_facts(role, view.image, view.ref)


class OcrModel(FactsModel):
    """RapidOCR as a model."""

    def __init__(self) -> None:
        facts = {name: version(name) for name in _OCR_LIBRARIES}
        self.identity = Identity("ocr", "rapidocr", facts)
        self.capabilities = Capabilities(inputs=frozenset({"image"}), many_images=False, interleaved=False)

    def find(self, image: PILImage, text: str) -> VisualFacts:
        """Lines of text with their boxes; corners of a turned line become the box around it."""
        import numpy

        blue_first = numpy.asarray(image)[:, :, ::-1]
        said = _ocr_engine()(blue_first)
        found = () if said.txts is None else zip(said.txts, said.boxes, said.scores, strict=True)
        lines = []
        for line, corners, score in found:
            if score >= _MIN_TEXT_SCORE and line.strip():
                xs, ys = corners[:, 0], corners[:, 1]
                box = (float(xs.min()), float(ys.min()), float(xs.max()), float(ys.max()))
                lines.append(RegionText(line.strip(), box, round(float(score), 4)))
        return VisualFacts(*image.size, texts=tuple(lines))


def open_rapidocr(argument: str, aspects: frozenset[Aspect]) -> OcrExtractor:
    """Raises UsageError for any other aspect than text, and MissingExtra."""
    if argument or not aspects <= {"text"}:
        raise UsageError("rapidocr finds text, with its own weights: write text=rapidocr")
    for library in _OCR_LIBRARIES:
        if find_spec(library) is None:
            raise MissingExtra("reading text in pictures", "ocr", library, "snellen-curate")
    return OcrExtractor(name="rapidocr", aspects=frozenset({"text"}), model=OcrModel())


@functools.cache
def _ocr_engine() -> Any:
    import logging

    from rapidocr import RapidOCR

    # It reports each file that it loads, and every image without text, as a warning.
    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    return RapidOCR(params={"Global.log_level": "error"})


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
