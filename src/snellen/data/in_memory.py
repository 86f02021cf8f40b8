"""Rows in memory, kept as a Parquet file that is read like any other data file.

Rows are a list of dicts, a dict of columns, a pandas or polars frame, an Arrow table, or a
`datasets.Dataset`. Images are encoded once and stored in the file. The file lies in a folder named
by the digest of its content, so that the same rows are the same data, whatever their container.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from uuid import uuid4

from snellen.core.errors import DataError, StorageError, UsageError
from snellen.data.columns import check_column_keys, check_distinct, our_names
from snellen.data.media.value_images import CellValues
from snellen.data.tables.arrow_columns import KeptColumns, Record, inferred_table, name_labels
from snellen.data.tables.parquet import ROWS_MARK, RowsDigest
from snellen.settings import Settings

DEFAULT_NAME = "data"
KEPT_FOLDER = "data"
"""Folder for rows in memory, next to the runs that use them."""
_KIND_COLUMN = "type"
_DIGEST_LENGTH = 16
"""Hexadecimal digits of a content's digest that name its folder."""
_BATCH = 256
"""Rows of an Arrow table or a data set that are converted at once."""
_ROW_GROUP = 64
"""Rows of a row group: an image is read with all images of its group."""

QuestionKind = Literal["choice", "yes_no", "open", "fields", "page", "box", "point", "polygon", "mask", "span"]


@dataclass(frozen=True, slots=True)
class Data:
    """Rows in memory as a benchmark: `Data(rows, name="shapes")`.

    `rows` are a list of dicts, a dict of columns, a pandas or polars frame, an Arrow table, or a
    `datasets.Dataset`. Cells hold text, numbers, lists, and images: PIL images, encoded bytes,
    arrays of uint8 (height, width[, 3 or 4]), paths, data URIs. The columns are those of data
    files: `question`, `image`, `A`, `B`, ..., `answer`.
    """

    rows: Any = field(repr=False)
    name: str = DEFAULT_NAME
    """Name of the benchmark in tables and folders."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Column names: our name to yours, such as {"gold": "label"}."""
    kind: QuestionKind | None = None
    """The kind of all questions; None infers it row by row."""

    def __post_init__(self) -> None:
        """Raises UsageError for a name that cannot be that of a file, an unknown kind, and columns
        that are no mapping of names that Snellen knows."""
        if isinstance(self.rows, Iterator):
            # Read once, so that the value can be used in several calls.
            object.__setattr__(self, "rows", list(self.rows))
        is_text = isinstance(self.name, str) and bool(self.name)
        if not is_text or self.name != Path(self.name).name or self.name.startswith("."):
            raise UsageError(f"data cannot be called {self.name!r}; expected a name such as 'shapes'")
        if self.kind not in (None, *get_args(QuestionKind)):
            kinds = ", ".join(map(repr, get_args(QuestionKind)))
            raise UsageError(f"kind is {self.kind!r}; expected one of {kinds}")
        if not isinstance(self.columns, Mapping):
            raise UsageError(
                f"columns are of type {type(self.columns).__name__}; expected our name to yours, "
                'such as {"gold": "label"}'
            )
        check_column_keys(self.columns)


def is_table(value: object) -> bool:
    """Whether a value holds rows: `Data`, a frame, a table, a data set, a dict, or a list of dicts."""
    if isinstance(value, Mapping | Data) or _library(value) is not None:
        return True
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Mapping)


def keep_rows(data: Data, folder: Path, settings: Settings | None = None) -> Path:
    """The Parquet file of rows in memory, `folder`/DIGEST/NAME.parquet, written if it does not
    exist. Raises DataError, with row (from 1) and column, for a value that cannot be stored, and
    StorageError if the folder cannot be written.
    """
    from pyarrow.parquet import ParquetWriter

    settings = settings or Settings.from_environment()
    values = CellValues(data.name, settings, our_names(data.columns))
    digest = RowsDigest()
    part = folder / f"{uuid4().hex}.part"
    writer = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for table in _tables(data, values):
            for record in table.to_pylist():
                digest.add(record)
            if writer is None:
                writer = ParquetWriter(part, table.schema.with_metadata({ROWS_MARK: b"1"}))
            writer.write_table(table, row_group_size=_ROW_GROUP)
        if writer is None:
            raise DataError(f"{data.name} holds no rows")
        writer.close()
        target = folder / digest.hexdigest()[:_DIGEST_LENGTH] / f"{data.name}.parquet"
        if not target.is_file():
            target.parent.mkdir(exist_ok=True)
            part.replace(target)
    except OSError as error:
        raise StorageError(f"cannot write to {folder}: {error.strerror or error}") from error
    finally:
        if writer is not None:
            with suppress(OSError):
                writer.close()
        part.unlink(missing_ok=True)
    return target


