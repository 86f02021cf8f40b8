"""Digests of objects of libraries that a user's model may hold: weights, processors, arrays.

A library is recognised by the names of its classes, so that none is imported for it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def inherits(value: object, library: str, *names: str) -> bool:
    """Whether a class of the library with one of the names is among the bases of its class."""
    return any(
        base.__name__ in names and library_of(base) == library for base in type(value).__mro__
    )


def library_of(kind: type) -> str:
    """The top-level package that defines a class."""
    return kind.__module__.partition(".")[0]


def content_of(value: Any) -> str | None:
    """A text that stands for the content of an object, the same in every process; None if its
    content is unknown. Raises UsageError for weights that are not in this process."""
    if inherits(value, "torch", "Module"):
        from snellen.models.hf.weights_digest import combine_hashes, hash_weights

        # Its configuration, where it is a model of transformers: attributes may change replies too.
        settings = _settings_text(getattr(value, "config", None)) or ""
        return f"weights {combine_hashes(hash_weights(value))} {settings}"
    if inherits(value, "torch", "Tensor"):
        from snellen.models.hf.weights_digest import hash_tensors

        return f"tensor {hash_tensors([value])}"
    if inherits(value, "torch", "device", "dtype"):
        return str(value)
    if inherits(value, "transformers", "ProcessorMixin", "PreTrainedTokenizerBase"):
        from snellen.models.hf.processor import processor_digest

        return f"processor {processor_digest(value)}"
    if inherits(value, "numpy", "ndarray") and value.dtype.kind != "O":
        digest = hashlib.sha256(value.tobytes()).hexdigest()
        return f"array {value.dtype.str} {value.shape} {digest}"
    if inherits(value, "openai", "OpenAI", "AsyncOpenAI"):
        return f"client of {value.base_url}"
    return _settings_text(value) if library_of(type(value)) == "transformers" else None


def _settings_text(value: Any) -> str | None:
    """A configuration or image processor of transformers as JSON; None for anything else."""
    if not inherits(value, "transformers", "PushToHubMixin") or not hasattr(value, "to_dict"):
        return None
    settings = value.to_dict()
    return f"{type(value).__name__} {json.dumps(settings, sort_keys=True, default=str)}"
