"""A benchmark of data in a layout of the user's own, of which a function makes rows.

def read_rows(path: Path) -> Iterator[dict[str, object]]:
    for name, item in json.loads(path.read_text())["items"].items():
        yield {"id": name, "question": item["ask"], "answer": item["truth"]}

BENCHMARK = converted_file("signs", read_rows, "signs.json")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from snellen.benchmarks.declaration.data_file import UserFile, adapt_to_columns, data_file_declaration
from snellen.benchmarks.declaration.declaration import Declaration
from snellen.core.benchmark import DataTable, Variant
from snellen.core.errors import DataError, SnellenError, UsageError
from snellen.core.user_code import describe_error
from snellen.data.in_memory import Data, keep_rows
from snellen.settings import Settings

ReadRows = Callable[[Path], Iterable[Mapping[str, Any]]]
"""A file or folder to its rows, with the columns of data files; `snellen.Data` says what cells may
hold."""
_FOLDER = "converted"
"""Folder of the cache for converted rows."""


def converted_file(name: str, read_rows: ReadRows, path: str | Path = "") -> Declaration:
    """The benchmark `name` of what `read_rows` makes of a file or folder: `path`, or what `--data`
    names. Its rows are converted when they are first read, and kept by their content."""
    data = _ConvertedFile(str(path), name=name, read_rows=read_rows)
    declaration = data_file_declaration(str(path) or name)
    return replace(declaration, name=name, data=data, for_variant=partial(adapt_to_columns, data))


@dataclass(frozen=True, slots=True, kw_only=True)
class _ConvertedFile(UserFile):
    name: str
    read_rows: ReadRows
    _kept: dict[str, Path] = field(default_factory=dict, compare=False, repr=False)
    """Where the rows of a file are, by its path."""

    def table(self, variant: Variant) -> DataTable:
        """The rows. Raises UsageError without a file, DataError if the function fails."""
        path = variant.data or self.path
        if not path:
            raise UsageError(f"{self.name} has no data file of its own; name one with --data FILE")
        if path not in self._kept:
            rows = self._convert(Path(path).expanduser())
            folder = Settings.from_environment().cache / _FOLDER
            self._kept[path] = keep_rows(Data(rows, self.name), folder)
        kept = replace(variant, data=str(self._kept[path]))
        return UserFile.table(self, kept)

    def _convert(self, path: Path) -> list[Mapping[str, Any]]:
        function = getattr(self.read_rows, "__name__", "the function")
        if not path.exists():
            raise DataError(f"{path}: no such file or folder; {function} of {self.name} reads it")
        try:
            rows = list(self.read_rows(path))
        except SnellenError:
            raise
        except Exception as error:
            raise DataError(f"{path}: {function} of {self.name} failed: {describe_error(error)}") from error
        wrong = next((row for row in rows if not isinstance(row, Mapping)), None)
        if wrong is not None:
            raise DataError(
                f"{path}: {function} of {self.name} gives {type(wrong).__name__}; expected rows, each a dict of columns"
            )
        return rows
