"""Connections to the database of a hub, and its schema."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    InterfaceError,
    InternalError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.orm import Session, sessionmaker

from snellen.core.atomic_write import atomic_file
from snellen.core.errors import StorageError, UsageError
from snellen_hub.database.schema import SCHEMA, check_known, read_schema, write_schema
from snellen_hub.errors import HubUnavailable

_BUSY_SECONDS = 30
"""Seconds for which a session waits for another that writes, on SQLite."""
_CONNECT_SECONDS = 10
"""Seconds for which a server may leave a new connection without an answer."""
_READ_ONLY = "snellen_read_only"
_OUTAGES = (OperationalError, InterfaceError, InternalError)
_UPGRADE_LOCK = 7_364_512
"""Number of the advisory lock that one upgrade holds, on PostgreSQL."""


class Database:
    """The database of a hub. Sessions are short: one per request or per step of a worker."""

    def __init__(self, url: str) -> None:
        """Raises UsageError for a URL that no driver takes. Nothing is connected yet."""
        self.engine = _create_engine(url)
        self.writes = 0
        """Transactions of this process that have ended; a cache compares it."""
        self._writing = sessionmaker(self.engine, expire_on_commit=False)
        reading = self.engine.execution_options(**{_READ_ONLY: True})
        self._reading = sessionmaker(reading, expire_on_commit=False)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session whose changes are committed if the block ends, and undone if it raises. On
        SQLite one session writes at a time, and others wait. Raises HubUnavailable."""
        try:
            with _outages(*_OUTAGES), self._writing() as session, session.begin():
                yield session
        finally:
            # Also after an error: a commit whose answer was lost may have been made.
            self.writes += 1

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that only reads; on SQLite it sees the database as it was when it first read.
        Raises HubUnavailable."""
        with _outages(*_OUTAGES), self._reading() as session, session.begin():
            yield session
            # What was read stays readable; rolling back would expire it.
            session.expunge_all()

    def upgrade(self) -> None:
        """Bring the schema to that of this code, from an earlier one or from nothing. It is changed
        completely or not at all.

        Raises UsageError if it is newer than this code or too old, HubUnavailable if the database
        cannot be reached or written.
        """
        check_known(self.schema())
        with self.rebuilding() as connection:
            self.upgrade_within(connection)

    @contextmanager
    def rebuilding(self) -> Iterator[Connection]:
        """A transaction that may make tables anew: foreign keys are checked at its end.

        Raises HubUnavailable, and UsageError if rows refer to nothing at the end.
        """
        try:
            with _outages(SQLAlchemyError), self.engine.connect() as connection:
                if self.is_sqlite:
                    # Rows of a backup may come before those that they refer to. This has an effect
                    # outside of a transaction only.
                    driver: Any = connection.connection.driver_connection
                    driver.execute("PRAGMA foreign_keys=OFF")
                with connection.begin():
                    yield connection
                    if self.is_sqlite:
                        check_references(connection)
        finally:
            # So that no later session gets the connection without foreign keys.
            self.engine.dispose()

    def upgrade_within(self, connection: Connection) -> None:
        """Bring the schema to that of this code within a transaction of `rebuilding`."""
        if not self.is_sqlite:
            lock = text("SELECT pg_advisory_xact_lock(:number)")
            connection.execute(lock, {"number": _UPGRADE_LOCK})
        write_schema(connection)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that reads the whole database as it is now, while others write.

        Raises HubUnavailable.
        """
        options: dict[str, Any] = {_READ_ONLY: True}
        if not self.is_sqlite:
            options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        engine = self.engine.execution_options(**options)
        with _outages(SQLAlchemyError), engine.connect() as connection, connection.begin():
            yield connection

    def schema(self) -> str | None:
        """The schema of the database; None if it is empty. Raises HubUnavailable."""
        with _outages(SQLAlchemyError), self.engine.connect() as connection:
            return read_schema(connection)

    def check(self) -> None:
        """Raises UsageError if the schema is not that of this code, HubUnavailable if the database
        cannot be reached."""
        current = self.schema()
        check_known(current)
        if current != SCHEMA:
            raise UsageError(
                f"the database of this hub has the schema {current or 'none'}, and this "
                f"version of Snellen needs {SCHEMA}; run: snellen hub doctor HUB --upgrade"
            )

    @property
    def file(self) -> Path | None:
        """The file of a SQLite database."""
        name = self.engine.url.database
        return Path(name) if self.is_sqlite and name and name != ":memory:" else None

    def copy(self, target: Path) -> None:
        """Copy a SQLite database as it is now into a file, which appears once it is complete."""
        try:
            with _outages(SQLAlchemyError), atomic_file(target, sync=True) as part, self.engine.connect() as connection:
                driver: Any = connection.connection.driver_connection
                with closing(sqlite3.connect(part)) as other:
                    driver.backup(other)
        except (OSError, sqlite3.Error) as error:
            raise StorageError(f"cannot write {target}: {error}") from error

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    def close(self) -> None:
        self.engine.dispose()


def check_references(connection: Connection) -> None:
    """Raises UsageError if rows of a SQLite database refer to rows that it does not have."""
    row = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if row is not None:
        raise UsageError(
            f"a row of the table {row[0]} refers to one of {row[2]} that does not exist; nothing was changed"
        )


def unreachable(error: SQLAlchemyError) -> HubUnavailable:
    """The error as a sentence, without the password of the URL."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return HubUnavailable(f"the database of this hub cannot be used: {lines[0] if lines else error}")


@contextmanager
def _outages(*kinds: type[SQLAlchemyError]) -> Iterator[None]:
    """Raises HubUnavailable where the database fails; mistakes in what is asked of it stay errors
    of their own, but for those of the kinds."""
    try:
        yield
    except SQLAlchemyError as error:
        # A plain DatabaseError: the file is damaged, or is no database.
        if isinstance(error, kinds) or type(error) is DatabaseError:
            raise unreachable(error) from error
        raise


def _create_engine(url: str) -> Engine:
    """The engine of a URL. Raises UsageError for a URL that no driver takes."""
    # Errors are logged and noted with jobs; parameters would be scores and digests.
    settings: dict[str, Any] = {"pool_pre_ping": True, "hide_parameters": True}
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() == "sqlite":
            settings["connect_args"] = {"timeout": _BUSY_SECONDS}
        else:
            settings |= {"pool_size": 10, "max_overflow": 20}
            settings["connect_args"] = {"connect_timeout": _CONNECT_SECONDS}
        engine = create_engine(parsed, **settings)
    except (ArgumentError, NoSuchModuleError) as error:
        raise UsageError(
            "the URL of the database cannot be read; expected sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME"
        ) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_immediate)
    return engine


def _configure_sqlite(connection: Any, _: object) -> None:
    # The driver's own transactions begin at the first write, so that two readers that both go on to
    # write would fail; `_begin_immediate` begins them instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_immediate(connection: Any) -> None:
    mode = "" if connection.get_execution_options().get(_READ_ONLY) else " IMMEDIATE"
    connection.exec_driver_sql(f"BEGIN{mode}")
