"""Elements of which the outputs of notebook cells are made. Every text is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from snellen.core.summary import Interval
from snellen.core.terminal_text import escape_controls

LINE = "rgba(128,128,128,.35)"
"""Colour of lines, on light and dark backgrounds."""
DIM = "opacity:.65"
_CELL = "padding:.25em .8em .25em 0;vertical-align:top;background:none"
COVER = 'style="position:absolute;left:0;top:0;width:100%;height:100%;overflow:visible"'
"""Attributes of an element that covers the image of `covered_image`."""
_LONG_SIDE = 360
"""Pixels of the longer side of a covered image."""
_BAR_WIDTH, _BAR_HEIGHT, _RADIUS = 110, 14, 3.5


def text(value: object) -> str:
    """A text as HTML, with control characters made visible and line breaks kept."""
    return escape(escape_controls(str(value)))


def cell(content: str, *, number: bool = False, style: str = "", tag: str = "td") -> str:
    """A cell of HTML `content`; numbers are aligned to the right."""
    align = "right;white-space:nowrap" if number else "left"
    weight = ";font-weight:600" if tag == "th" else ""
    return f'<{tag} style="{_CELL};text-align:{align}{weight};{style}">{content}</{tag}>'


def table(headings: Sequence[str], rows: Iterable[str], numbers: Iterable[int]) -> str:
    """A table of finished rows; the columns `numbers`, from 0, hold numbers."""
    right = frozenset(numbers)
    head = "".join(cell(text(heading), number=index in right, tag="th") for index, heading in enumerate(headings))
    return (
        '<table style="border-collapse:collapse;border:0;color:inherit;background:none;'
        'font-size:inherit;margin:.4em 0">'
        f'<thead><tr style="border-bottom:1px solid {LINE};background:none">{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def row(cells: Iterable[str], style: str = "") -> str:
    """A row of finished cells."""
    return f'<tr style="background:none;{style}">{"".join(cells)}</tr>'


def block(*parts: str) -> str:
    """The output of a cell."""
    return f'<div class="snellen" style="color:inherit;line-height:1.45">{"".join(parts)}</div>'


def notes(sentences: Iterable[str], style: str = DIM) -> str:
    """Sentences below a table, one a line; empty without any."""
    lines = "".join(f"<div>{text(sentence)}</div>" for sentence in sentences)
    return f'<div style="{style};margin:.3em 0">{lines}</div>' if lines else ""


def link(path: Path, label: str) -> str:
    """A link to a file: relative where the file lies below the current folder, as notebooks serve
    it, else by its address."""
    path = path.absolute()
    try:
        target = quote(path.relative_to(Path.cwd()).as_posix())
    except ValueError:
        target = path.as_uri()
    # The browsers' own blue cannot be read on dark notebooks.
    return f'<a href="{escape(target)}" target="_blank" style="color:inherit">{text(label)}</a>'


def interval_bar(value: float | None, interval: Interval | None, chance: float | None) -> str:
    """A drawing of a percentage with its interval, and chance as a dashed line, from 0 to 100."""
    if value is None:
        return ""

    def x(percent: float) -> str:
        share = max(0.0, min(100.0, percent)) / 100
        return f"{_RADIUS + share * (_BAR_WIDTH - 2 * _RADIUS):.1f}"

    middle, marks = _BAR_HEIGHT / 2, []
    line = 'stroke="currentColor"'
    marks.append(f'<line x1="0" x2="{_BAR_WIDTH}" y1="{middle}" y2="{middle}" {line} opacity=".25"/>')
    if interval is not None:
        marks.append(
            f'<line x1="{x(interval.low)}" x2="{x(interval.high)}" y1="{middle}" y2="{middle}" '
            f'{line} stroke-width="4" opacity=".45"/>'
        )
    if chance is not None:
        marks.append(
            f'<line x1="{x(chance)}" x2="{x(chance)}" y1="1" y2="{_BAR_HEIGHT - 1}" {line} '
            'stroke-dasharray="2,2" opacity=".7"/>'
        )
    marks.append(f'<circle cx="{x(value)}" cy="{middle}" r="{_RADIUS}" fill="currentColor"/>')
    return (
        f'<svg width="{_BAR_WIDTH}" height="{_BAR_HEIGHT}" role="img" '
        f'aria-label="{value:.1f} of 100" style="vertical-align:middle">{"".join(marks)}</svg>'
    )


def image(jpeg: bytes, label: str, height: int = 160) -> str:
    """A JPEG inside the page."""
    data = b64encode(jpeg).decode()
    style = f"max-height:{height}px;max-width:100%;border:1px solid {LINE};margin:0 .5em .5em 0"
    return f'<img src="data:image/jpeg;base64,{data}" alt="{text(label)}" style="{style}"/>'


def covered_image(jpeg: bytes | None, extent: Sequence[float], cover: str) -> str:
    """An image of the size `extent`, scaled to a readable size, below a drawing that covers it;
    without the image an empty frame."""
    scale = _LONG_SIDE / max(extent)
    size = f"width:{extent[0] * scale:.0f}px;aspect-ratio:{extent[0]:g}/{extent[1]:g}"
    shown = ""
    if jpeg is not None:
        data = b64encode(jpeg).decode()
        shown = f'<img src="data:image/jpeg;base64,{data}" alt="" style="width:100%;height:100%;margin:0"/>'
    frame = f"position:relative;{size};max-width:100%;border:1px solid {LINE};margin:.3em 0;overflow:hidden"
    return f'<div style="{frame}">{shown}{cover}</div>'
