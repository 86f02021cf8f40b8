"""An answer in words beside its gold: of a record what is not right in it."""

from __future__ import annotations

from snellen.core.answer_text import answer_text
from snellen.core.record import Record


def graded_answer_text(answer: str, record: Record) -> str:
    """An answer to the question of a record as people read it; of a record of fields the wrong, missing
    and invented ones."""
    if record.kind == "fields" and record.gold:
        from snellen.scoring.fields import describe_fields

        return describe_fields(answer, record.gold)
    return answer_text(answer, record.kind)
