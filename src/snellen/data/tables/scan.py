"""Read a table for the first time, by the reader of its format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from snellen.core.limits import Limits
from snellen.data.tables.index import Scan


def scan_table(suffix: str, path: Path, column_map: Mapping[str, str], name: str, limits: Limits) -> Scan:
    """The rows of an unpacked file of the format of `suffix`; only its reader is imported. Raises
    DataError, UnknownName."""
    if suffix in (".tsv", ".csv"):
        from snellen.data.tables.tsv import scan_tsv

        return scan_tsv(path, b"\t" if suffix == ".tsv" else b",", column_map, name, limits)
    if suffix == ".parquet":
        from snellen.data.tables.parquet import scan_parquet

        return scan_parquet([path], column_map, name, limits)
    if suffix == ".xlsx":
        from snellen.data.tables.workbook import scan_xlsx

        return scan_xlsx(path, column_map, name, limits)
    from snellen.data.tables.json_records import scan_document, scan_jsonl

    return (scan_document if suffix == ".json" else scan_jsonl)(path, column_map, name, limits)
