"""`snellen data check`: what is wrong or doubtful in data, with the rows it is about."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from snellen.analysis.data_check import image_fingerprint
from snellen.cli import main


def picture(shift: int = 0, kind: str = "PNG", seed: int = 1) -> bytes:
    image = Image.new("RGB", (64, 64), "white")
    draw = ImageDraw.Draw(image)
    for number in range(12):
        x, y = (number * 37 * seed + shift) % 60, (number * 23 * seed * seed) % 60
        draw.ellipse((x, y, x + 14, y + 14), fill=(number * 20, 255 - number * 20, 90))
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def checked(
    capsys: pytest.CaptureFixture[str], file: Path, *words: str
) -> tuple[int, dict[str, list[tuple[int, ...]]]]:
    code = main(["data", "check", str(file), "--json", *words])
    told = json.loads(capsys.readouterr().out)
    found: dict[str, list[tuple[int, ...]]] = {}
    for one in told["findings"]:
        found.setdefault(one["check"], []).append(tuple(one["rows"]))
    return code, found


def table(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(("id\tquestion\tA\tB\tanswer\timage", *rows)) + "\n")
    return path


def test_good_data_have_no_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = table(
        tmp_path / "good.tsv",
        f"1\tWhat is it?\tcat\tdog\tA\t{text(picture())}",
        f"2\tWhat is it?\tcat\tdog\tB\t{text(picture(seed=5))}",
        "3\tIs water wet?\t\t\tYes\t",
    )
    assert checked(capsys, file) == (0, {})
    assert main(["data", "check", str(file)]) == 0
    assert "3 rows, 2 pictures, 0 findings" in capsys.readouterr().out


def test_every_row_that_cannot_be_asked_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = table(tmp_path / "bad.tsv", "1\tWhich?\tcat\tdog\tQ\t", "2\tWhat?\tcat\tdog\tB\t", "3\tWho?\tx\ty\tZ\t")
    assert checked(capsys, file) == (1, {"rows": [(1, 3)]})
    assert main(["data", "check", str(file)]) == 1
    printed = capsys.readouterr().out
    assert "rows 1, 3: 2 rows, e.g. the answer 'Q' is none of the options A, B" in printed


def test_each_finding_names_its_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = text(picture())
    file = table(
        tmp_path / "bad.tsv",
        f"1\tWhat is it?\tcat\tCat.\tA\t{shown}",
        f"2\tWhat is it?\tcat\tdog\t\t{text(b'no picture')}",
        f"3\tWhich animal do you see in the picture?\tcat\tdog\tA\t{shown}",
        f"4\tWhich animal do you see in this picture?\tcat\tdog\tA\t{shown}",
        f"5\tWhat is it?\tcow\then\tA\t{text(picture(kind='JPEG'))}",
        "6\tWhich word?\t\t\tsorry, I cannot help with that\t",
    )
    code, found = checked(capsys, file)
    assert code == 1
    assert found == {
        "pictures": [(2,)],
        "options": [(1,)],
        "answers": [(2,)],
        "gold": [(6,)],
        "questions": [(3, 4)],
        "near pictures": [(1, 5)],
    }


def test_rows_that_cannot_be_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = table(tmp_path / "ids.tsv", "1\tq\tx\ty\tA\t", "2\tr\tx\ty\tA\t", "1\ts\tx\ty\tA\t")
    assert checked(capsys, file) == (1, {"ids": [(1, 3)]})
    file = table(tmp_path / "gold.tsv", "1\tq\tx\ty\tC\t")
    code, found = checked(capsys, file)
    assert (code, found) == (1, {"rows": [(1,)]})


def test_a_description_is_checked_by_its_own_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "numbers.tsv").write_text("question\tanswer\nHow many?\t\nHow far?\t12 km\n")
    file = tmp_path / "numbers.toml"
    file.write_text('data = "numbers.tsv"\nkind = "open"\nmetric = "exact"\n')
    assert checked(capsys, file) == (1, {"answers": [(1,)]})


def test_copies_look_alike_whatever_their_bytes() -> None:
    plain, packed = image_fingerprint(picture()), image_fingerprint(picture(kind="JPEG"))
    assert plain is not None
    assert packed is not None
    assert plain.is_similar(packed)
    other = image_fingerprint(picture(seed=5))
    assert other is not None
    assert not plain.is_similar(other)
    flat = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(flat, "PNG")
    assert image_fingerprint(flat.getvalue()) is None


def test_one_changed_region_makes_images_dissimilar() -> None:
    image = Image.open(io.BytesIO(picture()))
    ImageDraw.Draw(image).rectangle((30, 30, 34, 34), fill="black")
    file = io.BytesIO()
    image.save(file, "PNG")
    plain, marked = image_fingerprint(picture()), image_fingerprint(file.getvalue())
    assert plain is not None
    assert marked is not None
    assert not plain.is_similar(marked)


def described_records(folder: Path, schema: str, *golds: dict[str, object]) -> Path:
    words = ("What does the bill say?", "Which fields has the card?")
    lines = [
        {"id": str(number), "question": words[number], "answer": json.dumps(gold)} for number, gold in enumerate(golds)
    ]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, lines)))
    file = folder / "records.toml"
    file.write_text(f'data = "rows.jsonl"\nkind = "fields"\n{schema}')
    return file


def test_a_schema_that_contradicts_the_gold_answers_is_named_with_its_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = """
[response_schema]
type = "object"
required = ["date"]
[response_schema.properties.total]
type = "number"
[response_schema.properties.items]
items = { properties = { price = { type = "number" } } }
"""
    golds = [{"date": "x", "total": "4.20", "items": [{"price": 3}]}, {"total": "5", "items": [{"price": "3"}]}]
    file = described_records(tmp_path, schema, *golds)
    code, found = checked(capsys, file)
    assert (code, found["schema"]) == (1, [(1, 2), (2,), (2,)])
    main(["data", "check", str(file), "--json"])
    messages = [one["message"] for one in json.loads(capsys.readouterr().out)["findings"] if one["check"] == "schema"]
    assert messages[0].startswith(
        "response_schema contradicts 2 of 2 gold records in the field total: '4.20' is not of type 'number'"
    )
    assert {part for message in messages[1:] for part in ("record as a whole", "items[].price") if part in message} == {
        "record as a whole",
        "items[].price",
    }


def test_a_schema_that_allows_the_gold_answers_is_no_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = '[response_schema]\ntype = "object"\n[response_schema.properties.total]\ntype = "string"\n'
    assert checked(capsys, described_records(tmp_path, schema, {"total": "4.20"}, {"date": "x"})) == (0, {})
