"""`--columns image_path=COL` and its siblings: the request holds the picture in every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import datasets
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from openpyxl import Workbook
from PIL import Image

import snellen
from snellen.core.errors import UnknownName, UsageError
from snellen.core.media import digest_bytes
from snellen.core.request import Generate, Media
from snellen.core.sample import Row
from snellen.data.columns import check_column_keys
from snellen.data.in_memory import Data, keep_rows
from snellen.data.tables.open_table import open_table

Rows = list[dict[str, str]]

ROLES = ("image", "image_path", "image_1", "video", "video_path")
HOLDERS: dict[str, Callable[[Rows], object]] = {
    "list": list,
    "columns": lambda rows: {name: [row[name] for row in rows] for name in rows[0]},
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.Table.from_pylist,
    "datasets": datasets.Dataset.from_list,
}


def write_delimited(rows: Rows, path: Path) -> None:
    sign = "\t" if path.suffix == ".tsv" else ","
    lines = [sign.join(rows[0]), *(sign.join(row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def write_workbook(rows: Rows, path: Path) -> None:
    book = Workbook()
    for cells in (list(rows[0]), *(list(row.values()) for row in rows)):
        book.active.append(cells)
    book.save(path)


FILES: dict[str, Callable[[Rows, Path], object]] = {
    "tsv": write_delimited,
    "csv": write_delimited,
    "json": lambda rows, path: path.write_text(json.dumps(rows)),
    "jsonl": lambda rows, path: path.write_text("\n".join(map(json.dumps, rows))),
    "xlsx": write_workbook,
    "parquet": lambda rows, path: pd.DataFrame(rows).to_parquet(path),
    "saved": lambda rows, path: datasets.Dataset.from_list(rows).save_to_disk(path),
}


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
    """Two questions whose pictures (which a video reader also opens) `shown` names."""
    monkeypatch.chdir(tmp_path)
    made = []
    for number, colour in enumerate(("red", "blue")):
        Image.new("RGB", (16, 16), colour).save(f"{colour}.gif")
        made.append(
            {
                "id": str(number),
                "question": "Which?",
                "shown": f"{colour}.gif",
                "A": "red",
                "B": "blue",
                "answer": "AB"[number],
            }
        )
    return made


def check(found: list[Row], role: str) -> None:
    kind = "video" if role.startswith("video") else "image"
    assert [[ref.kind for ref in row.media] for row in found] == [[kind], [kind]]
    contents = [row.media[0].source.read() for row in found]
    assert contents == [Path("red.gif").read_bytes(), Path("blue.gif").read_bytes()]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("suffix", FILES)
def test_media_roles_in_every_format(rows: Rows, suffix: str, role: str, settings, tmp_path: Path) -> None:
    path = tmp_path / f"data.{suffix}"
    FILES[suffix](rows, path)
    home = path if suffix == "saved" else tmp_path
    for name in ("red.gif", "blue.gif"):
        (home / name).write_bytes((tmp_path / name).read_bytes())
    check(list(open_table(str(path), columns={role: "shown"}, settings=settings)), role)
    # Without the role the column is text: the control of this test.
    assert not any(row.media for row in open_table(str(path), settings=settings))
    with pytest.raises(UnknownName, match="shwn"):
        list(open_table(str(path), columns={role: "shwn"}, settings=settings))


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("holder", HOLDERS)
def test_rows_in_memory(rows: Rows, holder: str, role: str, settings, tmp_path: Path) -> None:
    columns = {role: "shown"}
    path = keep_rows(Data(HOLDERS[holder](rows), columns=columns), tmp_path / "kept", settings)
    check(list(open_table(str(path), columns=columns, settings=settings)), role)


@pytest.mark.parametrize("role", ["image", "image_path"])
@pytest.mark.parametrize("source", ["tsv", "jsonl", "xlsx", "parquet", "list", "pandas"])
def test_the_request_holds_the_picture(rows: Rows, source: str, role: str, tmp_path: Path) -> None:
    if source in FILES:
        data: object = str(tmp_path / f"data.{source}")
        FILES[source](rows, Path(str(data)))
    else:
        data = HOLDERS[source](rows)
    shown: list[str] = []

    def answer(request: Generate) -> str:
        shown.extend(part.digest for message in request.messages for part in message.parts if isinstance(part, Media))
        return "A"

    variant = snellen.Variant(columns={role: "shown"})
    snellen.evaluate({"mine": answer}, data, variant=variant, out=tmp_path / "out", html=False)
    assert sorted(shown) == sorted(digest_bytes(Path(f"{colour}.gif").read_bytes()) for colour in ("red", "blue"))


def test_several_columns_and_nested_ones(rows: Rows, settings, write) -> None:
    nested = [{**row, "shown": {"left": row["shown"]}, "also": "red.gif"} for row in rows]
    path = write("nested.jsonl", "\n".join(map(json.dumps, nested)))
    columns = {"image_1": "shown.left", "image_2": "also"}
    found = list(open_table(path, columns=columns, settings=settings))
    red, blue = (Path(f"{colour}.gif").read_bytes() for colour in ("red", "blue"))
    assert [sorted(ref.source.read() for ref in row.media) for row in found] == [
        sorted([red, red]),
        sorted([blue, red]),
    ]


def test_an_image_column_that_another_replaces_is_not_shown(rows: Rows, settings, write) -> None:
    both = [{**row, "image": "red.gif"} for row in rows]
    path = write("both.jsonl", "\n".join(map(json.dumps, both)))
    check(list(open_table(path, columns={"image": "shown"}, settings=settings)), "image")


def test_images_are_not_joined_like_ids() -> None:
    with pytest.raises(UsageError, match="image_1=left,image_2=right"):
        check_column_keys({"image": "left+right"})
