"""What a process gives up before it runs a program that nobody has read.

Everything here is asked of the kernel by the process itself, cannot be taken back, and needs no
rights: resource limits; namespaces of its own for network and message queues; Landlock, by which it
writes to one folder and reads the libraries and that folder; and a filter of system calls, by which
it opens no socket, starts no process and program, and signals nobody. Outside of Linux there are
resource limits alone. `Protection.missing` is what the system refused.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from snellen.generated_code.limits import MB, ProgramLimits

FILES = "files: it writes to its own folder alone, and reads no others than those of the libraries"
NETWORK = "network: it has none"
PROCESSES = "processes: it starts none, and signals none"

_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_SET_PDEATHSIG = 38, 22, 1
_SECCOMP_MODE_FILTER = 2
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ_FILE, _READ_DIR, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_READ = _READ_FILE | _READ_DIR
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
"""Rights over files that each version of Landlock added."""
_EXECUTE = 1
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/share", "/lib", "/lib64", "/etc/fonts")
_SYSTEM_FILES = ("/etc/localtime", "/etc/ld.so.cache")

Calls = dict[str, tuple[int, int]]
"""Names of system calls to their numbers on x86-64 and on 64-bit ARM; -1 where there is none."""
_FORBIDDEN: Calls = {
    "socket": (41, 198), "execve": (59, 221), "execveat": (322, 281), "fork": (57, -1),
    "vfork": (58, -1), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "io_uring_setup": (425, 425), "bpf": (321, 280),
    "perf_event_open": (298, 241), "mount": (165, 40), "umount2": (166, 39), "unshare": (272, 97),
    "setns": (308, 268), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "userfaultfd": (323, 282), "setpriority": (141, 140), "sched_setscheduler": (144, 119),
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, -1), "fchown": (93, 55), "lchown": (94, -1), "fchownat": (260, 54),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "utimensat": (280, 88), "utime": (132, -1), "utimes": (235, -1), "futimesat": (261, -1),
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
}  # fmt: skip
_CLONE, _CLONE3, _KILL, _TGKILL = (56, 220), (435, 435), (62, 129), (234, 131)
_CLONE_THREAD = 0x10000
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32_CALLS = 0x40000000


class Protection(Struct, frozen=True):
    """What holds for the programs of a worker, beside their resource limits."""

    holds: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def protect(limits: ProgramLimits, folder: Path, libraries: Sequence[str]) -> Protection:
    """Give up what a program does not need; for the process that is about to run it.

    `folder` is the one folder that it may write to, `libraries` are those that it may read.
    """
    if not sys.platform.startswith("linux"):
        limit_resources(limits)
        return Protection(missing=(FILES, NETWORK, PROCESSES))
    libc = ctypes.CDLL(None, use_errno=True)
    # Before the limits: the processes of a namespace of its own are counted from 1.
    alone = _isolate_network(libc)
    limit_resources(limits)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    steps: dict[str, Callable[[], bool]] = {
        FILES: lambda: _restrict_files(libc, folder, libraries),
        PROCESSES: lambda: _filter_calls(libc),
    }
    done = {name: step() for name, step in steps.items()}
    # The filter lets no socket be opened, with or without a network of its own.
    done[NETWORK] = alone or done[PROCESSES]
    return Protection(
        tuple(name for name, held in done.items() if held),
        tuple(name for name, held in done.items() if not held),
    )


def limit_resources(limits: ProgramLimits) -> None:
    """Set the resource limits of this process, soft and hard."""
    import resource

    memory, file = limits.memory_mb * MB, limits.file_mb * MB
    wanted = {
        # The first limit says which it was (SIGXCPU); a program that ignores it meets the second.
        "RLIMIT_CPU": (limits.cpu_seconds, limits.cpu_seconds + 2),
        "RLIMIT_AS": (memory, memory),
        "RLIMIT_FSIZE": (file, file),
        "RLIMIT_NOFILE": (limits.open_files, limits.open_files),
        "RLIMIT_NPROC": (limits.processes, limits.processes),
        "RLIMIT_CORE": (0, 0),
    }
    for name, (soft, hard) in wanted.items():
        number = getattr(resource, name, None)
        if number is None:
            continue
        top = resource.getrlimit(number)[1]
        if top != resource.RLIM_INFINITY:
            soft, hard = min(soft, top), min(hard, top)
        # macOS knows RLIMIT_AS and refuses it.
        _try(partial(resource.setrlimit, number, (soft, hard)))


def end_with_parent() -> None:
    """Have the kernel end this process when its parent ends, where it can."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)