def _tables(data: Data, values: CellValues) -> Iterator[Any]:
    """The rows as Arrow tables of one schema."""
    records, schema, labels = _read_rows(data.rows, data.name)
    if schema is None:
        plain = [values.record(number, record) for number, record in enumerate(records, 1)]
        if plain:
            yield inferred_table([_with_kind(record, data.kind) for record in plain])
        return
    if data.kind is not None:
        import pyarrow as pa

        schema = pa.schema([each for each in schema if each.name != _KIND_COLUMN])
        schema = schema.append(pa.field(_KIND_COLUMN, pa.string()))
    check_distinct(schema.names, data.name)
    kept = KeptColumns(schema, labels, our_names(data.columns))
    numbered = enumerate(records, 1)
    while batch := list(islice(numbered, _BATCH)):
        plain = [values.record(number, name_labels(record, labels)) for number, record in batch]
        yield kept.table([_with_kind(record, data.kind) for record in plain])


def _with_kind(record: Record, kind: QuestionKind | None) -> Record:
    return record if kind is None else {**record, _KIND_COLUMN: kind}


def _library(value: object) -> str | None:
    """The library whose table a value is; None for other values."""
    library = type(value).__module__.partition(".")[0]
    tables = {
        "pandas": ("DataFrame",),
        "polars": ("DataFrame", "LazyFrame"),
        "pyarrow": ("Table", "RecordBatch"),
        "datasets": ("Dataset", "IterableDataset", "DatasetDict", "IterableDatasetDict"),
    }
    names = {each.__name__ for each in type(value).__mro__}
    return library if names.intersection(tables.get(library, ())) else None


class _ReadRows(NamedTuple):
    """The rows of a container."""

    records: Iterable[Any]
    """Each a mapping of its columns."""
    schema: Any = None
    """Of a table that Arrow can hold; None for Python objects."""
    labels: Mapping[str, Sequence[str]] = {}
    """The names of numbered labels, by column."""


def _read_rows(rows: Any, name: str) -> _ReadRows:
    """The rows of any container that `Data` takes. Raises DataError for anything else, UsageError
    for several splits."""
    library = _library(rows)
    if library == "datasets":
        return _read_dataset(rows, name)
    if library == "polars":
        frame = rows.collect() if type(rows).__name__ == "LazyFrame" else rows
        if any(str(kind).startswith("Object") for kind in frame.dtypes):
            return _ReadRows(frame.to_dicts())  # Python objects, such as PIL images
        rows = frame.to_arrow()
    if library in ("polars", "pyarrow"):
        parts = rows.to_batches() if hasattr(rows, "to_batches") else [rows]
        return _ReadRows((record for part in parts for record in part.to_pylist()), rows.schema)
    if library == "pandas":
        return _ReadRows(_pandas_records(rows, name))
    if isinstance(rows, Mapping):
        return _ReadRows(_transpose(rows, name))
    return _ReadRows(_checked_records(rows, name))


def _read_dataset(rows: Any, name: str) -> _ReadRows:
    """The rows of a data set with its images still encoded."""
    import datasets

    if isinstance(rows, dict):
        splits = ", ".join(map(repr, rows))
        raise UsageError(
            f"a {type(rows).__name__} has the splits {splits}; give one of them, such as data[{list(rows)[-1]!r}]"
        )
    if not isinstance(rows, datasets.Dataset):
        return _ReadRows(_checked_records(rows, name))
    labels = {
        column: feature.names for column, feature in rows.features.items() if isinstance(feature, datasets.ClassLabel)
    }
    stored = rows.with_format("arrow")
    records = (record for batch in stored.iter(_BATCH) for record in batch.to_pylist())
    return _ReadRows(records, rows.features.arrow_schema, labels)


def _pandas_records(rows: Any, name: str) -> Iterator[Mapping[Any, Any]]:
    frame = rows.reset_index() if rows.index.name is not None else rows
    columns = [str(column) for column in frame.columns]
    check_distinct(columns, name)
    parts = (frame.iloc[:, index].tolist() for index in range(len(columns)))
    yield from (dict(zip(columns, row, strict=True)) for row in zip(*parts, strict=True))


def _checked_records(rows: Any, name: str) -> Iterator[Mapping[Any, Any]]:
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise _not_rows(rows, name)
    for number, record in enumerate(rows, 1):
        if not isinstance(record, Mapping):
            kind = type(record).__name__
            raise DataError(f"{name}, row {number}: expected a dict of columns, got {kind}")
        yield record


def _transpose(columns: Mapping[Any, Any], name: str) -> Iterator[Mapping[Any, Any]]:
    """The rows of a dict of columns."""
    lists = {key: list(values) for key, values in columns.items() if _is_column(values)}
    if len(lists) < len(columns):
        raise _not_rows(columns, name)
    sizes = {len(values) for values in lists.values()}
    if len(sizes) > 1:
        lengths = ", ".join(f"{key}: {len(values)}" for key, values in lists.items())
        raise DataError(f"{name}: its columns differ in length ({lengths})")
    names = list(map(str, lists))
    yield from (dict(zip(names, row, strict=True)) for row in zip(*lists.values(), strict=True))


def _is_column(values: object) -> bool:
    return not isinstance(values, str | bytes | Mapping) and isinstance(values, Iterable)


def _not_rows(rows: object, name: str) -> DataError:
    return DataError(
        f"{name}: expected a list of dicts, a dict of columns, a frame of pandas or polars, an "
        f"Arrow table or a datasets.Dataset, got {type(rows).__name__}"
    )
