"""What a process gives up before it runs what nobody has read.

Everything here is asked of the kernel by the process itself and cannot be taken back: a root folder
of its own, resource limits, the rights and the name of root, files by Landlock, and system calls by
a filter. `Protection` says which of these layers the system gave; which promises hold with them is
found out by trying (`promises`). Outside of Linux there are resource limits alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from snellen.generated_code.limits import MB, ProgramLimits
from snellen.generated_code.namespaces import DEVICES, end_with_parent, enter_empty_root
from snellen.generated_code.system_calls import filter_calls

RESOURCE_LIMITS = "limits of memory and of processes"
NAMESPACES = "namespaces for processes and network"
EMPTY_ROOT = "a root folder of its own"
NO_RIGHTS = "no rights of root"
LANDLOCK = "Landlock"
FILTER = "a filter of system calls"
LAYERS = (RESOURCE_LIMITS, NAMESPACES, EMPTY_ROOT, NO_RIGHTS, LANDLOCK, FILTER)

_PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP, _LAST_CAPABILITY = 38, 24, 40
_CAPABILITY_VERSION = 0x20080522
_NOBODY = 65534
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ_FILE, _READ_DIR, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_READ, _EXECUTE = _READ_FILE | _READ_DIR, 1
_NEVER = 1 | 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11
"""To execute, and to make devices, sockets and pipes, also in its own folder."""
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
"""Rights over files that each version of Landlock added."""
_SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/share", "/lib", "/lib64", "/etc/fonts", "/etc/alternatives")
_LOADERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_SYSTEM_FILES = ("/etc/localtime", "/etc/ld.so.cache")


class Protection(Struct, frozen=True):
    """Which layers the processes of a worker have."""

    holds: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The others."""
        return tuple(name for name in LAYERS if name not in self.holds)


def protect(limits: ProgramLimits, folder: Path, libraries: Sequence[str], root: Path | None) -> Protection:
    """Give up what a program does not need; for the process that is about to run it.

    `folder` is the one folder that it may write to, `libraries` are those that it may read. `root`
    is an empty folder if the worker has namespaces of its own.
    """
    if not sys.platform.startswith("linux"):
        return Protection((RESOURCE_LIMITS,) if limit_resources(limits) else ())
    libc = ctypes.CDLL(None, use_errno=True)
    readable = (*_SYSTEM_FOLDERS, *_SYSTEM_FILES, *libraries)
    held = {
        NAMESPACES: root is not None,
        EMPTY_ROOT: root is not None and enter_empty_root(libc, root, folder, readable, limits),
    }
    held[RESOURCE_LIMITS] = limit_resources(limits)
    held[NO_RIGHTS] = _drop_rights(libc, folder, libraries)
    # A change of the user undoes it.
    end_with_parent(libc)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    held[LANDLOCK] = _restrict_files(libc, folder, libraries)
    held[FILTER] = filter_calls(libc)
    return Protection(tuple(name for name in LAYERS if held[name]))


def protect_program(limits: ProgramLimits, folder: Path, libraries: Sequence[str], program: str) -> None:
    """The same, without namespaces and a filter of system calls, for a process that is about to become another
    program, which reads `libraries` and writes to `folder`."""
    limit_resources(limits)
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _drop_rights(libc, folder, libraries)
    end_with_parent(libc)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # The kernel opens the program and its loader, which lies among the libraries of the system.
    _restrict_files(libc, folder, libraries, (str(Path(program).resolve()), *_LOADERS))


def limit_resources(limits: ProgramLimits) -> bool:
    """Set the resource limits of this process, soft and hard; whether all were set."""
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
    are_set = True
    for name, (soft, hard) in wanted.items():
        number = getattr(resource, name)
        # macOS knows RLIMIT_AS and refuses it.
        try:
            top = resource.getrlimit(number)[1]
            if top != resource.RLIM_INFINITY:
                soft, hard = min(soft, top), min(hard, top)
            resource.setrlimit(number, (soft, hard))
        except (OSError, ValueError):
            are_set = False
    return are_set


def _drop_rights(libc: ctypes.CDLL, folder: Path, libraries: Sequence[str]) -> bool:
    """Give up every capability, and as root the user too, if another can read the libraries;
    whether no capability is left."""
    for capability in range(_LAST_CAPABILITY + 1):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    if os.getuid() == 0:
        _become_nobody(folder, libraries)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    libc.capset(header, bytes(24))
    kept = ctypes.create_string_buffer(24)
    return libc.capget(header, kept) == 0 and kept.raw == bytes(24)


def _become_nobody(folder: Path, libraries: Sequence[str]) -> None:
    needed = [path for path in (str(folder), *libraries) if Path(path).is_dir()]
    with contextlib.suppress(OSError):  # in a namespace of users there is nobody else
        os.chown(folder, _NOBODY, _NOBODY)
        os.seteuid(_NOBODY)
        can_read = partial(os.access, mode=os.R_OK | os.X_OK, effective_ids=True)
        is_possible = all(can_read(path) for path in needed)
        os.seteuid(0)
        if is_possible:
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    if os.getuid() == 0:
        # Without its capabilities, root cannot use the folder of somebody else.
        with contextlib.suppress(OSError):
            os.chown(folder, 0, 0)


def _restrict_files(libc: ctypes.CDLL, folder: Path, libraries: Sequence[str], programs: Sequence[str] = ()) -> bool:
    """Landlock (Linux 5.13): every right over files is taken, but for those of these folders; of programs,
    which may be folders of them, that to be run."""
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
    allowed = {str(folder): rights & ~_NEVER}
    allowed |= dict.fromkeys((*_SYSTEM_FOLDERS, *libraries), _READ)
    allowed |= dict.fromkeys(_SYSTEM_FILES, _READ_FILE)
    allowed |= dict.fromkeys(DEVICES, _READ_FILE | _WRITE_FILE)
    allowed |= {path: _EXECUTE | (_READ if Path(path).is_dir() else _READ_FILE) for path in programs}
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
