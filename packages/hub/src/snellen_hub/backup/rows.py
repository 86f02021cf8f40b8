"""Rows of a database as lines of JSON, and back, independent of the database.

The tables are those that the database has, whatever version its schema is of.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Column, Connection, MetaData, Table, func, insert, select, text
from sqlalchemy import types as sql

from snellen.core.errors import DataError
from snellen_hub.database.schema import VERSION_TABLE
from snellen_hub.moment_text import in_utc

_BATCH = 500
STORED_KEY = re.compile(rb"\b[0-9a-f]{64}(?:\.sealed)?")
"""A key of the storage, wherever a row holds it. Other digests look the same, and are no keys."""
_FILE_COLUMNS = {
    "benchmarks": ("data", "public_data", "ids", "scoring_data"),
    "media": ("digest",),
    "submissions": ("file",),
    "scores": ("records", "replies"),
}
"""Columns whose files must be there; earlier schemas have not all of them."""


def read_tables_of(connection: Connection) -> list[Table]:
    """The tables of the database; those that others refer to come first."""
    metadata = MetaData()
    metadata.reflect(connection, only=lambda name, _: name != VERSION_TABLE)
    for table in metadata.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, sql.JSON) and column.nullable:
                column.type.none_as_null = True
    return metadata.sorted_tables


def dump_rows(connection: Connection, table: Table) -> Iterator[bytes]:
    """A table as lines: the names and kinds of its columns, then each row, by primary key."""
    kinds = [_kind(column) for column in table.columns]
    names = [str(column.name) for column in table.columns]
    yield _line([list(pair) for pair in zip(names, kinds, strict=True)])
    # Rows that refer to others of their table come after these.
    query = select(table).order_by(*table.primary_key.columns)
    rows = connection.execution_options(yield_per=_BATCH).execute(query)
    for row in rows:
        # SQLite gives times without their zone.
        yield _line([in_utc(value) if isinstance(value, datetime) else value for value in row])


def read_file_keys(connection: Connection, table: Table) -> set[str]:
    """Keys of the files that must be there for the rows of a table."""
    keys: set[str] = set()
    for name in set(_FILE_COLUMNS.get(table.name, ())) & set(table.columns.keys()):
        keys.update(filter(None, connection.scalars(select(table.c[name]).distinct())))
    return keys


def load_rows(connection: Connection, table: Table, lines: Iterable[bytes]) -> int:
    """Insert the lines of a table; returns the number of rows. Raises DataError."""
    iterator = iter(lines)
    columns = json.loads(next(iterator, b"[]"))
    unknown = {name for name, _ in columns} - set(table.columns.keys())
    if unknown:
        raise DataError(f"the table {table.name} has no column {', '.join(sorted(unknown))}")
    is_naive = connection.dialect.name == "sqlite"
    count, batch = 0, []
    for line in iterator:
        values = json.loads(line)
        batch.append({name: _value(value, kind, is_naive) for value, (name, kind) in zip(values, columns, strict=True)})
        if len(batch) == _BATCH:
            connection.execute(insert(table), batch)
            count, batch = count + len(batch), []
    if batch:
        connection.execute(insert(table), batch)
    return count + len(batch)


def count_rows(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0


def continue_numbers(connection: Connection, table: Table) -> None:
    """Let PostgreSQL number the next row after the highest: its sequence does not know of rows that
    were inserted with their numbers."""
    if connection.dialect.name != "postgresql" or "id" not in table.columns:
        return
    highest = connection.scalar(select(func.max(table.c.id)))
    names = {"name": table.name, "column": "id"}
    sequence = connection.scalar(text("SELECT pg_get_serial_sequence(:name, :column)"), names)
    if sequence is not None and highest is not None:
        values = {"sequence": sequence, "highest": highest}
        connection.execute(text("SELECT setval(:sequence, :highest)"), values)


def _kind(column: Column[Any]) -> str:
    kinds: tuple[tuple[type[Any], str], ...] = (
        (sql.JSON, "json"),
        (sql.DateTime, "time"),
        (sql.LargeBinary, "bytes"),
        (sql.Boolean, "boolean"),
        (sql.Integer, "integer"),
        (sql.Float, "number"),
        (sql.String, "text"),
    )
    for kind, name in kinds:
        if isinstance(column.type, kind):
            return name
    raise DataError(f"the column {column} has the type {column.type}, which no backup knows")


def _value(value: Any, kind: str, is_naive: bool) -> Any:
    if value is None:
        return None
    if kind == "time":
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=None) if is_naive else moment
    if kind == "bytes":
        return base64.b64decode(value)
    return value


def _line(values: list[Any]) -> bytes:
    """Values as a line: times in ISO 8601, bytes in Base64."""
    return msgspec.json.encode(values) + b"\n"
