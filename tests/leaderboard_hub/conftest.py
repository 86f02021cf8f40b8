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

from snellen.leaderboard_hub.accounts import passwords
from snellen.leaderboard_hub.database.connection import Database

_numbers = count()


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
def postgres_database_url(postgres_url: str) -> str:
    """The URL of a database of its own, for one test."""
    name = f"hub{next(_numbers)}"
    engine = create_engine(
        postgres_url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return postgres_url.removesuffix("/postgres") + f"/{name}"


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
