"""What a run asked and what came back, one entry for each reply, as exports write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from snellen.core.errors import UsageError
from snellen.core.output import Compared, Drawn, Failure, Generated, Ranked, Usage
from snellen.core.record import Pass, Record, draws_of
from snellen.core.request import Message
from snellen.core.sample import rotation_row
from snellen.store.runs import RunFolder


class ExportedFile(NamedTuple):
    """One file of an export; `path` is relative to the folder that is written."""

    path: str
    content: str


class AskedPass(NamedTuple):
    """One request for an answer. `id` differs between the rotations of a question."""

    record: Record
    """The draw of the question that this pass belongs to."""
    id: str
    draw: int
    """Number of the draw of a question that was asked several times, from 1."""
    options: Mapping[str, str]
    gold: tuple[str, ...]
    rotation: int = 0
    prompt: tuple[Message, ...] = ()
    reply: str | None = None
    """Text of the reply, or the label ranked first; None if there was none."""
    reasoning: str | None = None
    stop_reason: str = "stop"
    failure: str = ""
    """Why there is no reply."""
    answer: str | None = None
    score: float | None = None
    """Score of this pass alone, 0 to 1."""
    usage: Usage | None = None
    seconds: float | None = None


def ordered_records(run: RunFolder) -> list[Record]:
    """Finished samples and failures, in the order of their ids where these are numbers."""
    records = list(chain(run.records(), run.failures()))
    if all(record.id.isdecimal() for record in records):
        records.sort(key=lambda record: int(record.id))
    return records


def asked_passes(record: Record) -> Iterator[AskedPass]:
    """The passes of every draw of a question. A question that was not asked yields one without a
    reply. Raises UsageError if rotations were asked of a question whose id is not a number."""
    for number, draw in enumerate(draws_of(record), 1):
        if not draw.passes:
            yield _not_asked(draw, number)
        for index, sample_pass in enumerate(draw.passes):
            # Later draws leave out prompts that equal those of the first.
            first = record.passes[index] if index < len(record.passes) else sample_pass
            yield _pass_of(draw, sample_pass, number, index, sample_pass.prompt or first.prompt)


def pass_id(record: Record, sample_pass: Pass, index: int) -> str:
    """The id of a pass: that of its data row, or of the question plus `index` strides. Raises
    UsageError if a rotation has no row and the question's id is not a number."""
    if sample_pass.row is not None or index == 0:
        return sample_pass.row or record.id
    if not record.id.isdecimal():
        raise UsageError(
            f"the question {record.id!r} was asked in rotations, which other tools tell apart by "
            "numbers; give the questions whole numbers as ids, or run with --circular off"
        )
    return rotation_row(record.id, index)


def reply_text(record: Record, sample_pass: Pass, options: Mapping[str, str]) -> str | None:
    """The raw reply; of a ranking or a drawn answer, the label that was chosen by it."""
    output = sample_pass.output
    if isinstance(output, Generated):
        return output.text
    if isinstance(output, Ranked | Drawn | Compared) and record.answer in options:
        return str(record.answer)
    return None


def _pass_of(draw: Record, sample_pass: Pass, number: int, index: int, prompt: tuple[Message, ...]) -> AskedPass:
    """One pass of a draw as an entry; `number` counts draws from 1, `index` passes from 0."""
    output = sample_pass.output
    options = sample_pass.options or draw.options
    alone = len(draw.passes) == 1
    reply = reply_text(draw, sample_pass, options)
    failure = ""
    if isinstance(output, Failure):
        failure = f"{output.kind}: {output.message}"
    elif reply is None:
        failure = "the reply is not text"
    answer = getattr(sample_pass.answer, "value", None)
    return AskedPass(
        record=draw,
        id=pass_id(draw, sample_pass, index),
        draw=number,
        rotation=index,
        prompt=prompt,
        options=options,
        gold=sample_pass.gold or (draw.gold if alone else ()),
        reply=reply,
        reasoning=output.reasoning if isinstance(output, Generated) else None,
        stop_reason=output.stop_reason if isinstance(output, Generated) else "stop",
        failure=failure,
        answer=answer if answer is not None or not alone else draw.answer,
        score=draw.score if alone else _pass_score(sample_pass),
        usage=None if isinstance(output, Failure) else output.usage,
        seconds=None if isinstance(output, Failure) else output.seconds,
    )


def _pass_score(sample_pass: Pass) -> float | None:
    if sample_pass.credit is not None:
        return sample_pass.credit
    return None if sample_pass.correct is None else float(sample_pass.correct)


def _not_asked(draw: Record, number: int) -> AskedPass:
    why = {"unsupported": "the model cannot take the question", "missing": "no reply"}
    failure = why.get(draw.outcome, draw.outcome)
    return AskedPass(draw, draw.id, number, draw.options, draw.gold, failure=failure)
