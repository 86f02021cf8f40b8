"""Rows in memory: the same data as the same rows in a file, whatever they are held in."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from PIL import Image

from snellen.core.errors import DataError, MediaError, UsageError
from snellen.core.media import decode_image, digest_bytes, to_rgb
from snellen.core.sample import Row
from snellen.data.in_memory import Data, is_table, keep_rows
from snellen.data.tables.open_table import open_table

Rows = list[dict[str, Any]]


def picture(colour: str, size: int = 12) -> Image.Image:
    return Image.new("RGB", (size, size), colour)


def png(colour: str) -> bytes:
    data = io.BytesIO()
    picture(colour).save(data, "PNG", compress_level=1)
    return data.getvalue()


ROWS: Rows = [
    {"id": 1, "question": "Which?", "image": png("red"), "A": "red", "B": "blue", "answer": "A"},
    {"id": 2, "question": "Which?", "image": png("blue"), "A": "red", "B": "blue", "answer": "B"},
]


def kept(rows: object, folder: Path, **fields: Any) -> list[Row]:
    return list(open_table(str(keep_rows(Data(rows, **fields), folder))))


HOLDERS: dict[str, Callable[[Rows], object]] = {
    "list": list,
    "generator": iter,
    "columns": lambda rows: {name: [row[name] for row in rows] for name in rows[0]},
    "pandas": pd.DataFrame,
    "pandas, ids as index": lambda rows: pd.DataFrame(rows).set_index("id"),
    "polars": pl.DataFrame,
    "polars, lazy": lambda rows: pl.DataFrame(rows).lazy(),
    "arrow": pa.Table.from_pylist,
    "arrow batch": pa.RecordBatch.from_pylist,
    "datasets": datasets.Dataset.from_list,
    "datasets with images": lambda rows: datasets.Dataset.from_list(rows).cast_column("image", datasets.Image()),
    "images of PIL": lambda rows: [{**row, "image": decode_image(row["image"])} for row in rows],
    "pandas with images of PIL": lambda rows: pd.DataFrame(
        [{**row, "image": decode_image(row["image"])} for row in rows]
    ),
    "polars with images of PIL": lambda rows: pl.DataFrame(
        [{**row, "image": decode_image(row["image"])} for row in rows], schema_overrides={"image": pl.Object}
    ),
    "arrays": lambda rows: [{**row, "image": np.asarray(decode_image(row["image"]))} for row in rows],
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_the_same_rows_are_the_same_data(tmp_path: Path, holder: str) -> None:
    expected = keep_rows(Data(ROWS), tmp_path)
    path = keep_rows(Data(HOLDERS[holder](ROWS)), tmp_path)
    assert path == expected
    table = open_table(str(path))
    assert table.digest[:16] == path.parent.name
    first, second = table
    assert dict(first.cells) == {"id": "1", "question": "Which?", "A": "red", "B": "blue", "answer": "A"}
    assert [medium.digest for medium in (*first.media, *second.media)] == [
        digest_bytes(png("red")),
        digest_bytes(png("blue")),
    ]
    assert first.media[0].source.read() == png("red")


def test_other_content_is_other_data(tmp_path: Path) -> None:
    other = [{**ROWS[0], "image": png("green")}, ROWS[1]]
    assert keep_rows(Data(other), tmp_path) != keep_rows(Data(ROWS), tmp_path)


def test_the_digest_is_that_of_the_rows_not_of_the_file(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = keep_rows(Data(ROWS), tmp_path)
    digest = open_table(str(path)).digest
    written = tmp_path / "again.parquet"
    pq.write_table(pq.read_table(path), written, compression="zstd", row_group_size=1)
    assert written.read_bytes() != path.read_bytes()
    assert open_table(str(written)).digest == digest


def test_files_that_others_wrote_keep_the_digest_of_their_bytes(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "plain.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    assert open_table(str(path)).digest == digest_bytes(path.read_bytes())


def test_images_in_many_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("red.png").write_bytes(png("red"))
    import base64

    text = base64.b64encode(png("red")).decode()
    forms = [
        png("red"),
        bytearray(png("red")),
        "red.png",
        str(tmp_path / "red.png"),
        Path("red.png"),
        text,
        f"data:image/png;base64,{text}",
        {"bytes": png("red"), "path": None},
        {"bytes": None, "path": "red.png"},
        picture("red"),
        np.asarray(picture("red")),
    ]
    rows = [{"id": number, "question": "?", "image": form} for number, form in enumerate(forms)]
    for row in kept(rows, tmp_path / "kept"):
        assert [medium.source.read() for medium in row.media] == [png("red")], row.index
    several = [{"question": "?", "image": forms}, {"question": "?", "image": None}]
    first, second = kept(several, tmp_path / "kept")
    assert [medium.digest for medium in first.media] == [digest_bytes(png("red"))] * len(forms)
    assert second.media == ()


def test_images_do_not_depend_on_their_files_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("red.png").write_bytes(png("red"))
    (row,) = kept([{"question": "?", "image": "red.png"}], tmp_path / "kept")
    Path("red.png").unlink()
    assert row.media[0].source.read() == png("red")


def test_files_that_are_not_images_are_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("secret.txt").write_text("secret words")
    path = keep_rows(Data([{"question": "?", "image": "secret.txt"}]), tmp_path / "kept")
    assert b"secret words" not in path.read_bytes()
    (row,) = open_table(str(path))
    with pytest.raises(MediaError, match="no PNG, JPEG"):
        decode_image(row.media[0].source.read())


def test_rows_that_can_be_read_once_serve_several_calls(tmp_path: Path) -> None:
    data = Data(row for row in ROWS)
    assert keep_rows(data, tmp_path) == keep_rows(data, tmp_path)


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        ("nowhere.png", "row 1: there is no image file '{folder}/nowhere.png'"),
        ("https://example.org/a.png", "row 1: images at web addresses are not fetched"),
    ],
)
def test_an_image_that_is_not_there_fails_its_row_as_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: str, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (row,) = kept([{"question": "?", "image": image}], tmp_path / "kept")
    with pytest.raises(Exception, match=sentence.format(folder=tmp_path)):
        row.media[0].source.read()


@pytest.mark.parametrize(
    ("mode", "colour"), [("L", 7), ("1", 1), ("P", 3), ("RGBA", "red"), ("CMYK", 9), ("F", 1.0), ("I;16", 5)]
)
def test_modes_of_pil(tmp_path: Path, mode: str, colour: Any) -> None:
    (row,) = kept([{"question": "?", "image": Image.new(mode, (4, 4), colour)}], tmp_path)
    assert decode_image(row.media[0].source.read()).size == (4, 4)


@pytest.mark.parametrize(("value", "grey"), [(200, 200), (1000, 4), (65535, 255), (2**31 - 1, 255)])
def test_whole_numbers_are_scaled_by_their_bits_and_not_by_the_brightest(value: int, grey: int) -> None:
    assert to_rgb(Image.new("I", (1, 1), value)).getpixel((0, 0)) == pytest.approx((grey,) * 3, abs=1)


def test_a_photo_is_kept_upright(tmp_path: Path) -> None:
    data = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.new("RGB", (4, 8)).save(data, "JPEG", exif=exif)
    (row,) = kept([{"question": "?", "image": Image.open(data)}], tmp_path)
    assert decode_image(row.media[0].source.read()).size == (8, 4)


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ([1, 2], ["1", "2"]),
        ([1, "two"], ["1", "two"]),
        ([1, 2.5], ["1", "2.5"]),
        ([True, "x"], ["true", "x"]),
        ([np.int64(3), None], ["3", None]),
        ([float("nan"), "x"], [None, "x"]),
        ([pd.NA, pd.NaT], [None, None]),
        ([Decimal("1.50"), datetime.date(2026, 1, 2)], ["1.50", "2026-01-02"]),
        ([["a", "b"], ["c"]], ['["a", "b"]', '["c"]']),
        ([["a", 1], ["c"]], ['["a", 1]', '["c"]']),
        ([np.array(["a", "b"]), "c"], ['["a", "b"]', "c"]),
        ([2**70, 1], [str(2**70), "1"]),
        (["\ud800", "x"], ["?", "x"]),
    ],
)
def test_cells_are_those_of_a_file(tmp_path: Path, values: list[Any], cells: list[str | None]) -> None:
    rows = [{"question": "?", "note": value} for value in values]
    assert [row.cells.get("note") for row in kept(rows, tmp_path)] == cells


def test_options_and_answers_follow_the_rules_of_files(tmp_path: Path) -> None:
    rows: Rows = [
        {"question": "?", "options": ["x", "y"], "answer": 1},
        {"question": "?", "options": ("x", "y", "z"), "answer": 2},
    ]
    first, second = kept(rows, tmp_path)
    assert (first.cells["B"], first.cells["answer"]) == ("y", "B")
    assert (second.cells["C"], second.cells["answer"]) == ("z", "C")


def test_labels_of_a_data_set_have_their_names(tmp_path: Path) -> None:
    features = datasets.Features(
        {"question": datasets.Value("string"), "label": datasets.ClassLabel(names=["cat", "dog"])}
    )
    data = datasets.Dataset.from_dict({"question": ["a", "b"], "label": [1, 0]}, features=features)
    assert [row.cells["label"] for row in kept(data, tmp_path)] == ["dog", "cat"]
    assert [row.cells["label"] for row in kept(data.select([1]), tmp_path)] == ["cat"]


def test_a_streamed_data_set(tmp_path: Path) -> None:
    data = datasets.Dataset.from_list(ROWS).cast_column("image", datasets.Image())
    first, _ = kept(data.to_iterable_dataset(), tmp_path)
    assert first.media[0].digest == digest_bytes(png("red"))


def test_a_kind_for_all_questions(tmp_path: Path) -> None:
    rows = [{"question": "?", "answer": "no"}]
    for holder in (rows, pa.Table.from_pylist(rows)):
        (row,) = kept(holder, tmp_path, kind="open")
        assert row.cells["type"] == "open"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "data holds no rows"),
        (5, "data: expected a list of dicts, .*, got int"),
        ("text", "data: expected a list of dicts, .*, got str"),
        ([{"a": 1}, 2], "data, row 2: expected a dict of columns, got int"),
        ({"a": [1], "b": [1, 2]}, r"data: its columns differ in length \(a: 1, b: 2\)"),
        ({"a": 1}, "data: expected a list of dicts"),
        (
            [{"question": "?"}, {"question": object()}],
            "data, row 2, column question: a value of type object cannot be kept",
        ),
        (
            [{"image": torch.ones(2, 2, requires_grad=True)}],
            "data, row 1, column image: a Tensor cannot be read as an array: Can't call numpy",
        ),
        (
            [{"image": np.zeros((3, 4, 4), np.float32)}],
            r"data, row 1, column image: an array of float32 with the shape \(3, 4, 4\)",
        ),
    ],
)
def test_data_that_cannot_be_kept_give_one_sentence(tmp_path: Path, rows: object, sentence: str) -> None:
    with pytest.raises(DataError, match=f"^{sentence}"):
        keep_rows(Data(rows), tmp_path)
    assert not list(tmp_path.rglob("*.part"))


def test_a_data_set_of_several_splits_says_which_there_are(tmp_path: Path) -> None:
    data = datasets.DatasetDict(train=datasets.Dataset.from_list(ROWS))
    with pytest.raises(UsageError, match=r"the splits 'train'; .* such as data\['train'\]"):
        keep_rows(Data(data), tmp_path)


@pytest.mark.parametrize("fields", [{"name": ""}, {"name": "a/b"}, {"name": ".."}, {"kind": "x"}])
def test_names_and_kinds_that_cannot_be(fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="expected"):
        Data(ROWS, **fields)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ROWS, True),
        (tuple(ROWS), True),
        ({}, True),
        (pd.DataFrame(ROWS), True),
        ([], False),
        (["a.tsv"], False),
        ("a.tsv", False),
        (None, False),
    ],
)
def test_recognises_tables_in_memory(value: object, expected: bool) -> None:
    assert is_table(value) is expected
