"""Who reads and grades recorded replies: models, or verdicts that stand in the predictions file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.analysis.parsing.labelled_replies import (
    BY_MODEL,
    RULES,
    LabelComparison,
    compare_with_labels,
    parse_label_column,
)
from snellen.api._resolve import resolve_served_model
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
_EXCERPT_LENGTH = 40
"""Characters of a verdict that are shown in a warning."""


def are_verdicts_recorded(judges: Sequence[str | Model]) -> bool:
    """Whether there are judges, and the verdicts of all of them stand in the predictions file."""
    return bool(judges) and all(
        isinstance(judge, str) and judge.startswith(COLUMN) for judge in judges
    )


class RecordedRoles(NamedTuple):
    """The judges and the extractor as they were named, where their verdicts are kept, and the
    labels they are measured by."""

    judges: Sequence[str | Model]
    extractor: str | Model | None
    labels: Mapping[str, str]
    """The column that says what replies mean: `answer` or `right` to its name; may be empty."""
    store: Path
    servers: Servers

    def open_models(self, predictions: Predictions, benchmark: Benchmark) -> dict[str, Model]:
        """By role. Raises UsageError for judges of a benchmark that asks none."""
        roles = judge_roles(len(self.judges))
        if not set(roles) <= set(benchmark.extra_roles):
            raise UsageError(
                f"{benchmark.name} asks no judge: its replies are read and compared by rules; "
                "leave out --judge (replies that no rule can match are for --extractor)"
            )
        found = {
            role: self._open_model(judge, predictions)
            for role, judge in zip(roles, self.judges, strict=True)
        }
        if self.extractor is not None:
            found[EXTRACTOR] = self._open_model(self.extractor, predictions, absent_as_empty=True)
        return found

    def _open_model(
        self, spec: str | Model, predictions: Predictions, *, absent_as_empty: bool = False
    ) -> Model:
        """`absent_as_empty`: whoever left a cell empty said nothing, where it is else not known."""
        if isinstance(spec, str) and spec.startswith(COLUMN):
            name = spec.removeprefix(COLUMN)
            cells = _column_cells(predictions, name)
            held = {**dict.fromkeys(predictions.names(), ""), **cells} if absent_as_empty else cells
            return Replay(held, predictions.digest, name)
        return resolve_served_model(spec, {}, self.servers)[1]


def measure_by_labels(
    roles: RecordedRoles,
    predictions: Predictions,
    benchmark: Benchmark,
    models: Mapping[str, Model],
    records: Sequence[Record],
) -> LabelComparison | None:
    """How well the replies were read, where labels are named. Raises UsageError where no label
    belongs to a reply."""
    if not roles.labels:
        return None
    meaning, column = parse_label_column(roles.labels)
    names = {RULES: f"rule {benchmark.parameters.get('rule', 'snellen')}"}
    if models:
        names[BY_MODEL] = ", ".join(model.identity.name for model in models.values())
    found = compare_with_labels(records, _column_cells(predictions, column), meaning, names)
    if not found.labelled_count:
        raise UsageError(f"no reply has a label in the column {column!r}")
    return found


def _column_cells(predictions: Predictions, name: str) -> dict[str, str]:
    """The cells of a column by row; of `a+b` those of both with a blank between, where a row has
    both. Raises UnknownName."""
    if "+" not in name or name in predictions.columns:
        return predictions.column(name)
    parts = [predictions.column(part) for part in name.split("+")]
    return {
        row: " ".join([part[row] for part in parts])
        for row in parts[0]
        if all(row in part for part in parts)
    }


def refuse_idle_roles(
    benchmark: Benchmark, roles: RecordedRoles, records: Sequence[Record]
) -> None:
    """Raises UsageError for judges or an extractor that no question of the data is for. Nothing
    was asked of them then."""
    if roles.judges and compares_open_answers(benchmark) and not _has_kind(records, "open"):
        raise UsageError(
            f"no question of {benchmark.name} is open, so that a judge would be asked nothing; "
            "leave out --judge (replies that no rule can match are for --extractor)"
        )
    if roles.extractor is None or not any(one.score is not None for one in records):
        return
    if not any(_is_extractable(one) for one in records):
        raise UsageError(
            f"an extractor would be asked nothing about {benchmark.name}: it reads yes/no replies, "
            "choices whose options are known, and replies about documents (DUDE, SlideVQA, "
            "MMLongBench-Doc); leave out --extractor, or give the data that hold the options "
            "with --data"
        )


def _has_kind(records: Sequence[Record], kind: str) -> bool:
    return any(one.kind == kind for one in records)


def _is_extractable(record: Record) -> bool:
    """Whether the record's flow asks an extractor where the rules find nothing."""
    if any(one.extraction is not None for one in record.passes):
        return True
    closed = record.kind == "yes_no" or (record.kind == "choice" and bool(record.options))
    return closed and MATCH_RATE in record.values


def unread_verdict_warnings(
    models: Mapping[str, Model], records: Sequence[Record]
) -> Iterator[str]:
    """A warning for each recorded judge of whose verdicts none could be read."""
    for role, model in models.items():
        given = [
            verdict
            for record in records
            for one in record.passes
            for verdict in one.verdicts
            if verdict.judge == role and isinstance(verdict.output, Generated)
        ]
        if isinstance(model, Replay) and given and not any(one.is_legible for one in given):
            first = given[0].output
            first_text = first.text.strip() if isinstance(first, Generated) else ""
            yield (
                f"none of the {len(given)} verdicts of the column {model.identity.name} could be "
                f"read (the first is {first_text[:_EXCERPT_LENGTH]!r}); name the columns that hold "
                "whole verdicts, e.g. --judge column:NAME, or column:A+B for two numbers"
            )
