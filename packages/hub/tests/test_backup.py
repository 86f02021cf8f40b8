"""A hub as one file: made while it runs, restored into any database and storage, and upgraded."""

from __future__ import annotations

import json
import stat
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import select, text
from test_api import command
from test_scoring import LIMITS, predictions, submit, write_data
from test_storage import s3_address as s3_address  # a fixture

from snellen.core.errors import DataError, UsageError
from snellen.core.secret import Secret
from snellen_hub.accounts.access import create_account
from snellen_hub.backup.archive import BackupReader
from snellen_hub.backup.restore import restore_backup
from snellen_hub.backup.rows import continue_numbers, load_rows, read_tables_of
from snellen_hub.backup.write import write_backup
from snellen_hub.config import HubConfig, SubmissionLimits, without_urls
from snellen_hub.database.connection import Database
from snellen_hub.database.schema import SCHEMA, UPGRADED
from snellen_hub.database.tables import FinalScore, HostedBenchmark, HubTable, Submission, SubmissionScore
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.hub import Hub, create_hub, open_hub
from snellen_hub.jobs.worker import Worker
from snellen_hub.storage import KEY_VARIABLE, Storage

KEY = "a key of the tests"
OLD = Path(__file__).parent / "fixtures" / "hub-0004.zip"
"""A hub of the schema 0004: three accounts, an open and a hidden benchmark, seven submissions, and
a private part that was just revealed, so that three of them wait for their scores."""
OLD_KEY = "the key of a hub of schema 0001"


def every_row(database: Database) -> dict[str, list[Any]]:
    with database.reading() as session:
        return {
            table.name: sorted(map(repr, session.execute(select(table)).all()))
            for table in HubTable.metadata.sorted_tables
        }


@pytest.fixture
def hub(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A hub with scores, one of them on answers that are hidden."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    folder = tmp_path / "hub"
    folder.mkdir()
    url = database.engine.url.render_as_string(hide_password=False).replace("+psycopg", "")
    (folder / "hub.toml").write_text(f'title = "Signs"\ndatabase = "{url}"\n')
    opened = Hub(
        folder,
        HubConfig(submissions=SubmissionLimits(per_day=99)),
        database,
        Storage(str(folder / "storage"), Secret(KEY)),
    )
    with database.writing() as session:
        create_account(session, "ann", "submitter", "a long password")
        for name in ("open-signs", "hidden-signs"):
            data = write_data(tmp_path / f"{name}.tsv")
            add_benchmark(
                session,
                opened.storage,
                NewBenchmark(name=name, title=name, data=data, is_hidden=name == "hidden-signs"),
            )
    for name in ("open-signs", "hidden-signs"):
        submit(opened, name, predictions(45))
    Worker(opened, print).work(until_empty=True)
    return opened


@pytest.fixture
def place(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[str, str], None]:
    """A function that names the database and the storage of the hub that is restored."""

    def name(database: str, storage: str) -> None:
        if database == "postgresql":
            url = request.getfixturevalue("postgres_database_url")
            if url in (tmp_path / "hub" / "hub.toml").read_text():
                url = other_database(url)
            monkeypatch.setenv("SNELLEN_HUB_DATABASE", url)
        if storage == "s3":
            monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3_address"))
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
            monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            import s3fs

            s3fs.S3FileSystem.clear_instance_cache()
            bucket = f"hub{abs(hash(str(tmp_path))) % 10**9}"
            s3fs.S3FileSystem().mkdir(bucket)
            monkeypatch.setenv("SNELLEN_HUB_STORAGE", f"s3://{bucket}/restored")

    return name


def other_database(url: str) -> str:
    """Another empty database of the server of one."""
    database = Database(url)
    name = f"{url.rpartition('/')[2]}copy"
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {name}"))
    database.close()
    return f"{url.rpartition('/')[0]}/{name}"


@pytest.mark.parametrize(
    ("database_kind", "storage"), [("sqlite", "folder"), pytest.param("postgresql", "s3", marks=pytest.mark.release)]
)
def test_a_hub_moves(
    hub: Hub, tmp_path: Path, place: Callable[[str, str], None], database_kind: str, storage: str
) -> None:
    """From SQLite and PostgreSQL to both, from a folder to a folder and to S3."""
    file = tmp_path / "backup.zip"
    written = write_backup(hub, file)
    assert written.manifest.rows["submissions"] == 2
    assert written.manifest.missing == ()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    place(database_kind, storage)
    restored = restore_backup(file, tmp_path / "new")
    assert restored.is_key_checked
    copy = restored.hub
    assert copy.database.is_sqlite == (database_kind == "sqlite")
    assert every_row(copy.database) == every_row(hub.database)
    assert copy.config.title == "Signs"
    copy.database.check()
    referenced = set(BackupReader(file).names("files/"))
    assert referenced < {file.key for file in copy.storage.list_files()}
    assert all(copy.storage.get(key) == hub.storage.get(key) for key in referenced)
    # It works on: numbers go on after the highest, and hidden answers can be read.
    submit(copy, "hidden-signs", predictions(30))
    assert Worker(copy, print).work(until_empty=True) == 1
    # And back into a folder and a SQLite file.
    again = tmp_path / "again.zip"
    write_backup(Hub(tmp_path / "new", copy.config, copy.database, copy.storage), again)
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "hub.toml").write_text(
        f'database = "sqlite:///{tmp_path / "back.sqlite"}"\nstorage = "{tmp_path / "files"}"\n'
    )
    with pytest.MonkeyPatch.context() as plain:
        plain.delenv("SNELLEN_HUB_DATABASE", raising=False)
        plain.delenv("SNELLEN_HUB_STORAGE", raising=False)
        back = restore_backup(again, tmp_path / "back").hub
    assert every_row(back.database) == every_row(copy.database)
    back.close()
    copy.close()


