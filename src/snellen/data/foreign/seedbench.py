"""SEED-Bench's `results.json`: one JSON object a line, although the suffix promises a document.

Three spellings are published: the evaluation script writes `q_id` and `gt`, the leaderboard takes
`question_id` and `prediction`, and the published GPT-4V results have `gt_answer` and a comma after
each line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from snellen.core.errors import DataError
from snellen.core.limits import Limits, is_too_deep, nesting_error
from snellen.data.documents import read_lines
from snellen.data.foreign.layout import ResultsLayout
from snellen.data.tables.typed_rows import Record

_COLUMN_NAMES = {"q_id": "question_id", "gt_answer": "answer", "gt": "answer"}


def _is_json_lines(head: bytes) -> bool:
    """Whether the file's first line, as far as `head` reaches, is a JSON object followed by other
    lines, or a complete result."""
    first, _, remaining = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    value = _decode_object(first)
    return value is not None and (bool(remaining.strip()) or {"prediction"} < value.keys())


def _records(path: Path, name: str, limits: Limits) -> Iterator[Record]:
    """The object of each line. Raises DataError."""
    with path.open("rb") as file:
        for number, line in enumerate(read_lines(file, limits, name), 1):
            line = line.strip().removeprefix(b"\xef\xbb\xbf")
            if not line or line in (b"[", b"]"):
                continue
            value = _decode_object(line)
            if value is None:
                raise DataError(
                    f"{name}, line {number}: not a JSON object; expected one a line, such as "
                    '{"question_id": "1", "prediction": "A"}'
                )
            if is_too_deep(value, limits.depth):
                raise nesting_error(f"{name}, line {number}", limits.depth)
            yield {_COLUMN_NAMES.get(key, key): cell for key, cell in value.items()}


def _decode_object(line: bytes) -> Record | None:
    try:
        value = msgspec.json.decode(line.strip().rstrip(b","))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


LAYOUT = ResultsLayout(
    "seed-results",
    "results in the lines of SEED-Bench",
    "an object in its first line that is a result, or that others follow",
    _is_json_lines,
    _records,
)
