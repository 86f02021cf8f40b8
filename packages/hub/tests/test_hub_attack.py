"""`snellen hub attack`: what is recovered of a copy of a board, which shows what a hub shows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec
import numpy as np
import pytest
from sqlalchemy import select
from test_question_parts import hub as hub  # a fixture
from test_scoring import write_data

from snellen.cli.main import main
from snellen.core.secret import Secret
from snellen_hub.accounts.access import create_account, now
from snellen_hub.attacks import BoardCopy, attack_board, copy_board
from snellen_hub.config import HubConfig, SubmissionLimits
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import HostedBenchmark, SubmissionScore
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.hub import Hub
from snellen_hub.intake import NewSubmission, take_submission
from snellen_hub.jobs.worker import Worker
from snellen_hub.public_scores import PublicScore, public_score
from snellen_hub.reveals import reveal_part
from snellen_hub.storage import Storage
from snellen_hub.uploaded_replies import QuestionRows

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@pytest.fixture
def board(hub: Hub) -> BoardCopy:
    with hub.database.reading() as session:
        return copy_board(hub.storage, session.scalars(select(HostedBenchmark)).one())


@pytest.mark.attack(
    "random answers, one change at a time and variations of a good model, of 1 and of 250 "
    "accounts, and the finals of all of them, against a copy of a hidden board",
    "before a reveal no private answer is recovered but by chance; of the public part and from the "
    "finals as many as docs/hub.md says",
)
def test_recovered_answers_by_number_of_accounts(board: BoardCopy) -> None:
    draws = np.random.default_rng(3)
    one = [attack_board(board, 1, draws) for _ in range(40)]
    many = [attack_board(board, 250, draws) for _ in range(6)]
    # 42 private questions of 4 options, 6 boards: chance is 0.25 with a standard error of 0.027.
    for found in (one, many):
        for place, expected in ((0, 0.25), (1, 0.25), (2, 0.85)):
            mean = np.mean([each.private[place] for each in found])
            assert mean < expected + 0.12
            if place < 2:
                assert mean > expected - 0.12
    assert np.mean([each.public for each in many]) > 0.99
    assert np.mean([each.public[0] for each in one]) < 0.5
    # What the finals give away: nothing much by one account, nearly all by hundreds.
    assert np.mean([each.finals for each in one]) < 0.33
    assert np.mean([each.finals for each in many]) > 0.9


def compare_with_hub(board: BoardCopy, draws: np.random.Generator, folder: Path) -> int:
    """Submit random answers to a hub of its own, and compare every number that it shows with those
    that the attacks use; returns how many were compared."""
    gold = draws.integers(0, board.options)
    asked = draws.integers(0, board.options, (2, len(gold)))
    compared = 0
    for answers, score in zip(asked, scores_of_hub(board, gold, asked, folder), strict=True):
        right = (answers == gold) & board.is_public
        labelled = [(score.headline, board.is_public)]
        for column, labels in score.groups.items():
            for label, number in labels.items():
                own = [each.get(column) == label for each in board.categories]
                labelled.append((number, np.array(own) & board.is_public))
        for number, members in labelled:
            assert number.value == pytest.approx(100 * right[members].mean(), abs=1e-6)
        compared += len(labelled)
    return compared


def scores_of_hub(board: BoardCopy, gold: Any, asked: Any, place: Path) -> list[PublicScore]:
    """What a new hub in a folder shows of submissions to a board with these answers."""
    database = Database(f"sqlite:///{place / 'hub.sqlite'}")
    database.upgrade()
    hub = Hub(place, HubConfig(), database, Storage(str(place / "storage"), Secret(token_hex(32))))
    lines = [
        {
            "index": n,
            "question": f"question {n}",
            "answer": LETTERS[answer],
            **{label: f"option {label}" for label in LETTERS[: board.options[n]]},
            **board.categories[n],
        }
        for n, answer in enumerate(gold)
    ]
    (place / "board.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    with database.writing() as session:
        account = create_account(session, "attacker", "submitter", None)
        new = NewBenchmark(name="copy", title="", data=place / "board.jsonl", is_hidden=True)
        row = add_benchmark(session, hub.storage, new)
        parts = [QuestionRows((str(n),), part=int(not public)) for n, public in enumerate(board.is_public)]
        row.ids = hub.storage.put(msgspec.json.encode(parts))
        for answers in asked:
            replies = [{"index": n, "prediction": LETTERS[each]} for n, each in enumerate(answers)]
            content = b"\n".join(map(msgspec.json.encode, replies))
            sent = NewSubmission(model="guess", file_name="p.jsonl", content=content)
            take_submission(session, hub.storage, row, account.id, sent, SubmissionLimits())
    Worker(hub, lambda line: None).work(until_empty=True)
    with database.reading() as session:
        scores = session.scalars(select(SubmissionScore).order_by(SubmissionScore.id))
        shown = [public_score(score) for score in scores]
    hub.close()
    return shown


def test_the_numbers_are_those_of_a_hub(board: BoardCopy, tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    assert Counter(board.is_public.tolist()) == {True: 18, False: 42}
    # Headline and two categories, of two submissions.
    assert compare_with_hub(board, draws, tmp_path) == 6


def test_the_command_prints_a_table(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    (hub.folder / "hub.toml").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNELLEN_HUB_KEY", "k")
        words = ["hub", "attack", str(hub.folder), "signs", "--draws", "1"]
        assert main(words) == 0
        said = capsys.readouterr().out
        assert "signs: 18 public and 42 private questions, answers drawn 1 times" in said
        assert "answers recovered in percent, by chance 25.0" in said
        lines = [re.split(r"  +", line.strip()) for line in said.splitlines()]
        rows = {line[0]: line[1:] for line in lines if len(line) == 5}
        assert rows["accounts"] == ["1", "10", "100", "1,000"]
        assert rows["random answers, public"][-1] == "100.0"
        assert len(rows) == 8
        assert main([*words[:3], "none"]) == 2
        assert "this hub has no benchmark none" in capsys.readouterr().err
        with hub.database.writing() as session:
            row = session.scalars(select(HostedBenchmark)).one()
            for _ in range(2):
                reveal_part(session, row, now())
            data = write_data(hub.folder / "open.tsv")
            add_benchmark(session, hub.storage, NewBenchmark(name="open", title="", data=data))
        assert main(words) == 2
        assert "options of signs are public by now: nothing" in capsys.readouterr().err
        assert main(["hub", "phases", str(hub.folder), "open", "--reveal", "2100-01-01"]) == 2
        assert "the answers of open are not hidden: no question" in capsys.readouterr().err
        assert main([*words[:3], "open"]) == 2
        assert "are not hidden: there is nothing to recover" in capsys.readouterr().err
