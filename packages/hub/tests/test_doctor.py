"""`snellen hub doctor`: a sound hub passes, and each kind of damage is named with its remedy."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select, update
from test_api import command
from test_scoring import predictions, submit, write_data

from snellen.core.secret import Secret
from snellen_hub.accounts.access import create_account, now
from snellen_hub.clear_copies import clear_copy_folder
from snellen_hub.config import HubConfig, OpenIdProvider, SubmissionLimits
from snellen_hub.database.tables import Account, ScoringJob, Submission, SubmissionScore, WorkerHeartbeat
from snellen_hub.doctor.examine import examine_hub
from snellen_hub.doctor.findings import HubFinding
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.hub import Hub, create_hub
from snellen_hub.jobs.heartbeat import note_worker
from snellen_hub.jobs.worker import Worker
from snellen_hub.storage import Storage

KEY = "a key of the tests that is long enough"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A sound hub with a worker that lives."""
    # Killed workers of other tests leave something in the common folder.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = create_hub(tmp_path / "hub", "olga", "a long password")
    config = HubConfig(submissions=SubmissionLimits(per_day=99))
    opened = Hub(made.folder, config, made.database, Storage(str(made.folder / "storage"), Secret(KEY)))
    data = write_data(tmp_path / "signs.tsv")
    with opened.database.writing() as session:
        for name in ("open-signs", "hidden-signs"):
            new = NewBenchmark(name=name, title=name, data=data, is_hidden=name == "hidden-signs")
            add_benchmark(session, opened.storage, new)
    for name in ("open-signs", "hidden-signs"):
        submit(opened, name, predictions(45))
    Worker(opened, print).work(until_empty=True)
    with opened.database.writing() as session:
        note_worker(session, "w1", now(), 2, None)
    yield opened
    opened.close()


def findings_of(hub: Hub, *, fix: bool = False) -> list[HubFinding]:
    return [each for each in examine_hub(hub, fix=fix) if each.level != "ok"]


def test_a_sound_hub_passes(hub: Hub) -> None:
    assert findings_of(hub) == []


def lose_file(hub: Hub) -> None:
    hub.storage.delete(next(iter(keys_of(hub))))


def damage_file(hub: Hub) -> None:
    path = next((hub.folder / "storage").rglob(next(iter(keys_of(hub)))))
    path.write_bytes(path.read_bytes() + b"x")


def keys_of(hub: Hub) -> list[str]:
    with hub.database.reading() as session:
        return [key for key in session.scalars(select(Submission.file)) if key]


def add_old_file(hub: Hub) -> None:
    key = hub.storage.put(b"of nobody")
    path = next((hub.folder / "storage").rglob(key))
    old = time.time() - 100_000
    os.utime(path, (old, old))


def kill_worker(hub: Hub) -> None:
    with hub.database.writing() as session:
        session.execute(update(WorkerHeartbeat).values(seen=now() - timedelta(hours=1)))


def stop_workers(hub: Hub) -> None:
    with hub.database.writing() as session:
        session.execute(delete(WorkerHeartbeat))


def let_submission_wait(hub: Hub) -> None:
    stop_workers(hub)
    submit(hub, "open-signs", predictions(3))


def let_submission_wait_long(hub: Hub) -> None:
    submit(hub, "open-signs", predictions(3))
    with hub.database.writing() as session:
        session.execute(
            update(ScoringJob)
            .where(ScoringJob.status == "queued")
            .values(created=now() - timedelta(hours=2), problem="the storage cannot be read: x")
        )


def lose_job(hub: Hub) -> None:
    submission = submit(hub, "open-signs", predictions(3))
    with hub.database.writing() as session:
        session.execute(delete(ScoringJob).where(ScoringJob.submission_id == submission))


def lease_for_ever(hub: Hub) -> None:
    submission = submit(hub, "open-signs", predictions(3))
    with hub.database.writing() as session:
        session.execute(
            update(ScoringJob)
            .where(ScoringJob.submission_id == submission)
            .values(status="leased", leased_until=now() + timedelta(days=400))
        )


def lose_score(hub: Hub) -> None:
    with hub.database.writing() as session:
        session.execute(delete(SubmissionScore).where(SubmissionScore.id == 1))


