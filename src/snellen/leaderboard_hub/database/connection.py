"""Connections to the database of a hub, and its schema."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from snellen.core.errors import MissingExtra, StorageError, UsageError

_MIGRATIONS = Path(__file__).parent / "migrations"
_BUSY_SECONDS = 30
"""Seconds for which a session waits for another that writes, on SQLite."""
_READ_ONLY = "snellen_read_only"


class Database:
    """The database of a hub. Sessions are short: one per request or per step of a worker."""

    def __init__(self, url: str) -> None:
        """Raises UsageError for a URL that no driver takes. Nothing is connected yet."""
        self.engine = _create_engine(url)
        self._writing = sessionmaker(self.engine, expire_on_commit=False)
        reading = self.engine.execution_options(**{_READ_ONLY: True})
        self._reading = sessionmaker(reading, expire_on_commit=False)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session whose changes are committed if the block ends, and undone if it raises. On
        SQLite one session writes at a time, and others wait."""
        with self._writing() as session, session.begin():
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that sees the database as it was when it first read."""
        with self._reading() as session, session.begin():
            yield session
            # What was read stays readable; rolling back would expire it.
            session.expunge_all()

    def upgrade(self) -> None:
        """Bring the schema to the version of this code, from any earlier one or from nothing.

        Raises StorageError if the database cannot be reached or written.
        """
        try:
            with self.engine.begin() as connection:
                config = _alembic_config()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        except SQLAlchemyError as error:
            raise unreachable(error) from error

    def revision(self) -> str | None:
        """The version of the schema; None for an empty database. Raises StorageError."""
        try:
            with self.engine.connect() as connection:
                return MigrationContext.configure(connection).get_current_revision()
        except SQLAlchemyError as error:
            raise unreachable(error) from error

    def check(self) -> None:
        """Raises UsageError if the schema is not that of this code, StorageError if the database
        cannot be reached."""
        current = self.revision()
        head = ScriptDirectory.from_config(_alembic_config()).get_current_head()
        if current != head:
            raise UsageError(
                f"the database of this hub has the schema {current or 'none'}, and this "
                f"version of Snellen needs {head}; run: snellen hub upgrade"
            )

    def close(self) -> None:
        self.engine.dispose()


def unreachable(error: SQLAlchemyError) -> StorageError:
    """The error as a sentence, without the password of the URL."""
    first = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
    return StorageError(f"the database of this hub cannot be used: {first}")


def _create_engine(url: str) -> Engine:
    """The engine of a URL. Raises MissingExtra without the driver, UsageError for a URL that no
    driver takes."""
    settings: dict[str, Any] = {"pool_pre_ping": True}
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() == "sqlite":
            settings["connect_args"] = {"timeout": _BUSY_SECONDS}
        else:
            settings |= {"pool_size": 10, "max_overflow": 20}
        engine = create_engine(parsed, **settings)
    except ModuleNotFoundError as error:
        raise MissingExtra("a hub on PostgreSQL", "hub", str(error.name)) from error
    except (ArgumentError, NoSuchModuleError) as error:
        raise UsageError(
            "the URL of the database cannot be read; expected sqlite:///PATH or "
            "postgresql://USER:PASSWORD@HOST/NAME"
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


def _alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    return config
