"""The gold check: a benchmark answered by its own gold answers, without a model.

Their score is what a perfect model could score. If it is below the declared `oracle`, some gold
cannot be parsed or graded. A few rows of a user's own data are checked so before a run and before
recorded predictions are scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from snellen.benchmarks.protocol.flows import planned_passes
from snellen.core.benchmark import Benchmark, DataTable
from snellen.core.errors import DataError
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Record, run_flow
from snellen.core.request import MAIN, Request
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_id
from snellen.data.tables.open_table import IndexedTable

AnswerRole = Callable[[Request], Output]
"""Answers requests to other roles than the measured model: judges, extractors."""
_CHECKED_ROWS = 32


def fail_missing_role(request: Request) -> Output:
    """A Failure for every request: the gold check has no other roles."""
    return Failure("missing", f"no model has the role {request.to} in the gold check")


def gold_reply(sample: Sample, request: Request) -> Output:
    """Reply with the first gold answer of the pass; empty text if it has none. A Failure for a place in
    a picture that cannot be read; raises DataError where there is neither a picture nor its size."""
    planned = planned_passes(sample)
    gold = planned[request.ref.turn].gold if request.ref.turn < len(planned) else sample.gold
    try:
        return Generated(sample.written_gold(gold[0])) if gold else Generated("")
    except DataError as error:
        if sample.media:
            return Failure("media", str(error))
        raise DataError(f"sample {sample.id}: {error}") from error


def answer_samples(
    benchmark: Benchmark,
    samples: Iterable[Sample],
    reply: Callable[[Sample, Request], Output],
    answer_role: AnswerRole = fail_missing_role,
) -> list[Record]:
    """Drive the samples' flows with the outputs of `reply`, and return their records in order."""

    def drive_sample(sample: Sample) -> Record:
        def answer(request: Request) -> Output:
            return reply(sample, request) if request.to == MAIN else answer_role(request)

        return run_flow(benchmark.flow(sample), answer)

    return [drive_sample(sample) for sample in samples]


def lossy_golds(benchmark: Benchmark, samples: Iterable[Sample]) -> Iterator[Record]:
    """The records of samples whose gold answer does not score full when a model gives it. Where
    judges score, there are none."""
    if benchmark.unscorable:
        return
    for record in answer_samples(benchmark, samples, gold_reply):
        if record.gold and record.score is not None and record.score < 1.0:
            yield record


def check_golds(benchmark: Benchmark, table: DataTable) -> None:
    """Raise DataError if a gold answer cannot be reached: given as a reply, it is wrong. Some rows,
    spread over the table, are checked; with an index, no others are read.

    A single open answer may be odd ("$4 \\pi$" is read without its dollars), and `data check`
    lists it; open answers are refused if most of those checked cannot be reached.
    """
    rows = _SpreadRows(table.path, tuple(_spread_rows(table)))
    try:
        samples = list(benchmark.samples(rows))
    except DataError:
        return  # what is wrong with a row shows, with its place, where all are read
    lost = [record for record in lossy_golds(benchmark, samples) if record.score == 0.0 and len(record.gold) == 1]
    open_golds = sum(sample.kind == "open" and bool(sample.gold) for sample in samples)
    most_are_lost = 2 * sum(record.kind == "open" for record in lost) > open_golds
    for record in lost:
        if record.kind != "open" or most_are_lost:
            number = next((row.index + 1 for row in rows.rows if row_id(row) == record.id), 0)
            raise DataError(
                f"{table.path}, row {number}: {describe_loss(record)}, so that no reply could be "
                "right; write the answer as a model would, give the question another `type`, or "
                "leave the answer empty to count the row as one without gold (snellen data check "
                "lists all such rows)"
            )


def describe_loss(record: Record) -> str:
    """How a gold answer, given as a reply, is read and scored."""
    return (
        f"the answer {record.gold[0]!r}, given as a reply, is read as {record.answer!r} and scores "
        f"{100 * (record.score or 0.0):.0f} of 100"
    )


@dataclass(frozen=True, slots=True)
class _SpreadRows:
    path: str
    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)


def _spread_rows(table: DataTable) -> Iterable[Row]:
    size = len(table)
    if size <= _CHECKED_ROWS:
        return table
    numbers = [index * (size - 1) // (_CHECKED_ROWS - 1) for index in range(_CHECKED_ROWS)]
    if isinstance(table, IndexedTable):
        return table.take(numbers)
    return (row for row in table if row.index in frozenset(numbers))
