"""vLLM's engine in this process: started once, in a thread with an event loop of its own.

The engine outlives the event loops of single runs, so that several benchmarks share the weights.
Its scheduler and the weights are in further processes that vLLM starts; they end with this one.
"""

from __future__ import annotations

import asyncio
import atexit
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from snellen.core.errors import MissingExtra, UsageError
from snellen.core.watchdog import guard_processes
from snellen.settings import set_unset

if TYPE_CHECKING:
    from vllm.v1.engine.async_llm import AsyncLLM

T = TypeVar("T")

_GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL of processes that outlive Snellen."""

_ERROR_LINE = re.compile(r"(?:^|[\s\]])(?:\w+\.)*(\w*(?:Error|Exception)): (.+)$", re.MULTILINE)
_INVALID_ARGUMENT = re.compile(r"^ *Value error, (.+?)(?: \[type=|$)", re.MULTILINE)
"""An argument that pydantic, which checks those of vLLM, refuses: its second line says why."""
_UNINFORMATIVE = ("initialization failed", "See root cause above", "failed to start")
_MEMORY_SIGNS = (
    "out of memory",
    "no available memory for the cache",
    "free memory on device",
    "kv cache is needed",
    "larger than the available kv cache",
    "not enough memory",
)
_QUIET = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
    "VLLM_LOGGING_COLOR": "0",
    "VLLM_NO_USAGE_STATS": "1",
}
"""Settings of vLLM's logs; those of the environment come first."""
_SECONDS_TO_END = 15
_GPU_TYPES = frozenset({"cuda", "xpu", "tpu", "npu"})


class MissingVllm(MissingExtra):
    """vLLM is not installed."""

    def __init__(self, name: str) -> None:
        UsageError.__init__(
            self,
            f"{name} needs vllm, which is not installed here; it pins versions of torch and "
            "transformers, so give it an environment of its own: python -m venv vllm-env && "
            "vllm-env/bin/pip install 'snellen[vllm]', then run vllm-env/bin/snellen",
        )


def require_vllm(name: str) -> None:
    """Raise MissingVllm if vLLM is not installed."""
    if importlib.util.find_spec("vllm") is None:
        raise MissingVllm(name)


def find_device(name: str) -> str:
    """`cpu`, or the type of GPU that vLLM computes on. Raises UsageError if there is neither a GPU
    nor a vLLM built for CPUs. Imports vLLM, which takes seconds."""
    set_unset(_QUIET)
    try:
        with _capture_output([]):
            from vllm.platforms import current_platform
    except (ImportError, OSError, RuntimeError) as error:
        raise UsageError(f"{name}: the installed vllm cannot be imported: {error_line(str(error))}") from error
    device = str(current_platform.device_type)
    if device == "cpu" or device in _GPU_TYPES:
        return device
    raise UsageError(
        f"{name}: vLLM finds no GPU on this machine; run it where there is one, ask a server that "
        f"has one (http://HOST:PORT/v1#NAME), or take {name.replace('vllm-local/', 'hf/', 1)}, "
        "which computes on a CPU"
    )


def device_bytes() -> int:
    """Total memory of one device that vLLM computes on, in bytes; 0 if unknown."""
    from vllm.platforms import current_platform

    try:
        return int(current_platform.get_device_total_memory())
    except (RuntimeError, NotImplementedError, OSError):
        return 0


class EngineThread:
    """vLLM's engine, and the thread that it lives in."""

    def __init__(
        self, engine: AsyncLLM, loop: asyncio.AbstractEventLoop, thread: threading.Thread, processes: Collection[int]
    ) -> None:
        """`processes` are those that the engine started; they end with this process however it
        ends."""
        self.engine = engine
        self._watchdog = guard_processes(processes, _GRACE)
        self._loop = loop
        self._thread = thread
        atexit.register(self.close)

    def submit(self, work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        """Run a coroutine beside the engine; the future belongs to the caller's event loop. If it
        is cancelled, so is the work."""
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def close(self) -> None:
        """End the engine and its processes."""
        atexit.unregister(self.close)
        ended = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        with suppress(TimeoutError, RuntimeError, OSError):
            ended.result(_SECONDS_TO_END)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS_TO_END)
        with suppress(OSError, subprocess.TimeoutExpired):
            self._watchdog.communicate(b"ended\n", timeout=_SECONDS_TO_END)

    async def _end(self) -> None:
        with _capture_output([]):
            self.engine.shutdown(timeout=1)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def start_engine(name: str, arguments: Mapping[str, Any]) -> EngineThread:
    """Load the weights and start the engine: seconds for a small model, minutes for a large one.

    Raises UsageError with the reason from the log of vLLM's processes.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="snellen-vllm", daemon=True)
    thread.start()
    log: list[str] = []
    before = _descendants(os.getpid())

    async def start() -> AsyncLLM:
        with _capture_output(log):
            from vllm import AsyncEngineArgs
            from vllm.v1.engine.async_llm import AsyncLLM

            return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))

    try:
        engine = asyncio.run_coroutine_threadsafe(start(), loop).result()
    except Exception as error:
        loop.call_soon_threadsafe(loop.stop)
        raise start_error(name, f"{''.join(log)}\n{type(error).__name__}: {error}") from error
    return EngineThread(engine, loop, thread, _descendants(os.getpid()) - before)


def _descendants(pid: int) -> set[int]:
    """The processes that a process and its children have started, as Linux lists them."""
    children: set[int] = set()
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            children.update(map(int, listing.read_text(encoding="ascii").split()))
    return children.union(*map(_descendants, children))


def start_error(name: str, log: str) -> UsageError:
    """One sentence for an engine that does not start, from what it and its processes printed."""
    reason = error_line(log)
    if any(sign in log.lower() for sign in _MEMORY_SIGNS):
        return UsageError(
            f"{name} does not fit into the memory: {reason}; take tensor_parallel=2 or more where "
            "there are several GPUs, a smaller context=, fewer requests at once (concurrency=), "
            "quantisation=fp8, or a larger gpu_memory="
        )
    return UsageError(f"vLLM cannot load {name}: {reason}")


def error_line(log: str) -> str:
    """The last error in a log that says something, in one line."""
    errors = _INVALID_ARGUMENT.findall(log) or [
        message.strip()
        for _, message in _ERROR_LINE.findall(log)
        if not any(part in message for part in _UNINFORMATIVE)
    ]
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    text = errors[-1] if errors else (lines[-1] if lines else "no reason is given")
    return text[:400]


@contextmanager
def _capture_output(log: list[str]) -> Iterator[None]:
    """Collect in `log` what this process and those that it starts print inside the block, so that
    neither progress bars nor tracebacks of vLLM's processes stand between those of a run.

    Processes that were started keep writing to the file, which has no name any more.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as file:
        kept = [(number, os.dup(number)) for number in (1, 2)]
        try:
            for number, _ in kept:
                os.dup2(file.fileno(), number)
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)
            # Not by `read`: the processes write at the position that it would move.
            size = os.fstat(file.fileno()).st_size
            log.append(os.pread(file.fileno(), size, 0).decode("utf-8", "replace"))