def test_a_backup_holds_no_answers_and_no_urls(hub: Hub, tmp_path: Path) -> None:
    write_backup(hub, tmp_path / "backup.zip")
    with zipfile.ZipFile(tmp_path / "backup.zip") as archive:
        sealed = [name for name in archive.namelist() if name.endswith(".sealed")]
        assert len(sealed) == 3  # data, predictions, scores of samples
        assert all(b"What is" not in archive.read(name) for name in sealed)
        assert archive.read("hub.toml") == b'title = "Signs"\n'


def test_a_backup_is_consistent_while_others_write(hub: Hub, tmp_path: Path) -> None:
    """What a submission needs is in the backup with it."""
    stopped = threading.Event()

    def write() -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            submit(hub, "open-signs", predictions(number % 60)) if number < 40 else None

    many = threading.Thread(target=write)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("test_scoring.LIMITS", type(LIMITS)(per_day=1000))
        many.start()
        try:
            for number in range(5):
                write_backup(hub, tmp_path / f"{number}.zip")
        finally:
            stopped.set()
            many.join()
    for number in range(5):
        reader = BackupReader(tmp_path / f"{number}.zip")
        reader.check()
        submissions = [json.loads(line) for line in reader.lines("tables/submissions.jsonl")]
        file = [name for name, _ in submissions[0]].index("file")
        jobs = reader.manifest.rows["jobs"]
        assert jobs == len(submissions) - 1
        assert {row[file] for row in submissions[1:]} <= set(reader.names("files/"))
        assert reader.manifest.missing == ()


