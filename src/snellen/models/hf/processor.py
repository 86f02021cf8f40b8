"""Load a checkpoint's processor, which turns text and images into model inputs."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from typing import Any

from snellen.core.errors import UsageError, first_line
from snellen.models.hf.checkpoint import Checkpoint, has_torchvision
from snellen.models.hf.loaded import LoadOptions

_LOAD_ERRORS = (ImportError, OSError, ValueError, AttributeError, TypeError, KeyError)


def load_processor(checkpoint: Checkpoint, options: LoadOptions, folder: str) -> Any:
    """Load the processor, or for a text-only model the tokenizer. Raises UsageError."""
    from transformers import AutoProcessor, AutoTokenizer

    arguments = {"trust_remote_code": options.remote_code}
    auto = AutoProcessor if checkpoint.multimodal else AutoTokenizer
    try:
        processor = auto.from_pretrained(folder, **arguments)
        if options.processor == "pil":
            _resize_with_pil(processor, folder, arguments)
    except _LOAD_ERRORS as error:
        composed = _load_without_video(checkpoint, options, folder, arguments)
        if composed is None:
            raise _processor_error(checkpoint, error) from error
        processor = composed
    if options.min_pixels is not None or options.max_pixels is not None:
        _limit_pixels(processor, checkpoint, options)
    if checkpoint.multimodal and getattr(processor, "tokenizer", None) is None:
        raise UsageError(
            f"{checkpoint.name} describes an image model, but its folder has no processor that "
            "joins images and text (processor_config.json); add the files of the original"
        )
    return processor


def _limit_pixels(processor: Any, checkpoint: Checkpoint, options: LoadOptions) -> None:
    """Set the least and most pixels of an image. Raises UsageError for a processor without such
    limits, as only Qwen-VL's and those after it have."""
    image_processor = getattr(processor, "image_processor", None)
    size = getattr(image_processor, "size", None)
    # Other processors mean lengths of edges by these names; those with patches to merge mean areas.
    if image_processor is None or size is None or not hasattr(image_processor, "merge_size"):
        raise UsageError(
            f"min_pixels and max_pixels: the processor of {checkpoint.name} has no such limits; leave them out"
        )
    least, most = options.min_pixels, options.max_pixels
    limits = {
        "shortest_edge": size["shortest_edge"] if least is None else least,
        "longest_edge": size["longest_edge"] if most is None else most,
    }
    if limits["shortest_edge"] > limits["longest_edge"]:
        raise UsageError(
            f"min_pixels is {limits['shortest_edge']} and max_pixels {limits['longest_edge']}; "
            "expected the smaller first"
        )
    image_processor.size = type(size)(**limits)


def _resize_with_pil(processor: Any, folder: str, arguments: dict[str, Any]) -> None:
    """Replace the image processor by one that resizes with Pillow.

    `backend` cannot be passed to AutoProcessor, which would hand it to the tokenizer too.
    """
    # Older versions export a placeholder at the top level if torchvision is not installed.
    from transformers.models.auto.image_processing_auto import AutoImageProcessor

    class_name = type(getattr(processor, "image_processor", None)).__name__
    if class_name.endswith("ImageProcessor"):
        processor.image_processor = AutoImageProcessor.from_pretrained(folder, backend="pil", **arguments)


def _load_without_video(
    checkpoint: Checkpoint, options: LoadOptions, folder: str, arguments: dict[str, Any]
) -> Any | None:
    """Load the processor without its video processor, the only part that requires torchvision.

    For machines without torchvision, if Pillow can resize the family's images. None if another
    resizer or remote code was requested, or if it cannot be done.
    """
    if has_torchvision() or options.processor != "pil" or options.remote_code:
        return None
    import transformers
    from transformers.models.auto.image_processing_auto import AutoImageProcessor

    processor_class = getattr(transformers, checkpoint.processor, None)
    parts = {
        "tokenizer": transformers.AutoTokenizer,
        "image_processor": AutoImageProcessor,
        "feature_extractor": transformers.AutoFeatureExtractor,
    }
    try:
        module = importlib.import_module(str(getattr(processor_class, "__module__", "")))
        family = getattr(module, checkpoint.processor)
        description, _ = family.get_processor_dict(folder)
        other_parts = [name for name in family.get_attributes() if name not in parts]
        if other_parts != ["video_processor"]:
            return None
        extra_arguments = {"image_processor": {"backend": "pil"}}
        loaded = [
            parts[name].from_pretrained(folder, **arguments, **extra_arguments.get(name, {})) if name in parts else None
            for name in family.get_attributes()
        ]
        return without_video_processor(family).from_args_and_dict(loaded, description)
    except _LOAD_ERRORS:
        return None


def processor_digest(processor: Any) -> str:
    """SHA-256 (hex) of what a processor or tokenizer does: its classes, settings, vocabulary and
    chat template."""
    tokenizer = getattr(processor, "tokenizer", processor)
    parts = [type(processor).__name__, str(getattr(processor, "chat_template", None))]
    parts += [type(tokenizer).__name__, str(tokenizer.chat_template)]
    parts.append(json.dumps(tokenizer.special_tokens_map, sort_keys=True, default=str))
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        parts.append(_without_padding(backend.to_str()))
    else:
        parts.append(json.dumps(tokenizer.get_vocab(), sort_keys=True))
    image_processor = getattr(processor, "image_processor", None)
    if image_processor is not None:
        settings = image_processor.to_dict()
        parts += [type(image_processor).__name__]
        parts.append(json.dumps(settings, sort_keys=True, default=str))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _without_padding(tokenizer_json: str) -> str:
    """A tokenizer's description without padding and truncation, which each call sets."""
    description = json.loads(tokenizer_json)
    return json.dumps({**description, "padding": None, "truncation": None}, sort_keys=True)


def without_video_processor(family: Any) -> Any:
    """A subclass of a processor class that accepts None as its video processor."""

    def check(self: Any, name: str, part: Any) -> Any:
        return family.check_argument_for_proper_class(self, name, part) if part else None

    from transformers import ProcessorMixin

    overrides = {
        "check_argument_for_proper_class": check,
        # SmolVLM's own uses its video processor, even without videos.
        "apply_chat_template": ProcessorMixin.apply_chat_template,
    }
    return type(family.__name__, (family,), overrides)


def _processor_error(checkpoint: Checkpoint, error: Exception) -> UsageError:
    """One sentence for a processor that does not load; most of them miss torchvision."""
    # transformers raises AttributeError for a class that is not exported without torchvision.
    mentions_torchvision = "torchvision" in str(error).lower() or isinstance(error, AttributeError)
    if mentions_torchvision and not has_torchvision():
        name = checkpoint.processor or "the processor"
        return UsageError(
            f"{name} of hf/{checkpoint.name} needs torchvision, in the build that belongs to "
            "the installed torch; install it with: pip install torchvision"
        )
    return UsageError(f"the processor of {checkpoint.name} cannot be loaded: {first_line(error)}")
