"""Rows without a question: the picture may hold it."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest

import snellen
from snellen.core.errors import DataError


def picture() -> str:
    from PIL import Image

    data = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(data, "PNG")
    return base64.b64encode(data.getvalue()).decode()


def table(path: Path, *rows: tuple[str, str, str]) -> str:
    lines = ["index\tquestion\tanswer\timage", *("\t".join(row) for row in rows)]
    path.write_text("".join(f"{number}\t{line}\n" if number else f"{line}\n" for number, line in enumerate(lines)))
    return str(path)


def test_a_row_whose_question_is_in_its_picture_is_asked(tmp_path: Path) -> None:
    data = table(tmp_path / "some.tsv", ("Is it red?", "Yes", picture()), ("", "Yes", picture()))
    results = snellen.evaluate("random", data, out=tmp_path / "out")
    assert results.runs[0].report().summary.total == 2


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ([("Is it red?", "Yes", ""), ("", "Yes", "")], "row 2: no question"),
        ([("", "Yes", "P"), ("", "No", "P")], "has no question to ask"),
    ],
)
def test_a_table_without_questions_is_refused(rows: list[tuple[str, str, str]], row: str, tmp_path: Path) -> None:
    shown = [(question, answer, picture() if cell else "") for question, answer, cell in rows]
    data = table(tmp_path / "none.tsv", *shown)
    with pytest.raises(DataError, match=row) as told:
        snellen.evaluate("random", data, out=tmp_path / "out")
    assert "--columns question=" in str(told.value)
