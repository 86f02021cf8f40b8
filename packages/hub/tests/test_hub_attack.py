"""`snellen hub attack`: what is recovered of a copy of a board, which shows what a hub shows."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from sqlalchemy import select
from test_question_parts import hub as hub  # a fixture
from test_scoring import write_data

from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen_hub import attacks
from snellen_hub.accounts.access import now
from snellen_hub.attacks import (
    BoardCopy,
    attack_board,
    check_by_hub,
    copy_board,
)
from snellen_hub.database.tables import HostedBenchmark
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.hub import Hub
from snellen_hub.reveals import reveal_part


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
def test_what_accounts_recover(board: BoardCopy) -> None:
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


def test_the_numbers_are_those_of_a_hub(board: BoardCopy, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(0)
    assert Counter(board.is_public.tolist()) == {True: 18, False: 42}
    # Headline and two categories, of two submissions.
    assert check_by_hub(board, draws) == 6
    original = attacks._scores_of_hub
    monkeypatch.setattr(attacks, "_scores_of_hub", lambda copy, *more: original(
        copy._replace(is_public=~copy.is_public), *more))  # fmt: skip
    with pytest.raises(UsageError, match=r"a hub shows .* and the attacks use"):
        check_by_hub(board, draws)


def test_the_command_prints_a_table(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    (hub.folder / "hub.toml").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNELLEN_HUB_KEY", "k")
        words = ["hub", "attack", str(hub.folder), "signs", "--draws", "1"]
        assert main(words) == 0
        said = capsys.readouterr().out
        assert "signs: 18 public and 42 private questions, answers drawn 1 times" in said
        assert "answers recovered in percent, by chance 25.0" in said
        lines = [re.split(r"  +", line.strip()) for line in said.splitlines()[2:] if " " in line]
        rows = {line[0]: line[1:] for line in lines[1:]}
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
