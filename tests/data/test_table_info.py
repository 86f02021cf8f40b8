"""What a table holds, whether its pictures decode, and other formats of it."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from drawn_pictures import b64, png

from snellen.benchmarks.declaration.rows import kind_of_rows
from snellen.core.errors import DataError
from snellen.data.tables.convert import convert_table
from snellen.data.tables.info import table_info, verify_images
from snellen.data.tables.open_table import open_table
from snellen.settings import Settings

RED, BLUE = png("red"), png("blue", 32)

TEXT = (
    "index\tquestion\tA\tB\tanswer\timage\timage_path\n"
    f'1\t"two\r\nlines and ""quotes"""\tx\ty\tA\t{b64(RED)}\tr.png\n'
    f"2\tIs it?\t\t\tYes.\t['{b64(RED)}', '{b64(BLUE)}']\t\n"
    "2\tWhat?\t\t\t\t1\t\n"
    f"3.5\tWhy?\t\t\tred\t{b64(b'no picture at all, though it is base64 of enough length')}\t\n"
    "x\tWho?\t\t\tme\tgone.jpg\t\n"
)


def test_info(write, settings) -> None:
    path = write("q.tsv", TEXT)
    table = open_table(path, settings=settings)
    found = table_info(table, kind_of_rows(table))
    assert (found.rows, found.pictures, found.distinct_pictures) == (5, 6, 4)
    junk = len(b"no picture at all, though it is base64 of enough length")
    assert found.picture_bytes == 3 * len(RED) + len(BLUE) + junk
    assert (found.lost_pictures, found.missing_answers) == (1, 1)
    assert found.duplicate_ids == ("2",)
    assert found.kinds == {"choice": 1, "yes_no": 1, "open": 3}
    types = {column.name: (column.type, column.filled) for column in found.columns}
    assert types["index"] == ("text", 5)
    assert types["answer"] == ("text", 4)
    assert types["image_path"] == ("text", 1)


def test_verify_names_the_rows(write, settings) -> None:
    steps: list[tuple[int, int]] = []
    path = write("q.tsv", TEXT)
    found = verify_images(open_table(path, settings=settings), lambda *at: steps.append(at))
    assert found.pictures == 6
    assert [(item.row, item.id) for item in found.broken] == [(4, "3.5"), (5, "x")]
    assert "cannot be decoded" in found.broken[0].problem
    assert "no image file 'gone.jpg'" in found.broken[1].problem
    assert found.sizes == {(24, 16): 1, (32, 16): 1}
    assert steps[-1] == (5, 5)


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl", ".parquet"])
def test_conversion_keeps_cells_and_bytes(write, settings, tmp_path: Path, suffix: str) -> None:
    readable = "\n".join(TEXT.replace("\r\n", "\r").split("\n")[:4]) + "\n"
    table = open_table(write("q.tsv", readable), settings=settings)
    target = tmp_path / "out" / f"copy{suffix}"
    assert convert_table(table, target) == 3
    copy = list(open_table(str(target), settings=settings))
    original = list(table)
    assert [row.media and [r.source.read() for r in row.media] for row in copy] == [[RED], [RED, BLUE], [RED]]
    for new, old in zip(copy, original, strict=True):
        assert new.cells == {k: v for k, v in old.cells.items() if k != "image"}
        assert [r.digest for r in new.media] == [r.digest for r in old.media]


def test_a_picture_that_cannot_be_copied_leaves_no_file(write, settings, tmp_path) -> None:
    table = open_table(write("q.tsv", TEXT), settings=settings)
    with pytest.raises(DataError, match="row 5: the image cannot be copied"):
        convert_table(table, tmp_path / "copy.parquet")
    with pytest.raises(DataError, match=r"expected one of .tsv"):
        convert_table(table, tmp_path / "copy.xml")
    assert sorted(file.name for file in tmp_path.glob("copy*")) == []


@pytest.mark.parametrize(
    ("name", "rows", "size"),
    [
        pytest.param(
            "scienceqa_img_tsv/ScienceQA_TEST_IMG_SUBSET.tsv.gz",
            211,
            2_598_200,
            marks=pytest.mark.external_golden("scienceqa_img_tsv"),
        ),
        ("mathvision_img_tsv/MathVision_SUBSET.tsv.gz", 160, 794_970),
    ],
)
def test_golden_tables(golden, settings: Settings, name: str, rows: int, size: int) -> None:
    folder, file = name.split("/")
    table = open_table(str(golden(folder) / file), settings=settings)
    found = table_info(table, kind_of_rows(table))
    assert (found.rows, found.pictures, found.picture_bytes) == (rows, rows, size)
    assert (found.duplicate_ids, found.missing_answers) == ((), 0)
    assert verify_images(table).broken == ()


@pytest.mark.external_golden("scienceqa_img_tsv")
def test_golden_table_has_the_cells_that_the_csv_module_finds(golden, settings) -> None:
    import gzip

    path = golden("scienceqa_img_tsv") / "ScienceQA_TEST_IMG_SUBSET.tsv.gz"
    csv.field_size_limit(sys.maxsize)
    with gzip.open(path, "rt", newline="") as file:
        expected = list(csv.DictReader(file, delimiter="\t"))
    for row, known in zip(open_table(str(path), settings=settings), expected, strict=True):
        assert b64(row.media[0].source.read()) == known.pop("image")
        assert row.cells == {name: cell for name, cell in known.items() if cell}
