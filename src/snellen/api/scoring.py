"""`score`: somebody else's predictions, without a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from snellen.analysis.parsing.labelled_replies import LabelComparison
from snellen.api._recorded_roles import (
    RecordedRoles,
    are_verdicts_recorded,
    measure_by_labels,
    refuse_idle_roles,
    unread_verdict_warnings,
)
from snellen.api._resolve import resolve_benchmark
from snellen.api.options import DEFAULT_OUT, STORE_FILE
from snellen.benchmarks.declaration.data_file import data_file_declaration
from snellen.benchmarks.declaration.registry import is_data_source
from snellen.benchmarks.declaration.results_files import NULLS_COUNT, advice_on
from snellen.benchmarks.declaration.units import refuse_units, renamed_columns
from snellen.core.benchmark import Benchmark, Table, Variant, final_summary
from snellen.core.errors import DataError, UsageError
from snellen.core.model import Model
from snellen.core.origin import Origin, origin_of
from snellen.core.record import Record
from snellen.core.run import DataInfo
from snellen.core.summary import Summary
from snellen.data.columns import check_column_keys
from snellen.data.match_rows import match_rows
from snellen.data.predictions import Predictions, PredictionTable, read_predictions
from snellen.engine.loop.preflight import check_roles
from snellen.engine.offline.score_recorded import Judges, score_replies
from snellen.engine.servers.managed import Servers
from snellen.engine.servers.process import Notify
from snellen.models.replay import Replay
from snellen.store.responses import ResponseStore

DEFAULT_STORE = Path(DEFAULT_OUT) / STORE_FILE


class Scored(NamedTuple):
    """Numbers of somebody else's predictions. `warnings` speak of the predictions file."""

    benchmark: Benchmark
    summary: Summary
    warnings: tuple[str, ...]
    records: Sequence[Record] = ()
    data: DataInfo | None = None
    """Where the questions and the gold answers come from."""
    readings: LabelComparison | None = None
    """How well replies were read, where labels were named."""


def score(
    benchmark: str,
    predictions: Path | str | None = None,
    *,
    data: Path | str | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    judges: Sequence[str | Model] = (),
    extractor: str | Model | None = None,
    labels: Mapping[str, str] | None = None,
    store: Path | str = DEFAULT_STORE,
    serving: Notify | None = None,
) -> Scored:
    """Score recorded predictions by the benchmark's own flow; no model, no pictures.

    A predictions file that also holds gold answers needs no data; one that holds everything may
    stand in the place of the benchmark. `variant.rule` says whose rules read the replies. `judges`
    grade them where the benchmark asks judges, and the `extractor` reads those that no rule can
    match: models, whose verdicts are kept in `store`, or `column:NAME` for verdicts that stand in
    the predictions file. `labels` names a column that says what each reply answers
    (`{"answer": NAME}`) or whether it is right (`{"right": NAME}`): whoever read the replies is
    measured by it. The server of a judge such as vllm/ORG/NAME is started, and stopped at the end;
    `serving` is told in lines how that goes. Raises UsageError subclasses, also for a judge or an
    extractor that the benchmark would ask nothing.
    """
    check_column_keys(columns or {})
    variant = replace(
        variant,
        data=str(data) if data else variant.data,
        judges=len(judges),
        recorded_verdicts=are_verdicts_recorded(judges),
        extractor=extractor is not None,
    )
    with Servers(Path(store).parent, notify=serving) as servers:
        bench = RecordedRoles(judges, extractor, labels or {}, Path(store), servers)
        return _score_files(benchmark, predictions, data, variant, columns, where, bench)


def _score_files(
    benchmark: str,
    predictions: Path | str | None,
    data: Path | str | None,
    variant: Variant,
    columns: Mapping[str, str] | None,
    where: Mapping[str, str] | None,
    roles: RecordedRoles,
) -> Scored:
    if predictions is None or (data is None and _is_same_file(benchmark, predictions)):
        return _score_single_file(benchmark, variant, columns, where, roles)
    has_separate_data = variant.data is not None or is_data_source(benchmark)
    if not has_separate_data:
        refuse_units(benchmark, columns or {})
    asked, replied = _split_columns(columns or {}) if has_separate_data else ({}, columns or {})
    chosen = resolve_benchmark(benchmark, replace(variant, columns=asked))
    repeats = chosen.counts_duplicates and not has_separate_data
    read = read_predictions(Path(predictions), columns=replied, where=where, repeats=repeats)
    if not has_separate_data and read.gold_column is not None:
        return _score_predictions(replace(chosen, open=read.table), read, roles)
    table = _open_data(chosen, read, has_separate_data)
    replied_once = match_rows(read, table).without_repeats()
    return _score_predictions(replace(chosen, open=lambda: table), replied_once, roles)


