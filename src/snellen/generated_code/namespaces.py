"""Namespaces of a worker and of its limited processes, where the system gives them.

A worker is the first process of its own: with it the kernel ends whatever runs in them. Each
limited process then gets a root folder that holds what it may read, read-only, and a working folder
in memory with a limit, which is gone with the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from snellen.generated_code.limits import ProgramLimits

_NEWNS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_MS_BIND_ALL, _MS_PRIVATE_ALL, _MS_NO_DEVICES = 0x5000, 0x44000, 0x6
_MNT_DETACH = 2
_MOUNT_SETATTR, _PIVOT_ROOT = 442, {"x86_64": 155, "aarch64": 41}
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXECUTION = 1, 2, 4, 8
_MS_REMOUNT_BIND = 0x1020
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


def become_first_process(libc: ctypes.CDLL) -> bool:
    """Go on as the first process of namespaces for processes, mounts, network and messages; whether
    the system gave them. The process that called waits until it has ended, and ends too."""
    # Tried in a child: where a namespace of users comes without a user, there is no way back.
    trial = os.fork()
    if trial == 0:
        os._exit(not _enter_namespaces(libc))
    if os.waitpid(trial, 0)[1] or not _enter_namespaces(libc):
        return False
    first = os.fork()
    if first:
        # Who waits at the other ends of the pipes must see that they are closed.
        os.closerange(3, 1 << 10)
        os.waitpid(first, 0)
        os._exit(0)
    end_with_parent(libc)
    libc.mount(None, b"/", None, _MS_PRIVATE_ALL, None)
    return True


def _enter_namespaces(libc: ctypes.CDLL) -> bool:
    wanted = _NEWNS | _NEWIPC | _NEWPID | _NEWNET
    user, group = os.getuid(), os.getgid()
    # Root needs none of users, and can then become somebody else.
    if user == 0 and libc.unshare(wanted) == 0:
        return True
    if libc.unshare(wanted | _NEWUSER):
        return False
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    for name, text in maps.items():
        with contextlib.suppress(OSError):
            Path(f"/proc/self/{name}").write_text(text)
    return (os.getuid(), os.getgid()) == (user, group)


def end_with_parent(libc: ctypes.CDLL) -> None:
    """Have the kernel end this process when its parent ends."""
    libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)


def adopt_orphans(libc: ctypes.CDLL) -> None:
    """Become the parent of processes below this one whose own parent has ended."""
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def enter_empty_root(libc: ctypes.CDLL, root: Path, home: Path, readable: Sequence[str], limits: ProgramLimits) -> bool:
    """Change to a root folder with the `readable` folders and files, and an empty `home`, each at
    its own path; whether that was possible. `root` is a folder on which it is put together."""
    size = f"size={limits.folder_mb}m,nr_inodes={limits.files},mode=700".encode()
    try:
        _check(libc.unshare(_NEWNS | _NEWIPC))
        _check(libc.mount(None, bytes(root), b"tmpfs", _MS_NO_DEVICES, b"size=1m,mode=755"))
        for path in (*_outermost(readable), *DEVICES):
            _bind(libc, path, root)
        inner = _inside(root, str(home))
        inner.mkdir(parents=True, exist_ok=True)
        _check(libc.mount(None, bytes(inner), b"tmpfs", _MS_NO_DEVICES, size))
        os.chdir(root)
        _check(libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."))
        _check(libc.umount2(b".", _MNT_DETACH))
        _set_attributes(libc, b"/", _READ_ONLY, 0)
        os.chdir(home)
    except (OSError, KeyError):
        os.chdir(home)
        return False
    return True


def _outermost(paths: Iterable[str]) -> list[str]:
    """Those that exist and do not lie in another one."""
    kept: list[str] = []
    for path in sorted({str(Path(path).absolute()) for path in paths if Path(path).exists()}):
        if not kept or not path.startswith(f"{kept[-1]}/"):
            kept.append(path)
    return kept


def _bind(libc: ctypes.CDLL, path: str, root: Path) -> None:
    place = _inside(root, path)
    if Path(path).is_dir():
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    _check(libc.mount(path.encode(), bytes(place), None, _MS_BIND_ALL, None))
    devices = 0 if path in DEVICES else _NO_DEVICES
    _set_attributes(libc, bytes(place), _READ_ONLY | _NO_SUID | devices, _AT_RECURSIVE)


def _inside(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _set_attributes(libc: ctypes.CDLL, path: bytes, attributes: int, flags: int) -> None:
    wanted = struct.pack("=QQQQ", attributes, 0, 0, 0)
    if libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path, flags, wanted, len(wanted)) == 0:
        return
    # Linux before 5.12, and gVisor: each mount there by itself, with what it has already.
    mounts = {path.decode()}
    if flags:
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            place = line.split()[4]
            if place.startswith(f"{path.decode()}/"):
                mounts.add(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), place))
    for place in mounts:
        has = os.statvfs(place).f_flag & (_READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXECUTION)
        _check(libc.mount(None, place.encode(), None, _MS_REMOUNT_BIND | has | attributes, None))


def _check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), "refused")
