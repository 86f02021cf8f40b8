"""Items: the questions of any benchmark or data file, with every other cell of their rows.

Unlike a run, which refuses a file with a bad row, curation reads every row: an item that could not
be asked says why in `problem`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from snellen.benchmarks.declaration.data_file import ITEMS_FILE as ITEMS_FILE
from snellen.benchmarks.declaration.golds import ColumnOfGolds
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.declaration.rows import (
    GROUP_COLUMNS,
    expected_separator,
    join_rotations,
    may_rotate,
    names_kind,
    option_cells,
    options_of,
    sample_of,
)
from snellen.core.benchmark import Benchmark, DataTable, HasIds, Variant
from snellen.core.errors import DataError, UsageError
from snellen.core.sample import MediaRef, Row, Sample, is_own_data, origin_of
from snellen.data.columns import ID_COLUMNS, gold_column, is_image_column, is_video_column, row_gold, row_id
from snellen.data.tables.cells import INDEXED_ANSWER, INTEGER_ANSWER

UNIT_COLUMN = "unit"
TYPE_COLUMN = "type"
MULTI = "multi"
"""Value of the column `type` of questions with any number of right options."""
OTHER_TYPE_COLUMN = "original type"
"""Holds what a column `type` said that is no kind of question."""
_ASKED = frozenset({*ID_COLUMNS, "question", "hint", UNIT_COLUMN, INDEXED_ANSWER, INTEGER_ANSWER, TYPE_COLUMN})
"""Columns that every sample holds."""


class Item(Struct, frozen=True, gc=False):
    """A question and the other text cells of its row (source, license, split, ...).

    A question of which several options may be right is a sample of kind `open` with options and a
    gold such as "A, C".
    """

    sample: Sample
    cells: Mapping[str, str] = {}
    """Cells that are not part of the sample, by column."""
    problem: str = ""
    """Why the row cannot be asked as it stands: a sentence; empty if it can."""

    @property
    def id(self) -> str:
        return self.sample.id

    def label(self, column: str) -> str:
        """The item's value of a column, be it a group or another cell; "" if it has none."""
        return self.sample.groups.get(column) or self.cells.get(column, "")


@dataclass(frozen=True, slots=True)
class ItemTable:
    """The items of a benchmark, a data file or a data set folder, read lazily and in order."""

    name: str
    """Name of the benchmark, or of the file without its suffix."""
    spec: str
    """What was opened, as `open_benchmark` takes it."""
    table: DataTable
    benchmark: Benchmark | None = None
    """What makes samples of the rows, unless these are the user's own."""
    folder: Path | None = None
    """The data set folder that the items come from, if any."""
    is_own: bool = False
    """Whether the rows are those of the user's own file, whose bad rows are items too."""

    @property
    def path(self) -> str:
        return self.table.path

    @property
    def digest(self) -> str:
        """SHA-256 of the data, in hex."""
        return self.table.digest

    @property
    def columns(self) -> Sequence[str]:
        return self.table.columns

    @property
    def root(self) -> Path | None:
        """The folder that a user's file is in; None for other data."""
        origin, path = origin_of(self.table), Path(self.path).absolute()
        if origin is None or origin.kind != "own" or not path.exists():
            return None
        return (path if path.is_dir() else path.parent).resolve()

    def __len__(self) -> int:
        """Number of rows, which may be more than there are items: rotations join their question."""
        return len(self.table)

    def __iter__(self) -> Iterator[Item]:
        return self._own_items() if self.is_own else self._benchmark_items()

    def _own_items(self) -> Iterator[Item]:
        if not may_rotate(self.table):
            return self._row_items()
        return _join_item_rotations(list(self._row_items()))

    def _row_items(self) -> Iterator[Item]:
        seen: set[str] = set()
        column = ColumnOfGolds(lambda: self.table, options_of)
        for row in self.table:
            item = read_item(row, self.path, column)
            name = item.sample.id
            if name in seen:
                # Decisions are about ids, so that this row needs one of its own.
                sentence = f"row {row.index + 1}: another row has the same id {name!r}"
                name = f"{name} (row {row.index + 1})"
                item = replace(item, sample=replace(item.sample, id=name), problem=sentence)
            seen.add(name)
            yield item

    def _benchmark_items(self) -> Iterator[Item]:
        assert self.benchmark is not None
        rows = _RememberedRows(self.table)
        for sample in self.benchmark.samples(rows):
            row = rows.take(sample.id)
            yield Item(sample, {} if row is None else _other_cells(row, sample, options_of(row)))


class NoQuestions(UsageError):
    """A data file has neither a column with questions nor one with pictures."""


