"""Tables of boards: columns, rows and cells, before anything is filtered or sorted."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

ColumnKind = Literal["text", "number", "rank", "date"]
PageKind = Literal["benchmark", "suite"]

EVIDENCE = ("verified", "submitted", "reported", "mixed")
"""Where numbers are from, the best evidence first."""


def best_first(value: float | None, model: str) -> tuple[bool, float, str]:
    """A key that sorts the highest numbers first, and rows without one last."""
    return (value is None, -(value or 0.0), model)


class BoardColumn(Struct, frozen=True, omit_defaults=True):
    """A column. The model's name is not one: it heads every row."""

    key: str
    """In links: lower-case letters, digits, - and `.`; unique in its table."""
    label: str
    kind: ColumnKind = "number"
    """Numbers are the better the higher, ranks the lower."""
    unit: str = ""
    """`percent`, `points` or nothing."""
    note: str = ""
    """What it is, in a sentence."""
    is_default: bool = True
    """Whether it is seen unless other columns are chosen."""
    digits: int = 1
    """Decimals of its numbers."""
    top: float = 100.0
    """The highest possible number."""


class BoardCell(Struct, frozen=True, omit_defaults=True):
    """A number with its interval and samples, or a text."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """Samples behind the number; None if unknown."""
    text: str = ""
    mark: str = ""
    """Why the number is not like the others of its column, such as another protocol; empty if it
    is. A marked number has no rank."""
    note: str = ""
    """What else a reader must know of the number."""


class TableRow(Struct, frozen=True, omit_defaults=True):
    """A model on a board."""

    model: str
    cells: dict[str, BoardCell]
    """By the key of the column; what is missing has no cell."""
    submission: str = ""
    """Public id; empty in a suite, where `submissions` has one of each benchmark."""
    account: str = ""
    evidence: str = ""
    """As the kind of a `Submission`, or `mixed` in a suite."""
    published: str = ""
    """When, in UTC, ISO 8601."""
    facts: dict[str, Any] = {}
    """What the submitter says of the model: parameters, weights, released, organisation, ..."""
    rank: int | None = None
    """By the table's main column, among all its models: 1 + the number of higher ones. None for a
    row without a number, or whose number is marked."""
    tier: int | None = None
    """Rows of a tier cannot be told apart from its best row; None where nothing can be tested."""
    level: str = ""
    """Capability level that the model is declared to have, or that its answers show."""
    source: dict[str, Any] = {}
    """Where a reported number is from: title, url, table, note."""
    other_protocol: str = ""
    """How its numbers were made, if otherwise than the benchmark's protocol says."""
    version: int | None = None
    """The version of the benchmark that was scored."""
    is_outdated: bool = False
    """Whether the benchmark has a newer version."""
    submissions: dict[str, str] = {}
    """Of a suite's row: the submission of each benchmark."""


class BoardTable(Struct, frozen=True, omit_defaults=True):
    """A table of a board."""

    name: str
    """In links; unique on its page."""
    title: str
    section: str
    """The heading that it stands under, together with its neighbours of the same section."""
    columns: tuple[BoardColumn, ...]
    rows: tuple[TableRow, ...]
    main: str = "score"
    """Key of the column that ranks are of, and by which rows are sorted unless told otherwise."""
    notices: tuple[str, ...] = ()
    models: int = 0
    """Rows before any filter."""

    def column(self, key: str) -> BoardColumn | None:
        return next((column for column in self.columns if column.key == key), None)


class BoardPage(Struct, frozen=True, omit_defaults=True):
    """The board of a benchmark or of a suite."""

    name: str
    title: str
    kind: PageKind
    layout: str
    """`table`, `mme`, `seed`, `mmt` or `suite`."""
    tables: tuple[BoardTable, ...]
    description: str = ""
    protocol: dict[str, Any] = {}
    """Of a benchmark."""
    version: int = 1
    samples: int = 0
    is_hidden: bool = False
    """Whether answers are hidden; of a suite, those of any member."""
    parts: dict[str, Any] = {}
    """Of a hidden split: `public` and `private` questions, and the times of the next `reveals`."""
    phases: tuple[dict[str, Any], ...] = ()
    """Of a competition, as `phases.Phase`."""
    offers_questions: bool = False
    """Whether the questions can be downloaded."""
    members: tuple[dict[str, Any], ...] = ()
    """Of a suite: `benchmark`, `title`, `weight`, `scale`, `metric`, `column` of each."""
    change: int = 0
    """Number of the latest change that it shows, for a permanent link (`as-of=@NUMBER`)."""
    changed: str = ""
    """When that was, in UTC."""
    as_of: str = ""
    """The moment that was asked for; empty for now."""
    notices: tuple[str, ...] = ()

    def table(self, name: str) -> BoardTable | None:
        return next((table for table in self.tables if table.name == name), None)
