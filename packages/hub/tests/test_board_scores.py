"""From an upload to its board, of a benchmark whose headline is no mean over its samples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from mmt_rows import picture, row, write
from sqlalchemy import select

from snellen.core.secret import Secret
from snellen_hub.accounts.access import create_account
from snellen_hub.boards.pages import read_tables
from snellen_hub.boards.tables import BoardPage
from snellen_hub.config import HubConfig, SubmissionLimits
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import Account, HostedBenchmark, SubmissionScore
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.hub import Hub
from snellen_hub.intake import NewSubmission, take_submission
from snellen_hub.jobs.contributions import RowScores, headline_parts
from snellen_hub.jobs.worker import Worker
from snellen_hub.publishing import publish_submission
from snellen_hub.storage import Storage

SIZES = {"weather_recognition": 60, "rock_recognition": 20, "doc_vqa": 20}
"""Questions of each subtask; the headline is the plain mean of the three."""


def data(path: Path) -> Path:
    rows: list[dict[str, str]] = []
    for category, size in SIZES.items():
        meta = "doc_understanding" if category == "doc_vqa" else "visual_recognition"
        # A picture of its own for each question: questions of one picture are one cluster.
        for _ in range(size):
            image = picture("red", (60 + len(rows), 40))
            rows.append(row(len(rows), category, meta, "B", image=image))
    return write(path, rows)


def replies(right: Sequence[int]) -> bytes:
    """As many right answers to the questions of each subtask."""
    lines, number = [], 0
    for size, count in zip(SIZES.values(), right, strict=True):
        for index in range(size):
            lines.append({"index": number, "prediction": "B" if index < count else "A"})
            number += 1
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    database = Database(f"sqlite:///{tmp_path / 'hub.sqlite'}")
    database.upgrade()
    storage = Storage(str(tmp_path / "storage"), Secret("a key of the tests"))
    opened = Hub(tmp_path, HubConfig(), database, storage)
    file = data(tmp_path / "mmt.tsv")
    with database.writing() as session:
        create_account(session, "ann", "submitter", None)
        create_account(session, "bob", "submitter", None)
        for name, hidden in (("open", False), ("hidden", True)):
            new = NewBenchmark(name=name, title=name, data=file, spec="mmt-bench", is_hidden=hidden)
            add_benchmark(session, storage, new)
    yield opened
    opened.close()


def score_and_publish(hub: Hub, benchmark: str, submissions: dict[str, Sequence[int]]) -> BoardPage:
    """Each by another account, in turn."""
    ids = []
    with hub.database.writing() as session:
        board = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == benchmark)).one()
        accounts = session.scalars(select(Account)).all()
        for index, (model, right) in enumerate(submissions.items()):
            new = NewSubmission(model=model, file_name="p.jsonl", content=replies(right))
            account = accounts[index % len(accounts)].id
            row = take_submission(session, hub.storage, board, account, new, SubmissionLimits())
            ids.append(row)
    Worker(hub, print).work(until_empty=True)
    with hub.database.writing() as session:
        for row in ids:
            merged = session.merge(row)
            session.refresh(merged)
            publish_submission(session, merged)
        board = session.merge(board)
        return read_tables(session, hub, board)


def test_influences_of_samples_sum_to_the_headline(hub: Hub) -> None:
    """A mean of subtasks: 10 of 60, 15 of 20, 5 of 20."""
    wanted = 100 * (10 / 60 + 15 / 20 + 5 / 20) / 3
    score_and_publish(hub, "open", {"A": (10, 15, 5)})
    with hub.database.reading() as session:
        score = session.scalars(select(SubmissionScore)).one()
        rows = msgspec.json.decode(hub.storage.get(score.records or ""), type=RowScores)
    assert score.headline == pytest.approx(wanted)
    assert sum(rows.scores) == 30
    parts = headline_parts(rows.scores, rows.influences, score.headline or 0.0, 100.0)
    assert parts.mean() == pytest.approx(wanted / 100)
    # A right answer to one of 20 questions weighs three times as much as to one of 60.
    part = dict(zip(map(int, rows.ids), parts.tolist(), strict=True))
    weather, rock = part[0] - part[59], part[60] - part[79]
    assert rock == pytest.approx(3 * weather, rel=1e-3)
    assert rock == pytest.approx(100 / 60, rel=1e-3)
    assert rows.clusters == ("",) * 100


def test_a_board_compares_the_headline_and_not_the_mean_of_samples(hub: Hub) -> None:
    """B has fewer right answers than A, and a higher headline."""
    page = score_and_publish(hub, "open", {"A": (60, 4, 4), "B": (12, 20, 20), "C": (11, 20, 20)})
    assert page.layout == "mmt"
    table = page.tables[0]
    rows = {row.model: row for row in table.rows}
    assert [row.model for row in table.rows if row.evidence == "submitted"] == ["B", "C", "A"]
    assert rows["B"].cells["score"].value == pytest.approx(100 * (0.2 + 1 + 1) / 3)
    assert (rows["B"].tier, rows["C"].tier, rows["A"].tier) == (1, 1, 2)
    assert "3 pairs by paired tests" in " ".join(table.notices)
    assert [one.name for one in page.tables[1:]] == ["vr", "du"]
    assert "no models have" not in " ".join(table.notices)


def test_a_hidden_board_has_the_headline_of_the_public_part(hub: Hub) -> None:
    """All of the two small subtasks are right and none of the large one: a mean of 66.7, and 40 %
    of the questions."""
    page = score_and_publish(hub, "hidden", {"A": (0, 20, 20), "B": (60, 0, 0)})
    cells = {row.model: row.cells["score"] for row in page.tables[0].rows if row.evidence == "submitted"}
    assert cells["A"].value == pytest.approx(200 / 3)
    assert cells["B"].value == pytest.approx(100 / 3)
    assert (cells["A"].n, page.parts["public"], page.parts["private"]) == (30, 30, 70)
    assert "1 pairs by paired tests" in " ".join(page.tables[0].notices)
