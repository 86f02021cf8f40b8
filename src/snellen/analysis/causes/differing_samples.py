"""Samples that two runs score differently, as they are shown."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from snellen.analysis.causes.factors import Side
from snellen.analysis.causes.stages import passes_of
from snellen.core.output import Generated, Output
from snellen.core.record import Pass, Record

_LONGEST = 160


class Example(Struct, frozen=True):
    """A sample, with its score, answer and reply in either run, and what differs."""

    id: str
    question: str
    first_score: float | None
    second_score: float | None
    first_answer: str | None
    second_answer: str | None
    first_reply: str
    second_reply: str
    detail: str


def example(
    name: str,
    detail: str,
    at: int,
    scores: tuple[dict[str, float], dict[str, float]],
    sides: tuple[Side, Side],
) -> Example:
    """One sample at the pass `at`; `detail` is empty where only one run scored it."""
    records = [side.records.get(name) for side in sides]
    replies = [_reply(one, at) for one in records]
    answers = [_answer(one, at) for one in records]
    shown = next(one for one in records if one is not None)
    return Example(
        id=name,
        question=_short(shown.question),
        first_score=scores[0].get(name),
        second_score=scores[1].get(name),
        first_answer=answers[0],
        second_answer=answers[1],
        first_reply=replies[0],
        second_reply=replies[1],
        detail=detail or _apart(records),
    )


def _apart(records: Sequence[Record | None]) -> str:
    for which, record in zip(("first", "second"), records, strict=True):
        if record is None:
            return f"not in the {which} run"
        if record.unscored is not None:
            failed = f" ({record.failure})" if record.failure else ""
            return f"{record.unscored.replace('_', ' ')} in the {which} run{failed}"
    return ""


def _pass(record: Record | None, at: int) -> Pass | None:
    passes = passes_of(record) if record is not None else []
    return passes[at] if at < len(passes) else None


def _reply(record: Record | None, at: int) -> str:
    one = _pass(record, at)
    return "" if one is None else _short(_told(one.output))


def _answer(record: Record | None, at: int) -> str | None:
    one = _pass(record, at)
    if one is None or one.answer is None:
        return record.answer if record is not None else None
    return str(getattr(one.answer, "value", None) or one.answer.__struct_config__.tag)


def _told(output: Output) -> str:
    if isinstance(output, Generated):
        return output.text
    return str(getattr(output, "message", "") or output.__struct_config__.tag)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
