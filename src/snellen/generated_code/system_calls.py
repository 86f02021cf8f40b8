"""The filter of system calls of a limited process: those listed here pass, all others are refused.

Numbers are those of Linux on x86-64 and on 64-bit ARM (`-`: the architecture has no such call).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator, Sequence

_ALLOWED = """
read 0 63 write 1 64 close 3 57 stat 4 - fstat 5 80 lstat 6 - poll 7 - lseek 8 62 mmap 9 222
mprotect 10 226 munmap 11 215 brk 12 214 rt_sigaction 13 134 rt_sigprocmask 14 135
rt_sigreturn 15 139 pread64 17 67 pwrite64 18 68 readv 19 65 writev 20 66 access 21 - pipe 22 -
select 23 - sched_yield 24 124 mremap 25 216 msync 26 227 mincore 27 232 madvise 28 233 dup 32 23
dup2 33 - nanosleep 35 101 getitimer 36 102 alarm 37 - setitimer 38 103 getpid 39 172
sendfile 40 71 exit 60 93 wait4 61 260 uname 63 160 flock 73 32 fsync 74 82 fdatasync 75 83
ftruncate 77 46 getdents 78 - getcwd 79 17 chdir 80 49 fchdir 81 50 rename 82 - mkdir 83 -
rmdir 84 - creat 85 - link 86 - unlink 87 - symlink 88 - readlink 89 - umask 95 166
gettimeofday 96 169 getrlimit 97 163 getrusage 98 165 sysinfo 99 179 times 100 153 getuid 102 174
getgid 104 176 geteuid 107 175 getegid 108 177 getppid 110 173 getpgrp 111 - getgroups 115 158
getresuid 118 148 getresgid 120 150 getpgid 121 155 getsid 124 156 capget 125 90
rt_sigpending 127 136 rt_sigtimedwait 128 137 rt_sigsuspend 130 133 sigaltstack 131 132
statfs 137 43 fstatfs 138 44 getpriority 140 141 sched_getparam 143 121
sched_getscheduler 145 120 sched_get_priority_max 146 125 sched_get_priority_min 147 126
arch_prctl 158 - setrlimit 160 164 gettid 186 178 readahead 187 213 time 201 - futex 202 98
sched_getaffinity 204 123 getdents64 217 61 set_tid_address 218 96 restart_syscall 219 128
fadvise64 221 223 clock_gettime 228 113 clock_getres 229 114 clock_nanosleep 230 115
exit_group 231 94 waitid 247 95 mkdirat 258 34 newfstatat 262 79 unlinkat 263 35 renameat 264 38
linkat 265 37 symlinkat 266 36 readlinkat 267 78 faccessat 269 48 pselect6 270 72 ppoll 271 73
set_robust_list 273 99 get_robust_list 274 100 fallocate 285 47 dup3 292 24 pipe2 293 59
preadv 295 69 pwritev 296 70 getcpu 309 168 renameat2 316 276 getrandom 318 278
membarrier 324 283 copy_file_range 326 285 preadv2 327 286 pwritev2 328 287 statx 332 291
rseq 334 293 close_range 436 436 faccessat2 439 439
"""
"""What Python, numpy and matplotlib need to compute, and to read and write files."""

_NAMESPACES, _THREAD, _EMPTY = 0x7E020080, 0x10000, os.O_TRUNC
_OPEN = (_EMPTY | os.O_ACCMODE, (0, 1, 2, _EMPTY | 1, _EMPTY | 2), errno.EPERM)
"""Not to empty a file that is opened for reading: older kernels let Landlock pass that."""
_ANY = 0xFFFFFFFF


def _checked_calls(process: int) -> Sequence[_Check]:
    """Calls that pass if an argument, under a mask, has one of some values: the numbers, which
    argument, mask, values, and the error of all others."""
    return (
        # clone: threads alone; a program that asks for a process is told that there are too many.
        ((56, 220), 0, _THREAD | _NAMESPACES, (_THREAD,), errno.EAGAIN),
        ((2, -1), 1, *_OPEN),  # open
        ((257, 56), 2, *_OPEN),  # openat
        ((62, 129), 0, _ANY, (process,), errno.EPERM),  # kill
        ((234, 131), 0, _ANY, (process,), errno.EPERM),  # tgkill
        ((302, 261), 0, _ANY, (0, process), errno.EPERM),  # prlimit64
        # ioctl: whether it is a terminal, its width, what waits, and what closes.
        ((16, 29), 1, _ANY, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451), errno.ENOTTY),
        # fcntl: copies, flags and locks; not who is signalled, leases, or the length of pipes.
        ((72, 25), 1, _ANY, (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032), errno.EPERM),
        # prctl: names of threads and of memory, and what can be asked.
        ((157, 167), 0, _ANY, (3, 15, 16, 21, 23, 39, 0x53564D41), errno.EPERM),
    )


_Check = tuple[tuple[int, int], int, int, tuple[int, ...], int]
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32_CALLS = 0x40000000
_FIRST_MODERN = 424
"""From here on programs ask whether a call is there, and expect ENOSYS where it is not."""
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _REFUSE, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000


def filter_calls(libc: ctypes.CDLL) -> bool:
    """Refuse this process, for good, all calls but the listed ones; whether that was possible.
    Needs PR_SET_NO_NEW_PRIVS."""
    machine = _ARCHITECTURES.get(platform.machine())
    if machine is None or sys.byteorder != "little":
        return False
    steps = _instructions(*machine, os.getpid())
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    program = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(program))
    failed = libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(header), 0, 0)
    return bool(failed == 0)


def _instructions(column: int, architecture: int, process: int) -> Iterator[tuple[int, int, int, int]]:
    """The filter in the kernel's language for packet filters: operation, jumps if true and if
    false, operand."""
    yield _LOAD, 0, 0, _ARCHITECTURE
    yield _EQUAL, 1, 0, architecture
    yield _RETURN, 0, 0, _KILL_PROCESS
    yield _LOAD, 0, 0, _NUMBER
    if column == 0:
        yield _AT_LEAST, 0, 1, _X32_CALLS
        yield _RETURN, 0, 0, _REFUSE | errno.ENOSYS
    for number in _ALLOWED.split()[1 + column :: 3]:
        if number != "-":
            yield _EQUAL, 0, 1, int(number)
            yield _RETURN, 0, 0, _ALLOW
    for numbers, argument, mask, values, error in _checked_calls(process):
        if numbers[column] >= 0:
            yield _EQUAL, 0, len(values) + 4, numbers[column]
            yield _LOAD, 0, 0, _ARGUMENTS + 8 * argument
            yield _AND, 0, 0, mask
            for place, value in enumerate(values):
                yield _EQUAL, len(values) - place, 0, value
            yield _RETURN, 0, 0, _REFUSE | error
            yield _RETURN, 0, 0, _ALLOW
    yield _AT_LEAST, 0, 1, _FIRST_MODERN
    yield _RETURN, 0, 0, _REFUSE | errno.ENOSYS
    yield _RETURN, 0, 0, _REFUSE | errno.EPERM
