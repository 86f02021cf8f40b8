"""Split a batch that fails in halves and retry, so that one bad request fails alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from snellen.core.errors import ModelError
from snellen.core.output import Failure, FailureKind

MODEL_ERRORS = (
    ModelError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What the code of some architecture is known to raise for an unusual request."""

_OUT_OF_MEMORY_SIGNS = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    # cuBLAS and cuDNN, which allocate memory without torch.
    "_status_alloc_failed",
)
"""Parts of messages of errors about memory."""

T = TypeVar("T")
R = TypeVar("R")


class Unsupported(ModelError):
    """A request the model cannot take: a typed failure of kind `unsupported`."""


def split_and_retry(items: Sequence[T], work: Callable[[Sequence[T]], Sequence[R]]) -> list[R | Failure]:
    """Compute `work(items)`; if it raises one of `MODEL_ERRORS`, compute each half instead, down to
    single items, whose result is a Failure then. Results are in the order of the items."""
    try:
        return list(work(items))
    except MODEL_ERRORS as error:
        failure = failure_from_error(error)
    # Outside the handler: the error's traceback no longer holds the batch's tensors.
    if failure.kind == "out_of_memory":
        _free_memory()
    if len(items) == 1:
        return [failure]
    half = len(items) // 2
    return split_and_retry(items[:half], work) + split_and_retry(items[half:], work)


def failure_from_error(error: Exception) -> Failure:
    """Turn an error that a model has raised into a typed failure."""
    message = " ".join(str(error).split())[:300] or type(error).__name__
    if isinstance(error, Unsupported):
        return Failure("unsupported", message)
    out_of_memory = any(sign in message.lower() for sign in _OUT_OF_MEMORY_SIGNS)
    out_of_memory = out_of_memory or isinstance(error, MemoryError)
    kind: FailureKind = "out_of_memory" if out_of_memory else "request"
    return Failure(kind, message)


def _free_memory() -> None:
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
