"""Where the rows of a table come from: the file a benchmark publishes, or another."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

OriginKind = Literal["published", "custom", "unverified", "own", "predictions"]
"""`published`: the file (by its checksum), the data set of the hub, or the data of this package;
`custom`: a file of the user's own in its place; `unverified`: a file of the published name, of
whose content no checksum is known; `own`: the benchmark is that file; `predictions`: the rows of a
file of predictions that holds the gold answers itself."""


class Origin(Struct, frozen=True, omit_defaults=True):
    kind: OriginKind
    note: str = ""
    """A sentence for readers of a number; empty where the data are what the benchmark's name
    says."""
    published: str = ""
    """What the benchmark declares: a file with its checksum, or a data set."""
    file: str = ""
    """Absolute path of the file, or the data set; empty where the rows are of several files."""
    columns: dict[str, str] = {}
    """What the file's columns are called: our name to theirs."""
    spec: str = ""
    """Absolute path of the description (TOML) by which the file was opened, where there is one."""


def origin_of(table: object) -> Origin | None:
    """None for tables that do not say it, such as those of plug-ins."""
    origin = getattr(table, "origin", None)
    return origin if isinstance(origin, Origin) else None
