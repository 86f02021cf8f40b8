"""Judges and extractors of recorded replies: models, or columns of the predictions file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from snellen.benchmarks.declaration.results_files import results_files
from snellen.benchmarks.protocol.flows import MATCH_RATE
from snellen.benchmarks.protocol.judging import judge_roles
from snellen.benchmarks.protocol.similarity import compares_open_answers
from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.model import AnyModel, Identity, Model
from snellen.core.output import Generated
from snellen.core.record import Record
from snellen.data.columns import parse_list
from snellen.data.predictions import Predictions
from snellen.extract.llm import EXTRACTOR
from snellen.models.replay import Replay

if TYPE_CHECKING:
    from snellen.analysis.parsing.labelled_replies import LabelComparison
    from snellen.engine.servers.managed import Servers

COLUMN = "column:"
"""In front of the name of a column of the predictions file that holds the verdicts of a judge or
the answers of an extractor; `column:A+B` concatenates two."""
_EXCERPT_LENGTH = 40
"""Characters of a verdict that a warning quotes."""


def are_verdicts_recorded(judges: Sequence[AnyModel]) -> bool:
    """Whether there are judges, and all are columns of the predictions file."""
    return bool(judges) and all(isinstance(judge, str) and judge.startswith(COLUMN) for judge in judges)


class RecordedRoles(NamedTuple):
    """Judges and extractor of recorded replies, as the user named them."""

    judges: Sequence[AnyModel]
    extractor: AnyModel
    labels: Mapping[str, str]
    """The column with human labels, by what it holds: `answer` or `right`. May be empty."""
    store: Path
    as_recorded: bool = False
    """Whether the tool's own verdicts or answers, which the file records, make the number."""
    open_servers: Callable[[], Servers] | None = None
    """The servers that judges may need; called when one is opened."""

    def open_models(self, predictions: Predictions, benchmark: Benchmark) -> dict[str, Model]:
        """Open the models, by role. Raises UsageError for judges if the benchmark asks none."""
        roles = judge_roles(len(self.judges))
        if not set(roles) <= set(benchmark.extra_roles):
            raise UsageError(
                f"{benchmark.name} asks no judge: its replies are read and compared by rules; "
                "leave out --judge (replies that no rule can match are for --extractor, verdicts "
                "that a tool recorded for --as-recorded)"
            )
        models_by_role = {
            role: self._open_model(judge, predictions, runs=any(each.runs for each in results_files(benchmark.name)))
            for role, judge in zip(roles, self.judges, strict=True)
        }
        if self.extractor is not None:
            models_by_role[EXTRACTOR] = self._open_model(self.extractor, predictions, absent_as_empty=True)
        return models_by_role

    def _open_model(
        self, spec: AnyModel, predictions: Predictions, *, absent_as_empty: bool = False, runs: bool = False
    ) -> Model:
        """Open one model. With `absent_as_empty`, a row without a cell counts as an empty reply,
        not as a missing one. With `runs`, a cell may hold the grades of several runs of a judge
        (`[0.5, 0.0, 1.0]`), which count by their mean."""
        if isinstance(spec, str) and spec.startswith(COLUMN):
            name = spec.removeprefix(COLUMN)
            cells = _column_cells(predictions, name)
            if runs:
                cells = {row: _mean_grade(cell) for row, cell in cells.items()}
            replies = {**dict.fromkeys(predictions.names(), ""), **cells} if absent_as_empty else cells
            return Replay(replies, predictions.digest, name)
        from snellen.api.resolve_models import resolve_served_model

        assert self.open_servers is not None
        return resolve_served_model(spec, {}, self.open_servers())[1]


def recorded_identity(model: AnyModel) -> Identity:
    """The identity of a judge or extractor in the facts of a scored file."""
    if isinstance(model, str):
        return Identity("recorded", model)
    from snellen.models.naming.wrapping import wrap_model

    return wrap_model(model).identity


