"""`diffusers/<hub id or folder>`: images by any diffusers pipeline that takes a prompt.

A pipeline whose call takes `image` gets the images of the prompt. Any other draws from text only
and cannot answer a prompt that contains images.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from snellen.core.errors import MediaError, MissingExtra, ModelError, UsageError
from snellen.core.model import Capabilities, Identity, Modality, Model, ModelDefaults
from snellen.core.output import Drawn, Failure, Output
from snellen.core.request import Draw, Request, Sampling
from snellen.models.drawn_images import DrawingSetting, as_drawn, request_seed, unsupported_settings
from snellen.models.file_hash import files_digest
from snellen.models.hf.loading import choose_device, require, silence_library
from snellen.models.image_cache import ImageCache
from snellen.models.naming.provider import ModelListing, ModelOption, Provider, read_options
from snellen.models.split_batch import Unsupported, split_and_retry
from snellen.settings import Settings

OPTIONS = (
    ModelOption("device", "auto (cuda where there is one), cpu, cuda, cuda:<number>, mps"),
    ModelOption("dtype", "default float32 on cpu, float16 on cuda", ("float32", "bfloat16", "float16")),
    ModelOption("revision", "branch, tag or commit of a hub model"),
)
_INDEX = "model_index.json"
_ARGUMENTS: Mapping[DrawingSetting, tuple[str, ...]] = {
    "size": ("width", "height"),
    "steps": ("num_inference_steps",),
    "guidance": ("guidance_scale",),
    "seed": ("generator",),
}
"""Arguments of a pipeline's call that each setting needs."""
_DIGEST_FILES = ("*.json", "*.safetensors", "*.bin", "*.txt", "*.model")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A downloaded pipeline: its folder and its identity."""

    name: str
    folder: Path
    revision: str
    class_name: str
    """Class of the pipeline."""


class DiffusersModel(ModelDefaults):
    """A pipeline that draws one image at a time: in a batch, images would differ from those drawn
    singly. Weights load on the first request."""

    batch_size = 1

    def __init__(self, source: Pipeline, identity: Identity, device: str, dtype: str) -> None:
        self.identity = identity
        self._accepted_arguments = _call_parameters(source.class_name)
        takes_images = "image" in self._accepted_arguments
        inputs: tuple[Modality, ...] = ("text", "image") if takes_images else ("text",)
        self.capabilities = Capabilities(
            inputs=frozenset(inputs), outputs=frozenset({"image"}), many_images=takes_images, interleaved=False
        )
        self._source, self._device, self._dtype = source, device, dtype
        self._image_cache = ImageCache()
        self._pipeline: Any = None

    def cannot_sample(self, sampling: Sampling) -> str | None:
        return "it draws pictures; leave out temperature, top_p and seed"

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        """Outputs in the order of the requests."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        """The image of one request, or a failure."""
        if not isinstance(request, Draw):
            return Failure("unsupported", "a diffusers pipeline draws pictures and nothing else")
        started = time.perf_counter()
        try:
            digests = [part.digest for message in request.messages for part in message.media()]
            images = [self._image_cache.get(digest, request.media) for digest in digests]
        except MediaError as error:
            return Failure("media", str(error))
        if images and "image" not in self._accepted_arguments:
            kind = self._source.class_name
            return Failure("unsupported", f"{kind} draws from text alone; the prompt contains images")
        drawn = split_and_retry([request], lambda batch: [self._draw(batch[0], images)])[0]
        if isinstance(drawn, Drawn):
            seconds = round(time.perf_counter() - started, 6)
            return msgspec.structs.replace(drawn, seconds=seconds)
        return drawn

    def _draw(self, request: Draw, images: Sequence[Any]) -> Drawn:
        import torch

        arguments = self._arguments(request)
        if images:
            arguments["image"] = images[0] if len(images) == 1 else list(images)
        if "generator" in self._accepted_arguments:
            arguments["generator"] = torch.Generator("cpu").manual_seed(request_seed(request))
        pipeline = self._load()
        with torch.inference_mode():
            result = pipeline(prompt=request.text(), output_type="pil", **arguments)
        flagged = getattr(result, "nsfw_content_detected", None)
        if flagged and any(flagged):
            raise ModelError("the pipeline's own safety checker blanked the image")
        return as_drawn(result.images[:1])

    def _arguments(self, request: Draw) -> dict[str, Any]:
        """Arguments for the settings of a request. Raises Unsupported."""
        settings = request.settings
        supported = [
            setting for setting, arguments in _ARGUMENTS.items() if self._accepted_arguments.issuperset(arguments)
        ]
        reason = unsupported_settings(settings, self._source.class_name, supported)
        if reason:
            raise Unsupported(reason)
        values = {
            "width": settings.width,
            "height": settings.height,
            "num_inference_steps": settings.steps,
            "guidance_scale": settings.guidance,
        }
        return {name: value for name, value in values.items() if value is not None}

    def _load(self) -> Any:
        if self._pipeline is None:
            self._pipeline = _load(self._source, self._device, self._dtype)
        return self._pipeline


def open_diffusers(name: str, options: Mapping[str, str]) -> Model:
    """Open `diffusers/<name>`. Raises UsageError (name, folder, option) and MissingExtra."""
    if not name:
        raise UsageError("diffusers needs a pipeline: diffusers/<hub id> or diffusers/<folder>")
    values = read_options("diffusers", options, OPTIONS)
    if importlib.util.find_spec("diffusers") is None:
        raise MissingExtra(f"diffusers/{name}", "draw", "diffusers")
    require(f"diffusers/{name}", "torch")
    source = find_pipeline(name, values.get("revision"))
    device = choose_device(values.get("device", "auto"))
    dtype = values.get("dtype", "float16" if device.startswith("cuda") else "float32")
    facts = {"revision": source.revision, "pipeline": source.class_name, "dtype": dtype}
    return DiffusersModel(source, Identity("diffusers", source.name, facts), device, dtype)


def find_pipeline(name: str, revision: str | None = None) -> Pipeline:
    """Find a pipeline: a local folder, else a hub id, of which all files are downloaded.

    Raises UsageError.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise UsageError(f"option revision={revision!r}: {name} is a folder, not a hub id")
        kind = _read_pipeline_class(folder)
        return Pipeline(folder.resolve().name, folder, f"sha256:{_folder_digest(folder)}", kind)
    if name.startswith((".", "/", "~")) or name.count("/") != 1:
        raise UsageError(f"there is no folder {name}; expected a pipeline's, with a {_INDEX}")
    snapshot = _fetch_pipeline(name, revision)
    return Pipeline(name, snapshot, snapshot.name, _read_pipeline_class(snapshot))


