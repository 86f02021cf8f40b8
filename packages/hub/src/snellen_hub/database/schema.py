"""The schema of a hub's database: it is made whole, and an earlier one is given what it lacks."""

from __future__ import annotations

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select, text
from sqlalchemy.schema import CreateColumn

from snellen.core.errors import UsageError
from snellen_hub.database.tables import HubTable

SCHEMA = "0005"
"""The schema that the tables of this code make."""
UPGRADED = ("0004",)
"""Earlier schemas that lack only tables, columns and indices of this one."""
VERSION_TABLE = "alembic_version"
"""Holds the schema of a database. (Alembic made the first ones.)"""
_VERSION = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True))


def read_schema(connection: Connection) -> str | None:
    """The schema of a database; None if it is empty."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(_VERSION.c.version_num))


def write_schema(connection: Connection) -> None:
    """Make the tables of this code, or add those and the columns that an earlier schema lacks, in
    the transaction of the connection. Raises UsageError as `check_known`."""
    check_known(read_schema(connection))
    there = inspect(connection)
    known = set(there.get_table_names())
    for table in HubTable.metadata.sorted_tables:
        if table.name not in known:
            table.create(connection)
            continue
        names = {column["name"] for column in there.get_columns(table.name)}
        for column in table.columns:
            if column.name not in names:
                definition = CreateColumn(column).compile(dialect=connection.dialect)
                connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {definition}"))
        for index in table.indexes:
            index.create(connection, checkfirst=True)
    _VERSION.create(connection, checkfirst=True)
    connection.execute(_VERSION.delete())
    connection.execute(_VERSION.insert().values(version_num=SCHEMA))


def check_known(schema: str | None, what: str = "the database of this hub") -> None:
    """Raises UsageError for a schema that is newer than this code, or too old to be upgraded."""
    if schema is None or schema in (SCHEMA, *UPGRADED):
        return
    if schema > SCHEMA:
        raise UsageError(
            f"{what} has the schema {schema}, of a newer Snellen than this one, which knows "
            f"{SCHEMA}; install the newer Snellen"
        )
    raise UsageError(
        f"{what} has the schema {schema}, of a Snellen from before {UPGRADED[0]}, which this one "
        "cannot upgrade; it is left as it is. Make a new hub with: snellen hub init"
    )
