"""The schema of the hub is that of the tables that the code knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from snellen.core.errors import StorageError, UsageError
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import HubTable


def test_the_schema_has_the_tables_of_the_code(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, HubTable.metadata) == []
    database.check()
    # Once more is nothing new.
    database.upgrade()
    database.check()


def test_an_older_schema_is_refused_in_a_sentence(tmp_path: Path) -> None:
    empty = Database(f"sqlite:///{tmp_path / 'empty.sqlite'}")
    with pytest.raises(UsageError, match="run: snellen hub doctor HUB --upgrade"):
        empty.check()
    empty.upgrade()
    for schema, sentence in (("0003", "which this one cannot upgrade"), ("9999", "of a newer")):
        with empty.engine.begin() as connection:
            connection.execute(text(f"UPDATE alembic_version SET version_num = '{schema}'"))
        for call in (empty.check, empty.upgrade):
            with pytest.raises(UsageError, match=sentence):
                call()
    empty.close()


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql+nodriver://x", "the URL of the database cannot be read"),
        ("just words", "the URL of the database cannot be read"),
    ],
)
def test_urls_that_no_driver_takes(url: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        Database(url)


def test_an_unreachable_server_shows_no_password() -> None:
    database = Database("postgresql://ann:very-secret@127.0.0.1:9/hub")
    with pytest.raises(StorageError, match="the database of this hub cannot be used") as error:
        database.check()
    assert "very-secret" not in str(error.value)
