"""Memory that batches are computed in: how much is used, and how much can still be had."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

_MAIN_FRACTION, _GPU_FRACTION = 0.5, 0.9
"""Shares of the free memory that batches may take: main memory has other users, and a system that
runs out of it ends the process without asking."""


class MemoryMeter(Protocol):
    """Bytes, of the memory that a model computes in. Anything may be 0 where it is not known."""

    def used_bytes(self) -> int: ...

    def peak_bytes(self) -> int:
        """The most that was used so far."""
        ...

    def free_bytes(self) -> int:
        """What a batch may take beyond what is used."""
        ...


class MainMemory:
    """Of this process, as Linux tells it."""

    def used_bytes(self) -> int:
        return read_proc_bytes("/proc/self/status", "VmRSS")

    def peak_bytes(self) -> int:
        return read_proc_bytes("/proc/self/status", "VmHWM")

    def free_bytes(self) -> int:
        return int(
            _MAIN_FRACTION
            * min(read_proc_bytes("/proc/meminfo", "MemAvailable"), *_remaining_limits())
        )


class DeviceMemory:
    """Of the CUDA devices that a model lies on, as torch's allocator and the driver tell it."""

    def __init__(self, devices: Sequence[str]) -> None:
        self._devices = devices

    def used_bytes(self) -> int:
        import torch

        return sum(int(torch.cuda.memory_allocated(device)) for device in self._devices)

    def peak_bytes(self) -> int:
        import torch

        return sum(int(torch.cuda.max_memory_allocated(device)) for device in self._devices)

    def free_bytes(self) -> int:
        """The fullest device is what ends a batch."""
        return len(self._devices) * min(map(_free_on_device, self._devices))


def _free_on_device(device: str) -> int:
    import torch

    outside, _ = torch.cuda.mem_get_info(device)
    # What the allocator holds without using it can be had as well.
    reserved_unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(_GPU_FRACTION * (outside + reserved_unused))


def memory_meter(devices: Iterable[str]) -> MemoryMeter:
    """Of the memory of a model whose weights lie on these devices."""
    gpus = sorted({device for device in devices if device.startswith("cuda")})
    return DeviceMemory(gpus) if gpus else MainMemory()


def _remaining_limits() -> list[int]:
    """Bytes left under the limits set for this process and for its control group."""
    found = []
    group = Path("/sys/fs/cgroup")
    try:
        most = (group / "memory.max").read_text(encoding="ascii")
        held = (group / "memory.current").read_text(encoding="ascii")
        if most.strip().isdecimal():
            found.append(max(0, int(most) - int(held)))
    except (OSError, ValueError):
        pass
    try:
        import resource
    except ImportError:  # not on Windows
        return [*found, 0]
    most_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most_space != resource.RLIM_INFINITY:
        found.append(max(0, most_space - read_proc_bytes("/proc/self/status", "VmSize")))
    return found or [read_proc_bytes("/proc/meminfo", "MemAvailable")]


def read_proc_bytes(file: str, name: str) -> int:
    """Bytes that Linux tells of in `file`, e.g. VmRSS in /proc/self/status; 0 where it does not."""
    try:
        text = Path(file).read_text(encoding="ascii")
    except (OSError, ValueError):
        return 0
    match = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    return 1024 * int(match[1]) if match else 0
