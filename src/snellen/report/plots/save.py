"""Plots as files: SVG as it is, PNG where a converter is installed."""

from __future__ import annotations

from pathlib import Path

from snellen.core.atomic_write import save
from snellen.core.errors import MissingExtra, UsageError

PNG_SCALE = 2.0
"""Pixels of a PNG for each of the plot."""


def save_plot(svg: str, path: Path) -> None:
    """Write a plot to a file whose suffix tells the form.

    Raises UsageError for another suffix, MissingExtra for a PNG without the extra `png`, and
    StorageError where the file cannot be written.
    """
    match path.suffix.lower():
        case ".svg":
            save(path, svg)
        case ".png":
            save(path, _png(svg))
        case other:
            raise UsageError(f"plots are .svg or .png files, not {other or 'without a suffix'!r}")


def _png(svg: str) -> bytes:
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise MissingExtra("a PNG", "png", "resvg_py") from None
    return bytes(svg_to_bytes(svg_string=svg, zoom=int(PNG_SCALE)))
