"""An answer in words beside its gold: of a record what is not right in it, of a long text its beginning."""

from __future__ import annotations

from snellen.core.answer_text import answer_text
from snellen.core.record import Record
from snellen.core.terminal_text import shorten

_MAX_LENGTH = 300


def graded_answer_text(answer: str, record: Record) -> str:
    """An answer to the question of a record in a line; of a record of fields the wrong, missing and
    invented ones."""
    if record.kind == "fields" and record.gold:
        from snellen.scoring.fields import describe_fields

        return shorten(describe_fields(answer, record.gold), _MAX_LENGTH)
    text = answer_text(answer, record.kind)
    return text if len(text) <= _MAX_LENGTH and "\n" not in text else shorten(text, _MAX_LENGTH)
