"""What is known of a layout in which another tool writes results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from snellen.core.limits import Limits
from snellen.data.tables.typed_rows import Record


class ResultsLayout(NamedTuple):
    """A layout of another tool. A row is a record as in a JSON file; a failed row has `error` and
    no `prediction`."""

    kind: str
    """Its name in `Detected.kind`."""
    title: str
    """What a file of this layout is called in a sentence."""
    mark: str
    """By what a file is known to have it."""
    fits: Callable[[bytes], bool]
    """Whether the first bytes of a file have the mark."""
    records: Callable[[Path, str, Limits], Iterable[Record]]
    """The records of a file or folder, which is called by a name in errors. Raises DataError."""
