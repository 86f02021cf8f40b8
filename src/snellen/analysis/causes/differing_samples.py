"""Samples that two runs score differently, for display."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from msgspec import Struct

from snellen.analysis.causes.factors import RunRecords
from snellen.analysis.causes.sample_changes import passes_of
from snellen.analysis.samples.graded_answers import graded_answer_text
from snellen.core.output import Generated, Output
from snellen.core.record import Pass, Record
from snellen.core.terminal_text import shorten

_MAX_LENGTH = 160
_MAX_FIELDS = 5
"""Fields of a record that are named."""


class DifferingSample(Struct, frozen=True):
    """A sample with its score, answer and reply in either run, and what differs."""

    id: str
    question: str
    first_score: float | None
    second_score: float | None
    first_answer: str | None
    second_answer: str | None
    first_reply: str
    second_reply: str
    detail: str


def differing_sample(
    name: str,
    detail: str,
    pass_index: int,
    scores: tuple[dict[str, float], dict[str, float]],
    sides: tuple[RunRecords, RunRecords],
) -> DifferingSample:
    """One sample at the pass `pass_index`; `detail` is empty if only one run scored it. Of records the
    fields that differ are named behind it."""
    records = [side.records.get(name) for side in sides]
    replies = [_reply(record, pass_index) for record in records]
    answers = [_answer(record, pass_index) for record in records]
    available = next(record for record in records if record is not None)
    return DifferingSample(
        id=name,
        question=shorten(available.question, _MAX_LENGTH),
        first_score=scores[0].get(name),
        second_score=scores[1].get(name),
        first_answer=answers[0],
        second_answer=answers[1],
        first_reply=replies[0],
        second_reply=replies[1],
        detail="; ".join(filter(None, (detail or _missing_detail(records), _field_detail(records)))),
    )


def _field_detail(records: Sequence[Record | None]) -> str:
    """The fields that two records of one sample answer differently, each with what either run made of it."""
    first, second = records
    if first is None or second is None or first.kind != "fields" or first.answer == second.answer:
        return ""
    sides = [_field_outcomes(first), _field_outcomes(second)]
    lines = [
        f"{path or 'the record'} {_one_line(ours)} in the first run, {_one_line(theirs)} in the second"
        for path in dict.fromkeys((*sides[0], *sides[1]))
        if (ours := sides[0].get(path, [])) != (theirs := sides[1].get(path, []))
    ]
    more = f" and {len(lines) - _MAX_FIELDS} more fields" if len(lines) > _MAX_FIELDS else ""
    return "; ".join(lines[:_MAX_FIELDS]) + more


def _field_outcomes(record: Record) -> dict[str, list[str]]:
    """What became of the fields of each path, with the wrong and invented values."""
    from snellen.scoring.fields import nearest_results

    outcomes: dict[str, list[str]] = defaultdict(list)
    for path, outcome, _, reply in nearest_results(record.answer, record.gold):
        said = f" ({reply!r})" if outcome in ("wrong", "invented") else ""
        outcomes[path].append(f"{outcome}{said}")
    return {path: sorted(each) for path, each in outcomes.items()}


def _one_line(outcomes: Sequence[str]) -> str:
    """Outcomes with how often there is each; not there at all where there are none."""
    counted = Counter(outcomes)
    texts = [text if count == 1 else f"{count} {text}" for text, count in counted.items()]
    return shorten(", ".join(texts) or "not there", _MAX_LENGTH)


def _missing_detail(records: Sequence[Record | None]) -> str:
    for which, record in zip(("first", "second"), records, strict=True):
        if record is None:
            return f"not in the {which} run"
        if record.unscored is not None:
            failed = f" ({record.failure})" if record.failure else ""
            return f"{record.unscored.replace('_', ' ')} in the {which} run{failed}"
    return ""


def _pass(record: Record | None, pass_index: int) -> Pass | None:
    passes = passes_of(record) if record is not None else []
    return passes[pass_index] if pass_index < len(passes) else None


def _reply(record: Record | None, pass_index: int) -> str:
    one_pass = _pass(record, pass_index)
    return "" if one_pass is None else shorten(_output_text(one_pass.output), _MAX_LENGTH)


def _answer(record: Record | None, pass_index: int) -> str | None:
    if record is None:
        return None
    one_pass = _pass(record, pass_index)
    answer = record.answer
    if one_pass is not None and one_pass.answer is not None:
        answer = str(getattr(one_pass.answer, "value", None) or one_pass.answer.__struct_config__.tag)
    return None if answer is None else graded_answer_text(answer, record)


def _output_text(output: Output) -> str:
    if isinstance(output, Generated):
        return output.text
    return str(getattr(output, "message", "") or output.__struct_config__.tag)
