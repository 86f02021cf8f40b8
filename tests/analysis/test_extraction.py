"""Labelling sheets and the alignment of extractors with people."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from snellen import evaluate
from snellen.analysis.parsing.unread_replies import sample_replies, unread_replies
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Generated
from snellen.core.request import Generate
from snellen.store.runs import find_runs


class Mumbler:
    """Names the option in its own words, or clearly, by turns."""

    identity = Identity("test", "mumbler")
    capabilities = Capabilities()

    async def answer(self, request: Generate) -> Generated:
        clear = int(request.ref.sample) % 2
        return Generated("A" if clear else f"hm, number {request.ref.sample}, a feline?")


class Reader(Mumbler):
    """Reads every reply as the same letter."""

    def __init__(self, letter: str) -> None:
        self.letter = letter
        self.identity = Identity("test", f"reader {letter}")

    async def answer(self, request: Generate) -> Generated:
        return Generated(self.letter)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    data = tmp_path / "q.tsv"
    rows = [f"{i}\tWhat is thing {i}?\tcat\tdog\tA" for i in range(20)]
    data.write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n")
    evaluate([Mumbler()], [str(data)], extractors=[Reader("A"), Reader("B")], out=tmp_path / "out", html=False)
    return tmp_path / "out"


def test_the_sheet_holds_a_share_of_the_unread_replies(out: Path, tmp_path: Path, capsys) -> None:
    sheet = tmp_path / "sheet.csv"
    assert main(["analyse", "readers", str(out), "--sheet", str(sheet), "--share", "0.5"]) == 0
    rows = list(csv.DictReader(sheet.read_text().splitlines()))
    assert len(rows) == 5
    assert all(row["label"] == "" and "feline" in row["reply"] for row in rows)
    assert "5 of 10 unread replies" in capsys.readouterr().out


def test_agreement_is_measured_for_each_extractor(out: Path, tmp_path: Path, capsys) -> None:
    sheet = tmp_path / "sheet.csv"
    main(["analyse", "readers", str(out), "--sheet", str(sheet), "--share", "1"])
    rows = list(csv.reader(sheet.read_text().splitlines()))
    filled = [rows[0], *([*row[:-1], "a" if at < 9 else "Z"] for at, row in enumerate(rows[1:]))]
    with sheet.open("w", newline="") as file:
        csv.writer(file).writerows(filled)
    capsys.readouterr()
    assert main(["analyse", "readers", str(out), "--labels", str(sheet), "--json"]) == 0
    _, agreement = json.loads(capsys.readouterr().out)["tables"]
    found = [(row["reader"], row["as people"], row["labelled"]) for row in agreement["rows"]]
    assert sorted(found) == [("reader A", 0.9, 10), ("reader B", 0.0, 10)]


def test_bad_sheets_and_shares_give_a_sentence(out: Path, tmp_path: Path, capsys) -> None:
    empty = tmp_path / "empty.csv"
    main(["analyse", "readers", str(out), "--sheet", str(empty)])
    assert main(["analyse", "readers", str(out), "--labels", str(empty)]) == 2
    assert "holds no label yet" in capsys.readouterr().err
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert main(["analyse", "readers", str(out), "--labels", str(tmp_path / "other.csv")]) == 2
    assert "is no labelling sheet" in capsys.readouterr().err
    replies = list(unread_replies(find_runs(out)[0].records()))
    with pytest.raises(UsageError, match="more than 0"):
        sample_replies(replies, 0.0, 0)
