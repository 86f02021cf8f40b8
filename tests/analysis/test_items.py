"""`snellen items`: samples over many real runs."""

from __future__ import annotations

import base64
import csv
import io
import json
import random
from pathlib import Path

import pytest
from made_runs import Told, rows, run, write

import snellen
from snellen.analysis.samples.items import analyse_items
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.store.runs import RunFolder

COUNT = 60
MISLABELLED = "7"


def answers(skill: float, seed: int) -> dict[str, str]:
    """Right on easier questions: the higher the number, the harder. One label is wrong, and the
    better models say what is true."""
    draw = random.Random(seed)
    found = {}
    for row in rows(COUNT):
        number = int(row["index"])
        right = draw.random() < skill - 0.4 * number / COUNT
        found[row["index"]] = row["answer"] if right else draw.choice("ABC")
    if skill > 0.6:
        found[MISLABELLED] = "C"
    return found


@pytest.fixture
def runs(tmp_path: Path) -> list[RunFolder]:
    data = write(tmp_path / "mine.tsv", rows(COUNT))
    made = []
    for at, skill in enumerate((0.3, 0.5, 0.7, 0.9, 1.1, 1.3)):
        told = answers(skill, at)
        model = Told(f"m{at}", lambda request, told=told: told[request.ref.sample])  # type: ignore[misc]
        made.append(run(model, data, tmp_path / "out"))
    return made


def test_a_wrong_label_is_doubted(runs: list[RunFolder]) -> None:
    found = analyse_items(runs, [f"m{at}" for at in range(6)])
    top = found.suspects[0]
    assert (top.id, top.gold, top.answer) == (MISLABELLED, "B", "C")
    assert top.agree >= 4
    assert top.probability > 0.5
    items = {one.id: one for one in found.items}
    assert items[MISLABELLED].label_wrong == top.probability
    assert found.wrong_labels == pytest.approx(sum(one.label_wrong or 0 for one in found.items))
    assert all(one.discrimination is None for one in found.items)
    assert "discrimination needs 8 or more runs, got 6" in found.notices
    hard = [items[str(at)].difficulty for at in range(COUNT)]
    assert sum(hard[: COUNT // 2]) < sum(hard[COUNT // 2 :])
    assert len(found.items) == found.n == COUNT


def test_items_command_prints_four_formats(runs: list[RunFolder], capsys) -> None:
    out = str(runs[0].path.parent)
    assert main(["items", out, "--agreement", "60"]) == 0
    table = capsys.readouterr().out
    assert "mine: 60 samples over 6 runs" in table
    assert "labels are wrong by the answers of the runs" in " ".join(table.split())
    assert "What is thing number 7?" in table
    assert main(["items", out, "--json", "--agreement", "60"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["suspects"][0]["id"] == MISLABELLED
    assert main(["items", out, "--format", "csv", "--agreement", "60"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert MISLABELLED in {line["id"] for line in lines if float(line["label_wrong"] or 0) > 0.5}
    doubtful = runs[0].path.parent / "doubtful.txt"
    assert main(["items", out, "--doubtful", str(doubtful), "--agreement", "60"]) == 0
    assert doubtful.read_text().split()[0] == MISLABELLED
    capsys.readouterr()
    assert not told["subset"]
    assert "a subset needs 10 or more runs, got 6" in told["notices"]
    assert main(["items", out, "--format", "markdown"]) == 0
    assert "| id | question |" in capsys.readouterr().out
    assert main(["items", out, "--agreement", "10"]) == 2


def test_subset_of_ten_runs_reports_its_remaining_power(tmp_path: Path, capsys) -> None:
    data = write(tmp_path / "mine.tsv", rows(COUNT))
    for at in range(10):
        told = answers(0.3 + 0.1 * at, at)
        model = Told(f"m{at}", lambda request, told=told: told[request.ref.sample])  # type: ignore[misc]
        run(model, data, tmp_path / "out")
    assert main(["items", str(tmp_path / "out"), "--json", "--agreement", "70"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["samples"] for one in found["sizes"]] == [5, 5, 5, 10, 20, 30]
    least = [one["detectable"] for one in found["sizes"] if one["detectable"] is not None]
    assert least == sorted(least, reverse=True)
    assert least[-1] > 10
    assert 50 < found["subset_agreement"] < 100
    assert len(found["subset"]) in {one["samples"] for one in found["sizes"]}
    low = {one["id"]: one["low"] for one in found["items"] if one["low"] is not None}
    assert low[MISLABELLED] <= 0.05
    assert 0 < found["low_expected"] < 0.05 * COUNT
    assert main(["items", str(tmp_path / "out"), "--format", "csv", "--agreement", "70"]) == 0
    lines = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert {line["id"] for line in lines if line["in_subset"] == "1"} == set(found["subset"])
    assert main(["items", str(tmp_path / "out"), "--agreement", "70"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "of the pairs of new models as the whole does" in told
    listed = sum(p <= 0.05 for p in low.values())
    assert f"{listed} samples with a discrimination below that of 95 of 100 permutations" in told


def test_few_runs_report_which_analyses_are_left_out(runs: list[RunFolder]) -> None:
    found = analyse_items(runs[:2], ["a", "b"])
    assert (found.wrong_labels, found.suspects, found.sizes) == (None, (), ())
    assert any("doubtful labels need 5 or more runs" in notice for notice in found.notices)
    assert any("a subset needs 10 or more runs, got 2" in notice for notice in found.notices)
    with pytest.raises(UsageError, match="two or more runs of one benchmark; got 1"):
        analyse_items(runs[:1], ["a"])


def test_pictures_that_look_alike_are_named(tmp_path: Path, capsys) -> None:
    """The same drawing saved twice, once as PNG and once as JPEG, and another drawing."""
    from PIL import Image, ImageDraw

    def drawn(places: list[tuple[int, int]], form: str) -> str:
        picture = Image.new("RGB", (96, 96), "white")
        for number, (x, y) in enumerate(places):
            ImageDraw.Draw(picture).ellipse((x, y, x + 26, y + 26), fill=(40 * number, 90, 120))
        stream = io.BytesIO()
        picture.save(stream, form, **({"quality": 95} if form == "JPEG" else {}))
        return base64.b64encode(stream.getvalue()).decode()

    here, there = [(4, 6), (50, 12), (30, 60)], [(60, 60), (8, 40), (40, 4)]
    table = rows(3)
    for row, picture in zip(table, (drawn(here, "PNG"), drawn(here, "JPEG"), drawn(there, "PNG")), strict=True):
        row["image"] = picture
    data = write(tmp_path / "seen.tsv", table)
    out = tmp_path / "out"
    snellen.evaluate(["random", "random:seed=1"], [str(data)], out=out, html=False)
    assert main(["items", str(out), "--near-copies", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pictures"] == [["0", "1"]]