def damage_middle(content: bytes) -> bytes:
    half = len(content) // 2
    return content[:half] + bytes(byte ^ 0xFF for byte in content[half : half + 40]) + content[half + 40 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:-10],
        damage_middle,
        lambda content: b"",
        lambda content: b"no archive" * 100,
    ],
    ids=["half", "end", "middle", "empty", "other"],
)
def test_a_damaged_backup_is_refused_before_anything_is_written(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "damaged.zip"
    file.write_bytes(damage(OLD.read_bytes()))
    with pytest.raises(DataError, match="is no complete backup"):
        restore_backup(file, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.attack("a backup of a hub that somebody changed", "refused; nothing is written outside")
@pytest.mark.parametrize("change", ["added", "changed", "traversal"])
def test_a_backup_that_somebody_changed_is_refused(tmp_path: Path, change: str) -> None:
    """The checksums of ZIP are right there, and those of the manifest are not."""
    file = tmp_path / "changed.zip"
    with zipfile.ZipFile(OLD) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if change == "changed" and name == "tables/accounts.jsonl":
                content = content.replace(b"submitter", b"owner")
            if change == "traversal" and name == "manifest.json":
                manifest = json.loads(content)
                manifest["members"]["files/../../x"] = {
                    "size": 0,
                    "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                }
                content = json.dumps(manifest).encode()
            new.writestr(name, content)
        if change == "added":
            new.writestr("files/extra", b"x")
        if change == "traversal":
            new.writestr("files/../../x", b"")
    with pytest.raises(UsageError, match=r"complete backup|is no key of the storage"):
        restore_backup(file, tmp_path / "new")
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "new" / "hub.toml").exists()


def test_a_place_that_is_not_empty_is_refused(hub: Hub, tmp_path: Path) -> None:
    write_backup(hub, tmp_path / "backup.zip")
    with pytest.raises(UsageError, match="exists already"):
        write_backup(hub, tmp_path / "backup.zip")
    with pytest.raises(UsageError, match="the database of this hub is not empty"):
        restore_backup(tmp_path / "backup.zip", tmp_path / "hub")
    other = tmp_path / "other"
    (other / "storage" / "aa").mkdir(parents=True)
    (other / "storage" / "aa" / "a letter").write_text("dear hub")
    with pytest.raises(UsageError, match="holds other files, such as a letter"):
        restore_backup(tmp_path / "backup.zip", other)
    assert (other / "storage" / "aa" / "a letter").read_text() == "dear hub"


def test_interrupted_restore_resumes(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_backup(hub, tmp_path / "backup.zip")
    monkeypatch.setattr("snellen_hub.backup.restore.load_rows", stop)
    with pytest.raises(KeyboardInterrupt):
        restore_backup(tmp_path / "backup.zip", tmp_path / "new")
    with pytest.raises(UsageError, match="holds no hub"):
        open_hub(tmp_path / "new")
    monkeypatch.undo()
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    copy = restore_backup(tmp_path / "backup.zip", tmp_path / "new").hub
    assert every_row(copy.database) == every_row(hub.database)
    copy.close()


def stop(*_: object) -> int:
    raise KeyboardInterrupt


def test_the_wrong_key_is_noticed(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_backup(hub, tmp_path / "backup.zip")
    monkeypatch.setenv(KEY_VARIABLE, "another key than that of the tests")
    with pytest.raises(UsageError, match="is not the key of the hub that was backed up"):
        restore_backup(tmp_path / "backup.zip", tmp_path / "new")
    monkeypatch.delenv(KEY_VARIABLE)
    restored = restore_backup(tmp_path / "backup.zip", tmp_path / "new")
    assert not restored.is_key_checked
    restored.hub.close()


def test_missing_files_are_named(hub: Hub, tmp_path: Path) -> None:
    with hub.database.reading() as session:
        key = session.scalars(select(Submission.file).limit(1)).one()
    assert key is not None
    hub.storage.delete(key)
    assert write_backup(hub, tmp_path / "backup.zip").manifest.missing == (key,)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('title = "x"\ndatabase = "y"\n', 'title = "x"\n'),
        ('storage="s3://x"\n# note\n[hidden]\nconfirmed_only = true\n', "# note\n[hidden]\nconfirmed_only = true\n"),
        ("", ""),
    ],
)
def test_urls_are_left_out_of_a_configuration(before: str, after: str) -> None:
    assert without_urls(before) == after


def test_a_url_over_several_lines_is_refused() -> None:
    with pytest.raises(UsageError, match="must stand in a line each"):
        without_urls('database = """\npostgresql://ann:secret@host/hub"""\n')


def load_old(database: Database) -> None:
    """A database as a hub of the earlier schema left it: with the tables and columns of that."""
    reader = BackupReader(OLD)
    with database.rebuilding() as connection:
        database.upgrade_within(connection)
        for table in reversed(HubTable.metadata.sorted_tables):
            path = f"tables/{table.name}.jsonl"
            if path not in reader.manifest.members:
                table.drop(connection)
                continue
            then = {name for name, _ in json.loads(next(reader.lines(path)))}
            for column in set(table.columns.keys()) - then:
                for index in table.indexes:
                    if column in index.columns:
                        index.drop(connection)
                connection.execute(text(f"ALTER TABLE {table.name} DROP COLUMN {column}"))
        connection.execute(text(f"UPDATE alembic_version SET version_num='{reader.header.schema}'"))
        for table in read_tables_of(connection):
            load_rows(connection, table, reader.lines(f"tables/{table.name}.jsonl"))
            continue_numbers(connection, table)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_hub_of_every_earlier_schema_is_upgraded(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows stay, and the hub works on: what waited is scored."""
    assert UPGRADED == ("0004",)
    folder = tmp_path / "hub"
    folder.mkdir()
    url = f"sqlite:///{folder / 'hub.sqlite'}"
    if kind == "postgresql":
        url = request.getfixturevalue("postgres_database_url")
    (folder / "hub.toml").write_text(f'database = "{url}"\n')
    old = Database(url)
    load_old(old)
    with old.engine.connect() as connection:
        before = {
            table.name: connection.execute(select(table)).mappings().all() for table in read_tables_of(connection)
        }
    old.close()
    assert "run: snellen hub doctor HUB --upgrade" in command("hub", "doctor", folder, code=1)
    assert "run: snellen hub doctor HUB --upgrade" in command("hub", "account", folder, "ann", "--token", code=2)
    said = command("hub", "doctor", folder, "--upgrade")
    assert f"upgraded from schema 0004 to {SCHEMA}" in said
    assert (folder / "hub.sqlite.schema-0004").exists() == (kind == "sqlite")
    assert f"current (schema {SCHEMA})" in command("hub", "doctor", folder, "--upgrade")
    # Files as they were then.
    storage = Storage(str(folder / "storage"))
    reader = BackupReader(OLD)
    for key in reader.names("files/"):
        part = tmp_path / "part"
        part.write_bytes(b"".join(reader.chunks(f"files/{key}")))
        storage.put_stored(key, part)
    monkeypatch.setenv(KEY_VARIABLE, OLD_KEY)
    hub = open_hub(folder)
    check_rows(hub, before)
    with hub.database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, HubTable.metadata) == []
    assert Worker(hub, print).work(until_empty=True) == 3
    with hub.database.reading() as session:
        assert session.scalars(select(FinalScore)).one().summary
        hidden = select(SubmissionScore).join(Submission).join(HostedBenchmark)
        scores = session.scalars(hidden.where(HostedBenchmark.is_hidden)).all()
        assert {score.samples for score in scores if score.headline is not None} == {18, 60}
    hub.close()


def check_rows(hub: Hub, before: dict[str, Any]) -> None:
    """Every row is there as it was."""
    with hub.database.engine.connect() as connection:
        tables = {table.name: table for table in read_tables_of(connection)}
        assert set(before) <= set(tables)
        for name, rows in before.items():
            columns = [tables[name].c[each] for each in (rows[0] if rows else ())]
            query = select(*columns).order_by(*tables[name].primary_key.columns)
            after = connection.execute(query).mappings().all() if rows else []
            assert sorted(map(repr, after)) == sorted(map(repr, rows)), name


def test_an_old_backup_is_restored_and_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, OLD_KEY)
    restored = restore_backup(OLD, tmp_path / "new")
    assert restored.hub.database.schema() == SCHEMA
    assert restored.rows["submissions"] == 7
    assert Worker(restored.hub, print).work(until_empty=True) == 3
    restored.hub.close()


@pytest.mark.release
def test_a_newer_hub_is_refused_in_a_sentence(tmp_path: Path) -> None:
    hub = create_hub(tmp_path / "hub", "olga", "a long password")
    with hub.database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    hub.close()
    for action in (("doctor", "--upgrade"), ("serve",), ("worker",)):
        said = command("hub", *action, tmp_path / "hub", code=2)
        assert "of a newer Snellen than this one" in said
    said = command("hub", "backup", tmp_path / "hub", tmp_path / "backup.zip", code=2)
    assert "install the newer Snellen" in said
    file = tmp_path / "newer.zip"
    with zipfile.ZipFile(OLD) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'"schema":"0004"', b'"schema":"9999"'))
    said = command("hub", "restore", file, tmp_path / "new", code=2)
    assert "of a newer Snellen than this one" in said


def test_commands_back_up_and_restore(tmp_path: Path) -> None:
    new = tmp_path / "new"
    assert "7 submissions, 18 files" in command("hub", "restore", OLD, new, SNELLEN_HUB_KEY=OLD_KEY)
    file = tmp_path / "backup.zip"
    assert "7 submissions, 18 files" in command("hub", "backup", new, file)
    assert "exists already" in command("hub", "backup", new, file, code=2)
    assert "there is no such file" in command("hub", "restore", "nothing.zip", new, code=2)
    assert "is not empty" in command("hub", "restore", file, new, code=2, SNELLEN_HUB_KEY=OLD_KEY)
    said = command("hub", "backup", new, tmp_path / "no" / "folder.zip", code=2)
    assert "cannot write" in said


def test_dangling_references_roll_back_the_upgrade(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'hub.sqlite'}")
    load_old(database)
    with (
        pytest.raises(UsageError, match="refers to one of benchmarks that does not exist"),
        database.rebuilding() as connection,
    ):
        connection.execute(text("DELETE FROM benchmarks"))
    with database.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM benchmarks")).scalar() == 2
    database.close()
