"""`score`: somebody else's predictions, without a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from snellen.analysis.parsing.labelled_replies import Readings
from snellen.api._recorded_roles import (
    Bench,
    all_recorded,
    measured_by_labels,
    refuse_the_idle,
    unread_verdicts,
)
from snellen.api._resolve import named_benchmark
from snellen.api.options import DEFAULT_OUT, STORE_FILE
from snellen.benchmarks.declaration.data_file import own_benchmark
from snellen.benchmarks.declaration.registry import is_data
from snellen.benchmarks.declaration.results_files import NULLS_COUNT, advice_on
from snellen.benchmarks.declaration.units import other_columns, refuse_units
from snellen.core.benchmark import Benchmark, Table, Variant, summed
from snellen.core.errors import DataError, UsageError
from snellen.core.model import Model
from snellen.core.origin import Origin, origin_of
from snellen.core.record import Record
from snellen.core.run import DataInfo
from snellen.core.summary import Summary
from snellen.data.columns import check_roles_of
from snellen.data.match_rows import joined
from snellen.data.predictions import Predictions, PredictionTable, read_predictions
from snellen.engine.loop.preflight import check_roles
from snellen.engine.offline.score_recorded import Judges, recorded
from snellen.engine.servers.managed import Servers
from snellen.engine.servers.process import Say
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
    readings: Readings | None = None
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
    serving: Say | None = None,
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
    check_roles_of(columns or {})
    variant = replace(
        variant,
        data=str(data) if data else variant.data,
        judges=len(judges),
        recorded_verdicts=all_recorded(judges),
        extractor=extractor is not None,
    )
    with Servers(Path(store).parent, say=serving) as servers:
        bench = Bench(judges, extractor, labels or {}, Path(store), servers)
        return _read_and_scored(benchmark, predictions, data, variant, columns, where, bench)


def _read_and_scored(
    benchmark: str,
    predictions: Path | str | None,
    data: Path | str | None,
    variant: Variant,
    columns: Mapping[str, str] | None,
    where: Mapping[str, str] | None,
    bench: Bench,
) -> Scored:
    if predictions is None or (data is None and _same_file(benchmark, predictions)):
        return _scored_alone(benchmark, variant, columns, where, bench)
    apart = variant.data is not None or is_data(benchmark)
    if not apart:
        refuse_units(benchmark, columns or {})
    asked, replied = _columns_of_two(columns or {}) if apart else ({}, columns or {})
    chosen = named_benchmark(benchmark, replace(variant, columns=asked))
    repeats = chosen.repeats and not apart
    read = read_predictions(Path(predictions), columns=replied, where=where, repeats=repeats)
    if not apart and read.gold_column is not None:
        return _scored(replace(chosen, open=read.table), read, bench)
    table = _opened(chosen, read, apart)
    replied_once = joined(read, table).without_repeats()
    return _scored(replace(chosen, open=lambda: table), replied_once, bench)


def _opened(chosen: Benchmark, read: Predictions, apart: bool) -> Table:
    """The data. Raises DataError, which says what to give where the predictions hold no gold."""
    try:
        return chosen.open()
    except DataError as error:
        if apart:
            raise
        advice = advice_on(chosen.name, read.columns, judged=False)
        raise DataError(
            f"{read.path} holds no gold answers, so the data are needed: {error}; or name a file "
            f"of them with --data{'' if advice is None else f' ({advice})'}"
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


def _same_file(benchmark: str, predictions: Path | str) -> bool:
    """Whether the predictions also stand in the place of the benchmark."""
    if not is_data(benchmark):
        return False
    try:
        return Path(benchmark).samefile(predictions)
    except OSError:
        return False


def _scored_alone(
    path: str,
    variant: Variant,
    columns: Mapping[str, str] | None,
    where: Mapping[str, str] | None,
    bench: Bench,
) -> Scored:
    if not is_data(path):
        raise UsageError(
            f"no predictions for {path}: give a file with --predictions, or in place of the "
            "benchmark a file that holds questions, answers and predictions"
        )
    read = read_predictions(Path(path), columns=other_columns(columns or {}), where=where)
    own = own_benchmark(path, replace(variant, columns=columns or {}))
    return _scored(replace(own, open=read.table), read, bench)


def _scored(benchmark: Benchmark, read: Predictions, bench: Bench) -> Scored:
    read = read.with_silence() if benchmark.name in NULLS_COUNT else read
    advice = advice_on(benchmark.name, read.columns, judged=bool(bench.judges))
    models = bench.models(read, benchmark)
    unread: Iterator[str] = iter(())
    table = benchmark.open()
    benchmark = replace(benchmark, open=lambda: table)
    replies = read.replies()
    if not models:
        records, warnings = recorded(benchmark, replies, read.digest)
    else:
        live = {role: one for role, one in models.items() if not isinstance(one, Replay)}
        check_roles(live)
        with ResponseStore(bench.store if live else None) as store:
            judges = Judges(models, store)
            records, warnings = recorded(benchmark, replies, read.digest, judges)
        refuse_the_idle(benchmark, bench, records)
        unread = unread_verdicts(models, records)
    examples = benchmark.examples() if benchmark.examples is not None else None
    summary = summed(benchmark, records, examples)
    origin = Origin("predictions") if isinstance(table, PredictionTable) else origin_of(table)
    data = DataInfo(str(table.path), table.digest, len(table), origin)
    if data.note:
        summary = structs.replace(summary, notices=(data.note, *summary.notices))
    readings = measured_by_labels(bench, read, benchmark, models, records)
    told = () if advice is None else (f"{read.path}: {advice}",)
    warnings = (*read.warnings, *told, *warnings, *unread)
    return Scored(benchmark, summary, warnings, records, data, readings)


def _columns_of_two(columns: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Columns named for the data file, and those named for the predictions file beside it."""
    replied = {role: name for role, name in columns.items() if role in ("id", "prediction")}
    return {role: name for role, name in columns.items() if role not in replied}, replied
