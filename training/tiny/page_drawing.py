"""Pages in black on white, a few kilobytes each: text in one or two columns, tables with lines, formulas,
invoices. Letters are not smoothed, so that a page compresses well.

Latin letters are those of DejaVu Sans, which matplotlib brings; Chinese ones of Droid Sans Fallback
(Apache-2.0, Debian's package fonts-droid-fallback)."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from training.tiny.page_text import Formula, Invoice, Language, Table

WIDTH, MARGIN, GAP = 440, 20, 10
"""Pixels of a page, of its margins, and between blocks."""
BODY, HEADING, FORMULA, SMALL = 13, 18, 17, 11
_TALLEST = 1600
_CHINESE = (
    "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
    "/usr/share/fonts-droid-fallback/truetype/DroidSansFallback.ttf",
)
_LABELS = {
    "English": ("Invoice", "Receipt", "No.", "Date", "Item", "Qty", "Price", "Amount", "Subtotal", "Tax", "Total"),
    "Chinese": ("发票", "收据", "号码", "日期", "品名", "数量", "单价", "金额", "小计", "税额", "合计"),
}


class Box(NamedTuple):
    """How much room a part of a formula takes, in pixels above and below its base line."""

    width: float
    above: float
    below: float


@cache
def font(size: int, language: Language = "English", *, is_bold: bool = False) -> ImageFont.FreeTypeFont:
    """The letters of a language. Raises OSError where a font is not on this machine."""
    if language == "Chinese":
        return ImageFont.truetype(next((name for name in _CHINESE if Path(name).exists()), _CHINESE[0]), size)
    import matplotlib

    name = "DejaVuSans-Bold.ttf" if is_bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts/ttf" / name), size)


_SCRIPTS = re.compile(r"[\u3000-\u9fff\uff00-\uffef]+|[^\u3000-\u9fff\uff00-\uffef]+")


@dataclass(frozen=True)
class Letters:
    """Letters of both scripts in one size."""

    size: int
    is_bold: bool = False

    def runs(self, content: str) -> list[tuple[str, ImageFont.FreeTypeFont]]:
        """The parts of a text in one script, each with its font."""
        return [
            (part, font(self.size, "Chinese" if part[0] >= "\u3000" else "English", is_bold=self.is_bold))
            for part in _SCRIPTS.findall(content)
        ]

    def length(self, content: str) -> float:
        """Pixels that a line takes."""
        return sum(letters.getlength(part) for part, letters in self.runs(content))

    def draw(self, pen: ImageDraw.ImageDraw, place: tuple[float, float], content: str, side: str = "l") -> None:
        """Write a line; `place` is its left end, or with `side` r its right one, and its top."""
        left, top = place
        left -= self.length(content) if side == "r" else 0
        for part, letters in self.runs(content):
            pen.text((left, top + self.size), part, 0, font=letters, anchor="ls")
            left += letters.getlength(part)


class Sheet:
    """A page that grows downwards; `finish` cuts it to what was drawn."""

    def __init__(self, language: Language, width: int = WIDTH) -> None:
        self.language, self.width = language, width
        self.picture = Image.new("1", (width, _TALLEST), 1)
        self.pen = ImageDraw.Draw(self.picture)
        self.pen.fontmode = "1"
        self.top = float(MARGIN)

    def finish(self) -> Image.Image:
        """The page with its lower margin."""
        return self.picture.crop((0, 0, self.width, round(self.top) + MARGIN))

    def text(
        self, content: str, size: int = BODY, *, left: float = MARGIN, width: float = 0, is_bold: bool = False
    ) -> None:
        """Lines of text from the current place on, within a width."""
        letters = Letters(size, is_bold)
        for line in wrap(content, letters, width or self.width - 2 * MARGIN, self.language):
            letters.draw(self.pen, (left, self.top), line)
            self.top += round(1.45 * size)
        self.top += GAP

    def line_of(self, parts: Sequence[tuple[float, str, str]], size: int = BODY) -> None:
        """Texts at places of one line: where, text, and the side on which it is anchored (l or r)."""
        for x, content, side in parts:
            Letters(size).draw(self.pen, (x, self.top), content, side)
        self.top += round(1.5 * size)

    def rule(self) -> None:
        """A line across the page."""
        self.pen.line((MARGIN, self.top, self.width - MARGIN, self.top), 0)
        self.top += 6

    def table(self, table: Table) -> None:
        """A table with lines around its cells."""
        letters, height = Letters(BODY), round(1.7 * BODY)
        columns = list(zip(*table.rows, strict=True))
        widths = [max(letters.length(cell) for cell in column) + 14 for column in columns]
        across = max(sum(widths), letters.length(table.title) + 14)
        widths[-1] += across - sum(widths)
        if table.title:
            self._cell(MARGIN, across, height, table.title)
            self.top += height
        for row in table.rows:
            left = float(MARGIN)
            for cell, width in zip(row, widths, strict=True):
                self._cell(left, width, height, cell)
                left += width
            self.top += height
        self.top += GAP

    def _cell(self, left: float, width: float, height: float, content: str) -> None:
        self.pen.rectangle((left, self.top, left + width, self.top + height), outline=0)
        Letters(BODY).draw(self.pen, (left + 7, self.top + 3), content)

    def formula(self, tree: Formula) -> None:
        """A formula in the middle of its line."""
        box = self._measure(tree, FORMULA)
        self._draw(tree, (self.width - box.width) / 2, self.top + box.above, FORMULA)
        self.top += box.above + box.below + GAP

    def _measure(self, tree: Formula, size: int) -> Box:
        kind, *parts = tree
        if kind == "text":
            return Box(font(size).getlength(parts[0]) + 4, 0.8 * size, 0.3 * size)
        small = round(0.7 * size)
        if kind == "row":
            widths, above, below = zip(*(self._measure(part, size) for part in parts), strict=True)
            return Box(sum(widths), max(above), max(below))
        if kind in ("sup", "sub"):
            base, other = self._measure(parts[0], size), self._measure(parts[1], small)
            rise = 0.55 * size if kind == "sup" else 0.0
            drop = 0.3 * size if kind == "sub" else 0.0
            return Box(base.width + other.width - 3, max(base.above, rise + other.above), base.below + drop)
        if kind == "frac":
            over, under = (self._measure(part, size) for part in parts)
            middle = 0.3 * size
            return Box(
                max(over.width, under.width) + 8,
                middle + over.above + over.below + 3,
                under.above + under.below + 3 - middle,
            )
        inner = self._measure(parts[0], size)
        return Box(inner.width + 14, inner.above + 4, inner.below)

    def _draw(self, tree: Formula, left: float, base: float, size: int) -> None:
        kind, *parts = tree
        if kind == "text":
            self.pen.text((left + 2, base), parts[0], 0, font=font(size), anchor="ls")
            return
        small = round(0.7 * size)
        if kind == "row":
            for part in parts:
                self._draw(part, left, base, size)
                left += self._measure(part, size).width
        elif kind in ("sup", "sub"):
            self._draw(parts[0], left, base, size)
            shift = -0.55 * size if kind == "sup" else 0.3 * size
            self._draw(parts[1], left + self._measure(parts[0], size).width - 3, base + shift, small)
        elif kind == "frac":
            box, (over, under) = self._measure(tree, size), (self._measure(part, size) for part in parts)
            middle = base - 0.3 * size
            self.pen.line((left + 2, middle, left + box.width - 2, middle), 0)
            self._draw(parts[0], left + (box.width - over.width) / 2, middle - 3 - over.below, size)
            self._draw(parts[1], left + (box.width - under.width) / 2, middle + 3 + under.above, size)
        else:
            box = self._measure(tree, size)
            top = base - box.above + 2
            points = [(left + 2, base - 4), (left + 5, base + 2), (left + 10, top), (left + box.width, top)]
            self.pen.line(points, 0)
            self._draw(parts[0], left + 12, base, size)


def wrap(content: str, letters: Letters, width: float, language: Language) -> list[str]:
    """Lines of at most so many pixels; Chinese may end anywhere but before a full stop."""
    pieces = content.split(" ") if language == "English" else list(content)
    glue, lines = " " if language == "English" else "", [""]
    for piece in pieces:
        longer = f"{lines[-1]}{glue}{piece}" if lines[-1] else piece
        if letters.length(longer) <= width or not lines[-1] or piece in "。，":
            lines[-1] = longer
        else:
            lines.append(piece)
    return lines


def draw_invoice(invoice: Invoice) -> Image.Image:
    """An invoice, or a receipt on a narrow slip."""
    fields, language = invoice.fields, invoice.language
    named = _LABELS[language]
    sheet = Sheet(language, 280 if invoice.is_receipt else WIDTH)
    right = sheet.width - MARGIN
    sheet.text(fields["seller"], HEADING, is_bold=True)
    sheet.line_of([(MARGIN, f"{named[1 if invoice.is_receipt else 0]} {named[2]} {fields['number']}", "l")])
    sheet.line_of([(MARGIN, f"{named[3]}: {invoice.printed_date}", "l")])
    sheet.top += GAP
    counts, prices = right - 130, right - 70
    ends = (counts, prices, right)
    heads = [(end, label, "r") for end, label in zip(ends, named[5:8], strict=True)]
    sheet.line_of([(MARGIN, named[4], "l"), *heads], SMALL)
    sheet.rule()
    for item in fields["items"]:
        amount = item["count"] * item["price"]
        cells = (str(item["count"]), f"{item['price']:.2f}", f"{amount:.2f}")
        sheet.line_of([(MARGIN, item["name"], "l"), *((x, cell, "r") for x, cell in zip(ends, cells, strict=True))])
    sheet.rule()
    for label, name in ((named[8], "subtotal"), (named[9], "tax"), (f"{named[10]} {fields['currency']}", "total")):
        if name in fields:
            sheet.line_of([(prices, label, "r"), (right, f"{fields[name]:,.2f}", "r")])
    return sheet.finish()


def page_png(picture: Image.Image) -> bytes:
    """A page of two colours as a small PNG."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
