"""Runs the programs of hostile_programs.toml on a file, a folder and a process made for them, and
says of each whether it did what it must not."""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import signal
import socket
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from snellen.generated_code.limits import ProgramLimits
from snellen.generated_code.program import ProgramJob, ProgramReport
from snellen.generated_code.runner import WorkerLost, Workers

RUN_PROGRAM = "snellen.generated_code.program:run_program"
LIMITS = ProgramLimits(cpu_seconds=10, wall_seconds=20.0, memory_mb=768, file_mb=32, folder_mb=64, files=1000)
BRIEF = msgspec.structs.replace(LIMITS, wall_seconds=2.0)
"""For programs that would go on for ever, and say nothing by their end."""
_CALLS = """
shmget 29 194 shmctl 31 195 ptrace 101 117 syslog 103 116 rt_sigqueueinfo 129 138 mount 165 40
tkill 200 130 tgkill 234 131 add_key 248 217 ioprio_set 251 30 inotify_add_watch 254 27
unshare 272 97 inotify_init1 294 26 perf_event_open 298 241 name_to_handle_at 303 264
open_by_handle_at 304 265 process_vm_readv 310 270 kcmp 312 272 sched_setattr 314 274
bpf 321 280 userfaultfd 323 282 pidfd_send_signal 424 424 pidfd_open 434 434 pidfd_getfd 438 438
"""
"""System calls that Python has no function for, with their numbers on x86-64 and on 64-bit ARM."""
_COLUMN = {"x86_64": 1, "aarch64": 2}[platform.machine()]
CALLS = dict(zip(_CALLS.split()[::3], map(int, _CALLS.split()[_COLUMN::3]), strict=True))
_HEAD = f"""
CALLS = {CALLS}
"""
_HEAD += """
import ctypes, errno, fcntl, mmap, os, resource, signal, socket, stat, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(name, *given):
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in given]
    result = libc.syscall(ctypes.c_long(CALLS[name]), *given)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def name_process():
    libc.prctl(15, MARK.encode(), 0, 0, 0)
def report():
    for number in range(3, 256):
        try:
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                return number
        except OSError:
            pass
    raise OSError('no pipe')
"""
_DONE = "\nraise ValueError('done')\n"


class HostileProgram(NamedTuple):
    name: str
    promise: str
    text: str
    ends: bool
    """Its end shows nothing: only what is seen from outside counts."""


def load_programs() -> list[HostileProgram]:
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    programs = []
    for promise, named in data.items():
        for name, given in named.items():
            entry = {"text": given} if isinstance(given, str) else given
            programs.append(HostileProgram(name, promise, entry["text"], entry.get("ends", False)))
    return programs


class Targets:
    """What programs attack: anybody may write the files, and the process is of the user that
    programs run as, so that only the protection stands before them."""

    def __init__(self, folder: Path, user: int) -> None:
        self.mark = f"hostile{secrets.token_hex(3)}"
        self.folder, self.libraries = folder / "folder", folder / "libraries"
        self.file = folder / "thesis"
        folder.chmod(0o755)
        for path in (self.folder, self.libraries):
            path.mkdir()
            path.chmod(0o777)
        for file in (self.file, self.libraries / "library.py"):
            file.write_text("mine")
            file.chmod(0o666)
            if os.getuid() == 0:
                os.chown(file, user, user)
        self.sockets = contextlib.ExitStack()
        self.port = self.sockets.enter_context(socket.create_server(("127.0.0.1", 0)))
        for name in (str(self.folder / "socket"), f"\0{self.mark}"):
            listening = self.sockets.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(name)
            listening.listen()
        (self.folder / "socket").chmod(0o777)
        self.user = user
        self.process = self._sleep()

    def _sleep(self) -> subprocess.Popen[bytes]:
        user = self.user if os.getuid() == 0 else None
        return subprocess.Popen(["sleep", "600"], user=user, cwd="/")

    def head(self) -> str:
        values = {
            "FILE": str(self.file),
            "FOLDER": str(self.folder),
            "LIBRARY": str(self.libraries),
            "PROCESS": self.process.pid,
            "RUNNER": os.getpid(),
            "PORT": self.port.getsockname()[1],
            "MARK": self.mark,
            "MEMORY": LIMITS.memory_mb,
        }
        return _HEAD + "".join(f"{name} = {value!r}\n" for name, value in values.items())

    def state(self) -> dict[str, object]:
        """What a program could change."""
        pid = self.process.pid
        files = {
            path.name: (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
            for path in (self.file, self.libraries / "library.py")
            if path.is_file()
        }
        held: dict[str, object] = {"files": files}
        held["folders"] = [sorted(path.name for path in folder.iterdir()) for folder in (self.folder, self.libraries)]
        held["process"] = self.process.poll()
        if self.process.poll() is None:
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            held["process"] = (
                Path(f"/proc/{pid}/limits").read_text(),
                os.sched_getaffinity(pid),
                (stat[0] in "TtZ", *stat[15:17], *stat[37:39]),
            )
        return held

    def left(self) -> list[str]:
        """Processes and files that bear the mark."""
        places = (Path("/tmp", self.mark), Path("/dev/shm", self.mark))
        return named_processes(self.mark) + [str(path) for path in places if path.exists()]

    def close(self) -> None:
        for left in self.left():
            with contextlib.suppress(OSError):
                if left.isdigit():
                    os.kill(int(left), signal.SIGKILL)
                else:
                    Path(left).unlink()
        self.process.kill()
        self.process.wait()
        self.sockets.close()


def named_processes(name: str) -> list[str]:
    """Ids of the processes of that name."""
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if path.read_text().strip() == name:
                found.append(path.parent.name)
    return found


@contextlib.contextmanager
def made_targets(user: int) -> Iterator[Targets]:
    with tempfile.TemporaryDirectory(prefix="snellen-hostile-") as folder:
        targets = Targets(Path(folder), user)
        try:
            yield targets
        finally:
            targets.close()


def run_hostile(workers: Workers, program: HostileProgram, user: int) -> str:
    """What a program did that it must not, in a few words; empty if it did nothing of it. `user`
    is the one that programs run as."""
    with made_targets(user) as targets:
        before = targets.state()
        text = targets.head() + program.text + _DONE
        try:
            said = _run(workers, text, BRIEF if program.ends else LIMITS)
        except WorkerLost as error:
            return f"the worker was lost: {error}"
        changed = [name for name, value in targets.state().items() if before[name] != value]
        left = targets.left()
        if changed or left:
            return "; ".join([f"changed {what}" for what in changed] + [f"left {left}"] * bool(left))
        return "" if program.ends or said != "error: ValueError: done" else "done"


def run_user(workers: Workers) -> int:
    """The user that programs run as."""
    return int(_run(workers, "import os\nraise ValueError(os.getuid())", LIMITS).split()[-1])


def _run(workers: Workers, text: str, limits: ProgramLimits) -> str:
    job = msgspec.msgpack.encode(ProgramJob(text, "contents"))
    result = workers.call(RUN_PROGRAM, job, limits)
    if result.failure is None:
        try:
            failure = msgspec.msgpack.decode(result.data, type=ProgramReport).failure
        except msgspec.MsgspecError:
            return "report"
    else:
        failure = result.failure
    return f"{failure.kind}: {failure.message}" if failure else ""
