"""Databases for the tests of the hub: SQLite always, PostgreSQL where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from argon2.profiles import CHEAPEST
from postgres_server import MISSING, find_programs, serve_postgres
from sqlalchemy import create_engine, text

from snellen_hub.accounts import passwords
from snellen_hub.database.connection import Database

_numbers = count()
_unused: list[str] = []
"""Names of databases that no test uses now."""
_POSTGRESQL_BY_RELEASE = {"test_backup", "test_doctor", "test_hub_import", "test_storage"}
"""Files whose tests on PostgreSQL a release runs: what they find rarely differs from SQLite's."""


def pytest_itemcollected(item: pytest.Item) -> None:
    callspec = getattr(item, "callspec", None)
    chosen = callspec.params.get("database") if callspec is not None else None
    if chosen == "postgresql" and item.path.stem in _POSTGRESQL_BY_RELEASE:
        item.add_marker(pytest.mark.release)


@pytest.fixture(scope="session", autouse=True)
def cheap_password_hashes() -> Iterator[None]:
    """Argon2id with its lowest costs: a tenth of a second for each password, hundreds of times.

    test_accounts.py holds the parameters of the product. A server in another process has those.
    """
    with pytest.MonkeyPatch.context() as patch:
        hasher = PasswordHasher.from_parameters(CHEAPEST)
        patch.setattr(passwords, "_hasher", hasher)
        patch.setattr(passwords, "_NOBODY", hasher.hash("a password that nobody has"))
        yield


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    programs = find_programs()
    if programs is None:
        pytest.skip(MISSING)
    with serve_postgres(programs) as url:
        yield url


@pytest.fixture
def postgres_database_url(postgres_url: str) -> Iterator[str]:
    """The URL of an empty database for one test. Each is emptied and used again: to make and delete
    hundreds takes minutes."""
    if not _unused:
        _unused.append(f"hub{next(_numbers)}")
        _run_sql(postgres_url, f"CREATE DATABASE {_unused[0]}")
    name = _unused.pop()
    url = postgres_url.removesuffix("/postgres") + f"/{name}"
    yield url
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    _run_sql(url, f"SELECT pg_terminate_backend(pid) {others}", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    _unused.append(name)


def _run_sql(url: str, *statements: str) -> None:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database with the current schema."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'hub.sqlite'}"
    else:
        url = request.getfixturevalue("postgres_database_url")
    opened = Database(url)
    opened.upgrade()
    yield opened
    opened.close()
