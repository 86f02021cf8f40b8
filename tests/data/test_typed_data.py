"""Parquet files and Hugging Face data sets, through the real libraries."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn_pictures import b64, png

from snellen.core.errors import DataError, MediaError, MissingExtra, UnknownName
from snellen.core.media import digest_bytes
from snellen.core.sample import Row
from snellen.data.tables.open_table import open_table

RED, BLUE = png("red"), png("blue", 32)


def pictures(row: Row) -> list[bytes]:
    return [ref.source.read() for ref in row.media]


def records(count: int = 5) -> list[dict]:
    return [
        {
            "id": n,
            "question": f"{n}?",
            "choices": ["x", "y"],
            "answer": n % 2,
            "image": {"bytes": RED if n % 2 else BLUE, "path": "a.png"},
        }
        for n in range(count)
    ]


def check(rows: list[Row], count: int = 5) -> None:
    assert [row.cells for row in rows] == [
        {"id": str(n), "question": f"{n}?", "A": "x", "B": "y", "answer": "AB"[n % 2]} for n in range(count)
    ]
    assert [pictures(row) for row in rows] == [[RED if n % 2 else BLUE] for n in range(count)]
    assert rows[1].media[0].digest == digest_bytes(RED)
    assert pickle.loads(pickle.dumps(rows[1].media[0].source)).read() == RED  # noqa: S301


def test_parquet(tmp_path: Path, settings) -> None:
    path = tmp_path / "q.parquet"
    pq.write_table(pa.Table.from_pylist(records()), path, row_group_size=2)
    check(list(open_table(str(path), settings=settings)))


@pytest.mark.parametrize(
    "value",
    [
        [{"bytes": RED, "path": None}, {"bytes": BLUE, "path": None}],
        [RED, BLUE],
        [b64(RED), b64(BLUE)],
        ["red.png", "blue.png"],
    ],
)
def test_pictures_in_parquet(write, tmp_path, settings, value) -> None:
    write("red.png", RED)
    write("blue.png", BLUE)
    path = tmp_path / "q.parquet"
    pq.write_table(pa.Table.from_pylist([{"images": value}]), path)
    (row,) = open_table(str(path), settings=settings)
    assert pictures(row) == [RED, BLUE]


def test_a_changed_parquet_file_is_noticed(tmp_path, settings) -> None:
    path = tmp_path / "q.parquet"
    pq.write_table(pa.Table.from_pylist(records(2)), path)
    rows = list(open_table(str(path), settings=settings))
    pq.write_table(pa.Table.from_pylist(records(1)), path)
    with pytest.raises(MediaError, match="row 2: the image is no longer where it was"):
        pictures(rows[1])


def test_a_folder_of_shards(tmp_path, settings) -> None:
    (tmp_path / "data").mkdir()
    everything = records(4)
    for name, part in [
        ("test-00000-of-00002", everything[:2]),
        ("test-00001-of-00002", everything[2:]),
        ("train-00000-of-00001", everything[:1]),
    ]:
        pq.write_table(pa.Table.from_pylist(part), tmp_path / "data" / f"{name}.parquet")
    check(list(open_table(f"{tmp_path}?split=test", settings=settings)), 4)
    with pytest.raises(DataError, match=r"splits test, train; choose one, as in .*\?split=train"):
        open_table(str(tmp_path), settings=settings)
    with pytest.raises(UnknownName, match="unknown split 'tst'; did you mean test"):
        open_table(f"{tmp_path}?split=tst", settings=settings)


def test_an_empty_folder(tmp_path, settings) -> None:
    with pytest.raises(DataError, match="holds no data"):
        open_table(str(tmp_path), settings=settings)


def test_a_data_set_saved_by_the_library(tmp_path, settings) -> None:
    import datasets

    features = datasets.Features(
        {
            "id": datasets.Value("int64"),
            "question": datasets.Value("string"),
            "choices": datasets.Sequence(datasets.Value("string")),
            "answer": datasets.Value("int64"),
            "image": datasets.Image(),
        }
    )
    dataset = datasets.Dataset.from_list(records(), features=features)
    dataset.save_to_disk(str(tmp_path / "one"))
    table = open_table(str(tmp_path / "one"), settings=settings)
    check(list(table))
    assert len(table.digest) == 64

    labels = datasets.Features({"label": datasets.ClassLabel(names=["no", "yes"])})
    both = datasets.DatasetDict({"test": dataset, "dev": datasets.Dataset.from_list([{"label": 1}], features=labels)})
    both.save_to_disk(str(tmp_path / "two"))
    check(list(open_table(f"{tmp_path / 'two'}?split=test", settings=settings)))
    (row,) = open_table(f"{tmp_path / 'two'}?split=dev", settings=settings)
    assert row.cells == {"label": "yes"}


def test_without_the_library_the_extra_is_named(settings, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"needs datasets.*snellen\[hf\]"):
        open_table("hf://org/name?split=test", settings=settings)


def test_options_of_a_data_set_are_checked(settings) -> None:
    with pytest.raises(UnknownName, match="did you mean split"):
        open_table("hf://org/name?splt=test", settings=settings)


def test_opening_a_tsv_loads_no_heavy_library(write, settings) -> None:
    path = write("q.tsv", "index\tquestion\n1\tx\n")
    code = (
        "import sys; from snellen.data.tables.open_table import open_table; "
        "from snellen.settings import Settings; from pathlib import Path; "
        f"list(open_table({path!r}, settings=Settings(cache=Path({str(settings.cache)!r})))); "
        "print([m for m in ('numpy', 'pyarrow', 'PIL', 'datasets', 'openpyxl', 'pandas') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ({"start": "2.5", "end": "4"}, (2.5, 4.0)),
        ({"start": 1, "end": None}, (1.0, None)),
        ({"start": True, "end": "soon"}, (None, None)),
        ({"start": "nan", "end": 10**400}, (None, None)),
    ],
)
def test_a_part_of_a_video_is_in_numbers_or_texts_of_seconds(write, settings, said, shown) -> None:
    clip = {"path": "a.mp4", **said}
    for video in (clip, {"path": clip}):
        path = write("q.jsonl", json.dumps({"id": 1, "question": "?", "images": [video]}) + "\n")
        [(_, [found])] = open_table(path, settings=settings).stored_media()
        assert (found.start, found.end) == shown, video


def test_the_part_of_a_video_in_its_own_column_is_that_of_the_row(write, settings) -> None:
    row = {"id": 1, "question": "?", "video": {"path": "a.mp4", "start": 1, "end": "2.5"}}
    path = write("q.jsonl", json.dumps(row) + "\n" + json.dumps({**row, "id": 2, "start": 0.5}) + "\n")
    first, second = open_table(path, settings=settings)
    assert (first.cells["start"], first.cells["end"]) == ("1.0", "2.5")
    assert (second.cells["start"], second.cells["end"]) == ("0.5", "2.5")
