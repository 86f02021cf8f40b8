"""`clip/<hub id or folder>`: similarity of images, by a CLIP model (arXiv 2103.00020).

It answers `Compare` requests only: the cosine between the projected features of one image and of
each candidate. Any transformers model with `get_image_features` works (CLIP, SigLIP, ...).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.errors import MediaError, ModelError, UsageError
from snellen.core.model import Capabilities, Identity, Model, ModelDefaults
from snellen.core.output import Compared, Failure, Output
from snellen.core.request import Compare, Request, Sampling
from snellen.models.hf.checkpoint import Checkpoint, find_checkpoint
from snellen.models.hf.loading import choose_device, require, silence_library
from snellen.models.image_cache import ImageCache
from snellen.models.naming.provider import ModelListing, ModelOption, Provider, read_options
from snellen.models.split_batch import split_and_retry

if TYPE_CHECKING:
    from torch import Tensor

OPTIONS = (
    ModelOption("device", "auto (cuda where there is one), cpu, cuda, cuda:<number>, mps"),
    ModelOption("dtype", "default float32", ("float32", "bfloat16", "float16")),
    ModelOption("revision", "branch, tag or commit of a hub model"),
    ModelOption("batch_size", "pictures embedded at once; default 16", kind="count"),
)
_MAX_CACHED_FEATURES = 4096
"""Images whose features are cached: candidates recur, e.g. with the image of another model."""


class ClipModel(ModelDefaults):
    """A checkpoint that embeds images. Weights load on the first request."""

    def __init__(self, checkpoint: Checkpoint, identity: Identity, device: str, dtype: str, batch_size: int) -> None:
        self.identity = identity
        self.capabilities = Capabilities(
            inputs=frozenset({"image"}), outputs=frozenset(), interleaved=False, similarity=True
        )
        self.batch_size = batch_size
        self._checkpoint, self._device, self._dtype = checkpoint, device, dtype
        self._image_cache = ImageCache()
        self._features: OrderedDict[str, Tensor] = OrderedDict()
        self._loaded: tuple[Any, Any] | None = None

    def cannot_sample(self, sampling: Sampling) -> str | None:
        return "it compares pictures and draws nothing; leave out temperature, top_p and seed"

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        """Outputs in the order of the requests; a request that fails does not affect the others."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        """The similarities of one request, with features from the cache or computed now."""
        if not isinstance(request, Compare):
            return Failure("unsupported", "a CLIP model compares pictures and does nothing else")
        started = time.perf_counter()
        digests = list(dict.fromkeys((request.picture, *request.candidates)))
        try:
            self._embed([digest for digest in digests if digest not in self._features], request)
        except MediaError as error:
            return Failure("media", str(error))
        except _EmbeddingFailed as error:
            return error.failure
        image_features = self._features[request.picture]
        similarities = tuple(float(image_features @ self._features[digest]) for digest in request.candidates)
        for digest in digests:
            self._features.move_to_end(digest)
        while len(self._features) > max(_MAX_CACHED_FEATURES, len(digests)):
            self._features.popitem(last=False)
        return Compared(similarities, seconds=round(time.perf_counter() - started, 6))

    def _embed(self, digests: Sequence[str], request: Compare) -> None:
        """Add the features of these images to the cache. Raises MediaError, _EmbeddingFailed."""
        for start in range(0, len(digests), self.batch_size):
            batch = digests[start : start + self.batch_size]
            images = [self._image_cache.get(digest, request.media) for digest in batch]
            results = split_and_retry(images, self._compute_features)
            for digest, features in zip(batch, results, strict=True):
                if isinstance(features, Failure):
                    raise _EmbeddingFailed(features)
                self._features[digest] = features

    def embed(self, images: Sequence[Any]) -> list[Tensor | Failure]:
        """Normalised features (features,) of decoded images, in order, without the cache; a Failure
        for an image that cannot be embedded. Raises ModelError."""
        # A checkpoint that cannot be loaded is an error, not a failure of every image.
        self._load()
        results: list[Tensor | Failure] = []
        for start in range(0, len(images), self.batch_size):
            results += split_and_retry(images[start : start + self.batch_size], self._compute_features)
        return results

    def _compute_features(self, images: Sequence[Any]) -> Sequence[Tensor]:
        """Normalised image features, one vector (features,) an image, in float32 on the CPU."""
        import torch

        model, processor = self._load()
        inputs = processor(images=list(images), return_tensors="pt")
        pixels = inputs["pixel_values"].to(self._device, dtype=model.dtype)
        with torch.inference_mode():
            output = model.get_image_features(pixel_values=pixels)
        features = getattr(output, "pooler_output", output).float().cpu()
        return list(torch.nn.functional.normalize(features, dim=-1))

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            self._loaded = _load(self._checkpoint, self._device, self._dtype)
        return self._loaded


class _LoadedClip(NamedTuple):
    model: Any
    processor: Any
    absent: list[str]
    """Names of weights that the checkpoint does not contain."""


class _EmbeddingFailed(Exception):
    """An image could not be embedded."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def open_clip(name: str, options: Mapping[str, str]) -> Model:
    """Open `clip/<name>`. Raises UsageError (name, folder, option) and MissingExtra."""
    if not name:
        raise UsageError("clip needs a model: clip/<hub id> or clip/<folder>")
    values = read_options("clip", options, OPTIONS)
    require(f"clip/{name}", "torch", "transformers")
    checkpoint = find_checkpoint(name, values.get("revision"))
    device = choose_device(values.get("device", "auto"))
    dtype = values.get("dtype", "float32")
    facts = {"revision": checkpoint.revision, "dtype": dtype, "processor": "pil"}
    identity = Identity("clip", checkpoint.name, facts)
    return ClipModel(checkpoint, identity, device, dtype, int(values.get("batch_size", 16)))


def _load(checkpoint: Checkpoint, device: str, dtype: str) -> tuple[Any, Any]:
    """Model and image processor. Raises ModelError without image features or complete weights."""
    folder = checkpoint.fetch()
    with silence_library():
        model, processor, absent = _read_weights(checkpoint.name, folder, dtype)
    if not hasattr(model, "get_image_features"):
        kind = type(model).__name__
        raise ModelError(f"{checkpoint.name} ({kind}) has no image features to compare")
    if absent:
        raise ModelError(
            f"the weights of {checkpoint.name} are incomplete: {len(absent)} are missing, e.g. "
            f"{absent[0]}; its similarities would come from random numbers"
        )
    return model.to(device).eval(), processor


def _read_weights(name: str, folder: str, dtype: str) -> _LoadedClip:
    import torch
    from safetensors import SafetensorError
    from transformers import AutoImageProcessor, AutoModel

    try:
        processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
        model, report = AutoModel.from_pretrained(folder, dtype=getattr(torch, dtype), output_loading_info=True)
    except (ImportError, OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        raise ModelError(f"{name} cannot be loaded: {error}") from error
    return _LoadedClip(model, processor, sorted(report.get("missing_keys") or ()))


PROVIDER = Provider(
    name="clip",
    open=open_clip,
    options=OPTIONS,
    models=(ModelListing("clip/<hub id or folder>", "A CLIP model: compares drawn pictures (--judge)."),),
)