def _open_data(benchmark: Benchmark, predictions: Predictions, has_separate_data: bool) -> Table:
    """The data. Raises DataError, which says what to give where the predictions hold no gold."""
    try:
        return benchmark.open()
    except DataError as error:
        if has_separate_data:
            raise
        advice = advice_on(benchmark.name, predictions.columns, has_judge=False)
        raise DataError(
            f"{predictions.path} holds no gold answers, so the data are needed: {error}; or name a "
            f"file of them with --data{'' if advice is None else f' ({advice})'}"
        ) from error


def score_by_rules(
    benchmark: str,
    predictions: Path | str | None = None,
    *,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
) -> dict[str, Scored]:
    """`score` under every rule that the benchmark has, by the rule's name."""
    own = score(
        benchmark, predictions, variant=replace(variant, rule=None), columns=columns, where=where
    )
    return {
        rule: score(
            benchmark, predictions, variant=replace(variant, rule=rule), columns=columns,
            where=where,
        )
        for rule in own.benchmark.rules
    }  # fmt: skip


def _is_same_file(benchmark: str, predictions: Path | str) -> bool:
    """Whether the predictions also stand in the place of the benchmark."""
    if not is_data_source(benchmark):
        return False
    try:
        return Path(benchmark).samefile(predictions)
    except OSError:
        return False


def _score_single_file(
    path: str,
    variant: Variant,
    columns: Mapping[str, str] | None,
    where: Mapping[str, str] | None,
    roles: RecordedRoles,
) -> Scored:
    if not is_data_source(path):
        raise UsageError(
            f"no predictions for {path}: give a file with --predictions, or in place of the "
            "benchmark a file that holds questions, answers and predictions"
        )
    read = read_predictions(Path(path), columns=renamed_columns(columns or {}), where=where)
    own = data_file_declaration(path)(replace(variant, columns=columns or {}))
    return _score_predictions(replace(own, open=read.table), read, roles)


def _score_predictions(
    benchmark: Benchmark, predictions: Predictions, roles: RecordedRoles
) -> Scored:
    predictions = predictions.with_empty_replies() if benchmark.name in NULLS_COUNT else predictions
    advice = advice_on(benchmark.name, predictions.columns, has_judge=bool(roles.judges))
    models = roles.open_models(predictions, benchmark)
    unread: Iterator[str] = iter(())
    table = benchmark.open()
    benchmark = replace(benchmark, open=lambda: table)
    replies = predictions.replies()
    if not models:
        records, warnings = score_replies(benchmark, replies, predictions.digest)
    else:
        live = {role: one for role, one in models.items() if not isinstance(one, Replay)}
        check_roles(live)
        with ResponseStore(roles.store if live else None) as store:
            judges = Judges(models, store)
            records, warnings = score_replies(benchmark, replies, predictions.digest, judges)
        refuse_idle_roles(benchmark, roles, records)
        unread = unread_verdict_warnings(models, records)
    examples = benchmark.few_shot_info() if benchmark.few_shot_info is not None else None
    summary = final_summary(benchmark, records, examples)
    origin = Origin("predictions") if isinstance(table, PredictionTable) else origin_of(table)
    data = DataInfo(str(table.path), table.digest, len(table), origin)
    if data.note:
        summary = structs.replace(summary, notices=(data.note, *summary.notices))
    readings = measure_by_labels(roles, predictions, benchmark, models, records)
    told = () if advice is None else (f"{predictions.path}: {advice}",)
    warnings = (*predictions.warnings, *told, *warnings, *unread)
    return Scored(benchmark, summary, warnings, records, data, readings)


def _split_columns(columns: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Columns named for the data file, and those named for the predictions file beside it."""
    replied = {role: name for role, name in columns.items() if role in ("id", "prediction")}
    return {role: name for role, name in columns.items() if role not in replied}, replied
