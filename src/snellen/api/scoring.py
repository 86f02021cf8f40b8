"""`score`: recorded predictions, without asking the model that made them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from msgspec import structs

from snellen.analysis.comparison.reopened_data import benchmark_with_data
from snellen.api._as_recorded import replay_recorded, with_replies_of
from snellen.api._inputs import BenchmarkLike, refuse_unreachable_golds
from snellen.api._predictions import ColumnNames, PredictionsLike, scoring_inputs
from snellen.api._published_columns import PublishedColumns, published_columns
from snellen.api._recorded_roles import (
    COLUMN,
    RecordedRoles,
    are_verdicts_recorded,
    measure_by_labels,
    recorded_identity,
    refuse_idle_roles,
    unread_verdict_warnings,
)
from snellen.api.mistakes import shorten_tracebacks
from snellen.api.options import DEFAULT_OUT, DEFAULT_STORE, check_repeats
from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.api.results import Run, SampleResult, Samples
from snellen.benchmarks.declaration.data_file import data_file_declaration
from snellen.benchmarks.declaration.registry import is_data_source
from snellen.benchmarks.declaration.results_files import NULLS_COUNT, advice_on
from snellen.benchmarks.declaration.units import refuse_units, renamed_columns
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.benchmarks.protocol.judging import JUDGE, judge_roles
from snellen.core.benchmark import AS_RECORDED, IGNORED, Benchmark, DataTable, Variant, final_summary
from snellen.core.errors import DataError, UsageError
from snellen.core.infrequent_gc import infrequent_gc
from snellen.core.model import AnyModel, Identity, abilities
from snellen.core.record import Record
from snellen.core.run import Counts, DataInfo, Report, RunConfig, RunInfo
from snellen.core.sample import Origin, origin_of
from snellen.core.summary import Interval, Summary
from snellen.data.columns import canonical_keys, check_column_keys, column_name, gold_like_column
from snellen.data.gold_table import with_questions
from snellen.data.match_rows import match_rows
from snellen.data.predictions import Predictions, PredictionTable, read_predictions
from snellen.data.tables.sound_and_tools import refuse_sound_and_tools
from snellen.engine.offline.gold_check import check_golds
from snellen.engine.offline.score_recorded import Judges, score_replies
from snellen.extract.llm import EXTRACTOR
from snellen.models.replay import Replay
from snellen.store.recorded_run import write_recorded_run
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from snellen.analysis.parsing.labelled_replies import LabelComparison
    from snellen.engine.servers.managed import Servers
    from snellen.engine.servers.process import Notify

_ROWS_FOR_ADVICE = 100
"""Rows in which a column that may hold the gold answers is searched."""


class Scored(NamedTuple):
    """The numbers of recorded predictions. `warnings` are about the predictions file.

    Can be pickled; a copy's `benchmark` has its facts, and its functions raise UsageError."""

    benchmark: Benchmark
    summary: Summary
    warnings: tuple[str, ...]
    records: Sequence[Record] = ()
    data: DataInfo | None = None
    """The source of the questions and gold answers."""
    readings: LabelComparison | None = None
    """How parsing agrees with human labels, if labels were named."""
    run: RunInfo | None = None
    """The predictions as a run of their own, for the tables of runs: its model is the name of the
    file, or that of the call."""
    digest: str = ""
    """SHA-256 (hex) of the predictions."""

    def __reduce__(self) -> tuple[Any, ...]:
        benchmark = _without_functions(self.benchmark)
        return Scored, tuple(self._replace(benchmark=benchmark))

    @property
    def score(self) -> float | None:
        """The headline, mostly a percentage; None if nothing could be scored."""
        return self.summary.headline.value

    @property
    def interval(self) -> Interval | None:
        """The confidence interval of the score."""
        return self.summary.headline.interval

    @property
    def n(self) -> int:
        """Samples in the score."""
        return self.summary.headline.n

    def samples(self) -> Samples:
        """The samples with their verdicts, without images."""
        return Samples(map(SampleResult, self.records))

    def __repr__(self) -> str:
        from snellen.report.console import printed_text
        from snellen.report.documents.run_document import run_document
        from snellen.report.writers.terminal import print_document

        document = run_document([self.report], judges_measured=self.readings is not None)
        table = printed_text(lambda console: print_document(document, console))
        return "\n".join([table, *self.warnings])

    def _repr_html_(self) -> str:
        from snellen.report.notebook.tables import RunWithPage, runs_html

        return runs_html([RunWithPage(self.report, None)], self.warnings)

    def save(self, out: Path | str = DEFAULT_OUT, *, html: bool = True) -> Run:
        """Write the predictions as a run folder in `out`, which every command on runs takes.

        The same predictions scored the same way again replace it. Raises RunLocked, StorageError.
        """
        from snellen.report.page.html import write_html

        folder = write_recorded_run(Path(out), self.report.run, self.summary, self.records)
        if html:
            write_html(folder)
        return Run(folder.path)

    @property
    def report(self) -> Report:
        """The numbers as the report of a run. Raises ValueError if `run` is not set."""
        if self.run is None:
            raise ValueError("these numbers belong to no predictions file")
        return Report(self.run, self.summary)


