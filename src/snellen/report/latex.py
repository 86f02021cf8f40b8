"""Tables of results as LaTeX, with the lines of the package booktabs."""

from __future__ import annotations

from collections.abc import Iterable

from snellen.report.result_tables import ResultTable

_LATEX = str.maketrans(
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
    }
)


def latex_comments(texts: Iterable[str]) -> list[str]:
    """Each text as a line that LaTeX does not print."""
    return ["% " + " ".join(text.split()) for text in texts]


def latex_table(table: ResultTable) -> str:
    """A `table` environment: texts to the left, numbers to the right, baselines below a line."""
    columns = "".join(
        "r" if column in table.number_columns else "l" for column in range(len(table.header))
    )
    rows = ["    " + _latex_row(row) for row in table.rows]
    if table.baselines:
        rows.insert(len(rows) - table.baselines, r"    \midrule")
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{escape_latex(table.title)}}}",
            rf"  \begin{{tabular}}{{{columns}}}",
            r"    \toprule",
            "    " + _latex_row(table.header),
            r"    \midrule",
            *rows,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(map(escape_latex, cells)) + r" \\"


def escape_latex(text: str) -> str:
    """A text that LaTeX prints unchanged, its white space folded."""
    return " ".join(text.split()).translate(_LATEX)
