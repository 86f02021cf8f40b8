"""Results as rows: for pandas, polars and Parquet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.errors import MissingExtra, storage_errors

if TYPE_CHECKING:
    import pandas
    import polars

Rows = list[dict[str, Any]]
_EXTRA = "frames"


class RowExport(ABC):
    """Base of objects that export rows of named values."""

    @abstractmethod
    def to_dicts(self) -> Rows:
        """The rows, with the same keys in each."""

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame. Raises MissingExtra without pandas."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise MissingExtra("to_pandas()", _EXTRA, "pandas") from error
        return DataFrame(self.to_dicts())

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars frame; dicts become structs. Raises MissingExtra without polars."""
        try:
            from polars import DataFrame
        except ImportError as error:
            raise MissingExtra("to_polars()", _EXTRA, "polars") from error
        return DataFrame(self.to_dicts(), infer_schema_length=None)

    def to_parquet(self, path: Path | str) -> Path:
        """Write the rows to a Parquet file; dicts become maps. Returns the path. Raises
        StorageError."""
        from pyarrow.parquet import write_table

        path = Path(path)
        with storage_errors("write", path):
            write_table(_arrow_table(self.to_dicts()), path)
        return path


def _arrow_table(rows: Rows) -> Any:
    import pyarrow as pa

    arrays = {}
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        if any(isinstance(value, dict) for value in values):
            # As structs, every row would have the keys of all.
            items = [None if value is None else list(value.items()) for value in values]
            arrays[name] = pa.array(items, pa.map_(pa.string(), pa.string()))
        else:
            arrays[name] = pa.array(values)
    return pa.table(arrays)
