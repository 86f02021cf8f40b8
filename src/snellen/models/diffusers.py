"""`diffusers/<hub id or folder>`: pictures by any diffusers pipeline that takes a prompt.

A pipeline whose call takes `image` is shown the pictures of the prompt; another one draws from
text alone and cannot answer a prompt that holds pictures.
"""

from __future__ import annotations

import hashlib
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
from snellen.core.message import Media, Message
from snellen.core.model import Capabilities, Identity, Modality, Model
from snellen.core.output import Drawn, Failure, Output
from snellen.core.request import Draw, Request, Sampling
from snellen.models.drawn_images import Setting, as_drawn, not_honoured, seed_of
from snellen.models.file_hash import file_digest
from snellen.models.hf.loading import choose_device, quiet, require
from snellen.models.image_cache import PictureCache
from snellen.models.naming.provider import KnownModel, ModelOption, read_options
from snellen.models.split_batch import Unsupported, halving
from snellen.settings import Settings

KNOWN = (KnownModel("diffusers/<hub id or folder>", "A diffusers pipeline: draws pictures."),)
OPTIONS = (
    ModelOption("device", "auto (cuda where there is one), cpu, cuda, cuda:<number>, mps"),
    ModelOption(
        "dtype", "default float32 on cpu, float16 on cuda", ("float32", "bfloat16", "float16")
    ),
    ModelOption("revision", "branch, tag or commit of a hub model"),
)
_INDEX = "model_index.json"
_ARGUMENTS: Mapping[Setting, tuple[str, ...]] = {
    "size": ("width", "height"),
    "steps": ("num_inference_steps",),
    "guidance": ("guidance_scale",),
    "seed": ("generator",),
}
"""What a pipeline's call takes for each setting."""
_READ = ("*.json", "*.safetensors", "*.bin", "*.txt", "*.model")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline found: its folder in full, and what decides a picture."""

    name: str
    folder: Path
    revision: str
    kind: str
    """Class of the pipeline."""


class Diffusing:
    """A pipeline behind the batch protocol, one picture at a time: pictures of a batch would
    differ from those drawn alone. Weights load on the first request."""

    batch_size = 1

    def __init__(self, found: Pipeline, identity: Identity, device: str, dtype: str) -> None:
        self.identity = identity
        self._takes = _parameters(found.kind)
        shows = "image" in self._takes
        inputs: tuple[Modality, ...] = ("text", "image") if shows else ("text",)
        self.capabilities = Capabilities(
            inputs=frozenset(inputs),
            outputs=frozenset({"image"}),
            many_images=shows,
            interleaved=False,
        )
        self._found, self._device, self._dtype = found, device, dtype
        self._pictures = PictureCache()
        self._pipeline: Any = None

    def cannot_sample(self, sampling: Sampling) -> str | None:
        return "it draws pictures; leave out temperature, top_p and seed"

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        if not isinstance(request, Draw):
            return Failure("unsupported", "a diffusers pipeline draws pictures and nothing else")
        started = time.perf_counter()
        try:
            shown = [self._pictures.get(one.digest, request.media) for one in _media(request)]
        except MediaError as error:
            return Failure("media", str(error))
        if shown and "image" not in self._takes:
            kind = self._found.kind
            return Failure(
                "unsupported", f"{kind} draws from text alone; the prompt holds pictures"
            )
        drawn = halving([request], lambda batch: [self._draw(batch[0], shown)])[0]
        if isinstance(drawn, Drawn):
            seconds = round(time.perf_counter() - started, 6)
            return msgspec.structs.replace(drawn, seconds=seconds)
        return drawn

    def _draw(self, request: Draw, shown: Sequence[Any]) -> Drawn:
        import torch

        given = self._arguments(request)
        if shown:
            given["image"] = shown[0] if len(shown) == 1 else list(shown)
        if "generator" in self._takes:
            given["generator"] = torch.Generator("cpu").manual_seed(seed_of(request))
        pipeline = self._load()
        with torch.inference_mode():
            made = pipeline(prompt=_text(request.messages), output_type="pil", **given)
        flagged = getattr(made, "nsfw_content_detected", None)
        if flagged and any(flagged):
            raise ModelError("the pipeline's own safety checker blanked the picture")
        return as_drawn(made.images[:1])

    def _arguments(self, request: Draw) -> dict[str, Any]:
        settings = request.settings
        honoured = [name for name, taken in _ARGUMENTS.items() if self._takes >= set(taken)]
        lacking = not_honoured(settings, self._found.kind, honoured)
        if lacking:
            raise Unsupported(lacking)
        given = {
            "width": settings.width,
            "height": settings.height,
            "num_inference_steps": settings.steps,
            "guidance_scale": settings.guidance,
        }
        return {name: value for name, value in given.items() if value is not None}

    def _load(self) -> Any:
        if self._pipeline is None:
            self._pipeline = _load(self._found, self._device, self._dtype)
        return self._pipeline


def provider(name: str, options: Mapping[str, str]) -> Model:
    """Open `diffusers/<name>`. Raises UsageError (name, folder, option) and MissingExtra."""
    if not name:
        raise UsageError("diffusers needs a pipeline: diffusers/<hub id> or diffusers/<folder>")
    given = read_options("diffusers", options, OPTIONS)
    if importlib.util.find_spec("diffusers") is None:
        raise MissingExtra(f"diffusers/{name}", "draw", "diffusers")
    require(f"diffusers/{name}", "torch")
    found = find_pipeline(name, given.get("revision"))
    device = choose_device(given.get("device", "auto"))
    dtype = given.get("dtype", "float16" if device.startswith("cuda") else "float32")
    facts = {"revision": found.revision, "pipeline": found.kind, "dtype": dtype}
    return Diffusing(found, Identity("diffusers", found.name, facts), device, dtype)


def find_pipeline(name: str, revision: str | None = None) -> Pipeline:
    """A local folder, else a hub id, which is fetched whole. Raises UsageError."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise UsageError(f"option revision={revision!r}: {name} is a folder, not a hub id")
        kind = _kind(folder)
        return Pipeline(folder.resolve().name, folder, f"sha256:{_digest(folder)}", kind)
    if name.startswith((".", "/", "~")) or name.count("/") != 1:
        raise UsageError(f"there is no folder {name}; expected a pipeline's, with a {_INDEX}")
    fetched = _fetched(name, revision)
    return Pipeline(name, fetched, fetched.name, _kind(fetched))


