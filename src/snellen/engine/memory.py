"""How much memory a run took at its highest, as far as this process can tell."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from snellen.models.hf_memory import memory_told


class Peak(NamedTuple):
    """Bytes; 0 where it is not known."""

    process: int
    """Of main memory, by this process since it began."""
    device: int
    """Of accelerators, by torch since `forget`: what its tensors held, summed over devices."""


def peak() -> Peak:
    return Peak(_process(), _device())


def forget() -> None:
    """Let the highest use of accelerators count from now on."""
    cuda = _cuda()
    if cuda is not None:
        for number in range(cuda.device_count()):
            cuda.reset_peak_memory_stats(number)


def _process() -> int:
    # What `getrusage` tells on Linux also counts the program that started this one.
    return memory_told("/proc/self/status", "VmHWM") or _by_usage()


def _by_usage() -> int:
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest if sys.platform == "darwin" else 1024 * highest


def _device() -> int:
    cuda = _cuda()
    if cuda is None:
        return 0
    return sum(int(cuda.max_memory_allocated(number)) for number in range(cuda.device_count()))


def _cuda() -> Any:
    """torch.cuda where a model has loaded torch and uses it; torch is never imported here."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None