def _without_functions(benchmark: Benchmark) -> Benchmark:
    """The benchmark without open data and closures, which cannot be pickled."""
    functions: dict[str, Any] = {
        field.name: _refuse_call for field in fields(benchmark) if callable(getattr(benchmark, field.name))
    }
    return replace(benchmark, **functions, options=dict(benchmark.options), parameters=dict(benchmark.parameters))


def _refuse_call(*_: object) -> NoReturn:
    raise UsageError("a copied Scored has the facts of its benchmark and no data; call snellen.score again")


@shorten_tracebacks
def score(
    benchmark: BenchmarkLike,
    predictions: PredictionsLike = None,
    *,
    data: BenchmarkLike = None,
    name: str | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    judges: Sequence[AnyModel] | None = None,
    extractor: AnyModel = None,
    labels: Mapping[str, str] | None = None,
    store: Path | str = DEFAULT_STORE,
    serving: Notify | None = None,
    judge_repeats: int = 1,
    as_recorded: bool = False,
    ids: Collection[str] | None = None,
) -> Scored:
    """Score recorded predictions by the benchmark's own flow. No model is measured, no image read.

    Questions and predictions are names and files, or are in memory: rows as `evaluate` takes them;
    predictions as a dict id -> reply, a list or column of replies in the order of the rows, a frame
    with ids, or the samples of a run. With rows in memory, `predictions` may name their column.
    A predictions file that also has gold answers needs no `data`; one that has everything may be
    given as the `benchmark`. `name` stands for the model in tables; by default it is the name of
    the file, or "predictions" for values in memory. `where` keeps the rows with these values, by
    column. `variant.rule` says whose rules parse the replies. `judges` grade replies if the
    benchmark asks judges, and the `extractor` parses replies that no rule can: models, whose
    replies are kept in `store`, or `column:NAME` for a column of the predictions file. With None
    as `judges`, the verdicts that a published layout records are counted, with a warning; an empty
    sequence leaves all to the rules. Judges that are models are asked `judge_repeats` times for
    each verdict. `labels` names a column that says what each reply answers (`{"answer": NAME}`) or
    whether it is right (`{"right": NAME}`); parsing is compared with it. `as_recorded` repeats the
    number of the tool that wrote the file, from its column of verdicts, else of the answers it
    read. With `ids`, these questions alone are scored. A judge's server, as of vllm/ORG/NAME, is
    started and stopped; `serving` gets lines about it. Raises UsageError subclasses, also for a
    judge or extractor that would be asked nothing.
    """
    if name is not None and not (isinstance(name, str) and name):
        raise UsageError(f"name is {name!r}; expected what tables call the model, such as 'mine'")
    ignored = {IGNORED: variant.columns[IGNORED]} if IGNORED in variant.columns else {}
    columns = canonical_keys({**(columns or {}), **ignored})
    inputs = scoring_inputs(benchmark, predictions, data, variant, columns)
    benchmark, predictions, data, names, file_name = inputs
    check_column_keys(names.single)
    check_judge_repeats(judge_repeats, judges or ())
    if as_recorded and (judges or extractor is not None):
        raise UsageError("--as-recorded takes what the file records; leave out --judge and --extractor")
    variant = replace(variant, data=str(data) if data else variant.data)
    published = published_columns(benchmark, predictions, names, variant, where, as_recorded)
    variant = replace(variant, rule=published.rule or variant.rule)
    uses_verdicts = published.verdicts != "" and judges is None
    judges = [f"{COLUMN}{published.verdicts}"] if uses_verdicts else judges or ()
    names = names._replace(call={**published.columns, **names.call})
    variant = replace(
        variant,
        judges=len(judges),
        judge_repeats=judge_repeats,
        recorded_verdicts=are_verdicts_recorded(judges),
        extractor=extractor is not None,
    )
    with infrequent_gc(), ExitStack() as stack:

        @cache
        def open_servers() -> Servers:
            from snellen.engine.servers.managed import Servers

            return stack.enter_context(Servers(Path(store).parent, notify=serving))

        roles = RecordedRoles(judges, extractor, labels or {}, Path(store), as_recorded, open_servers)
        scored = _score_files(benchmark, predictions, data, variant, names, where, roles, published, ids)
    if uses_verdicts:
        scored = scored._replace(warnings=(published.notice(file_name), *scored.warnings))
    run = _as_run(scored, file_name if name is None else name, variant, where, roles)
    return scored._replace(run=run)


