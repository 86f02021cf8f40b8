"""Flags and new scores by the commands that an owner types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select
from test_api import command
from test_scoring import predictions, write_data

from snellen_hub.config import SubmissionLimits
from snellen_hub.database.tables import Account, HostedBenchmark, WrongLabelFlag
from snellen_hub.hub import Hub, open_hub
from snellen_hub.intake import NewSubmission, take_submission
from snellen_hub.samples.flags import raise_flag


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """A hub with a benchmark, a scored submission and two flags."""
    folder = tmp_path / "hub"
    command("hub", "init", folder, "--owner", "olga", stdin="a long password\n")
    command("hub", "benchmark", folder, "signs", "--data", write_data(tmp_path / "signs.tsv"))
    opened = open_hub(folder)
    with opened.database.writing() as session:
        row = session.scalars(select(HostedBenchmark)).one()
        olga = session.scalars(select(Account)).one()
        new = NewSubmission(model="m", file_name="p.jsonl", content=predictions(45))
        take_submission(session, opened.storage, row, olga.id, new, SubmissionLimits())
        raise_flag(session, row, olga.id, "3", "wrong-answer", "it is four")
        raise_flag(session, row, olga.id, "5", "ambiguous", "both fit")
    command("hub", "worker", folder, "--until-empty")
    yield opened
    opened.close()


def test_from_flags_to_reviewed_data(hub: Hub, tmp_path: Path) -> None:
    out = tmp_path / "signs-flagged"
    said = command("hub", "benchmark", hub.folder, "signs", "--out", out)
    assert f"{out}: 60 items, 2 of them flagged (2 flags)" in said
    decisions = tmp_path / "decisions.jsonl"
    entries = [
        {"item": "3", "action": "fix", "changes": {"answer": "D"}, "comment": "four, indeed"},
        {"item": "5", "action": "keep"},
    ]
    decisions.write_text("".join(json.dumps(each) + "\n" for each in entries))
    assert "2 items to review" in command("curate", "review", out, "--export", "queue", code=1)
    command("curate", "review", out, "--import", decisions, "--annotator", "rita")
    command("curate", "review", out, "--finish")
    said = command("hub", "benchmark", hub.folder, "signs", "--data", tmp_path / "signs-flagged-reviewed", "--replace")
    assert "signs: version 2; 1 submissions are scored again; 2 of 2 flags closed" in said
    with hub.database.reading() as session:
        outcomes = {flag.item: flag.outcome for flag in session.scalars(select(WrongLabelFlag))}
    assert outcomes == {"3": "a reviewer fixed the item: four, indeed", "5": "a reviewer kept the item as it is"}
    assert "no item of signs is flagged" in command(
        "hub", "benchmark", hub.folder, "signs", "--out", tmp_path / "again", code=2
    )


@pytest.mark.release
def test_everything_is_scored_again_if_asked_to(hub: Hub) -> None:
    assert "signs: no score is of another version of Snellen" in command("hub", "rescore", hub.folder)
    said = command("hub", "rescore", hub.folder, "signs")
    assert "signs: version 2; 1 submissions are scored again" in said
    command("hub", "worker", hub.folder, "--until-empty")
    with hub.database.reading() as session:
        row = session.scalars(select(HostedBenchmark)).one()
        assert row.version == 2
    assert "no benchmark nothing" in command("hub", "rescore", hub.folder, "nothing", code=2)
    assert "no benchmark nothing" in command(
        "hub", "benchmark", hub.folder, "nothing", "--out", hub.folder / "x", code=2
    )
