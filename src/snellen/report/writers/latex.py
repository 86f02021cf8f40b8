"""Documents as LaTeX: a `table` environment for each table, with the lines of the package booktabs.
Lines and notes are comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from snellen.report.document import Document, Line, Table, Verbatim, best_cells, cell_texts

_SIGNS = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"$<$",
        ">": r"$>$",
        "|": r"$|$",
        '"': "''",
        "–": "--",
        "…": r"\ldots{}",
        "×": r"$\times$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "±": r"$\pm$",
        "→": r"$\rightarrow$",
    }
)


def write(document: Document) -> str:
    """The tables, captioned with their titles behind the headings above them."""
    return "\n".join(_parts(document)) + "\n"


def _parts(document: Document) -> Iterator[str]:
    heading = ""
    for block in document.blocks:
        if isinstance(block, Table):
            yield from table_lines(block, ", ".join(filter(None, (heading, block.title))))
        elif isinstance(block, Line) and block.style == "heading":
            heading = ", ".join(filter(None, (block.text, block.detail)))
        elif isinstance(block, Line):
            yield _comment(block.text)
        elif isinstance(block, Verbatim):
            yield from map(_comment, block.lines)


def table_lines(table: Table, caption: str) -> Iterator[str]:
    """A `table` environment: texts to the left, numbers to the right, the best numbers in bold,
    baselines below a line."""
    yield from map(_comment, table.notes)
    alignment = "".join("r" if column.is_number else "l" for column in table.columns)
    yield r"\begin{table}"
    yield r"  \centering"
    yield rf"  \caption{{{escape_latex(caption)}}}"
    yield rf"  \begin{{tabular}}{{{alignment}}}"
    yield r"    \toprule"
    yield _row(escape_latex(column.name) for column in table.columns)
    yield r"    \midrule"
    best = best_cells(table)
    for number, texts in enumerate(cell_texts(table)):
        if table.baselines and number == len(table.rows) - table.baselines:
            yield r"    \midrule"
        yield _row(
            rf"\textbf{{{escape_latex(text)}}}" if (number, index) in best else escape_latex(text)
            for index, text in enumerate(texts)
        )
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    yield r"\end{table}"


def _row(cells: Iterable[str]) -> str:
    return f"    {' & '.join(cells)} \\\\"


def _comment(text: str) -> str:
    return f"% {' '.join(text.split())}"


def escape_latex(text: str) -> str:
    """A text that LaTeX prints unchanged, its white space folded."""
    # Two hyphens, as in names of run folders, would become a dash.
    apart = re.sub("-(?=-)", "-\0", " ".join(text.replace("\0", "").split()))
    return apart.translate(_SIGNS).replace("\0", "{}")
