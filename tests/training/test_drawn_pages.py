"""The drawn pages: gold is what was drawn, and the file is what the script writes."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image
from training.tiny import pages
from training.tiny.page_drawing import Letters, wrap
from training.tiny.page_text import Table, latex

DATA = Path(__file__).parents[2] / "src/snellen/benchmarks/data/eyechart_pages.tsv"


@pytest.fixture(scope="module")
def rows() -> list[pages.Row]:
    return pages.build()


@pytest.fixture(scope="module")
def cells() -> list[dict[str, str]]:
    with DATA.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_the_bundled_file_is_what_the_script_builds(rows, cells) -> None:
    assert [(row.gold(), row.layout, row.task, row.language) for row in rows] == [
        (cell["answer"], cell["category"], cell["l2-category"], cell["language"]) for cell in cells
    ]
    assert DATA.stat().st_size <= 600_000


def test_layouts_and_languages_are_mixed(rows) -> None:
    assert Counter(row.task for row in rows) == {"page": pages.PAGES, "record": pages.RECORDS}
    layouts = Counter(row.layout for row in rows)
    assert min(layouts.values()) >= 15
    assert layouts.keys() == {*pages.LAYOUTS, "invoice", "receipt"}
    chinese = Counter(row.layout for row in rows if row.language == "Chinese")
    assert min(chinese[layout] for layout in pages.LAYOUTS) >= 5
    assert sum(isinstance(part, Table) and bool(part.title) for row in rows for part in row.parts) >= 10


def test_pages_differ_and_are_not_those_of_training(rows) -> None:
    golds = [row.gold() for row in rows]
    assert len(set(golds)) == len(golds)
    assert not set(golds) & {row.gold() for row in pages.build("train")}


def test_sums_of_invoices_are_right_and_receipts_have_no_tax(rows) -> None:
    for row in rows:
        if row.invoice is None:
            continue
        fields = json.loads(row.gold())
        subtotal = sum(item["count"] * item["price"] for item in fields["items"])
        assert fields["total"] == pytest.approx(subtotal + fields.get("tax", 0), abs=0.011)
        assert ("tax" in fields) == ("subtotal" in fields) == (row.layout == "invoice")


def test_pictures_are_small_pages_of_two_colours(cells) -> None:
    for cell in cells:
        picture = Image.open(io.BytesIO(base64.b64decode(cell["image"])))
        assert picture.mode == "1"
        assert picture.width in (280, 440)
        assert 100 < picture.height < 900
        dark = sum(1 for value in picture.tobytes() if value != 255)
        assert dark > 100


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_english_page_is_drawn_as_it_is_bundled(rows, cells, number) -> None:
    """Of the letters of matplotlib's own font, which does not change; smoothing is off."""
    drawn, bundled = pages.draw_page(rows[number]), Image.open(io.BytesIO(base64.b64decode(cells[number]["image"])))
    assert drawn.size == bundled.size
    unlike = sum(one != other for one, other in zip(drawn.tobytes(), bundled.tobytes(), strict=True))
    assert unlike / len(drawn.tobytes()) < 0.01


def test_lines_fit_their_width() -> None:
    letters = Letters(13)
    words = "While the roof was being mended, the village hall sold 471 bicycles."
    lines = wrap(words, letters, 150, "English")
    assert len(lines) > 2
    assert " ".join(lines) == words
    assert max(map(letters.length, lines)) <= 150


@pytest.mark.parametrize(
    ("tree", "written"),
    [
        (("row", ("sup", ("text", "a"), ("text", "2")), ("text", "="), ("text", "b")), "a^{2} = b"),
        (
            ("frac", ("row", ("text", "a"), ("text", "+"), ("text", "1")), ("sqrt", ("text", "x"))),
            r"\frac{a + 1}{\sqrt{x}}",
        ),
        (("sub", ("text", "k"), ("text", "0")), "k_{0}"),
    ],
)
def test_formulas_are_written_as_latex(tree, written) -> None:
    assert latex(tree) == written
