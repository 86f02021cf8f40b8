"""What a data file holds, and what is wrong or doubtful in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from snellen.analysis.data_check import DataIssue
from snellen.data.tables.info import TableInfo
from snellen.report.document import Document, Line, Space
from snellen.report.documents.name_facts import facts_table
from snellen.report.format import plural
from snellen.report.table import Column, Table


def data_document(info: TableInfo, benchmark_facts: Mapping[str, str]) -> Document:
    """Rows, questions, pictures and columns, and the benchmark that the file makes."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in info.kinds.items())
    facts = {
        "data file": info.path,
        "holds": f"{plural(info.rows, 'row')}, SHA-256 {info.digest}",
        "questions": f"{kinds}; {info.missing_answers} without answer",
        "pictures": f"{info.pictures} ({info.distinct_pictures} distinct, "
        f"{info.picture_bytes:,} bytes, {info.lost_pictures} lost)",
        "ids held twice": ", ".join(info.duplicate_ids[:5]),
    }
    headings = [Column("column"), Column("type"), Column("filled", "count")]
    columns = [(column.name, column.type, column.filled) for column in info.columns]
    return Document(
        [
            facts_table({**facts, **benchmark_facts}),
            Space(),
            Table("columns", headings, columns, on_terminal="untitled"),
        ],
        data=asdict(info),
    )


def issues_document(name: str, benchmark: str, rows: int, pictures: int, issues: Sequence[DataIssue]) -> Document:
    """A line for each issue with its rows, and a summary; `name` is the data as the user named
    them."""
    lines = [(issue.check, f"{_where(issue)}{issue.message}") for issue in issues]
    counts = (plural(rows, "row"), *([plural(pictures, "picture")] if pictures else []), plural(len(issues), "finding"))
    records = [(issue.check, ", ".join(map(str, issue.rows)), issue.message) for issue in issues]
    return Document(
        [
            *([Table("findings", [Column("check"), Column("finding")], lines, on_terminal="lines")] * bool(lines)),
            Line(f"{name}: {', '.join(counts)}", is_unbroken=True),
        ],
        data={"benchmark": benchmark, "rows": rows, "pictures": pictures, "findings": issues},
        records=Table("", [Column("check"), Column("rows"), Column("message")], records),
    )


def _where(issue: DataIssue) -> str:
    rows = ", ".join(map(str, issue.rows))
    return f"row{'s' if len(issue.rows) > 1 else ''} {rows}: " if rows else ""
