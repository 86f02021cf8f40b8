"""From an upload to a score: intake, workers, hidden splits, storage on a disk and on S3."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from snellen.core.errors import DataError, StorageError, UsageError
from snellen.core.secret import Secret
from snellen_hub.accounts.access import create_account
from snellen_hub.config import HubConfig, SubmissionLimits
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import Account, HostedBenchmark, ScoringJob, Submission, SubmissionScore
from snellen_hub.hosting import NewBenchmark, Protocol, add_benchmark, replace_data
from snellen_hub.hub import Hub
from snellen_hub.intake import NewSubmission, TooManySubmissions, take_submission
from snellen_hub.jobs.worker import Worker
from snellen_hub.question_parts import read_draw
from snellen_hub.storage import Storage
from snellen_hub.uploaded_replies import decode_questions

QUESTIONS = 60
LIMITS = SubmissionLimits(per_day=6)


def answer(number: int) -> str:
    return "ABCD"[number * 7 % 4]


def write_data(path: Path, *, with_answers: bool = True) -> Path:
    lines = ["index\tquestion\tA\tB\tC\tD\tanswer\tcategory"]
    lines += [
        f"{n}\tWhat is {n}?\tone\ttwo\tthree\tfour\t{answer(n) if with_answers else ''}\t"
        f"{'even' if n % 2 == 0 else 'odd'}"
        for n in range(QUESTIONS)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def predictions(right: int) -> bytes:
    """Replies of which the first `right` are right."""
    rows = [{"index": n, "prediction": answer(n) if n < right else "ABCD"[(n * 7 + 1) % 4]} for n in range(QUESTIONS)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture
def hub(database: Database, tmp_path: Path) -> Hub:
    storage = Storage(str(tmp_path / "storage"), Secret("a key of the tests"))
    opened = Hub(tmp_path, HubConfig(submissions=LIMITS), database, storage)
    with database.writing() as session:
        create_account(session, "ann", "submitter", "a long password")
        for name, hidden in (("open-signs", False), ("hidden-signs", True)):
            data = write_data(tmp_path / f"{name}.tsv")
            add_benchmark(session, storage, NewBenchmark(name=name, title=name, data=data, is_hidden=hidden))
    return opened


def submit(hub: Hub, benchmark: str, content: bytes, name: str = "p.jsonl", *, allow_missing: bool = False) -> int:
    with hub.database.writing() as session:
        row = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == benchmark)).one()
        account = session.scalars(select(Account)).one()
        new = NewSubmission(model="m", file_name=name, content=content, allow_missing=allow_missing)
        return take_submission(session, hub.storage, row, account.id, new, LIMITS).id


def work(hub: Hub) -> None:
    Worker(hub, print).work(until_empty=True)
    with hub.database.reading() as session:
        assert [job.problem for job in session.scalars(select(ScoringJob)) if job.problem] == []


def score_of(hub: Hub, submission: int, version: int = 1) -> SubmissionScore:
    with hub.database.reading() as session:
        query = select(SubmissionScore).where(
            SubmissionScore.submission_id == submission, SubmissionScore.version == version
        )
        return session.scalars(query).one()


def test_an_upload_becomes_a_score(hub: Hub) -> None:
    first = submit(hub, "open-signs", predictions(45))
    work(hub)
    score = score_of(hub, first)
    assert (score.headline, score.samples) == (75.0, QUESTIONS)
    assert score.low is not None
    assert score.low < 75 < (score.high or 0)
    with hub.database.reading() as session:
        row = session.get_one(Submission, first)
        assert (row.status, row.visibility, row.problem) == ("scored", "private", "")


def test_answers_inside_an_upload_have_no_effect(hub: Hub) -> None:
    rows = [{"index": n, "prediction": "A", "answer": "A"} for n in range(QUESTIONS)]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    submission = submit(hub, "open-signs", content)
    work(hub)
    assert score_of(hub, submission).headline == 25.0


def test_missing_replies_count_as_wrong(hub: Hub) -> None:
    content = b"".join(line + b"\n" for line in predictions(60).splitlines()[:30])
    with pytest.raises(DataError, match=r"30 of 60 questions have no reply, such as '30', '31'"):
        submit(hub, "open-signs", content)
    submission = submit(hub, "open-signs", content, allow_missing=True)
    work(hub)
    score = score_of(hub, submission)
    assert (score.headline, score.samples) == (50.0, QUESTIONS)


def test_hidden_answers_are_nowhere_in_the_clear(hub: Hub, tmp_path: Path) -> None:
    submit(hub, "hidden-signs", predictions(45))
    work(hub)
    stored = [path.read_bytes() for path in (tmp_path / "storage").rglob("*") if path.is_file()]
    sealed = [content for content in stored if b"What is 1?" in content]
    # The open benchmark's data are there, the hidden one's are not.
    assert len(sealed) == 1
    assert not list(tmp_path.rglob("snellen-clear-*"))
    other = Storage(str(tmp_path / "storage"), Secret("another key"))
    key = next(file.key for file in other.list_files() if file.key.endswith(".sealed"))
    with pytest.raises(StorageError, match="was sealed with another SNELLEN_HUB_KEY"):
        other.get(key)
    with pytest.raises(UsageError, match="SNELLEN_HUB_KEY is not set"):
        Storage(str(tmp_path / "storage")).get(key)


def test_a_hidden_score_is_exact_and_of_the_public_part(hub: Hub) -> None:
    some, all_right = (submit(hub, "hidden-signs", predictions(right)) for right in (30, 60))
    work(hub)
    with hub.database.reading() as session:
        row = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == "hidden-signs")).one()
    public = [int(each.name) for each in decode_questions(hub.storage.get(row.ids)) if each.part == 0]
    right = sum(number < 30 for number in public)
    assert (len(public), read_draw(row).sizes) == (18, (18, 42))
    assert score_of(hub, some).headline == pytest.approx(100 * right / 18)
    assert score_of(hub, some).samples == 18
    assert score_of(hub, all_right).headline == 100.0


def test_new_data_score_every_submission_again(hub: Hub, tmp_path: Path) -> None:
    submission = submit(hub, "open-signs", predictions(45))
    work(hub)
    data = tmp_path / "mended.tsv"
    data.write_text((tmp_path / "open-signs.tsv").read_text().replace("\tA\teven", "\tB\teven", 5))
    with hub.database.writing() as session:
        row = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == "open-signs")).one()
        new = NewBenchmark(name="open-signs", title="Signs", data=data)
        assert replace_data(session, hub.storage, row, new) == 1
    work(hub)
    assert score_of(hub, submission, 1).headline == 75.0
    assert score_of(hub, submission, 2).headline != 75.0


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("p.exe", b"x", "expected one that ends in"),
        ("p.jsonl", b"", "is empty"),
        ("p.jsonl", b"not json\n", "JSON"),
        ("p.jsonl", b'{"index": "x1", "prediction": "A"}\n', "1 of 1 ids are not of this benchm"),
        ("p.jsonl", b'{"index": 1, "prediction": "A"}\n{"index": 1, "prediction": "B"}\n', "1"),
        ("p.xlsx", b"PK\x03\x04 no workbook", "p.xlsx"),
        ("../../p.parquet", b"PAR1", "parquet"),
    ],
)
def test_a_file_that_cannot_be_scored_is_refused(hub: Hub, name: str, content: bytes, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence) as error:
        submit(hub, "open-signs", content, name)
    assert "snellen-intake" not in str(error.value)
    with hub.database.reading() as session:
        assert session.scalars(select(Submission)).all() == []


def test_an_account_has_so_many_submissions_a_day(hub: Hub) -> None:
    for _ in range(LIMITS.per_day):
        submit(hub, "hidden-signs", predictions(30))
    with pytest.raises(UsageError, match="6 submissions to hidden-signs in 24 hours"):
        submit(hub, "hidden-signs", predictions(30))


def test_data_without_answers_are_refused(hub: Hub, tmp_path: Path) -> None:
    blank = write_data(tmp_path / "blank.tsv", with_answers=False)
    full = write_data(tmp_path / "full.tsv")
    with hub.database.writing() as session:
        for new, sentence in (
            (NewBenchmark(name="x", title="X", data=blank), "item 0 has no answer"),
            (
                NewBenchmark(name="x", title="X", data=full, is_hidden=True, public_data=full),
                "item 0 has an answer, and the answers of x are hidden",
            ),
            (NewBenchmark(name="X y", title="X", data=full), "cannot be called 'X y'"),
            (NewBenchmark(name="open-signs", title="X", data=full), "already"),
            (NewBenchmark(name="x", title="X", data=full, protocol=Protocol(rule="official")), "official"),
        ):
            with pytest.raises(UsageError, match=sentence):
                add_benchmark(session, hub.storage, new)


def test_uploads_at_the_same_time_count_each_other(hub: Hub) -> None:
    # As the server does it: the file is read and stored before the transaction.
    begin = threading.Barrier(12)

    def upload(_: int) -> bool:
        begin.wait()
        try:
            submit(hub, "open-signs", predictions(45))
        except TooManySubmissions:
            return False
        return True

    with ThreadPoolExecutor(12) as threads:
        taken = sum(threads.map(upload, range(12)))
    assert taken == LIMITS.per_day