def _fetch_pipeline(name: str, revision: str | None) -> Path:
    from diffusers import DiffusionPipeline
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return Path(
            DiffusionPipeline.download(name, revision=revision, local_files_only=Settings.from_environment().offline)
        )
    except (OSError, ValueError, HfHubHTTPError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(
            f"the pipeline {name} cannot be fetched: {reason}; check the name, or fetch it on a "
            f"connected machine with: hf download {name}"
        ) from error


def _read_pipeline_class(folder: Path) -> str:
    try:
        kind = json.loads((folder / _INDEX).read_text(encoding="utf-8")).get("_class_name")
    except FileNotFoundError:
        raise UsageError(f"{folder} has no {_INDEX}, so it is not a diffusers pipeline") from None
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"{folder / _INDEX} cannot be read as JSON: {error}") from error
    return str(kind)


def _call_parameters(kind: str) -> frozenset[str]:
    """Parameters of the pipeline's call. Raises UsageError if diffusers has no such class."""
    import diffusers

    pipeline_class = getattr(diffusers, kind, None)
    if pipeline_class is None:
        raise UsageError(f"diffusers {diffusers.__version__} has no pipeline {kind}; upgrade it")
    parameters = frozenset(inspect.signature(pipeline_class.__call__).parameters)
    if "prompt" not in parameters:
        raise UsageError(f"{kind} takes no prompt, so it cannot be asked to draw something")
    return parameters


def _folder_digest(folder: Path) -> str:
    """SHA-256 (hex) over the names and contents of the pipeline's files."""
    return files_digest(folder, (path for name in _DIGEST_FILES for path in folder.rglob(name)))


def _load(source: Pipeline, device: str, dtype: str) -> Any:
    import torch
    from diffusers import DiffusionPipeline

    try:
        with silence_library(), silence_library("diffusers"):
            pipeline = DiffusionPipeline.from_pretrained(
                source.folder, dtype=getattr(torch, dtype), local_files_only=True
            )
    except (ImportError, OSError, ValueError, RuntimeError, KeyError) as error:
        raise ModelError(f"{source.name} ({source.class_name}) cannot be loaded: {error}") from error
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device)


PROVIDER = Provider(
    name="diffusers",
    open=open_diffusers,
    options=OPTIONS,
    models=(ModelListing("diffusers/<hub id or folder>", "A diffusers pipeline: draws pictures."),),
)