def fail_job(hub: Hub) -> None:
    with hub.database.writing() as session:
        session.execute(update(ScoringJob).where(ScoringJob.id == 1).values(status="failed", problem="why"))


def disable_owner(hub: Hub) -> None:
    with hub.database.writing() as session:
        create_account(session, "ann", "submitter", "a long password")
        session.execute(update(Account).values(disabled=now()))


def break_reference(hub: Hub) -> None:
    assert hub.database.file is not None
    connection = sqlite3.connect(hub.database.file)
    connection.execute("UPDATE submissions SET account_id = 99")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("damage", "level", "what", "sentence"),
    [
        (lose_file, "problem", "files", "1 that rows name are missing"),
        (damage_file, "problem", "files", "1 are damaged"),
        (add_old_file, "warning", "orphans", "no row names 1 files"),
        (kill_worker, "warning", "workers", "w1 died within a day"),
        (stop_workers, "warning", "workers", "none lives; start one with: snellen hub worker"),
        (let_submission_wait, "problem", "workers", "none lives, and 1 submissions wait"),
        (let_submission_wait_long, "warning", "queue", "for 120 minutes; start more workers"),
        (lose_job, "problem", "leases", "1 submissions wait without a job"),
        (lease_for_ever, "problem", "leases", "1 leases end more than an hour from now"),
        (lose_score, "problem", "submissions", "are said to be scored and have no score"),
        (fail_job, "warning", "queue", "1 jobs failed; the last trouble: why"),
        (disable_owner, "problem", "owner", "--role owner"),
        (break_reference, "problem", "database", "refers to one of accounts"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_damage_is_named(hub: Hub, damage: Callable[[Hub], None], level: str, what: str, sentence: str) -> None:
    damage(hub)
    found = [each for each in findings_of(hub) if sentence in each.detail]
    assert [(each.level, each.what) for each in found] == [(level, what)]


@pytest.mark.parametrize("damage", [add_old_file, lose_job, lease_for_ever])
def test_repair_fixes_safe_findings(hub: Hub, damage: Callable[[Hub], None]) -> None:
    damage(hub)
    assert findings_of(hub) != []
    assert findings_of(hub, fix=True) == []
    assert findings_of(hub) == []
    Worker(hub, print).work(until_empty=True)
    with hub.database.reading() as session:
        assert set(session.scalars(select(ScoringJob.status))) == {"done"}


def test_no_file_that_a_row_names_is_deleted(hub: Hub) -> None:
    """Nor one that is young: its row may be on the way."""
    young = hub.storage.put(b"on its way")
    before = {file.key for file in hub.storage.list_files()}
    old = time.time() - 100_000
    for path in (hub.folder / "storage").rglob("*"):
        if path.is_file() and path.name != young:
            os.utime(path, (old, old))
    assert findings_of(hub, fix=True) == []
    assert {file.key for file in hub.storage.list_files()} == before


def test_a_file_that_is_stored_again_becomes_young(hub: Hub) -> None:
    add_old_file(hub)
    key = hub.storage.put(b"of nobody")
    assert findings_of(hub, fix=True) == []
    assert hub.storage.get(key) == b"of nobody"


@pytest.mark.parametrize(
    ("secret", "level", "sentence"),
    [
        (None, "problem", "SNELLEN_HUB_KEY is not set: hidden answers cannot be read"),
        ("another key than that of the hub, and long", "problem", "does not open the hidden"),
    ],
)
def test_the_key_is_checked(hub: Hub, secret: str | None, level: str, sentence: str) -> None:
    key = None if secret is None else Secret(secret)
    other = Hub(hub.folder, hub.config, hub.database, Storage(str(hub.folder / "storage"), key))
    (found,) = findings_of(other)
    assert (found.level, found.what) == (level, "key")
    assert sentence in found.detail


@pytest.mark.parametrize(
    ("settings", "what", "sentence"),
    [
        ({"url": "http://boards.example.org"}, "url", "is not encrypted"),
        ({"url": "boards"}, "url", "is no address"),
        ({"url": "https://boards.example.org"}, "proxies", "trusted_proxies is empty"),
        (
            {"openid": OpenIdProvider("https://login.example.org", "hub")},
            "openid",
            "SNELLEN_HUB_OIDC_SECRET is not set",
        ),
    ],
)
def test_settings_are_checked(hub: Hub, settings: dict[str, Any], what: str, sentence: str) -> None:
    other = Hub(hub.folder, HubConfig(**settings), hub.database, hub.storage)
    (found,) = findings_of(other)
    assert found.what == what
    assert sentence in found.detail


def test_clear_copies_of_killed_workers_are_found(hub: Hub, tmp_path: Path) -> None:
    with clear_copy_folder() as at_work:
        assert findings_of(hub) == []
        left = tmp_path / "snellen-clear-x"
        left.mkdir()
        (left / "data.tsv").write_text("answers")
        # At once: a worker is started again right after the kill.
        (found,) = findings_of(hub)
        assert f"left {left}, with answers; delete them with --repair" in found.detail
        assert findings_of(hub, fix=True) == []
        assert not left.exists()
        left.mkdir()
        lines: list[str] = []
        Worker(hub, lines.append).work(until_empty=True)
        assert lines == [f"deleted {left}: a process that was killed left it, with answers"]
        assert (left.exists(), at_work.exists()) == (False, True)
    assert not at_work.exists()


def test_a_hub_that_others_can_read_is_named() -> None:
    # Folders of pytest lie in one that keeps others out.
    place = Path(tempfile.mkdtemp(prefix="snellen-doctor-"))
    place.chmod(0o755)
    hub = create_hub(place / "hub", "olga", "a long password")
    assert "rights" not in {each.what for each in findings_of(hub)}
    hub.folder.chmod(0o755)
    (found,) = [each for each in findings_of(hub) if each.what == "rights"]
    assert f"chmod 700 {hub.folder}" in found.detail
    hub.close()
    shutil.rmtree(place)


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    place = tmp_path / "hub"
    said = command("hub", "init", place, stdin="a long password\n")
    assert f"snellen hub serve {place}" in said
    assert "warning  workers: none lives" in command("hub", "doctor", place)
    assert '"level":"warning"' in command("hub", "doctor", place, "--json", "--quick")
    assert "holds no hub" in command("hub", "doctor", tmp_path, code=2)
    with sqlite3.connect(place / "hub.sqlite") as connection:
        connection.execute("DROP TABLE scores")
        connection.execute("DELETE FROM accounts")
    connection.close()
    assert "PROBLEM" in command("hub", "doctor", place, code=1)


@pytest.mark.release
def test_file_that_is_not_a_database_gives_one_sentence(tmp_path: Path) -> None:
    place = tmp_path / "hub"
    command("hub", "init", place, stdin="a long password\n")
    for file in place.glob("hub.sqlite*"):
        file.unlink()
    (place / "hub.sqlite").write_bytes(b"not a database" * 1000)
    assert "file is not a database" in command("hub", "doctor", place, code=1)
    for action in (("worker",), ("doctor", "--upgrade")):
        assert "cannot be used: file is not a database" in command("hub", *action, place, code=2)


def test_the_clock_of_postgresql_is_compared(
    postgres_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLEN_HUB_DATABASE", postgres_database_url)
    hub = create_hub(tmp_path / "hub", "olga", "a long password")
    assert [each.what for each in findings_of(hub)] == ["workers"]
    late = now() + timedelta(minutes=2)
    monkeypatch.setattr("snellen_hub.doctor.content.now", lambda: late)
    (found,) = [each for each in findings_of(hub) if each.what == "clock"]
    assert found.level == "problem"
    hub.close()


def test_another_database_in_the_environment_is_refused(tmp_path: Path) -> None:
    """It would silently take the place of the hub that the command names."""
    place = tmp_path / "hub"
    command("hub", "init", place, "--owner", "olga", stdin="a long password\n")
    own = f"sqlite:///{(place / 'hub.sqlite').resolve()}"
    command("hub", "account", place, "olga", "--token", SNELLEN_HUB_DATABASE=own)
    other = f"sqlite:///{tmp_path / 'other.sqlite'}"
    for action in (("account", place), ("doctor", place), ("doctor", place, "--upgrade")):
        said = command("hub", *action, code=2, SNELLEN_HUB_DATABASE=other)
        assert f"{place} has a database of its own, hub.sqlite, and SNELLEN_HUB_DATABASE" in said
    assert not (tmp_path / "other.sqlite").exists()