def open_items(data: str | Path, columns: Mapping[str, str] | None = None) -> ItemTable:
    """Open a data set folder, any data file, or a benchmark by name.

    `columns` maps our column names to those of a file. Raises UsageError: DataError for what cannot
    be read as data, NoQuestions.
    """
    spec, folder = str(data), None
    items = Path(spec).expanduser() / ITEMS_FILE
    if items.is_file():
        folder, spec = items.parent, str(items)
    elif items.parent.is_dir() and (items.parent / "step.json").is_file():
        raise UsageError(f"{data} has no {ITEMS_FILE} yet: its step has not ended; start the same command again")
    benchmark = open_benchmark(spec, Variant(columns=dict(columns or {})))
    table = benchmark.open()
    is_own = is_own_data(table)
    if is_own and not any(column in ("question", "hint") or _is_medium(column) for column in table.columns):
        separator = expected_separator(table.columns)
        advice = f"expected {separator}" if separator else "name yours with --columns question=NAME,image_path=NAME"
        raise NoQuestions(
            f"{data} has no column with questions or pictures; got the columns {', '.join(table.columns)}; {advice}"
        )
    name = folder.resolve().name if folder is not None else benchmark.name
    return ItemTable(name, spec, table, benchmark, folder, is_own)


def read_item(row: Row, path: str, column: ColumnOfGolds | None = None) -> Item:
    """The item of a row in the common column layout, whatever is wrong with the row; `column` are
    the gold answers of all rows."""
    cells, problem = row.cells, ""
    try:
        sample = sample_of(row, groups=GROUP_COLUMNS, path=path, column=column)
    except DataError as error:
        problem = str(error)
        sample = Sample(
            id=row_id(row),
            kind="open",
            question=cells.get("question", ""),
            gold=row_gold(row),
            media=row.media,
            hint=cells.get("hint", ""),
            groups={name: cells[name] for name in GROUP_COLUMNS if name in cells},
        )
    options = sample.options or option_cells(cells)
    if options and sample.kind == "open":
        # As it stands in the file: asked, its options are part of the question.
        sample = replace(sample, question=cells.get("question", ""), options=options)
    if UNIT_COLUMN in cells:
        sample = replace(sample, unit=cells[UNIT_COLUMN])
    return Item(sample, _other_cells(row, sample, options), problem)


def folder_outside(ref: MediaRef, roots: Sequence[Path]) -> str:
    """The folder of a medium's file that is in none of these folders, links followed; "" for one
    inside, and for one that is no file of its own."""
    path = getattr(ref.source, "path", "")
    if not path or not roots:
        return ""
    real = Path(path).resolve()
    return "" if any(real.is_relative_to(root) for root in roots) else str(real.parent)


def item_record(item: Item) -> dict[str, object]:
    """The item as a JSON object in the columns that Snellen reads, without its media."""
    sample = item.sample
    record: dict[str, object] = {"index": sample.id}
    if sample.question:
        record["question"] = sample.question
    if sample.hint:
        record["hint"] = sample.hint
    record.update(sample.options)
    if len(sample.gold) == 1:
        record["answer"] = sample.gold[0]
    elif sample.gold:
        record["answers"] = list(sample.gold)
    several = sample.kind == "open" and bool(sample.options)
    record[TYPE_COLUMN] = MULTI if several else sample.kind
    record.update(sample.groups)
    if sample.unit:
        record[UNIT_COLUMN] = sample.unit
    record.update((name, cell) for name, cell in item.cells.items() if name not in record)
    return record


def item_kind(item: Item) -> str:
    """`choice`, `yes_no`, `open`, or `multi` for questions with any number of right options."""
    return MULTI if item.sample.kind == "open" and item.sample.options else item.sample.kind


def _other_cells(row: Row, sample: Sample, options: Iterable[str]) -> dict[str, str]:
    """The cells of a row that the sample does not hold; `options` are its columns of options."""
    cells = row.cells
    held = {*options, *sample.groups, gold_column(cells)}
    others = {
        name: cell for name, cell in cells.items() if name not in _ASKED and name not in held and not _is_medium(name)
    }
    kind = cells.get(TYPE_COLUMN, "")
    if kind and not names_kind(kind):
        # The column has another meaning in this file, and `type` will hold the kind.
        others[OTHER_TYPE_COLUMN] = kind
    return others


def _is_medium(column: str) -> bool:
    return is_image_column(column) or is_video_column(column)


def _join_item_rotations(items: list[Item]) -> Iterator[Item]:
    """The items without those whose rows are rotations of another item's."""
    joined = {sample.id: sample for sample in join_rotations(item.sample for item in items if not item.problem)}
    for item in items:
        if item.problem:
            yield item
        elif item.id in joined:
            yield replace(item, sample=joined[item.id])


class _RememberedRows:
    """Rows of a table that remembers those that went by until a sample of them is taken."""

    def __init__(self, table: DataTable) -> None:
        self._table = table
        self._rows: dict[str, Row] = {}
        if isinstance(table, HasIds):
            self.ids = table.ids

    def __iter__(self) -> Iterator[Row]:
        for row in self._table:
            self._rows[row_id(row)] = row
            yield row

    def take(self, name: str) -> Row | None:
        """The row of this id; None if no row that went by has it."""
        return self._rows.pop(name, None)
