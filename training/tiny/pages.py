"""Writes the bundled benchmark of document pages: `python -m training.tiny.pages [--out FILE]`.

Drawn pages with headings, paragraphs in one or two columns, tables, formulas and page numbers, in English
and Chinese, and invoices and receipts. Two tasks: the whole page, whose gold are its blocks in reading
order, and the fields of an invoice as JSON. Gold is what was drawn. The columns are VLMEvalKit's.
"""

from __future__ import annotations

import argparse
import base64
import csv
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from training.tiny import page_text
from training.tiny.page_drawing import GAP, HEADING, MARGIN, SMALL, WIDTH, Sheet, draw_invoice, page_png
from training.tiny.page_text import Formula, Invoice, Language, Table
from training.tiny.world import Split, stream

SEED = 20261130
DATA = Path("src/snellen/benchmarks/data/eyechart_pages.tsv")
LAYOUTS = ("paragraphs", "two columns", "table", "formula", "mixed")
PAGES, RECORDS, CHINESE = 120, 50, 4
"""Questions of each task; every so many are in Chinese."""
NUMBERED = 3
"""Every so many pages have a page number."""
QUESTIONS = {
    "page": "What does this page say?",
    "record": (
        'Read this invoice or receipt. Write an object with "seller", "number", "date" (YYYY-MM-DD), "currency" '
        '(three letters), "items" (a list of objects with "name", "count" and "price" of one), "subtotal", "tax" and '
        '"total". Leave out what is not there.'
    ),
}
COLUMNS = ("index", "image", "question", "answer", "type", "category", "l2-category", "language", "split")


@dataclass(frozen=True)
class Row:
    """One question of the file."""

    index: int
    task: str
    layout: str
    language: Language
    number: str
    """The printed page number; empty without one."""
    parts: tuple[str | Table | Formula, ...]
    """What stands on a page in reading order, the heading first; a tuple is a formula."""
    invoice: Invoice | None = None

    def gold(self) -> str:
        """The gold answer as JSON: the blocks of a page, or the fields of an invoice."""
        if self.invoice is not None:
            return json.dumps(self.invoice.fields, ensure_ascii=False)
        heading, *rest = self.parts
        blocks: list[dict[str, Any]] = [{"category": "title", "text": heading}, *map(_block, rest)]
        if self.number:
            blocks.append({"category": "page_number", "text": self.number})
        return json.dumps(blocks, ensure_ascii=False)


def _block(part: str | Table | Formula) -> dict[str, Any]:
    if isinstance(part, Table):
        return {"category": "table", "html": part.html()}
    if isinstance(part, str):
        return {"category": "text", "text": part}
    return {"category": "formula", "latex": page_text.latex(part)}


def build(split: Split = "test", seed: int = SEED) -> list[Row]:
    """All rows in file order: pages, then invoices and receipts."""
    rows = []
    for number in range(PAGES + RECORDS):
        draw = stream(split, seed, number)
        language: Language = "Chinese" if number % CHINESE == CHINESE - 1 else "English"
        if number >= PAGES:
            invoice = page_text.invoice(draw, language)
            layout = "receipt" if invoice.is_receipt else "invoice"
            rows.append(Row(number + 1, "record", layout, language, "", (), invoice))
            continue
        layout = LAYOUTS[number % len(LAYOUTS)]
        page_number = str(draw.randint(2, 99)) if number % NUMBERED == 0 else ""
        parts = (page_text.title(draw, language), *_parts(draw, layout, language))
        rows.append(Row(number + 1, "page", layout, language, page_number, parts))
    return rows


def _parts(draw: random.Random, layout: str, language: Language) -> tuple[str | Table | Formula, ...]:
    def text(sentences: int) -> str:
        return page_text.paragraph(draw, language, sentences)

    if layout == "paragraphs":
        return tuple(text(draw.randint(1, 3)) for _ in range(draw.randint(1, 3)))
    if layout == "two columns":
        return tuple(text(draw.randint(1, 2)) for _ in range(4))
    if layout == "table":
        return text(1), page_text.table(draw, language), text(1)
    if layout == "formula":
        return text(1), page_text.formula(draw), text(1), page_text.formula(draw)
    return text(1), page_text.formula(draw), page_text.table(draw, language), text(2)


def draw_page(row: Row) -> Image.Image:
    """The picture of a row."""
    if row.invoice is not None:
        return draw_invoice(row.invoice)
    sheet = Sheet(row.language)
    heading, *rest = row.parts
    sheet.text(str(heading), HEADING, is_bold=True)
    if row.layout == "two columns":
        _draw_columns(sheet, [str(part) for part in rest])
    else:
        for part in rest:
            if isinstance(part, Table):
                sheet.table(part)
            elif isinstance(part, str):
                sheet.text(part)
            else:
                sheet.formula(part)
    if row.number:
        sheet.text(row.number, SMALL, left=WIDTH / 2)
    return sheet.finish()


def _draw_columns(sheet: Sheet, parts: list[str]) -> None:
    """The first half of the paragraphs on the left, the others on the right."""
    width, top, ends = (WIDTH - 3 * MARGIN) / 2, sheet.top, []
    for column, members in enumerate((parts[: len(parts) // 2], parts[len(parts) // 2 :])):
        sheet.top = top
        for part in members:
            sheet.text(part, left=MARGIN + column * (width + MARGIN), width=width)
        ends.append(sheet.top)
    sheet.top = max(ends) + GAP


def write(rows: list[Row], path: Path) -> None:
    """The rows as a tab separated file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            picture = base64.b64encode(page_png(draw_page(row))).decode()
            kind = "fields" if row.task == "record" else "page"
            cells = [QUESTIONS[row.task], row.gold(), kind, row.layout, row.task, row.language, "test"]
            writer.writerow([row.index, picture, *cells])


def main() -> None:
    """Write the file and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    path: Path = given.out
    rows = build("test", given.seed)
    write(rows, path)
    for layout in dict.fromkeys(row.layout for row in rows):
        print(f"{layout:12}{sum(row.layout == layout for row in rows):5}")
    print(f"{len(rows)} questions, {path.stat().st_size / 1e3:.0f} kB in {path}")


if __name__ == "__main__":
    main()
