"""Memory for batches, in main memory or on GPUs: how much is used, and how much is available."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

_MAIN_FRACTION, _GPU_FRACTION = 0.5, 0.9
"""Parts of the free memory that batches may take. Less of main memory: it has other users, and a
system that runs out of it kills the process without a warning."""


class MemoryMeter(Protocol):
    """Measures the memory that a model computes in, in bytes; 0 for whatever is unknown."""

    def used_bytes(self) -> int: ...

    def peak_bytes(self) -> int:
        """Maximum of `used_bytes` so far."""
        ...

    def free_bytes(self) -> int:
        """What a batch may take in addition to the memory in use."""
        ...


class MachineMemory(NamedTuple):
    """Memory for weights; 0 bytes if it is unknown."""

    total_bytes: int
    is_gpu: bool


def model_memory() -> MachineMemory:
    """The memory of all CUDA devices that torch can use; without one the main memory."""
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            devices = range(torch.cuda.device_count())
            total = sum(torch.cuda.get_device_properties(index).total_memory for index in devices)
            return MachineMemory(int(total), True)
    return MachineMemory(read_proc_bytes("/proc/meminfo", "MemTotal"), False)


class MainMemory:
    """Main memory of this process, as Linux reports it."""

    def used_bytes(self) -> int:
        return read_proc_bytes("/proc/self/status", "VmRSS")

    def peak_bytes(self) -> int:
        return read_proc_bytes("/proc/self/status", "VmHWM")

    def free_bytes(self) -> int:
        return int(_MAIN_FRACTION * min(read_proc_bytes("/proc/meminfo", "MemAvailable"), *_remaining_limits()))


class DeviceMemory:
    """Memory of the CUDA devices of a model, as torch's allocator and the driver report it."""

    def __init__(self, devices: Sequence[str]) -> None:
        self._devices = devices

    def used_bytes(self) -> int:
        import torch

        return sum(int(torch.cuda.memory_allocated(device)) for device in self._devices)

    def peak_bytes(self) -> int:
        import torch

        return sum(int(torch.cuda.max_memory_allocated(device)) for device in self._devices)

    def free_bytes(self) -> int:
        """As if all devices were as full as the fullest one, which is the first to run out."""
        return len(self._devices) * min(map(_free_on_device, self._devices))


def _free_on_device(device: str) -> int:
    import torch

    unreserved, _ = torch.cuda.mem_get_info(device)
    # Memory that torch's allocator has reserved and does not use is available as well.
    reserved_unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(_GPU_FRACTION * (unreserved + reserved_unused))


def memory_meter(devices: Iterable[str]) -> MemoryMeter:
    """A meter for a model whose weights are on these devices."""
    gpus = sorted({device for device in devices if device.startswith("cuda")})
    return DeviceMemory(gpus) if gpus else MainMemory()


def _remaining_limits() -> list[int]:
    """Bytes left under the memory limits of this process and its control group; the available
    memory if there are none."""
    remaining = []
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text(encoding="ascii")
        used = (group / "memory.current").read_text(encoding="ascii")
        if limit.strip().isdecimal():  # else "max"
            remaining.append(max(0, int(limit) - int(used)))
    except (OSError, ValueError):
        pass
    try:
        import resource
    except ImportError:  # not on Windows
        return [*remaining, 0]
    max_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if max_space != resource.RLIM_INFINITY:
        remaining.append(max(0, max_space - read_proc_bytes("/proc/self/status", "VmSize")))
    return remaining or [read_proc_bytes("/proc/meminfo", "MemAvailable")]


def read_proc_bytes(file: str, name: str) -> int:
    """The bytes in a line of a file under /proc, e.g. VmRSS in /proc/self/status; 0 without it."""
    try:
        text = Path(file).read_text(encoding="ascii")
    except (OSError, ValueError):
        return 0
    match = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    return 1024 * int(match[1]) if match else 0