def _fetched(name: str, revision: str | None) -> Path:
    from diffusers import DiffusionPipeline
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return Path(
            DiffusionPipeline.download(
                name, revision=revision, local_files_only=Settings.from_environment().offline
            )
        )
    except (OSError, ValueError, HfHubHTTPError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(
            f"the pipeline {name} cannot be fetched: {reason}; check the name, or fetch it on a "
            f"connected machine with: hf download {name}"
        ) from error


def _kind(folder: Path) -> str:
    try:
        kind = json.loads((folder / _INDEX).read_text(encoding="utf-8")).get("_class_name")
    except FileNotFoundError:
        raise UsageError(f"{folder} has no {_INDEX}, so it is no diffusers pipeline") from None
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"{folder / _INDEX} cannot be read as JSON: {error}") from error
    return str(kind)


def _parameters(kind: str) -> frozenset[str]:
    """What the pipeline's call takes. Raises UsageError for a class this diffusers lacks."""
    import diffusers

    found = getattr(diffusers, kind, None)
    if found is None:
        raise UsageError(f"diffusers {diffusers.__version__} has no pipeline {kind}; upgrade it")
    takes = frozenset(inspect.signature(found.__call__).parameters)
    if "prompt" not in takes:
        raise UsageError(f"{kind} takes no prompt, so it cannot be asked to draw something")
    return takes


def _digest(folder: Path) -> str:
    """SHA-256 (hex) over the names and contents of the pipeline's files."""
    whole = hashlib.sha256()
    for path in sorted({path for pattern in _READ for path in folder.rglob(pattern)}):
        whole.update(f"{path.relative_to(folder).as_posix()}\0{file_digest(path)}\n".encode())
    return whole.hexdigest()


def _load(found: Pipeline, device: str, dtype: str) -> Any:
    import torch
    from diffusers import DiffusionPipeline

    try:
        with quiet(), quiet("diffusers"):
            pipeline = DiffusionPipeline.from_pretrained(
                found.folder, dtype=getattr(torch, dtype), local_files_only=True
            )
    except (ImportError, OSError, ValueError, RuntimeError, KeyError) as error:
        raise ModelError(f"{found.name} ({found.kind}) cannot be loaded: {error}") from error
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device)


def _media(request: Draw) -> list[Media]:
    return [part for message in request.messages for part in message.media()]


def _text(messages: Sequence[Message]) -> str:
    return "\n".join(filter(None, (message.text() for message in messages)))
