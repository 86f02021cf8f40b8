"""One writer for each format: a `Document` as text for a terminal, Markdown, LaTeX, CSV, JSON and
HTML. What is in a document is decided elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from snellen.report.document import Document

TABLE = "table"
SUFFIXES = {".txt": TABLE, ".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".html": "html"}
"""The format of a file by its ending."""
_MODULES = {
    TABLE: "terminal",
    "json": "json_text",
    "csv": "csv_text",
    "markdown": "markdown",
    "latex": "latex",
    "html": "html",
}


def write_text(document: Document, form: str) -> str:
    """The document in a format of `FORMATS`."""
    # Only the writer that is needed is imported.
    module = import_module(f"{__name__}.{_MODULES[form]}")
    write: Callable[[Document], str] = module.write
    return write(document)