def score_as_run(
    run: RunFolder,
    predictions: Path | str,
    *,
    moved: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
) -> Scored:
    """Score a file of predictions by the benchmark of a run: on its data, which may have been
    `moved` to one of these files, its samples, and by its settings where `variant` names no other
    `rule` or `circular`.

    No model is asked: an extractor of the run is left out, with a warning. Raises UsageError
    subclasses, also for a run that judges graded.
    """
    path = Path(predictions)
    columns = canonical_keys(columns or {})
    parameters = {name: value for name, value in run.info.config.parameters.items() if name != CONTROL}
    changed = {"rule": variant.rule, "circular": variant.circular}
    parameters |= {name: value for name, value in changed.items() if value is not None}
    roles = run.info.config.roles
    if AS_RECORDED in run.info.config.parameters:
        raise UsageError(
            f"{path.name}: {run.name} holds a number as another tool recorded it; first score "
            f"the file: snellen score {run.info.benchmark} --predictions {path.name} --as-recorded "
            "--out DIR"
        )
    if any(role.partition("-")[0] == JUDGE for role in roles):
        raise UsageError(
            f"{path.name}: the replies of {run.name} were graded by a judge, which no analysis "
            f"asks; first score the file: snellen score {run.info.benchmark} --predictions "
            f"{path.name} --judge MODEL --out DIR"
        )
    config = structs.replace(run.info.config, parameters=parameters, roles={})
    info = structs.replace(run.info, config=config)
    benchmark = benchmark_with_data(run, moved, info)
    table = benchmark.open()
    _, reply_columns = ColumnNames(columns).split(True)
    rows = read_predictions(path, columns=reply_columns, where=where)
    matched = match_rows(rows, table).without_repeats()
    no_roles = RecordedRoles((), None, {}, Path(DEFAULT_STORE))
    scored = _score_predictions(replace(benchmark, open=lambda: table), matched, no_roles)
    if config.limit is not None:
        ids = {record.id for record in chain(run.records(), run.failures())}
        records = [record for record in scored.records if record.id in ids]
        summary = final_summary(benchmark, records, config.examples)
        scored = scored._replace(records=records, summary=summary)
    if EXTRACTOR in roles:
        extractor = f"{path.name}: rules alone read it, without the extractor of {run.name}"
        scored = scored._replace(warnings=(*scored.warnings, extractor))
    recorded = _as_run(scored, path.name, Variant(failures=info.failures), where, no_roles)
    return scored._replace(run=recorded)