def _isolate_network(libc: ctypes.CDLL) -> bool:
    """Namespaces of its own for users, network and message queues. In the first, not even root has
    rights over what lies outside."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC):
        return False
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    for name, text in maps.items():
        _try(partial(Path(f"/proc/self/{name}").write_text, text))
    return True


def _try(act: Callable[[], object]) -> bool:
    try:
        act()
    except (OSError, ValueError):
        return False
    return True


def _restrict_files(libc: ctypes.CDLL, folder: Path, libraries: Sequence[str]) -> bool:
    """Landlock (Linux 5.13): every right over files is taken, but for those of these folders."""
    version = libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if version < 1:
        return False
    rights = sum(added for since, added in _FILE_RIGHTS.items() if since <= version)
    network = 3 if version >= 4 else 0
    scopes = 3 if version >= 6 else 0
    attributes = struct.pack("=QQQ", rights, network, scopes)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = libc.syscall(_LANDLOCK_CREATE, ctypes.c_char_p(attributes), size, 0)
    if rules < 0:
        return False
    allowed = {str(folder): rights & ~_EXECUTE}
    allowed |= dict.fromkeys((*_SYSTEM_FOLDERS, *libraries), _READ)
    allowed |= dict.fromkeys(_SYSTEM_FILES, _READ_FILE)
    allowed |= dict.fromkeys(_DEVICES, _READ_FILE | _WRITE_FILE)
    for path, right in allowed.items():
        _allow_path(libc, rules, path, right)
    held = libc.syscall(_LANDLOCK_RESTRICT, rules, 0) == 0
    os.close(rules)
    return bool(held)


def _allow_path(libc: ctypes.CDLL, rules: int, path: str, right: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    rule = struct.pack("=Qi", right, opened)
    libc.syscall(_LANDLOCK_ADD, rules, 1, ctypes.c_char_p(rule), 0)
    os.close(opened)


def _filter_calls(libc: ctypes.CDLL) -> bool:
    """A filter of system calls, in the kernel's language for packet filters."""
    machine = _ARCHITECTURES.get(platform.machine())
    if machine is None or sys.byteorder != "little":
        return False
    column, architecture = machine
    code = _call_filter(column, architecture, os.getpid())
    program = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(program))
    failed = libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(header), 0, 0)
    return bool(failed == 0)


_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _REFUSE, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000


def _call_filter(column: int, architecture: int, process: int) -> bytes:
    """Instructions of 8 bytes each: operation, jumps if true and if false, operand."""
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, architecture, 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD, _NUMBER),
    ]
    if column == 0:
        code += [_instruction(_AT_LEAST, _X32_CALLS, 0, 1), _refuse(errno.ENOSYS)]
    for numbers in _FORBIDDEN.values():
        if numbers[column] >= 0:
            code += [_instruction(_EQUAL, numbers[column], 0, 1), _refuse(errno.EPERM)]
    # The C library asks for threads by `clone3`, whose arguments no filter sees, then by `clone`.
    code += [_instruction(_EQUAL, _CLONE3[column], 0, 1), _refuse(errno.ENOSYS)]
    code += _unless_argument(_CLONE[column], _ANY_BIT, _CLONE_THREAD, errno.EAGAIN)
    code += _unless_argument(_KILL[column], _EQUAL, process, errno.EPERM)
    code += _unless_argument(_TGKILL[column], _EQUAL, process, errno.EPERM)
    return b"".join([*code, _instruction(_RETURN, _ALLOW)])


def _unless_argument(number: int, test: int, operand: int, error: int) -> list[bytes]:
    """Refuse a call unless its first argument passes the test."""
    return [
        _instruction(_EQUAL, number, 0, 4),
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(test, operand, 1, 0),
        _refuse(error),
        _instruction(_RETURN, _ALLOW),
    ]


def _refuse(error: int) -> bytes:
    return _instruction(_RETURN, _REFUSE | error)


def _instruction(operation: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, if_true, if_false, operand)
