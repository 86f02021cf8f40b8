"""What the texts give away, on annotations as skewed as those of photographs: most things are there
once, and one box in four touches the border."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from PIL import Image

from snellen.cli import main
from snellen_curate.metadata.guess_check import GuessCheck
from snellen_curate.metadata.records import Corners, MetadataHeader, MetadataRecord, ObjectBox, write_records

LABELS = ("cup", "dog", "bus", "chair", "person")
SIZE = (320, 240)
TEMPLATES = """
[[templates]]
subtask = "counting"
answer = "count"
questions = ["How many {{label}}s are there?"]
options = [4, 6]
distractors = [{{ by = "numbers", seen = {seen} }}]

[[templates]]
subtask = "detection"
answer = "box"
questions = ["Where is the {{label}} in these {{width}} x {{height}} pixels?"]
"""


def skewed_records(folder: Path, number: int) -> Path:
    rng = Random(5)
    records = []
    for name in range(number):
        Image.new("RGB", SIZE, (name % 256, name // 256, 7)).save(folder / f"{name}.png")
        boxes: list[ObjectBox] = []
        for label in rng.sample(LABELS, 3):
            count = rng.choices((1, 2, 3, 4, 5, 7, 9), (65, 13, 8, 5, 4, 3, 2))[0]
            boxes += [ObjectBox(label, _corners(rng)) for _ in range(count)]
        records.append(
            MetadataRecord(
                id=str(name),
                source="made",
                images=(f"{name}.png",),
                license="CC0-1.0",
                width=SIZE[0],
                height=SIZE[1],
                boxes=tuple(boxes),
            )
        )
    write_records(folder / "records.jsonl", MetadataHeader(), iter(records))
    return folder / "records.jsonl"


def _corners(rng: Random) -> Corners:
    width, height = 20 + round(250 * rng.random() ** 2), 20 + round(180 * rng.random() ** 2)
    left = 0 if rng.random() < 0.25 else rng.randint(1, SIZE[0] - 1 - width)
    top = rng.randint(1, SIZE[1] - 1 - height)
    return (left, top, left + width, top + height)


def test_a_subtask_that_texts_answer_is_not_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = skewed_records(tmp_path, 160)
    checks, codes = {}, {}
    for seen in ("true", "false"):
        templates = tmp_path / f"{seen}.toml"
        templates.write_text(TEMPLATES.format(seen=seen))
        out = tmp_path / f"out-{seen}"
        codes[seen] = main(
            [
                "curate",
                "questions",
                str(records),
                "--templates",
                str(templates),
                "--out",
                str(out),
                "--limits",
                "per_subtask=160",
            ]
        )
        subtasks = json.loads((out / "step.json").read_text())["counts"]["subtasks"]
        checks[seen] = {name: each["guessing"] for name, each in subtasks.items()}
    printed = capsys.readouterr().out
    assert codes == {"true": 0, "false": 1}
    for check in checks["true"].values():
        assert check["low"] <= check["chance"] <= check["high"]
        assert check["items"] >= 60
    # The control: numbers near the right one, which is 1 in two of three questions.
    assert checks["false"]["counting"]["low"] > 40
    assert "counting can be guessed: the texts alone answer " in printed
    assert "counting can be guessed: the answer '1' is right in " in printed


def test_a_probe_with_a_small_p_is_named_whatever_its_interval() -> None:
    for p, named in ((0.005, True), (0.2, False)):
        check = GuessCheck(200, 25.0, right=33.0, low=24.8, high=41.2, p=p)
        assert any("texts alone answer 33.0 %" in each for each in check.findings()) is named