def measure_by_labels(
    roles: RecordedRoles,
    predictions: Predictions,
    benchmark: Benchmark,
    models: Mapping[str, Model],
    records: Sequence[Record],
) -> LabelComparison | None:
    """Compare how the replies were parsed with human labels; None if no labels are named.

    Raises UsageError if no label belongs to a reply."""
    if not roles.labels:
        return None
    from snellen.analysis.parsing import labelled_replies as labelled

    meaning, column = labelled.parse_label_column(roles.labels)
    names = {labelled.RULES: f"rule {benchmark.parameters.get('rule', 'snellen')}"}
    if models:
        names[labelled.BY_MODEL] = ", ".join(model.identity.name for model in models.values())
    cells = _column_cells(predictions, column)
    comparison = labelled.compare_with_labels(records, cells, meaning, names)
    if not comparison.labelled_count:
        raise UsageError(f"no reply has a label in the column {column!r}")
    return comparison


def _column_cells(predictions: Predictions, name: str) -> dict[str, str]:
    """The cells of a column by row id. `a+b` concatenates two columns with a blank, for rows that
    have both. Raises UnknownName."""
    if "+" not in name or name in predictions.columns:
        return predictions.column(name)
    parts = [predictions.column(part) for part in name.split("+")]
    return {row: " ".join([part[row] for part in parts]) for row in parts[0] if all(row in part for part in parts)}


def _mean_grade(cell: str) -> str:
    """The mean of a list of several numbers, as text; other cells as they are."""
    grades = parse_list(cell) if cell.startswith("[") else None
    if grades is None or len(grades) < 2 or not all(type(one) in (int, float) for one in grades):
        return cell
    return repr(fmean(map(float, map(str, grades))))


def refuse_idle_roles(benchmark: Benchmark, roles: RecordedRoles, records: Sequence[Record]) -> None:
    """Raises UsageError if no question of the data needs the judges, or the extractor."""
    if roles.judges and compares_open_answers(benchmark) and not any(record.kind == "open" for record in records):
        raise UsageError(
            f"no question of {benchmark.name} is open, so that a judge would be asked nothing; "
            "leave out --judge (replies that no rule can match are for --extractor)"
        )
    if roles.extractor is None or not any(record.score is not None for record in records):
        return
    if not any(_is_extractable(record) for record in records):
        raise UsageError(
            f"an extractor would be asked nothing about {benchmark.name}: it reads yes/no replies, "
            "choices whose options are known, and replies about documents (DUDE, SlideVQA, "
            "MMLongBench-Doc); leave out --extractor, or give the data that hold the options "
            "with --data"
        )


def _is_extractable(record: Record) -> bool:
    """Whether the record's flow would ask an extractor if the rules found no answer."""
    if any(each_pass.extraction is not None for each_pass in record.passes):
        return True
    closed = record.kind == "yes_no" or (record.kind == "choice" and bool(record.options))
    return closed and MATCH_RATE in record.values


def unread_verdict_warnings(models: Mapping[str, Model], records: Sequence[Record]) -> Iterator[str]:
    """Warn about each recorded judge none of whose verdicts could be parsed."""
    for role, model in models.items():
        verdicts = [
            verdict
            for record in records
            for sample_pass in record.passes
            for verdict in sample_pass.verdicts
            if verdict.judge == role and isinstance(verdict.output, Generated)
        ]
        if isinstance(model, Replay) and verdicts and not any(verdict.is_legible for verdict in verdicts):
            first = verdicts[0].output
            first_text = first.text.strip() if isinstance(first, Generated) else ""
            yield (
                f"none of the {len(verdicts)} verdicts of the column {model.identity.name} could "
                f"be read (the first is {first_text[:_EXCERPT_LENGTH]!r}); name the columns that "
                "hold whole verdicts, e.g. --judge column:NAME, or column:A+B for two numbers"
            )
