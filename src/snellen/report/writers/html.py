"""Documents as HTML: a page of its own, or the part of one that a notebook shows."""

from __future__ import annotations

from snellen.report.document import Document, EmptyLine, Line, Table, Verbatim, cell_texts
from snellen.report.notebook import fragments as html
from snellen.report.page.layout import page_layout, template_environment


def write(document: Document) -> str:
    """A page that loads nothing from the network."""
    template = template_environment().get_template("document.html")
    page: str = template.render(
        **page_layout(("page.css",), ("theme.js",)),
        title=document.title,
        blocks=[_page_block(block) for block in document.blocks if not isinstance(block, EmptyLine)],
    )
    return page + "\n"


def _page_block(block: Line | Table | Verbatim) -> dict[str, object]:
    """What the template needs of a block."""
    match block:
        case Table():
            return {"kind": "table", **table_block(block)}
        case Verbatim():
            return {"kind": "verbatim", "text": "\n".join(block.lines)}
    return {"kind": block.style, "text": block.text, "detail": block.detail}


def table_block(table: Table) -> dict[str, object]:
    """What the macro of `table.html` needs of a table."""
    return {
        "table": table,
        "rows": cell_texts(table),
        "name_column": max((index for index, one in enumerate(table.columns) if one.kind == "name"), default=0),
        "first_baseline": len(table.rows) - table.baselines,
    }


def write_fragment(document: Document) -> str:
    """The document as the output of a notebook cell, without links, scripts and style sheets."""
    parts = []
    for block in document.blocks:
        match block:
            case Table():
                parts.append(_fragment_table(block))
            case Verbatim():
                parts.append(f"<pre>{html.text(chr(10).join(block.lines))}</pre>")
            case Line(style="heading"):
                detail = f' <span style="{html.DIM}">{html.text(block.detail)}</span>'
                parts.append(f"<div><b>{html.text(block.text)}</b>{detail * bool(block.detail)}</div>")
            case Line():
                parts.append(html.notes([block.text], "" if block.style == "plain" else html.DIM))
    return html.block(*parts)


def _fragment_table(table: Table) -> str:
    numbers = table.number_columns
    first_baseline = len(table.rows) - table.baselines
    rows = (
        html.row(
            (html.cell(html.text(text), number=column in numbers) for column, text in enumerate(texts)),
            html.DIM if row >= first_baseline else "",
        )
        for row, texts in enumerate(cell_texts(table))
    )
    title = f"<div><b>{html.text(table.title)}</b></div>" if table.title else ""
    headings = [column.name for column in table.columns]
    return title + html.table(headings, rows, numbers) + html.notes(table.notes)
