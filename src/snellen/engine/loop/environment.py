"""What a run was made with: recorded, never digested."""

from __future__ import annotations

import functools
import gc
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from snellen.models.hf.memory import read_proc_bytes


class MemoryPeak(NamedTuple):
    """Bytes; 0 where it is not known."""

    process: int
    """Of main memory, by this process since it began."""
    device: int
    """Accelerator memory that torch allocated since `reset_peak_memory`, summed over devices."""


def peak_memory() -> MemoryPeak:
    return MemoryPeak(_process_peak(), _device_peak())


def reset_peak_memory() -> None:
    """Let the highest use of accelerators count from now on."""
    cuda = _cuda()
    if cuda is not None:
        for number in range(cuda.device_count()):
            cuda.reset_peak_memory_stats(number)


def _process_peak() -> int:
    # What `getrusage` tells on Linux also counts the program that started this one.
    return read_proc_bytes("/proc/self/status", "VmHWM") or _rusage_peak()


def _rusage_peak() -> int:
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest if sys.platform == "darwin" else 1024 * highest


def _device_peak() -> int:
    cuda = _cuda()
    if cuda is None:
        return 0
    return sum(int(cuda.max_memory_allocated(number)) for number in range(cuda.device_count()))


def _cuda() -> Any:
    """torch.cuda where a model has loaded torch and uses it; torch is never imported here."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


_GC_THRESHOLD = 20_000
"""Objects made and not yet freed after which the youngest are looked through; Python's own 700
(2,000 from 3.13 on) takes a fifth of the time of a run against a server: each of a few hundred
requests in flight keeps some dozens of objects alive for as long as it waits."""


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """Within it, cyclic garbage is collected seldom; a threshold that is higher already, and a
    collector that is switched off, are left alone."""
    before = gc.get_threshold()
    if 0 < before[0] < _GC_THRESHOLD:
        gc.set_threshold(_GC_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


_PACKAGES = ("snellen", "torch", "transformers", "tokenizers", "pillow", "numpy", "msgspec")


@functools.cache
def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that can touch an answer, as installed."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    commit = _git_commit()
    if commit:
        found["git"] = commit
    return found


@functools.cache
def hardware() -> dict[str, str]:
    """System, processor and its count."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpus": str(os.cpu_count() or 1),
    }


def _git_commit() -> str | None:
    """The commit of a source checkout, None when installed from a package."""
    root = Path(__file__).parents[4]
    if not (root / ".git").exists():
        return None
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
