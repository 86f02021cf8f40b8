"""A table whose rows are made of those of other tables when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from snellen.core.sample import Origin, Row


@dataclass(frozen=True, slots=True)
class DerivedTable:
    """A `DataTable` of the rows that a function gives."""

    path: str
    columns: Sequence[str]
    digest: str
    """SHA-256 (hex) of what the rows are made of."""
    size: int
    rows: Callable[[], Iterator[Row]]
    origin: Origin | None

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Row]:
        return self.rows()
