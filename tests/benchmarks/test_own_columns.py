"""Columns of a user's data that nothing asks or scores: kept and named, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from openpyxl import Workbook
from PIL import Image

import snellen
from snellen.cli import main
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen.data.tables.open_table import open_table
from snellen.store.export.vlmevalkit import vlmevalkit_sheet

UNREAD: list[Any] = [
    [{"label": "A", "image": "a.png"}, {"label": "B", "image": "b.png"}],
    [f"text {number}" for number in range(27)],
    "red | blue",
]
BASE = {"question": "Which?", "A": "red", "B": "blue", "answer": "A"}
ROWS = [{**BASE, "id": n, "topic": f"t{n % 3}", "source": f"s{n}"} for n in range(9)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_lines(rows: list[dict[str, Any]], folder: Path, name: str = "data.jsonl") -> str:
    (folder / name).write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return str(folder / name)


def run(data: object, folder: Path, **options: Any) -> snellen.Run:
    (result,) = snellen.evaluate({"m": lambda request: "A"}, data, out=folder / "out", html=False, **options)
    return result


@pytest.mark.parametrize("kind", ["file", "rows"])
def test_metadata_is_kept_in_the_order_of_the_data(folder: Path, kind: str) -> None:
    result = run(as_lines(ROWS, folder) if kind == "file" else ROWS, folder)
    frame = result.samples().to_pandas()
    assert list(frame["topic"]) == [row["topic"] for row in ROWS]
    assert list(frame["source"]) == [row["source"] for row in ROWS]
    assert list(result.samples().to_polars()["source"]) == [row["source"] for row in ROWS]
    assert frame.groupby("topic")["score"].count().tolist() == [3, 3, 3]
    (notice,) = [text for text in result.summary.notices if "metadata" in text]
    assert notice == "kept as metadata, not shown to the model: topic, source"
    stored = map(json.loads, (result.path / "samples.jsonl").read_text().splitlines())
    assert {line["id"]: line["metadata"] for line in stored} == {
        str(row["id"]): {"topic": row["topic"], "source": row["source"]} for row in ROWS
    }


def test_requests_know_nothing_of_metadata(folder: Path) -> None:
    plain = run([{k: v for k, v in row.items() if k not in ("topic", "source")} for row in ROWS], folder)
    kept = run(ROWS, folder)
    assert [sample.record.requests for sample in plain.samples()] == [
        sample.record.requests for sample in kept.samples()
    ]
    assert not any("metadata" in notice for notice in plain.summary.notices)
    assert all(not sample.metadata for sample in plain.samples())


def test_frames_are_in_the_order_of_the_data_with_failures(folder: Path) -> None:
    def answer(request: Any) -> str:
        if "Which 4" in str(request.messages):
            raise ValueError("no")
        return "A"

    rows = [{**BASE, "id": n, "question": f"Which {n}?"} for n in range(9)]
    (result,) = snellen.evaluate({"m": answer}, rows, out=folder / "out", html=False)
    samples = result.samples()
    assert [sample.id for sample in samples] == [str(n) for n in range(9)]
    assert samples[4].failure is not None


def test_a_column_that_a_frame_has_itself_is_marked(folder: Path) -> None:
    frame = run([{**row, "score": "hard"} for row in ROWS], folder).samples().to_pandas()
    assert set(frame["score"]) == {1.0}
    assert set(frame["score (data)"]) == {"hard"}


def test_groups_of_a_kept_column(folder: Path) -> None:
    result = run(ROWS, folder, variant=snellen.Variant(columns={"category": "topic"}))
    assert set(result.summary.groups["category"]) == {"t0", "t1", "t2"}


def test_pictures_that_no_role_names_are_hinted_at(folder: Path) -> None:
    result = run([{**row, "pic": "a.jpg"} for row in ROWS], folder)
    assert any("--columns image=pic" in notice for notice in result.summary.notices)


def test_scored_predictions_keep_their_columns(folder: Path) -> None:
    scored = snellen.score(as_lines([{**row, "prediction": "A"} for row in ROWS], folder))
    assert [sample.metadata["source"] for sample in scored.samples()] == [row["source"] for row in ROWS]
    assert any("metadata" in notice for notice in scored.summary.notices)


@pytest.mark.parametrize("value", UNREAD)
def test_options_that_cannot_be_read_are_refused(folder: Path, value: Any) -> None:
    rows = [{"question": "Which?", "choices": value, "answer": "red"}]
    with pytest.raises(DataError, match=r"row 1: the options in the column 'choices'"):
        run(as_lines(rows, folder), folder)
    ignoring = snellen.Variant(ignore_columns=["choices"])
    assert run(as_lines(rows, folder), folder, variant=ignoring).n == 1


def test_an_option_behind_a_gap_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="option E stands behind a gap"):
        run(as_lines([{**BASE, "E": "green"}], folder), folder)


SOUND: dict[str, Any] = {
    "audio": "a.wav",
    "audio_path": "https://example.org/a.MP3?x=1",
    "sound": "data:audio/wav;base64,UklGRg==",
    "wav": "UklG" * 100,
    "Audios": ["a.flac", "b.flac"],
    "speech": {"array": [0.5, 0.25], "sampling_rate": 16000},
    "waveform": [0.5, 0.25, 0.125],
    "tools": [{"name": "get"}],
    "functions": [{"type": "function", "function": {"name": "get", "parameters": {}}}],
    "tool": {"name": "get", "parameters": {}},
}
NO_SOUND: dict[str, Any] = {
    "audio": "yes",
    "sound": "a dog barks",
    "audio_id": "a.wav",
    "tools": ["hammer", "saw"],
    "function": "f(x) = 2x",
    "functions": '["sin", "cos"]',
    "music": True,
}


@pytest.mark.parametrize("column", SOUND)
def test_sounds_and_tools_are_refused_before_anything_is_asked(folder: Path, column: str) -> None:
    path = as_lines([{**BASE, column: SOUND[column], "prediction": "A"}], folder)
    for use in (
        lambda: run(path, folder),
        lambda: snellen.score(path),
        lambda: run([{**BASE, column: SOUND[column]}], folder),
    ):
        with pytest.raises(DataError, match=f"--columns ignore={column.lower()}"):
            use()
    assert not (folder / "out" / "store.sqlite").exists() or not list(folder.glob("out/*/run.json"))
    ignoring = snellen.Variant(ignore_columns=[column])
    assert run(path, folder, variant=ignoring).n == 1
    assert snellen.score(path, variant=ignoring).n == 1
    description = folder / "own.toml"
    description.write_text(f'data = "data.jsonl"\nignore_columns = ["{column}"]\n')
    assert run(str(description), folder).n == 1


@pytest.mark.parametrize("column", NO_SOUND)
def test_words_about_sounds_and_tools_are_metadata(folder: Path, column: str) -> None:
    result = run(as_lines([{**BASE, column: NO_SOUND[column]}], folder), folder)
    assert column in result.samples()[0].metadata


def test_embedded_sounds_are_refused(folder: Path) -> None:
    rows = datasets.Dataset.from_list([{**BASE, "audio": {"bytes": b"RIFF....", "path": "a.wav"}}])
    with pytest.raises(DataError, match="holds sounds"):
        run(rows, folder)
    with pytest.raises(DataError, match="holds sounds"):
        run([{**BASE, "audio": np.zeros(16, "float32")}], folder)
    assert run(rows, folder, variant=snellen.Variant(ignore_columns=["audio"])).n == 1


def test_an_ignored_column_must_exist(folder: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean topic"):
        run(as_lines(ROWS, folder), folder, variant=snellen.Variant(ignore_columns=["topik"]))


def test_columns_with_one_name_are_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="two columns are called 'topic'"):
        open_table(as_lines([{**BASE, "topic": 1, "Topic": 2}], folder))
    book = Workbook()
    for cells in (["question", "answer", "answer"], ["Which?", "A", "B"]):
        book.active.append(cells)
    book.save(folder / "book.xlsx")
    with pytest.raises(DataError, match="two columns are called 'answer'"):
        open_table(str(folder / "book.xlsx"))


def test_cells_beyond_the_header_and_a_second_sheet(folder: Path) -> None:
    book = Workbook()
    for cells in (["question", "answer"], ["Which?", "A", "beyond"]):
        book.active.append(cells)
    book.create_sheet("notes").append(["read me"])
    book.save(folder / "book.xlsx")
    (row,) = open_table(str(folder / "book.xlsx"))
    assert row.cells["column 3"] == "beyond"
    book.create_sheet("more").append(["question", "answer"])
    book.save(folder / "more.xlsx")
    with pytest.raises(DataError, match="the sheet 'more' has columns of 'Sheet'"):
        open_table(str(folder / "more.xlsx"))


def test_several_pictures_and_a_system_prompt(folder: Path) -> None:
    colours = ["red", "blue", "green", "white", "black", "pink", "grey"]
    for colour in colours:
        Image.new("RGB", (8, 8), colour).save(f"{colour}.png")
    row = {**BASE, **{f"image_{n}": f"{c}.png" for n, c in enumerate(colours, 1)}, "system": "Be short."}
    result = run(as_lines([row], folder), folder)
    (sample,) = result.samples()
    assert len(sample.record.media) == 7
    assert sample.metadata == {"system": "Be short."}


def test_images_of_joined_columns_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="images are in one column"):
        run(ROWS, folder, variant=snellen.Variant(columns={"image": "topic+source"}))


def test_exports_hold_the_kept_columns(folder: Path) -> None:
    sheet = vlmevalkit_sheet(run(ROWS, folder))
    assert [row["source"] for row in sheet.rows] == [row["source"] for row in ROWS]


def test_a_kept_column_groups_refusals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(
        "id,question,A,B,answer,topic,prediction\n"
        "1,Is ice warm?,warm,cold,B,physics,I cannot answer that.\n"
        "2,Is fire warm?,warm,cold,A,chemistry,B\n"
    )
    assert main(["score", "t.csv", "--out", "o"]) == 0
    run = str(next(Path("o").iterdir()))
    capsys.readouterr()
    assert main(["analyse", "refusals", run, "--group", "topic"]) == 0
    printed = capsys.readouterr().out
    assert "physics" in printed
    assert "chemistry" not in printed, "a topic without refusals is not listed"
