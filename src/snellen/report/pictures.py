"""Plots as files: SVG as it is, PNG where a converter is installed."""

from __future__ import annotations

from pathlib import Path

from snellen.core.errors import MissingExtra, StorageError, UsageError

PNG_SCALE = 2.0
"""Pixels of a PNG for each of the plot."""


def save_plot(svg: str, path: Path) -> None:
    """Write a plot to a file whose suffix tells the form.

    Raises UsageError for another suffix, MissingExtra for a PNG without the extra `png`, and
    StorageError where the file cannot be written.
    """
    match path.suffix.lower():
        case ".svg":
            data = svg.encode()
        case ".png":
            data = _png(svg)
        case other:
            raise UsageError(f"plots are .svg or .png files, not {other or 'without a suffix'!r}")
    _save(data, path)


def save_text(text: str, path: Path) -> None:
    """Raises StorageError where the file cannot be written."""
    _save(text.encode(), path)


def _save(data: bytes, path: Path) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error


def _png(svg: str) -> bytes:
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise MissingExtra("a PNG", "png", "resvg_py") from None
    return bytes(svg_to_bytes(svg_string=svg, zoom=int(PNG_SCALE)))
