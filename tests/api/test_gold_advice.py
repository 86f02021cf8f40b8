"""Data without any gold answer: the column that may hold them is named, with what to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import score

HEAD = "index,question,A,B,answer,{column},prediction\n"


def write(folder: Path, column: str, *cells: str) -> Path:
    path = folder / "p.csv"
    rows = [f"{number},Which?,oak,elm,{cell},A" for number, cell in enumerate(cells)]
    path.write_text(HEAD.format(column=column) + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("column", ["correct_option", "Right Choice", "expected_answer"])
@pytest.mark.parametrize("benchmark", ["mmstar", None])
def test_a_filled_column_is_named_with_the_remedy(column: str, benchmark: str | None, tmp_path: Path) -> None:
    path = write(tmp_path, column, ",A", ",B")
    inputs = (benchmark, path) if benchmark else (str(path), None)
    scored = score(*inputs)
    assert scored.summary.headline.value is None
    (advice,) = [line for line in scored.warnings if "no gold answer was found" in line]
    name = advice.rpartition("--columns gold=")[2]
    assert score(*inputs, columns={"gold": name}).summary.headline.value == 50.0


def test_a_known_gold_column_behind_an_empty_one_is_the_gold_and_no_metadata(tmp_path: Path) -> None:
    scored = score(str(write(tmp_path, "gt", ",A", ",B")))
    assert scored.summary.headline.value == 50.0
    assert not [line for line in scored.summary.notices if "metadata" in line]


@pytest.mark.parametrize(
    ("column", "cells"), [("correct_option", ("A,B", "B,A")), ("correct_option", (",", ",")), ("colour", (",A", ",B"))]
)
def test_no_advice_if_golds_exist_or_no_column_resembles_one(
    column: str, cells: tuple[str, ...], tmp_path: Path
) -> None:
    scored = score("mmstar", write(tmp_path, column, *cells))
    assert not [line for line in scored.warnings if "no gold answer was found" in line]
