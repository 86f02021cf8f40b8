"""docs/papers.md: what the papers define, their tables and figures, and, written by hand, where they
contradict themselves. `python docs/generate.py` writes the first two sections."""

from __future__ import annotations

from pathlib import Path

import paper_figures

import paper_rows

PAGE = Path(__file__).with_name("papers.md")
_HAND = "<!-- What follows is written by hand. -->\n"
_HEAD = """# The papers

<!-- Written by docs/generate.py from tests/paper_rows and from the papers' tables, but for the last section. -->

What the papers of VLMEvalKit, MMBench, MME, MMT-Bench and SEED-Bench-H define, each with the commands that do it; the
numbers that they print, next to what Snellen computes from their tables; and where they contradict themselves.
"""


def page() -> str:
    """The page with new sections. Raises ValueError if its mark is not there."""
    _, mark, hand = PAGE.read_text(encoding="utf-8").partition(_HAND)
    if not mark:
        raise ValueError(f"{PAGE.name} lacks the mark above the section that is written by hand")
    return "\n".join((_HEAD, paper_rows.section(), "", paper_figures.section(), "", mark + hand))
