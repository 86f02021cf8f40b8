"""Origin of the rows of a table: the file that a benchmark publishes, or another."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

OriginKind = Literal["published", "custom", "unverified", "own", "predictions"]
"""`published`: the file (by its checksum), the data set of the hub, or the data of this package;
`custom`: the user's file in its place; `unverified`: a file of the published name without a known
checksum; `own`: the benchmark is this file; `predictions`: rows of a predictions file that holds
the gold answers as well."""


class Origin(Struct, frozen=True, omit_defaults=True):
    kind: OriginKind
    note: str = ""
    """A sentence for readers of a score; empty if the data are those that the benchmark's name
    stands for."""
    published: str = ""
    """The data that the benchmark declares: a file with its checksum, or a data set."""
    file: str = ""
    """Absolute path of the file, or the data set; empty if the rows come from multiple files."""
    columns: dict[str, str] = {}
    """Columns of the file: our name to theirs."""
    spec: str = ""
    """Absolute path of the TOML description by which the file was opened, if any."""


def origin_of(table: object) -> Origin | None:
    """The origin of a table; None if the table has none, such as that of a plug-in."""
    origin = getattr(table, "origin", None)
    return origin if isinstance(origin, Origin) else None
