"""Limits of one limited call, and what its end is called."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

MB = 1 << 20

ProgramError = Literal["error", "timeout", "memory", "ended", "killed", "report"]
"""`error`: it raised an exception; `timeout`: it took too long, by the clock or the processor;
`memory`: it asked for more than it may have; `ended`: it left before its picture could be drawn;
`killed`: a signal ended it; `report`: what it reported cannot be read, since it wrote that itself
or drew more than can be compared."""


class ProgramLimits(Struct, frozen=True):
    """What a call may use. VLMEvalKit gives each program 120 seconds, and no other limit."""

    cpu_seconds: int = 60
    wall_seconds: float = 120.0
    memory_mb: int = 4096
    """Address space, that of the libraries included."""
    file_mb: int = 64
    """Longest file that it may write."""
    folder_mb: int = 256
    """All files in its folder, where that is in memory."""
    files: int = 10_000
    open_files: int = 256
    processes: int = 64
    """Processes and threads of the user, where the system cannot forbid processes altogether."""
    report_mb: int = 64


class ProgramFailure(Struct, frozen=True):
    """Why a call has no result: a result of the program, not of the machine."""

    kind: ProgramError
    message: str
    """For `error` the last line of its traceback."""
