"""Limits on the size of input. `docs/limits.md` lists them."""

from __future__ import annotations

from dataclasses import dataclass

from snellen.core.errors import DataError

MB = 1 << 20
GB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on input; `row_mb` is read from the variable `SNELLEN_MAX_ROW_MB`, and so on."""

    row_mb: int = 128
    """MB of one row of a TSV or CSV file, of one line of a JSON Lines file, or of one text of a
    Parquet file."""
    columns: int = 100_000
    """Columns of a table, and cells of one row."""
    rows: int = 5_000_000
    """Rows of a Parquet file, which can hold millions of equal ones in a few bytes."""
    cells: int = 10_000_000
    """Cells of a workbook, which is read into memory."""
    depth: int = 100
    """Nesting depth of lists and objects in a JSON value."""
    document_mb: int = 4096
    """MB of a file that is read into memory: a JSON document, a workbook, a log of lmms-eval, a
    text file of MME."""
    member_mb: int = 512
    """MB of one member of a `.eval` archive or a workbook, unpacked."""
    unpacked_gb: int = 50
    """GB of one `.gz` file, or of all members of an archive, unpacked."""
    ratio: int = 100
    """Ratio of unpacked to packed size of a `.gz` file or a member, from 256 MB on."""
    picture_mb: int = 512
    """MB of an image file."""
    megapixels: int = 100
    """Millions of pixels of an image."""
    template_s: int = 30
    """Seconds in which the chat template of a checkpoint renders a prompt."""
    connections: int = 64
    """Simultaneous connections to `snellen view`."""


DEFAULT_LIMITS = Limits()
PREFIX = "SNELLEN_MAX_"
RATIO_FROM = 256 * MB
"""Bytes up to which the ratio is not checked: such a file cannot fill a disk."""


def limit_variable(name: str) -> str:
    """The environment variable that sets a limit."""
    return PREFIX + name.upper()


def raising_advice(name: str) -> str:
    """End of a sentence: how to raise a limit."""
    return f"to go on all the same, raise {limit_variable(name)}"


def is_too_deep(value: object, depth: int) -> bool:
    """Whether a decoded JSON value is nested more than `depth` deep."""
    # Level by level instead of by recursion, which deep values would exhaust.
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
    """Error for a JSON value that `is_too_deep`."""
    return DataError(
        f"{where}: its lists and objects stand more than {depth} deep in each other; {raising_advice('depth')}"
    )


def check_size(size: int, max_size: int, name: str, where: str) -> None:
    """Raises DataError if `size` exceeds `max_size`, both in bytes; `name` is the limit."""
    if size > max_size:
        raise DataError(
            f"{where} is {_size(size)} long, and at most {_size(max_size)} are read; {raising_advice(name)}"
        )


def check_ratio(unpacked: int, packed: int, limits: Limits, where: str) -> None:
    """Raises DataError if `unpacked` bytes from `packed` bytes are more than any real table has."""
    if unpacked > RATIO_FROM and unpacked > packed * limits.ratio:
        raise DataError(
            f"{where} is {_size(packed)} long and holds more than {limits.ratio} times as much, "
            f"as files do that were made to fill a disk; {raising_advice('ratio')}"
        )


def _size(count: int) -> str:
    unit, name = (GB, "GB") if count >= GB else (MB, "MB")
    return f"{count / unit:.3g} {name}"
