"""A run as SEED-Bench's official results.json: `{"question_id", "prediction"}`, one per line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from snellen.core.record import Record


class SeedResults(NamedTuple):
    text: str
    """The file's content."""
    line_count: int
    omitted: int
    """Samples without an answer: failed, unread or unsupported. The format has no sign for them,
    and a letter put in their place would be an invention."""


def seed_results(records: Iterable[Record]) -> SeedResults:
    """The letter that each question was answered with, in the order of the records."""
    lines: list[str] = []
    omitted = 0
    for record in records:
        if record.answer is None:
            omitted += 1
            continue
        row = {"question_id": record.id, "prediction": record.answer}
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return SeedResults("".join(lines), len(lines), omitted)
