"""What transformers 5 expects of a checkpoint's own code, done for code that is older.

Since version 5 it creates models without memory for their weights. What no file of weights holds is
filled by the model's class: by `post_init`, which older code does not call, and by `_init_weights`,
which older code does not write for its buffers. Without the first the model does not load; without
the second its positions or masks are whatever the memory held, and so are its replies.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_TIED = "all_tied_weights_keys"
"""What `post_init` of transformers 5 sets, and the loading of weights reads."""


def finish_construction(config: Mapping[str, Any], folder: str) -> None:
    """Have the models of a checkpoint's own code call `post_init` when they are constructed, if
    they do not themselves. Imports that code; its errors are left to the loading of the weights."""
    from transformers.dynamic_module_utils import get_class_from_dynamic_module

    auto_map = config.get("auto_map") or {}
    named = {str(auto_map[name]) for name in auto_map if name.startswith("AutoModel")}
    for reference in sorted(named):
        try:
            model_class = get_class_from_dynamic_module(reference, folder)
        except (ImportError, OSError, ValueError, AttributeError, TypeError, SyntaxError):
            continue
        # A class with a `post_init` of its own calls it itself.
        if "post_init" in vars(model_class) or not hasattr(model_class, "post_init"):
            continue
        model_class.__init__ = _calling_post_init(model_class.__init__)


def _calling_post_init(construct: Any) -> Any:
    """A constructor that calls `post_init` afterwards, unless that was done."""

    @functools.wraps(construct)
    def finish(self: Any, *arguments: Any, **options: Any) -> None:
        construct(self, *arguments, **options)
        if _TIED not in vars(self):
            self.post_init()

    return finish


def restore_buffers(model: Any, dtype: Any) -> None:
    """Give the buffers that no file holds the values that the model's own code computes for them.

    `dtype` is that of the weights. The model is constructed once more, without memory for its
    weights.
    """
    if not _is_own_code(model):
        return
    buffers = dict(model.named_non_persistent_buffers())
    if not buffers:
        return
    from accelerate import init_empty_weights

    with init_empty_weights(include_buffers=False), _default_dtype(dtype):
        constructed = type(model)(copy.deepcopy(model.config))
    for name, value in constructed.named_non_persistent_buffers():
        if name in buffers and buffers[name].shape == value.shape:
            buffers[name].copy_(value)


def _is_own_code(model: Any) -> bool:
    """Whether the class of a model came with its checkpoint."""
    return type(model).__module__.startswith("transformers_modules.")


@contextmanager
def _default_dtype(dtype: Any) -> Iterator[None]:
    """In which tensors have a dtype unless they are given another, as when weights are loaded."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
