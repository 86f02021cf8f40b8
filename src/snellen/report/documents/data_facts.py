"""What a data file holds, and what is wrong or doubtful in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from snellen.analysis.data_check import DataIssue
from snellen.analysis.file_facts import ColumnFact, FileFacts
from snellen.data.tables.info import TableInfo
from snellen.report.document import Document, EmptyLine, Line
from snellen.report.documents.name_facts import facts_table
from snellen.report.format import plural
from snellen.report.table import Column, Table


def data_document(info: TableInfo, file: FileFacts | None, benchmark_facts: Mapping[str, str]) -> Document:
    """What a file was recognised as, its rows, questions, pictures and columns, and the benchmark
    that it makes."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in info.kinds.items())
    facts = {
        "data file": info.path,
        **({} if file is None else _recognition(file)),
        "holds": f"{plural(info.rows, 'row')}, SHA-256 {info.digest}",
        "questions": f"{kinds}; {info.missing_answers} without answer",
        "pictures": f"{info.pictures} ({info.distinct_pictures} distinct, "
        f"{info.picture_bytes:,} bytes, {info.lost_pictures} lost)",
        "ids held twice": ", ".join(info.duplicate_ids[:5]),
    }
    roles = {} if file is None else {fact.column: fact for fact in file.columns}
    unknown = ColumnFact("", "", "")
    headings = [Column("column"), Column("type"), Column("filled", "count"), Column("role"), Column("reason")]
    rows = []
    for column in info.columns:
        fact = roles.get(column.name, unknown)
        rows.append((column.name, column.type, column.filled, fact.role, fact.reason))
    columns = Table("columns", headings, rows, on_terminal="untitled")
    data = {**asdict(info), "recognised": None if file is None else asdict(file)}
    return Document([facts_table({**facts, **benchmark_facts}), EmptyLine(), columns], data=data)


def _recognition(file: FileFacts) -> dict[str, str]:
    """What a file is, by what it was recognised, and what it was not recognised as."""
    return {
        "recognised as": f"{file.title}, by {file.recognised_by}",
        "not as": "; ".join(file.excluded),
        "no predictions": file.without_replies,
        **{f"published for {benchmark}": advice for benchmark, advice in file.published.items()},
    }


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
