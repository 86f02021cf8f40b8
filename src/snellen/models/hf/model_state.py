"""Leave a model of the user as it was: whatever an evaluation sets on it is set back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def keep_state(model: Any) -> Iterator[None]:
    """Restore, at the end of the block, the public attributes and buffers of every module: training
    mode, generation configuration, positions and tables that a forward pass leaves behind (made
    under inference mode, they could not be trained with). torch's number of threads is restored
    too.

    Weights are not copied, and changes of their values stay.
    """
    import torch

    threads = torch.get_num_threads()
    before = [(module, dict(vars(module)), dict(getattr(module, "_buffers", {}))) for module in model.modules()]
    try:
        yield
    finally:
        for module, attributes, buffers in before:
            _restore(vars(module), attributes)
            _restore(module._buffers, buffers)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


def _restore(namespace: dict[str, Any], before: dict[str, Any]) -> None:
    """Make a namespace what it was, the same dictionary with the same objects.

    Names with an underscore are the library's own: a flag that hooks are installed, say, which
    belongs to hooks that stay.
    """
    for name in namespace.keys() - before.keys():
        if not name.startswith("_"):
            del namespace[name]
    for name, value in before.items():
        if not name.startswith("_") and namespace.get(name, namespace) is not value:
            namespace[name] = value
