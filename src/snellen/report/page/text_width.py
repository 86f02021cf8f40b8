"""The width of a text in the font of the pages, without access to fonts; for the names around a
radar."""

from __future__ import annotations

_THOUSANDTHS = {
    222: "ijl",
    278: " !,./:;I[\\]ft",
    333: "()-`r{}",
    389: "*\"'^|",
    500: "Jcksvxyz",
    611: "FTZ<=>+~",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    944: "W%@",
}
"""Widths of Helvetica's characters in thousandths of the font size (from Adobe's font metrics, rare
characters rounded up). All others are as wide as a digit."""
_WIDTHS = {sign: wide / 1000 for wide, signs in _THOUSANDTHS.items() for sign in signs}
_DIGIT = 0.556
_BOLD = 1.08
"""Bold text is wider by this factor, and so are the fonts that replace Helvetica."""


def text_width(text: str, size: float) -> float:
    """An upper bound of the width of `text` in pixels; `size` is the font size in pixels."""
    widths = (1.0 if ord(sign) > 0x2E80 else _WIDTHS.get(sign, _DIGIT) for sign in text)
    return _BOLD * size * sum(widths)
