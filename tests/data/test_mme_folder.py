"""MME's folder layouts as tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn_pictures import png

from snellen.core.errors import DataError, MediaError, UnknownName
from snellen.data.columns import row_id
from snellen.data.tables.open_table import open_table
from snellen.settings import Settings

PAIR = "Is it red? Please answer yes or no.\tYes\nIs it blue? Please answer yes or no.\tNo\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One flat subtask and one with pictures and questions apart, as MME is published."""
    home = tmp_path / "MME"
    for path, content in {
        "OCR/0001.jpg": png("red"),
        "OCR/0001.txt": PAIR.encode(),
        "OCR/0002.png": png("blue"),
        "OCR/0002.txt": PAIR.replace("\n", "\r\n").encode(),
        "scene/images/a.jpg": png("green"),
        "scene/questions_answers_YN/a.txt": PAIR.encode(),
        "readme.txt": b"about this data\n",
        "eval_tool/results.txt": b"a.jpg\tIs it?\tYes\tyes\n",
    }.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(content)
    return home


def test_both_layouts_in_one_table(folder: Path, settings: Settings) -> None:
    table = open_table(str(folder), settings=settings)
    rows = list(table)
    assert len(table) == len(rows) == 6
    assert [row.cells["category"] for row in rows] == ["OCR"] * 4 + ["scene"] * 2
    assert rows[0].cells == {
        "id": "OCR/0001.jpg#1",
        "question_id": "OCR/0001.jpg",
        "category": "OCR",
        "image_path": "OCR/0001.jpg",
        "question": "Is it red? Please answer yes or no.",
        "answer": "Yes",
    }
    assert rows[3].cells["answer"] == "No"
    assert [row.media[0].source.read() for row in rows[::2]] == [png("red"), png("blue"), png("green")]


def test_a_single_subtask_is_a_table_too(folder: Path, settings: Settings) -> None:
    rows = list(open_table(str(folder / "scene"), settings=settings))
    assert [row.cells["id"] for row in rows] == ["scene/a.jpg#1", "scene/a.jpg#2"]
    assert rows[1].media[0].source.read() == png("green")


def test_the_digest_follows_the_questions(folder: Path, settings: Settings) -> None:
    before = open_table(str(folder), settings=settings).digest
    assert open_table(str(folder), settings=settings).digest == before
    (folder / "OCR/0001.txt").write_text(PAIR.replace("red", "dark red"))
    assert open_table(str(folder), settings=settings).digest != before


def test_a_lost_picture_fails_its_rows_alone(folder: Path, settings: Settings) -> None:
    (folder / "scene/images/a.jpg").unlink()
    rows = list(open_table(str(folder), settings=settings))
    assert rows[0].media[0].source.read() == png("red")
    with pytest.raises(MediaError, match=r"no image file 'scene/images/a\.jpg'"):
        rows[4].media[0].source.read()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"Is it red? Yes\n", r"OCR/0001\.txt, line 1: got 'Is it red\? Yes'; expected a question"),
        (b"Is it?\tYes\nIs it?\tYes\tno\n", r"OCR/0001\.txt, line 2"),
        (b"\xff\xfe", r"OCR/0001\.txt: not UTF-8"),
    ],
)
def test_bad_lines_give_a_sentence(folder: Path, settings: Settings, content: bytes, sentence: str) -> None:
    (folder / "OCR/0001.txt").write_bytes(content)
    with pytest.raises(DataError, match=sentence):
        open_table(str(folder), settings=settings)


def test_columns_may_be_renamed(folder: Path, settings: Settings) -> None:
    (first, *_) = open_table(str(folder), columns={"id": "question_id"}, settings=settings)
    assert row_id(first) == "OCR/0001.jpg"
    with pytest.raises(UnknownName):
        open_table(str(folder), columns={"gold": "truth"}, settings=settings)


def test_other_folders_are_read_as_before(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "notes.txt").write_text("nothing")
    (tmp_path / "test.jsonl").write_text('{"question": "q", "answer": "a"}\n')
    (row,) = open_table(str(tmp_path), settings=settings)
    assert row.cells["question"] == "q"
