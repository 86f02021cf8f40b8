"""Texts inside the Markdown tables of the pages that docs/generate.py writes."""

from __future__ import annotations


def cell(text: str) -> str:
    """A text as one cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def escaped(text: str) -> str:
    """A text in which no tag begins."""
    return text.replace("<", "&lt;")