def check_judge_repeats(repeats: int, judges: Sequence[AnyModel]) -> None:
    """Raise UsageError if verdicts cannot be requested this many times."""
    check_repeats("judge_repeats", repeats)
    if repeats > 1 and (not judges or are_verdicts_recorded(judges)):
        raise UsageError(
            "judge_repeats asks judges again; name a model (judges, or --judge MODEL:repeats=N): "
            "the verdicts of a column are recorded once"
        )


def _as_run(
    scored: Scored, name: str, variant: Variant, where: Mapping[str, str] | None, roles: RecordedRoles
) -> RunInfo:
    """The predictions as a run, for code that works on runs."""
    rows = "".join(f", {column}={value}" for column, value in (where or {}).items())
    benchmark, data = scored.benchmark, scored.data
    named_roles = dict(zip(judge_roles(len(roles.judges)), roles.judges, strict=True))
    if roles.extractor is not None:
        named_roles[EXTRACTOR] = roles.extractor
    identities = {role: recorded_identity(model) for role, model in named_roles.items()}
    total = scored.summary.total
    facts = {"revision": f"sha256:{scored.digest}"} if scored.digest else {}
    return RunInfo(
        name="",
        model=f"{name}{rows}",
        benchmark=benchmark.name,
        title=benchmark.title,
        config=RunConfig(
            identity=Identity("recorded", name, facts),
            benchmark=benchmark.name,
            version=benchmark.version,
            parameters=dict(benchmark.parameters),
            data=data.digest if data is not None else "",
            # A length limit does not apply to recorded replies.
            max_new_tokens=0,
            roles=identities,
        ),
        data=data if data is not None else DataInfo("", "", 0),
        status="complete",
        created="",
        counts=Counts(samples=total, done=total),
        failures=variant.failures or benchmark.failures,
        paper=benchmark.paper,
        source=benchmark.provenance,
        headline=benchmark.headline,
    )


def _score_files(
    benchmark: str,
    predictions: Path | str | None,
    data: Path | str | None,
    variant: Variant,
    columns: ColumnNames,
    where: Mapping[str, str] | None,
    roles: RecordedRoles,
    published: PublishedColumns,
    ids: Collection[str] | None,
) -> Scored:
    """Find which files hold questions, gold answers and replies, match their rows, and score."""
    if predictions is None or (data is None and _is_same_file(benchmark, predictions)):
        return _score_single_file(benchmark, variant, columns.single, where, roles, ids)
    has_separate_data = variant.data is not None or is_data_source(benchmark)
    if not has_separate_data:
        refuse_units(benchmark, columns.call)
    data_columns, reply_columns = columns.split(has_separate_data)
    resolved = resolve_benchmark(benchmark, replace(variant, columns=data_columns))
    id_column = columns.call.get("id")
    if has_separate_data and id_column and column_name(id_column, 0) in resolved.open().columns:
        data_columns["id"] = id_column  # both files call it so
        resolved = resolve_benchmark(benchmark, replace(variant, columns=data_columns))
    reply_rows = published.rows
    if reply_rows is None:
        repeats = resolved.counts_duplicates and not has_separate_data
        reply_rows = read_predictions(Path(predictions), columns=reply_columns, where=where, repeats=repeats)
    is_complete = reply_rows.gold_column is not None or published.is_complete
    if not has_separate_data and is_complete:
        resolved = replace(resolved, open=reply_rows.table)
        return _score_predictions(resolved, reply_rows, roles, ids)
    table = with_questions(_open_data(resolved, reply_rows, has_separate_data))
    matched = match_rows(reply_rows, table).without_repeats()
    resolved = replace(resolved, open=lambda: table)
    refuse_unreachable_golds(resolved)
    return _score_predictions(resolved, matched, roles, ids)


def _open_data(benchmark: Benchmark, predictions: Predictions, has_separate_data: bool) -> DataTable:
    """Open the data. Raises DataError, with advice if the predictions have no gold answers."""
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
    """`score` under every parsing rule of the benchmark, without judges, by the name of the
    rule."""
    by_rule = partial(score, benchmark, predictions, columns=columns, where=where, judges=())
    default = by_rule(variant=replace(variant, rule=None))
    return {rule: by_rule(variant=replace(variant, rule=rule)) for rule in default.benchmark.rules}


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


