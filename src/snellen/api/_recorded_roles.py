"""Who reads and grades recorded replies: models, or verdicts that stand in the predictions file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.analysis.parsing.labelled_replies import (
    READER,
    RULES,
    Readings,
    labels_meant,
    readings_of,
)
from snellen.api._resolve import served_model
from snellen.benchmarks.protocol.flows import MATCH_RATE
from snellen.benchmarks.protocol.judging import judge_roles
from snellen.benchmarks.protocol.similarity import compares_open_answers
from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.core.output import Generated
from snellen.core.record import Record
from snellen.data.predictions import Predictions
from snellen.engine.servers.managed import Servers
from snellen.extract.llm import EXTRACTOR
from snellen.models.replay import Replay

COLUMN = "column:"
"""Before the name of a column of the predictions file that holds a judge's verdicts, or what an
extractor said; `column:A+B` joins two."""
_SHOWN = 40
"""Characters of a verdict that are shown in a warning."""


def all_recorded(judges: Sequence[str | Model]) -> bool:
    """Whether there are judges, and the verdicts of all of them stand in the predictions file."""
    return bool(judges) and all(
        isinstance(judge, str) and judge.startswith(COLUMN) for judge in judges
    )


class Bench(NamedTuple):
    """The judges and the extractor as they were named, where their verdicts are kept, and the
    labels they are measured by."""

    judges: Sequence[str | Model]
    extractor: str | Model | None
    labels: Mapping[str, str]
    """The column that says what replies mean: `answer` or `right` to its name; may be empty."""
    store: Path
    servers: Servers

    def models(self, read: Predictions, benchmark: Benchmark) -> dict[str, Model]:
        """By role. Raises UsageError for judges of a benchmark that asks none."""
        roles = judge_roles(len(self.judges))
        if not set(roles) <= set(benchmark.asks):
            raise UsageError(
                f"{benchmark.name} asks no judge: its replies are read and compared by rules; "
                "leave out --judge (replies that no rule can match are for --extractor)"
            )
        found = {
            role: self._one(judge, read) for role, judge in zip(roles, self.judges, strict=True)
        }
        if self.extractor is not None:
            found[EXTRACTOR] = self._one(self.extractor, read, silent=True)
        return found

    def _one(self, asked: str | Model, read: Predictions, *, silent: bool = False) -> Model:
        """`silent`: whoever left a cell empty said nothing, where it is else not known."""
        if isinstance(asked, str) and asked.startswith(COLUMN):
            name = asked.removeprefix(COLUMN)
            cells = _column(read, name)
            held = {**dict.fromkeys(read.names(), ""), **cells} if silent else cells
            return Replay(held, read.digest, name)
        return served_model(asked, {}, self.servers)[1]


def measured_by_labels(
    bench: Bench,
    read: Predictions,
    benchmark: Benchmark,
    models: Mapping[str, Model],
    records: Sequence[Record],
) -> Readings | None:
    """How well the replies were read, where labels are named. Raises UsageError where no label
    belongs to a reply."""
    if not bench.labels:
        return None
    meaning, column = labels_meant(bench.labels)
    names = {RULES: f"rule {benchmark.parameters.get('rule', 'snellen')}"}
    if models:
        names[READER] = ", ".join(model.identity.name for model in models.values())
    found = readings_of(records, _column(read, column), meaning, names)
    if not found.labelled:
        raise UsageError(f"no reply has a label in the column {column!r}")
    return found


def _column(read: Predictions, name: str) -> dict[str, str]:
    """The cells of a column by row; of `a+b` those of both with a blank between, where a row has
    both. Raises UnknownName."""
    if "+" not in name or name in read.columns:
        return read.column(name)
    parts = [read.column(part) for part in name.split("+")]
    return {
        row: " ".join([part[row] for part in parts])
        for row in parts[0]
        if all(row in part for part in parts)
    }


def refuse_the_idle(benchmark: Benchmark, bench: Bench, records: Sequence[Record]) -> None:
    """Raises UsageError for judges or an extractor that no question of the data is for. Nothing
    was asked of them then."""
    if bench.judges and compares_open_answers(benchmark) and not _any_kind(records, "open"):
        raise UsageError(
            f"no question of {benchmark.name} is open, so that a judge would be asked nothing; "
            "leave out --judge (replies that no rule can match are for --extractor)"
        )
    if bench.extractor is None or not any(one.score is not None for one in records):
        return
    if not any(_may_be_extracted(one) for one in records):
        raise UsageError(
            f"an extractor would be asked nothing about {benchmark.name}: it reads yes/no replies, "
            "choices whose options are known, and replies about documents (DUDE, SlideVQA, "
            "MMLongBench-Doc); leave out --extractor, or give the data that hold the options "
            "with --data"
        )


def _any_kind(records: Sequence[Record], kind: str) -> bool:
    return any(one.kind == kind for one in records)


def _may_be_extracted(record: Record) -> bool:
    """Whether the record's flow asks an extractor where the rules find nothing."""
    if any(one.extraction is not None for one in record.passes):
        return True
    closed = record.kind == "yes_no" or (record.kind == "choice" and bool(record.options))
    return closed and MATCH_RATE in record.values


def unread_verdicts(models: Mapping[str, Model], records: Sequence[Record]) -> Iterator[str]:
    """A warning for each recorded judge of whose verdicts none could be read."""
    for role, model in models.items():
        given = [
            verdict
            for record in records
            for one in record.passes
            for verdict in one.verdicts
            if verdict.judge == role and isinstance(verdict.output, Generated)
        ]
        if isinstance(model, Replay) and given and not any(one.legible for one in given):
            first = given[0].output
            said = first.text.strip() if isinstance(first, Generated) else ""
            yield (
                f"none of the {len(given)} verdicts of the column {model.identity.name} could be "
                f"read (the first is {said[:_SHOWN]!r}); name the columns that hold whole "
                "verdicts, e.g. --judge column:NAME, or column:A+B for two numbers"
            )
