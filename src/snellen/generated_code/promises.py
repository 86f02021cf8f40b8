"""What is promised of limited processes, found out by processes that try to break it.

Layers can be missing, or be there and not hold what they should. So before anything of others runs,
calls attack what this process has put up for them: a file, a sleeping process, sockets.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from snellen.core.errors import UsageError
from snellen.generated_code.limits import MB, ProgramLimits
from snellen.generated_code.protection import Protection
from snellen.generated_code.runner import Workers

PROMISES = {
    "files": "it reads and changes no file but those of its folder and the libraries",
    "signals": "it signals, changes and inspects no other process",
    "network": "it has no network",
    "memory": "it holds no more memory than it may",
    "leftovers": "no process of it is left when it has ended",
}
_LIMITS = ProgramLimits(cpu_seconds=20, wall_seconds=20.0, memory_mb=256, file_mb=16)


def broken_promises(workers: Workers) -> dict[str, str]:
    """The promises that do not hold for the calls of these workers, and what a call could do."""
    broken: dict[str, str] = {}
    with _targets(broken) as targets:
        data = json.dumps(targets).encode()
        attacks = {"files": attack_others, "memory": hold_memory, "leftovers": leave_process}
        for promise, attack in attacks.items():
            result = workers.call(f"{__name__}:{attack.__name__}", data, _LIMITS)
            # To be ended for its memory is what is promised; any other end shows nothing.
            if result.failure is not None and result.failure.kind != promise:
                broken[promise] = f"not known: {result.failure.message}"
            broken |= json.loads(result.data or b"{}")
    return broken


def refuse_unless_held(broken: Mapping[str, str], protection: Protection) -> None:
    """Raise UsageError for promises that do not hold."""
    if broken:
        could = "; ".join(f"{PROMISES[name]} ({did})" for name, did in broken.items())
        raise UsageError(
            "programs of replies do not run here, because of what is promised of a program this "
            f"does not hold: {could}; this system lacks {', '.join(protection.missing)}; run it on "
            "Linux 5.13 or later on x86-64 or 64-bit ARM, where a container must allow Landlock, "
            "seccomp or namespaces, or give run_code=unprotected"
        )


@contextlib.contextmanager
def _targets(broken: dict[str, str]) -> Iterator[dict[str, Any]]:
    """What a call is to attack; what has become of it is added to `broken`."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="snellen-target-"))
        Path(folder).chmod(0o755)
        file, mark = Path(folder, "file"), f"snellen-{secrets.token_hex(3)}"
        file.write_text("mine")
        before = file.stat().st_ctime_ns
        sleeper = [sys.executable, "-ISc", "import time; time.sleep(60)"]
        process = stack.enter_context(subprocess.Popen(sleeper))
        stack.callback(process.kill)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        names = [f"{folder}/socket", *([f"\0{mark}"] if sys.platform == "linux" else [])]
        for name in names:
            listening = stack.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(name)
            listening.listen()
        yield {
            "file": str(file),
            "process": process.pid,
            "mark": mark,
            "sockets": names,
            "port": server.getsockname()[1],
        }
        if file.read_text() != "mine" or file.stat().st_ctime_ns != before:
            broken.setdefault("files", "one outside was changed")
        if process.poll() is not None:
            broken.setdefault("signals", "another one was ended")
        if any(path.read_text().strip() == mark for path in Path("/proc").glob("[0-9]*/comm")):
            broken["leftovers"] = "one goes on"


def attack_others(data: bytes) -> bytes:
    """What a call could do to the targets, by promise: the first of what succeeds."""
    targets: Mapping[str, Any] = json.loads(data)
    file, process = Path(targets["file"]), targets["process"]
    attempts: tuple[tuple[str, str, Callable[[], object]], ...] = (
        ("files", "one outside was read", file.read_bytes),
        ("files", "one outside could be written", lambda: file.open("a").close()),
        ("files", "times of one outside were changed", partial(os.utime, file, (1, 1))),
        ("files", "rights of one outside were changed", partial(file.chmod, 0o777)),
        ("files", "one outside was linked", partial(os.link, file, "link")),
        ("files", "one outside was emptied", partial(os.truncate, file, 0)),
        ("signals", "limits were read", partial(_read_limit, process)),
        ("signals", "one was scheduled", lambda: os.sched_setaffinity(process, {0})),
        ("signals", "one was signalled", partial(os.kill, process, 0)),
        ("signals", "", partial(_signal_by_pipe, process)),
        ("network", "TCP", lambda: socket.create_connection(("127.0.0.1", targets["port"]), 1)),
        *(("network", repr(name), partial(_connect, name)) for name in targets["sockets"]),
    )
    done: dict[str, str] = {}
    for promise, name, attempt in attempts:
        with contextlib.suppress(OSError, AttributeError, LookupError):
            attempt()
            done.setdefault(promise, name)
    return json.dumps(done).encode()


def _connect(name: str) -> None:
    socket.socket(socket.AF_UNIX).connect(name)


def _read_limit(process: int) -> None:
    import resource

    resource.prlimit(process, resource.RLIMIT_AS)


def _signal_by_pipe(process: int) -> None:
    """Have the kernel kill a process that waits for a pipe: whether it does is seen outside."""
    import fcntl

    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, process)
    fcntl.fcntl(reader, 10, 9)  # F_SETSIG to SIGKILL
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writer, b"x")
    raise OSError("not known here")


def hold_memory(data: bytes) -> bytes:
    """Hold more memory than the limit in files without a name; says so if it was possible."""
    held = []
    with contextlib.suppress(OSError, AttributeError, MemoryError):
        for _ in range(_LIMITS.memory_mb // _LIMITS.file_mb + 2):
            held.append(os.memfd_create("held"))
            os.write(held[-1], bytes(_LIMITS.file_mb * MB))
    if len(held) * _LIMITS.file_mb <= _LIMITS.memory_mb:
        return b"{}"
    time.sleep(1.0)
    return json.dumps({"memory": f"more than {_LIMITS.memory_mb} MB were held"}).encode()


def leave_process(data: bytes) -> bytes:
    """Start a process that wants to outlive this one."""
    mark = json.loads(data)["mark"].encode()
    with contextlib.suppress(OSError):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                libc = ctypes.CDLL(None)
                libc.prctl(1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG
                libc.prctl(15, mark, 0, 0, 0)  # PR_SET_NAME
                time.sleep(60)
            os._exit(0)
        time.sleep(0.1)
    return b"{}"
