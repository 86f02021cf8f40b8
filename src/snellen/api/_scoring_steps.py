"""The five steps of `score`: recognise the files, read the replies, match them to the rows of the
data, parse them, score what was parsed."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import structs

from snellen.api._as_recorded import Recorded, recording_tool, replay_recorded, with_replies_of
from snellen.api._inputs import refuse_unplaced, refuse_unreachable_golds
from snellen.api._predictions import ColumnNames, ScoringInputs
from snellen.api._recorded_roles import (
    COLUMN,
    RecordedRoles,
    are_verdicts_recorded,
    measure_by_labels,
    refuse_idle_roles,
    unread_verdict_warnings,
)
from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.api.scored import Scored
from snellen.benchmarks.declaration.build import reads_alike
from snellen.benchmarks.declaration.data_file import data_file_declaration
from snellen.benchmarks.declaration.registry import is_data_source, split_spec
from snellen.benchmarks.declaration.results_files import NULLS_COUNT, ResultsFile, advice_on, results_file_of
from snellen.benchmarks.declaration.units import refuse_units, renamed_columns
from snellen.benchmarks.protocol.parsers import OFFICIAL, VLMEVALKIT
from snellen.core.benchmark import COORDINATES, Benchmark, BenchmarkFactory, DataTable, Variant, final_summary
from snellen.core.errors import DataError, UsageError
from snellen.core.model import Model, abilities
from snellen.core.record import Record
from snellen.core.run import DataInfo
from snellen.core.sample import Origin, Row, Sample, origin_of
from snellen.data.columns import column_name, gold_column, gold_like_column, row_id
from snellen.data.match_rows import match_rows
from snellen.data.predictions import Predictions, PredictionTable, read_predictions
from snellen.data.tables.derived import DerivedTable
from snellen.data.tables.sound_and_tools import refuse_sound_and_tools
from snellen.engine.offline.gold_check import check_golds
from snellen.engine.offline.score_recorded import Judges, score_replies
from snellen.models.replay import Replay
from snellen.store.responses import ResponseStore

_ROWS_FOR_ADVICE = 100
"""Rows in which a column that may hold the gold answers is searched."""
_REPLY = "prediction"
ReadFile = Callable[..., Predictions]
"""`read_predictions`, or what reads as it does."""


class ScoringFiles(NamedTuple):
    """Which file holds the replies, and where their questions are."""

    benchmark: str
    replies: Path
    questions: Literal["with the replies", "in another file", "of the benchmark"]
    columns: ColumnNames
    variant: Variant
    name: str
    """What the predictions are called in sentences."""
    own_benchmarks: Mapping[str, Benchmark | BenchmarkFactory]


@dataclass(frozen=True, slots=True)
class ReadReplies:
    """Replies that were read, and the benchmark that they are to be scored by."""

    benchmark: Benchmark
    predictions: Predictions
    roles: RecordedRoles
    is_alone: bool = False
    """Whether the predictions hold all that makes the score."""
    needs_golds: bool = False
    """Whether the data are needed only because the predictions have no gold answers."""
    notices: tuple[str, ...] = ()


class Answers(NamedTuple):
    """Replies that were parsed, and what is said of how."""

    benchmark: Benchmark
    predictions: Predictions
    roles: RecordedRoles
    models: Mapping[str, Model]
    records: Sequence[Record]
    warnings: tuple[str, ...]
    recorded: str
    """Of `as_recorded`, which column makes the number."""


def recognise(inputs: ScoringInputs, variant: Variant) -> ScoringFiles:
    """Step 1: which file holds what. Raises UsageError if no file holds replies."""
    benchmark, predictions, data, columns, name, own = inputs
    if predictions is None or (data is None and _is_same_file(benchmark, predictions)):
        benchmark, options = split_spec(benchmark)
        variant = replace(variant, options={**variant.options, **options})
        if not is_data_source(benchmark):
            if os.sep in benchmark and not Path(benchmark).exists():
                raise UsageError(f"{benchmark}: there is no such file or folder")
            raise UsageError(
                f"no predictions for {benchmark}: give a file with --predictions, or in place of the "
                "benchmark a file that holds questions, answers and predictions"
            )
        return ScoringFiles(benchmark, Path(benchmark), "with the replies", columns, variant, name, own)
    if variant.data is not None or is_data_source(benchmark):
        return ScoringFiles(benchmark, Path(predictions), "in another file", columns, variant, name, own)
    refuse_units(benchmark, columns.call)
    return ScoringFiles(benchmark, Path(predictions), "of the benchmark", columns, variant, name, own)


def read_replies(
    files: ScoringFiles,
    roles: RecordedRoles,
    where: Mapping[str, str] | None,
    *,
    counts_verdicts: bool,
    read_file: ReadFile = read_predictions,
) -> ReadReplies:
    """Step 2: the replies, by the columns that a published layout says count unless the user names
    others. `counts_verdicts`: verdicts that it records are counted. Raises UsageError subclasses."""
    if files.questions == "with the replies":
        return _read_all_in_one(files, roles, where, read_file)
    separate = files.questions == "in another file"
    benchmark = _open_benchmark(files, roles)
    repeats = benchmark.counts_duplicates and not separate

    def read(columns: ColumnNames) -> Predictions:
        return read_file(files.replies, columns=columns.split(separate)[1], where=where, repeats=repeats)

    rows = read(files.columns)
    layout, notices = None, tuple[str, ...]()
    if not is_data_source(files.benchmark):
        layout = results_file_of(benchmark.name, rows.columns)
        rule = files.variant.rule or _recorded_rule(benchmark, rows, layout, roles)
        changed = files._replace(variant=replace(files.variant, rule=rule))
        if layout is not None and layout.verdicts and counts_verdicts:
            roles = roles._replace(judges=[f"{COLUMN}{layout.verdicts}"])
            notices = (_verdicts_notice(files.name, layout.verdicts),)
        if rule != files.variant.rule or notices:
            benchmark = _open_benchmark(changed, roles)
        if layout is not None and layout.official and rule == OFFICIAL and _REPLY not in files.columns.call:
            rows = read(files.columns._replace(call={_REPLY: layout.official, **files.columns.call}))
    has_golds = rows.gold_column is not None or (layout is not None and layout.complete)
    return ReadReplies(benchmark, rows, roles, not separate and has_golds, not separate, notices)


def match_to_rows(read: ReadReplies) -> ReadReplies:
    """Step 3: the replies with the ids of the rows that they answer, and these rows. Raises
    DataError."""
    if read.is_alone:
        own = read.predictions.table()
        return replace(read, benchmark=replace(read.benchmark, open=lambda: own))
    table = with_questions(_open_data(read))
    matched = _match_rows(read, table).without_repeats()
    benchmark = replace(read.benchmark, open=lambda: table)
    refuse_unplaced(benchmark)
    refuse_unreachable_golds(benchmark)
    return replace(read, benchmark=benchmark, predictions=matched)


def read_once() -> ReadFile:
    """`read_predictions`, which reads a file again only with other options."""
    found: dict[str, Predictions] = {}

    def read(path: Path, **options: Any) -> Predictions:
        key = repr((path, options))
        if key not in found:
            found[key] = read_predictions(path, **options)
        return found[key]

    return read


def keep_samples(matched: ReadReplies) -> ReadReplies:
    """Replies whose samples are made once, and held in memory."""
    table, make, kept = matched.benchmark.open(), matched.benchmark.samples, list[Sample]()

    def samples(rows: Iterable[Row]) -> Iterator[Sample]:
        if rows is not table:
            return make(rows)
        kept.extend(() if kept else list(make(rows)))
        return iter(kept)

    return replace(matched, benchmark=replace(matched.benchmark, samples=samples))


def match_like(read: ReadReplies, other: ReadReplies, matched: ReadReplies) -> ReadReplies:
    """`match_to_rows` of replies under another rule than `other`, which was `matched`: its rows and
    samples, where those of this rule are the same."""
    is_alike = read.predictions is other.predictions and read.is_alone == other.is_alone
    if not is_alike or not reads_alike(read.benchmark, other.benchmark):
        return match_to_rows(read)
    benchmark = replace(read.benchmark, open=matched.benchmark.open, samples=matched.benchmark.samples)
    refuse_unreachable_golds(benchmark)
    return replace(read, benchmark=benchmark, predictions=matched.predictions)


def _match_rows(read: ReadReplies, table: DataTable) -> Predictions:
    """As `match_rows`; a file with the ids of a benchmark that calls its questions otherwise than
    the data call their rows needs no matching, which would give it the ids of the rows."""
    try:
        matched = match_rows(read.predictions, table)
    except DataError:
        if _has_question_ids(read, table):
            return read.predictions
        raise
    if matched is not read.predictions and _has_question_ids(read, table, matched):
        return read.predictions
    return matched


def _has_question_ids(read: ReadReplies, table: DataTable, matched: Predictions | None = None) -> bool:
    """Whether all ids are those of questions, which have other ids than rows; and some of those
    that were `matched` are not."""
    own = [prediction.id for prediction in read.predictions]
    names = {sample.id for sample in read.benchmark.samples(table)}
    if len(set(own)) < len(own) or not names.issuperset(own) or names == {row_id(row) for row in table}:
        return False
    return matched is None or not names.issuperset(prediction.id for prediction in matched)


def parse_replies(matched: ReadReplies, ids: Collection[str] | None = None) -> Answers:
    """Step 4: what each reply means, by the benchmark's own flow, with judges and extractor if
    there are any. With `ids`, of these questions alone."""
    benchmark, predictions, roles = matched.benchmark, matched.predictions, matched.roles
    predictions = predictions.with_empty_replies() if benchmark.name in NULLS_COUNT else predictions
    recorded: Recorded | None = None
    counted = predictions
    if roles.as_recorded:
        benchmark, counted, recorded = replay_recorded(benchmark, predictions, has_judges=bool(roles.judges))
    models = roles.open_models(counted, benchmark)
    own = {role: open_own() for role, open_own in benchmark.own_roles.items()}
    table = benchmark.open()
    benchmark = replace(benchmark, open=lambda: table)
    replies = counted.replies(errors_as_text=benchmark.reads_errors)
    unread: Iterator[str] = iter(())
    if not models and not own:
        records, warnings = score_replies(benchmark, replies, counted.digest, ids=ids)
    else:
        from snellen.api._judge_inputs import check_judges_see
        from snellen.engine.loop.preflight import check_roles

        check_judges_see([benchmark], models)
        asked_models = {role: model for role, model in models.items() if not isinstance(model, Replay)}
        check_roles(asked_models)
        with ResponseStore(roles.store if asked_models or own else None) as store:
            records, warnings = score_replies(benchmark, replies, counted.digest, Judges({**models, **own}, store), ids)
        refuse_idle_roles(benchmark, roles, records)
        unread = unread_verdict_warnings(models, records)
    if counted is not predictions:
        records = with_replies_of(records, predictions)
    remarks = chain.from_iterable(abilities(model).remarks for model in own.values())
    as_recorded = recorded.notice if recorded is not None else ""
    return Answers(benchmark, counted, roles, models, records, (*warnings, *unread, *remarks), as_recorded)


def score_answers(answers: Answers) -> Scored:
    """Step 5: the numbers, and what is to be said of the file, the data and the answers."""
    benchmark, predictions, roles, models, records, warnings, recorded = answers
    table = benchmark.open()
    examples = benchmark.few_shot_info() if benchmark.few_shot_info is not None else None
    summary = final_summary(benchmark, records, examples)
    origin = Origin("predictions") if isinstance(table, PredictionTable) else origin_of(table)
    data = DataInfo(str(table.path), table.digest, len(table), origin)
    sentences = filter(None, (_error_notice(benchmark, predictions), data.note, recorded))
    summary = structs.replace(summary, notices=(*sentences, *summary.notices))
    readings = measure_by_labels(roles, predictions, benchmark, models, records)
    advice = advice_on(benchmark.name, predictions.columns, has_judge=bool(roles.judges))
    notices = () if advice is None else (f"{predictions.path}: {advice}",)
    if records and not any(record.gold for record in records) and not benchmark.unscorable:
        notices = (*notices, *_gold_advice(table))
    all_warnings = (*predictions.warnings, *notices, *warnings)
    return Scored(benchmark, summary, all_warnings, records, data, readings, digest=predictions.digest)


def _is_same_file(benchmark: str, predictions: Path | str) -> bool:
    """Whether the predictions were also given as the benchmark."""
    file = split_spec(benchmark).name
    if not is_data_source(file):
        return False
    try:
        return Path(file).samefile(predictions)
    except OSError:
        return False


def _read_all_in_one(
    files: ScoringFiles, roles: RecordedRoles, where: Mapping[str, str] | None, read_file: ReadFile
) -> ReadReplies:
    """A file of questions, gold answers and replies."""
    columns = files.columns.single
    predictions = read_file(files.replies, columns=renamed_columns(columns), where=where)
    refuse_sound_and_tools(predictions.table())
    benchmark = data_file_declaration(files.benchmark)(_full_variant(files, roles, columns))
    table = predictions.table()
    if COORDINATES in benchmark.parameters and not where and any(map(_lacks_size, benchmark.samples(table))):
        # Only the rows of the data know the pictures, whose sizes places need.
        return ReadReplies(benchmark, predictions, roles)
    check_golds(benchmark, table)
    return ReadReplies(benchmark, predictions, roles, is_alone=True)


def _lacks_size(sample: Sample) -> bool:
    return sample.kind == "place" and not sample.extent


def _open_benchmark(files: ScoringFiles, roles: RecordedRoles) -> Benchmark:
    """The benchmark, on the data if these are in a file of their own."""
    separate = files.questions == "in another file"
    columns, _ = files.columns.split(separate)
    benchmark = resolve_benchmark(files.benchmark, _full_variant(files, roles, columns), files.own_benchmarks)
    own_id = files.columns.call.get("id")
    if not (separate and own_id and column_name(own_id, 0) in benchmark.open().columns):
        return benchmark
    # Both files call it so.
    return resolve_benchmark(
        files.benchmark, _full_variant(files, roles, {**columns, "id": own_id}), files.own_benchmarks
    )


def _full_variant(files: ScoringFiles, roles: RecordedRoles, columns: Mapping[str, str]) -> Variant:
    return replace(
        files.variant,
        columns=columns,
        judges=len(roles.judges),
        recorded_verdicts=are_verdicts_recorded(roles.judges),
        extractor=roles.extractor is not None,
    )


def _recorded_rule(
    benchmark: Benchmark, rows: Predictions, layout: ResultsFile | None, roles: RecordedRoles
) -> str | None:
    """The rule of the tool whose own number is repeated, if the benchmark has it."""
    if not roles.as_recorded:
        return None
    tool = recording_tool(rows) if layout is None else layout.tool
    rule = VLMEVALKIT if tool == "VLMEvalKit" else OFFICIAL if layout is not None else None
    return rule if rule in benchmark.rules else None


def _verdicts_notice(name: str, column: str) -> str:
    """A sentence on the verdicts that are counted."""
    return (
        f"{name}: the verdicts recorded in {column!r} are counted, as the published "
        "number counts them; name another judge with --judge"
    )


def _open_data(read: ReadReplies) -> DataTable:
    """Open the data. Raises DataError, with advice if the predictions have no gold answers."""
    try:
        return read.benchmark.open()
    except DataError as error:
        if not read.needs_golds:
            raise
        advice = advice_on(read.benchmark.name, read.predictions.columns, has_judge=False)
        raise DataError(
            f"{read.predictions.path} holds no gold answers, so the data are needed: {error}; or name a "
            f"file of them with --data{'' if advice is None else f' ({advice})'}"
        ) from error


def _error_notice(benchmark: Benchmark, predictions: Predictions) -> str:
    """That error messages count as replies, if there are any."""
    count = sum(row.is_error_text for row in predictions) if benchmark.reads_errors else 0
    if not count:
        return ""
    errors = "1 reply is an error message" if count == 1 else f"{count} replies are error messages"
    rule = benchmark.parameters.get("rule")
    who = f"the rule {rule}" if rule else "as-reply"
    return f"{errors}, which {who} scores like any reply; --failures exclude leaves them out"


def _gold_advice(table: DataTable) -> Iterator[str]:
    """Which column may hold the gold answers, for data whose gold answers are all empty."""
    column = gold_like_column(islice(table, _ROWS_FOR_ADVICE))
    if column is not None:
        yield (
            f"{table.path}: no gold answer was found, and the column {column!r} may hold them: --columns gold={column}"
        )


_QUESTION = "question"


def with_questions(table: DataTable) -> DataTable:
    """The table; one of gold answers without questions with an empty question in each row: it can
    be scored by, and not asked."""
    columns = table.columns
    if _QUESTION in columns or gold_column(columns) is None:
        return table
    rows = partial(_rows_with_questions, table)
    return DerivedTable(table.path, (*columns, _QUESTION), table.digest, len(table), rows, origin_of(table))


def _rows_with_questions(table: DataTable) -> Iterator[Row]:
    for row in table:
        yield structs.replace(row, cells={**row.cells, _QUESTION: ""})
