"""`score --as-recorded`: the number that the tool made which wrote a file, from its own columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

from msgspec import structs

from snellen.benchmarks.declaration.results_files import NULLS_COUNT, results_file_of
from snellen.benchmarks.protocol.flows import AskConfig, finish
from snellen.core.benchmark import AS_RECORDED, Benchmark
from snellen.core.errors import DataError
from snellen.core.literals import parse_finite
from snellen.core.output import Failure, Generated, Outcome, Output
from snellen.core.record import Flow, Pass, Record, Unscored
from snellen.core.request import Generate, Generation, Ref
from snellen.core.sample import Sample
from snellen.data.columns import DATA_ROW, FOREIGN_COLUMNS
from snellen.data.predictions import Predictions

_VERDICTS = ("hit", "correct", "is_correct", "eval_score", "true_false", "score", "grade")
_EXTRACTIONS = ("extracted", "res", "extract", "extracted_answer", "extraction", "parsed_pred")
"""VLMEvalKit's columns, and those that others use, in the order in which a tool counts them."""
_ANSWERS_OF_OBJECTS = (".parsed_pred", ".pred_answer", ".pred", ".prediction", ".answer")
_GRADES = {"true": 1.0, "false": 0.0, "c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0}
"""Verdicts that are no numbers: booleans, and Inspect's letters."""
_NO_RULES = AskConfig(Generation())


class Recorded(NamedTuple):
    """The column that makes the number, and the tool that wrote it."""

    tool: str
    column: str
    holds: Literal["verdicts", "answers"]

    @property
    def notice(self) -> str:
        made = "" if self.holds == "verdicts" else ", compared with the gold answers,"
        return f"as recorded by {self.tool}: its column {self.column!r}{made} made the number"


def recording_tool(predictions: Predictions) -> str:
    """The tool that wrote a file, by its columns."""
    prefixes = {column.partition(".")[0] for column in predictions.columns}
    named = (tool for prefix, tool in FOREIGN_COLUMNS.items() if prefix in prefixes)
    is_vlmevalkit = {"index", "prediction"} <= set(predictions.columns)
    if DATA_ROW in predictions.columns:
        return FOREIGN_COLUMNS["lmms_eval"]
    return next(named, "VLMEvalKit" if is_vlmevalkit else "the tool that wrote the file")


def replay_recorded(
    benchmark: Benchmark, predictions: Predictions, *, has_judges: bool
) -> tuple[Benchmark, Predictions, Recorded]:
    """The benchmark and the replies that repeat a file's own number. `has_judges`: its verdicts
    are read as those of judges already. Raises DataError if the file records neither verdicts that
    make the headline nor answers."""
    tool, layout = recording_tool(predictions), results_file_of(benchmark.name, predictions.columns)
    if layout is not None and (has_judges or not layout.verdicts):
        column = layout.verdicts or layout.official or predictions.reply_column
        holds: Literal["verdicts", "answers"] = "verdicts" if has_judges else "answers"
        recorded = Recorded(layout.tool, column, holds)
    else:
        recorded = _find(benchmark, predictions, tool)
        cells = predictions.column(recorded.column)
        if recorded.holds == "verdicts":
            every_row = predictions.names() if benchmark.name in NULLS_COUNT else ()
            grades = {row: _grade(cell) for row, cell in cells.items()}
            flow = partial(_verdict_flow, {**dict.fromkeys(every_row, 0.0), **grades})
            benchmark = replace(benchmark, flow=flow, own_roles={}, reads_errors=True)
        else:
            predictions = predictions.with_replies(cells)
    parameters = {**benchmark.parameters, AS_RECORDED: f"{recorded.tool}: {recorded.column}"}
    return replace(benchmark, parameters=parameters), predictions, recorded


def with_replies_of(records: Sequence[Record], predictions: Predictions) -> list[Record]:
    """The records of recorded answers with the replies that these were read from."""
    replies = predictions.replies()

    def restore(one: Pass, sample: str) -> Pass:
        reply = replies.get(one.row or sample)
        return one if reply is None else structs.replace(one, output=reply, extraction=one.output)

    return [
        structs.replace(record, passes=tuple([restore(one, record.id) for one in record.passes])) for record in records
    ]


def _find(benchmark: Benchmark, predictions: Predictions, tool: str) -> Recorded:
    """The column of verdicts if these make the headline, else that of answers, each the one with
    most cells. Raises DataError."""
    refused = []
    for column in _fullest(predictions, _VERDICTS, (".score", "")):
        grades = [_grade(cell) for cell in predictions.column(column).values()]
        known = [grade for grade in grades if grade is not None]
        # VLMEvalKit's `eval_score` is ANLS before its threshold.
        if not known or (column == "eval_score" and benchmark.headline == "anls"):
            continue
        if max(known) > 1:
            refused.append(
                f"{column!r} has grades up to {max(known):g}, not from 0 to 1: --judge column:{column} reads them"
            )
        elif _is_made_of_verdicts(benchmark):
            return Recorded(tool, column, "verdicts")
        else:
            refused.append(f"{column!r} says what is right, of which {benchmark.headline} is not made")
    for column in _fullest(predictions, _EXTRACTIONS, _ANSWERS_OF_OBJECTS):
        return Recorded(tool, column, "answers")
    raise DataError(
        f"{predictions.path}: no column holds a verdict or an answer as its tool recorded it "
        f"({'; '.join(refused) or 'expected one such as ' + ', '.join(_VERDICTS + _EXTRACTIONS)});"
        " leave out --as-recorded to score the replies"
    )


def _fullest(predictions: Predictions, names: tuple[str, ...], endings: tuple[str, ...]) -> list[str]:
    """Columns of these names, and those of a log's objects with these endings, the fullest first;
    the ending "" is that of a plain value."""
    logged = [column for column in predictions.columns if column.partition(".")[0] in FOREIGN_COLUMNS]
    plain = {column for column in logged if column.count(".") == 1}
    found = [name for name in names if name in predictions.columns and not logged]
    for ending in endings:
        found += [name for name in logged if (name.endswith(ending) if ending else name in plain)]
    other = {predictions.gold_column, predictions.reply_column, *predictions.id_columns}
    columns = [name for name in dict.fromkeys(found) if name not in other]
    return sorted(columns, key=lambda name: -len(predictions.column(name)))


def _grade(cell: str) -> float | None:
    """A verdict as a number; None for none, such as VLMEvalKit's -1 for a failed judge."""
    grade = _GRADES.get(cell.strip().lower())
    number = parse_finite(cell) if grade is None else grade
    return None if number is None or number < 0 else number


def _is_made_of_verdicts(benchmark: Benchmark) -> bool:
    """Whether the headline rises from all wrong to all right when nothing but verdicts is known."""
    samples = list(benchmark.samples(benchmark.open()))

    def headline(grade: float) -> float | None:
        records = [_record(sample, Generated(""), grade) for sample in samples]
        try:
            return benchmark.summarise(records).headline.value
        except KeyError:  # a number beside the score, made of the answers
            return None

    worst, best = headline(0.0), headline(1.0)
    return worst is not None and best is not None and best > worst


def _verdict_flow(grades: Mapping[str, float | None], sample: Sample) -> Flow:
    """Ask for the reply, and count what the tool recorded about it."""
    output = yield Generate(messages=(), ref=Ref(sample.id))
    return _record(sample, output, grades.get(sample.id))


def _record(sample: Sample, output: Output, grade: float | None) -> Record:
    """The record of a sample with its recorded grade, whatever its reply; without one it is
    ungraded, failed or missing."""
    reply = output.text.strip() if isinstance(output, Generated) else ""
    outcome: Outcome = "answered" if reply else "empty"
    unscored: Unscored | None = None
    if grade is None:
        unscored = "ungraded"
        if isinstance(output, Failure):
            outcome = unscored = "missing" if output.kind == "missing" else "failed"
    is_right = None if grade is None else grade == 1.0
    partial_credit = grade if grade not in (None, 0.0, 1.0) else None
    asked = Pass((), output, gold=sample.gold, correct=is_right, credit=partial_credit)
    record = finish(sample, (asked,), _NO_RULES)
    failure = record.failure if grade is None else None
    return structs.replace(record, outcome=outcome, score=grade, unscored=unscored, failure=failure, values={})
