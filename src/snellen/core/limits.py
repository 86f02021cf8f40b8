"""How much of what comes from outside is read. `docs/limits.md` lists every limit."""

from __future__ import annotations

from dataclasses import dataclass

from snellen.core.errors import DataError

MB = 1 << 20
GB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Each field is a setting: `row_mb` is read from `SNELLEN_MAX_ROW_MB`, and so on."""

    row_mb: int = 128
    """MB of one row of a TSV or CSV file, or of one line of a JSON Lines file."""
    columns: int = 100_000
    """Columns of a table, and cells of one row."""
    cells: int = 10_000_000
    """Cells of a workbook, which is held in memory."""
    depth: int = 100
    """How deep lists and objects of a JSON value stand in each other."""
    document_mb: int = 4096
    """MB of a file that is held in memory: a JSON document, a workbook, a log of lmms-eval, a
    text file of MME."""
    member_mb: int = 512
    """MB of one member of a `.eval` archive or a workbook, unpacked."""
    unpacked_gb: int = 50
    """GB that one `.gz` file, or all members of an archive, may hold unpacked."""
    ratio: int = 100
    """How many times its packed size a `.gz` file or a member may hold, from 256 MB on."""
    picture_mb: int = 512
    """MB of a picture in a file of its own."""
    megapixels: int = 100
    """Millions of pixels of a picture."""
    template_s: int = 30
    """Seconds in which the chat template of a checkpoint renders a prompt."""
    connections: int = 64
    """Connections of browsers to `snellen view` at one time."""


DEFAULT_LIMITS = Limits()
PREFIX = "SNELLEN_MAX_"
RATIO_FROM = 256 * MB
"""Bytes up to which no file is taken for one that was made to fill a disk."""


def limit_variable(name: str) -> str:
    """The environment variable of a limit."""
    return PREFIX + name.upper()


def raising_advice(name: str) -> str:
    """What to do about a limit, as the end of a sentence."""
    return f"to go on all the same, raise {limit_variable(name)}"


def is_too_deep(value: object, depth: int) -> bool:
    """Whether lists and objects of a decoded JSON value stand more than `depth` in each other."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return bool(level)


def nesting_error(where: str, depth: int) -> DataError:
    """The sentence for a JSON value that `is_too_deep`."""
    return DataError(
        f"{where}: its lists and objects stand more than {depth} deep in each other; "
        f"{raising_advice('depth')}"
    )


def check_size(size: int, max_size: int, name: str, where: str) -> None:
    """Raises DataError if `size` exceeds `max_size`, both in bytes; `name` is the limit."""
    if size > max_size:
        raise DataError(
            f"{where} is {_size(size)} long, and at most {_size(max_size)} are read; "
            f"{raising_advice(name)}"
        )


def check_ratio(unpacked: int, packed: int, limits: Limits, where: str) -> None:
    """Raises DataError for `unpacked` bytes that are unpacked of `packed` and more than any real
    table packs to."""
    if unpacked > RATIO_FROM and unpacked > packed * limits.ratio:
        raise DataError(
            f"{where} is {_size(packed)} long and holds more than {limits.ratio} times as much, "
            f"as files do that were made to fill a disk; {raising_advice('ratio')}"
        )


def _size(count: int) -> str:
    unit, name = (GB, "GB") if count >= GB else (MB, "MB")
    return f"{count / unit:.3g} {name}"
