"""Tables in Markdown and LaTeX as HTML, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from snellen.core import lazy_re as re

_PIPE = re.compile(r"(?<!\\)\|")
_RULE_CELL = re.compile(r"\s*:?-+:?\s*")
_TABULAR = re.compile(r"\\begin\{(tabular[xy*]?|longtable|array)\}(?P<body>.*?)(?:\\end\{\1\}|\Z)", re.DOTALL)
_RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|centering)\b(?:\[[^\]]*\])?"
    r"|\\c(?:line|midrule)(?:\([^)]*\))?\{[^}]*\}"
)
_CAPTION = re.compile(r"\\(?:caption|label)\s*\{[^{}]*\}")
_ROW_END = re.compile(r"\\\\(?:\[[^\]]*\])?|\\tabularnewline\b")
_CELL_END = re.compile(r"(?<!\\)&")
_SPAN = re.compile(r"\\multi(?P<axis>column|row)\s*\{(?P<count>\d+)\}\s*\{[^{}]*\}\s*")
_STYLE = re.compile(r"\\(?:text(?:bf|it|tt|sc|rm)?|emph|mathbf|makecell(?:\[[^\]]*\])?|small|underline)\s*\{([^{}]*)\}")
_ESCAPED = re.compile(r"\\([&%$#_{}])")
_MAX_SPAN = 1000


def is_rule_line(line: str) -> bool:
    """Whether a line is the one below the header of a pipe table: `|---|:-:|`."""
    return "-" in line and "|" in line and all(map(_RULE_CELL.fullmatch, pipe_cells(line)))


def pipe_cells(line: str) -> list[str]:
    """The cells of a line of a pipe table."""
    line = line.strip()
    cells = _PIPE.split(line)
    if cells and not cells[0].strip() and line.startswith("|"):
        cells = cells[1:]
    if cells and not cells[-1].strip() and line.endswith("|"):
        cells = cells[:-1]
    return [cell.strip().replace("\\|", "|") for cell in cells]


def pipe_table(lines: Sequence[str]) -> str:
    """The lines of a pipe table as HTML. The line of dashes is no row."""
    return _html([[_td(cell) for cell in pipe_cells(line)] for line in lines if not is_rule_line(line)])


def latex_table(source: str) -> str:
    """The first tabular of a LaTeX source as HTML; empty without one. A last one may lack its end."""
    match = _TABULAR.search(source)
    if match is None:
        return ""
    body = _CAPTION.sub("", _RULES.sub("", _without_columns(match["body"])))
    rows = [row for row in _ROW_END.split(body) if row.strip()]
    return _html([[_latex_cell(cell) for cell in _CELL_END.split(row)] for row in rows])


def _without_columns(body: str) -> str:
    """The body of a tabular without its arguments: width, position, columns."""
    body = body.lstrip()
    while body.startswith(("{", "[")):
        end = _group_end(body)
        body = body[end:].lstrip()
    return body


def _group_end(text: str) -> int:
    """The place behind the group in brackets with which a text begins."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in "{[") - (sign in "}]")
        if not depth:
            return place + 1
    return len(text)


def _latex_cell(cell: str) -> str:
    spans = {}
    text = cell.strip()
    while match := _SPAN.match(text):
        spans[match["axis"]] = min(int(match["count"]), _MAX_SPAN)
        rest = text[match.end() :]
        end = _group_end(rest) if rest.startswith("{") else 0
        text = (rest[1 : end - 1] + rest[end:]).strip() if end else rest.strip()
    before = ""
    while before != text:
        before, text = text, _STYLE.sub(r"\1", text)
    return _td(_ESCAPED.sub(r"\1", text).strip(), spans.get("column", 1), spans.get("row", 1))


def _td(text: str, columns: int = 1, rows: int = 1) -> str:
    spans = f' colspan="{columns}"' * (columns > 1) + f' rowspan="{rows}"' * (rows > 1)
    return f"<td{spans}>{escape(text, quote=False)}</td>"


def _html(rows: Sequence[Sequence[str]]) -> str:
    return "<table>" + "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows) + "</table>"
