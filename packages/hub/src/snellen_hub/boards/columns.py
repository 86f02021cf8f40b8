"""Columns that every board has, about models and their numbers, and cells of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from snellen.scoring.ranks import competition_ranks
from snellen_hub.boards.published import PublishedScore
from snellen_hub.boards.tables import BoardCell, BoardColumn, TableRow, best_first
from snellen_hub.public_scores import PublicNumber

_SMALL = 10
"""Numbers up to this, such as marks of 0 to 3, have two decimals."""
_DIGITS = 9
"""Decimals to which numbers are compared, so that equal sums are equal."""

RANK = BoardColumn("rank", "Rank", "rank", note="1 + the number of models with a higher number", digits=0)
TIER = BoardColumn("tier", "Tier", "rank", note="models of a tier cannot be told apart from its best one", digits=0)
MODEL_COLUMNS = (
    BoardColumn("size", "Parameters", unit="billions"),
    BoardColumn("weights", "Weights", "text", note="open or closed"),
    BoardColumn("released", "Released", "date"),
    BoardColumn("organisation", "Organisation", "text", is_default=False),
    BoardColumn("route", "Route", "text", note="how it was asked: local weights, an API, ...", is_default=False),
    BoardColumn(
        "capability",
        "Capability",
        "text",
        note="the level of SEED-Bench-H that its submitter declares",
        is_default=False,
    ),
    BoardColumn(
        "evidence",
        "Evidence",
        "text",
        note="verified: a run of this hub's owner; "
        "submitted: scored here from a file; reported: a number from elsewhere",
    ),
    BoardColumn("account", "Submitted by", "text", is_default=False),
    BoardColumn("published", "Published", "date", is_default=False),
    BoardColumn("version", "Version", note="of the benchmark's data and protocol", is_default=False, digits=0),
)
"""After the numbers of a table."""


def slug(text: str) -> str:
    """A text as it stands in links: letters, digits, - and `.`."""
    plain = "".join(letter if letter.isalnum() or letter == "." else "-" for letter in text.lower())
    return "-".join(filter(None, plain.split("-"))) or "none"


def distinct_keys(names: Iterable[str], prefix: str = "") -> dict[str, str]:
    """A key for each name, as `slug` writes it; a number follows where two would be the same."""
    keys: dict[str, str] = {}
    used: set[str] = set()
    for name in names:
        first = key = f"{prefix}{slug(name)}"
        number = 2
        while key in used:
            key, number = f"{first}-{number}", number + 1
        used.add(key)
        keys[name] = key
    return keys


def digits_of(top: float) -> int:
    """Decimals of numbers up to `top`."""
    return 2 if top <= _SMALL else 1


def number_cell(number: PublicNumber, mark: str = "") -> BoardCell:
    """The cell of a number."""
    return BoardCell(number.value, number.low, number.high, number.n or None, mark=mark, note=number.note)


def model_cells(facts: Mapping[str, Any], **texts: str) -> dict[str, BoardCell]:
    """Cells of `MODEL_COLUMNS`; what is unknown has none."""
    cells = {}
    size = facts.get("parameters")
    if isinstance(size, int | float):
        cells["size"] = BoardCell(float(size), text=f"{size:g} B")
    for name in ("weights", "released", "organisation", "route", "capability"):
        texts.setdefault(name, str(facts.get(name) or ""))
    return cells | {name: BoardCell(text=text) for name, text in texts.items() if text}


def row_of(one: PublishedScore, cells: Mapping[str, BoardCell], level: str = "") -> TableRow:
    """The row of a submission, with cells about the model beside its numbers."""
    row = one.row
    described = model_cells(row.facts, evidence=row.evidence, account=row.account, published=row.published)
    version = BoardCell(float(one.score.version))
    return msgspec.structs.replace(row, cells={**cells, **described, "version": version}, level=level)


def mark_of(one: PublishedScore) -> str:
    """Why the numbers of a row are not like the others'."""
    if one.row.other_protocol:
        return f"another protocol: {one.row.other_protocol}"
    return f"version {one.score.version} of the benchmark" if one.row.is_outdated else ""


def rank_rows(rows: Sequence[TableRow], main: str) -> list[TableRow]:
    """The rows with their rank by a column, where a mark does not keep them out, best first."""

    values = {}
    for index, row in enumerate(rows):
        cell = row.cells.get(main)
        if cell is not None and cell.value is not None and not cell.mark:
            values[str(index)] = round(cell.value, _DIGITS)
    ranks = competition_ranks(values)
    ranked = []
    for index, row in enumerate(rows):
        rank = ranks.get(str(index))
        cells = row.cells if rank is None else {"rank": BoardCell(float(rank)), **row.cells}
        ranked.append(msgspec.structs.replace(row, rank=rank, cells=cells))
    return sorted(ranked, key=lambda row: best_first(row.cells.get(main, BoardCell()).value, row.model))