def _is_same_file(benchmark: str, predictions: Path | str) -> bool:
    """Whether the predictions were also given as the benchmark."""
    if not is_data_source(benchmark):
        return False
    try:
        return Path(benchmark).samefile(predictions)
    except OSError:
        return False


def _score_single_file(
    path: str,
    variant: Variant,
    columns: Mapping[str, str],
    where: Mapping[str, str] | None,
    roles: RecordedRoles,
    ids: Collection[str] | None,
) -> Scored:
    if not is_data_source(path):
        raise UsageError(
            f"no predictions for {path}: give a file with --predictions, or in place of the "
            "benchmark a file that holds questions, answers and predictions"
        )
    predictions = read_predictions(Path(path), columns=renamed_columns(columns), where=where)
    refuse_sound_and_tools(predictions.table())
    benchmark = data_file_declaration(path)(replace(variant, columns=columns))
    check_golds(benchmark, predictions.table())
    benchmark = replace(benchmark, open=predictions.table)
    return _score_predictions(benchmark, predictions, roles, ids)


def _score_predictions(
    benchmark: Benchmark, predictions: Predictions, roles: RecordedRoles, ids: Collection[str] | None = None
) -> Scored:
    """Score matched predictions, with judges and extractor if there are any."""
    predictions = predictions.with_empty_replies() if benchmark.name in NULLS_COUNT else predictions
    advice = advice_on(benchmark.name, predictions.columns, has_judge=bool(roles.judges))
    recorded, replies_of_file = None, predictions
    if roles.as_recorded:
        benchmark, predictions, recorded = replay_recorded(benchmark, predictions, has_judges=bool(roles.judges))
    models = roles.open_models(predictions, benchmark)
    own = {role: open_own() for role, open_own in benchmark.own_roles.items()}
    unread: Iterator[str] = iter(())
    table = benchmark.open()
    benchmark = replace(benchmark, open=lambda: table)
    replies = predictions.replies(errors_as_text=benchmark.reads_errors)
    if not models and not own:
        records, warnings = score_replies(benchmark, replies, predictions.digest, ids=ids)
    else:
        from snellen.api._judge_inputs import check_judges_see
        from snellen.engine.loop.preflight import check_roles

        check_judges_see([benchmark], models)
        asked_models = {role: model for role, model in models.items() if not isinstance(model, Replay)}
        check_roles(asked_models)
        with ResponseStore(roles.store if asked_models or own else None) as store:
            judges = Judges({**models, **own}, store)
            records, warnings = score_replies(benchmark, replies, predictions.digest, judges, ids)
        refuse_idle_roles(benchmark, roles, records)
        unread = unread_verdict_warnings(models, records)
    if predictions is not replies_of_file:
        records = with_replies_of(records, replies_of_file)
    examples = benchmark.few_shot_info() if benchmark.few_shot_info is not None else None
    summary = final_summary(benchmark, records, examples)
    origin = Origin("predictions") if isinstance(table, PredictionTable) else origin_of(table)
    data = DataInfo(str(table.path), table.digest, len(table), origin)
    as_before = recorded.notice if recorded is not None else ""
    sentences = filter(None, (_error_notice(benchmark, predictions), data.note, as_before))
    summary = structs.replace(summary, notices=(*sentences, *summary.notices))
    readings = measure_by_labels(roles, predictions, benchmark, models, records)
    notices = () if advice is None else (f"{predictions.path}: {advice}",)
    if records and not any(record.gold for record in records) and not benchmark.unscorable:
        notices = (*notices, *_gold_advice(table))
    remarks = chain.from_iterable(abilities(model).remarks for model in own.values())
    warnings = (*predictions.warnings, *notices, *warnings, *unread, *remarks)
    return Scored(benchmark, summary, warnings, records, data, readings, digest=predictions.digest)
