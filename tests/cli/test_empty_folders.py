"""What is said of a folder in which there is nothing that the command could use."""

from __future__ import annotations

from pathlib import Path

import pytest
from typed import said

from snellen.view.run_catalog import RunCatalog


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


def test_info_of_an_empty_folder_says_what_it_expects(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "info", folder)
    assert (code, out) == (2, "")
    assert f"{folder} holds no data: it is empty; expected .parquet, " in err
    assert "put a file with a row for each question there" in err


def test_info_of_a_folder_without_data_says_what_is_in_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.png", "b.png", "c.png", "d.png"):
        (folder / name).touch()
    code, _, err = said(capsys, "info", folder)
    assert code == 2
    assert "in it are a.png, b.png, c.png and 1 more; expected" in err


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing.tsv", "missing.tsv: there is no such file"),
        ("blank.tsv", "blank.tsv is empty: expected a header line and at least one row"),
    ],
)
def test_info_of_a_file_without_data(
    name: str, sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "blank.tsv").touch()
    code, out, err = said(capsys, "info", folder / name)
    assert (code, out) == (2, "")
    assert sentence in err


def test_info_of_runs_names_the_command_for_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder / "a-run"
    run.mkdir()
    (run / "run.json").write_text("{}")
    code, _, err = said(capsys, "info", folder)
    assert code == 2
    assert f"{folder} holds runs" in err
    assert f"snellen report {folder}" in err


def test_a_folder_without_runs_is_named_with_what_to_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "report", folder)
    assert code == 2
    assert "neither it nor a folder in it has a run.json; name the folder" in err
    assert f"snellen run ... --out {folder}" in err


def test_the_pages_know_which_folders_hold_no_run(folder: Path, tmp_path: Path) -> None:
    deep = tmp_path / "all" / "training" / "step-1"
    deep.mkdir(parents=True)
    (deep / "run.json").write_text("{}")
    assert RunCatalog([folder, tmp_path / "all"]).roots_without_runs() == [folder]
