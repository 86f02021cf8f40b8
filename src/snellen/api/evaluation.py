"""`evaluate` and `aevaluate`: every model on every benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

from snellen.api._inputs import BenchmarkLike, refuse_unanswered, refuse_unplaced, refuse_unreachable_golds
from snellen.api._judge_inputs import check_judges
from snellen.api._roles import RunCell, RunMatrix, open_matrix
from snellen.api.budget import Prices, request_limits
from snellen.api.mistakes import shorten_tracebacks
from snellen.api.options import RunOptionChanges, RunOptions, change_options, check_options, in_shard_folder
from snellen.api.progress import ProgressChoice, is_visible, open_progress, print_notice
from snellen.api.resolve_benchmarks import NamedBenchmark, resolve_benchmark
from snellen.api.resolve_models import consented_spec, resolve_served_model, served_names
from snellen.api.results import Results, Run, SkippedRun
from snellen.benchmarks.declaration.registry import language_notice
from snellen.core.benchmark import Benchmark, BenchmarkFactory, DataTable, FetchProgress, Variant
from snellen.core.errors import UsageError
from snellen.core.event_loop import run_in_thread
from snellen.core.model import AnyModel, Model, abilities
from snellen.core.sample import origin_of
from snellen.engine.anytime.early_stop import ComparisonRule, PrecisionRule, parse_stop_rule
from snellen.engine.forecast.projection import Forecast
from snellen.engine.loop.plan import LATEST, RunPlan, bind_to_data, fresh_name
from snellen.engine.loop.preflight import check_models, check_roles
from snellen.engine.loop.progress import Progress
from snellen.engine.loop.request_broker import RequestLimits
from snellen.engine.loop.run import RunInterrupted, UnsupportedBenchmark, run
from snellen.engine.servers.managed import Servers
from snellen.engine.servers.process import GRACE, Notify
from snellen.models.naming.custom import load_files
from snellen.store.responses import STORE_FILE, ResponseStore

if TYPE_CHECKING:
    from snellen.engine.ray.cluster import ReplicatedModels
    from snellen.engine.ray.placement import RayCluster

_NO_TEMPERATURE = (
    "at temperature 0, draws of a question differ only where a server is not deterministic; "
    "--generation temperature=1 draws freely"
)


@shorten_tracebacks
def evaluate(
    models: AnyModel | Iterable[AnyModel] | Mapping[str, AnyModel],
    benchmarks: BenchmarkLike,
    options: RunOptions = RunOptions(),  # noqa: B008 - frozen
    *,
    command: str = "",
    progress: ProgressChoice = None,
    fetching: FetchProgress | None = None,
    warned: Notify | None = None,
    serving: Notify | None = None,
    **changes: Unpack[RunOptionChanges],
) -> Results:
    """Run every model on every benchmark; a complete run is only reported.

    Models and benchmarks are named as on the command line, or are objects; one, or several in a
    list. Models may also be a dict by the names that tables show; each is anything that
    `wrap_model` takes. A benchmark may also be rows in memory: a list of dicts, a frame, a
    `datasets.Dataset`, or `Data(rows, name=...)`. `changes` are fields of `RunOptions`, in place of
    those of `options`: `evaluate("random", "eyechart", limit=10)`.

    `progress` shows how far the samples are: by default on a terminal and in a notebook, with
    True everywhere, with False nowhere; or an object with the methods of `Progress`. Callbacks:
    `fetching` follows downloads; `warned` gets a sentence about each benchmark that cannot be
    scored as it is run, before anything is asked, and about replies that are cut; `serving`
    gets lines about the model servers that are started, and what a new run takes. `command` is
    recorded with the runs, and, if the call is stopped, shown as the command that resumes it.

    Works under a running event loop, as in a notebook. Raises a UsageError subclass before anything
    is asked if a name, option or file cannot be used, and `RunInterrupted`, a KeyboardInterrupt, on
    Ctrl-C: finished samples are kept, and the same call resumes from there.
    """
    options = change_options(options, changes)
    check_options(options)
    options = in_shard_folder(options)
    if is_visible(progress):
        warned, serving = warned or print_notice, serving or print_notice
    with _interrupted_before(Path(options.out)), open_progress(progress) as followed:
        return _Evaluation(options, command, followed, fetching, warned, serving).run(models, benchmarks)


@contextmanager
def _interrupted_before(out: Path) -> Iterator[None]:
    """Raise RunInterrupted for Ctrl-C outside of a run."""
    try:
        yield
    except RunInterrupted:
        raise
    except KeyboardInterrupt:
        raise RunInterrupted(out) from None


async def aevaluate(
    models: AnyModel | Iterable[AnyModel] | Mapping[str, AnyModel],
    benchmarks: BenchmarkLike,
    options: RunOptions = RunOptions(),  # noqa: B008 - frozen
    *,
    command: str = "",
    progress: ProgressChoice = None,
    fetching: FetchProgress | None = None,
    warned: Notify | None = None,
    serving: Notify | None = None,
    **changes: Unpack[RunOptionChanges],
) -> Results:
    """As `evaluate`, for async code: the event loop keeps running while models are asked.

    Cancelling keeps what is finished, as Ctrl-C does, and returns once the runs have ended.
    Callbacks are called in another thread.
    """
    call = partial(
        evaluate,
        models,
        benchmarks,
        options,
        command=command,
        progress=progress,
        fetching=fetching,
        warned=warned,
        serving=serving,
        **changes,
    )
    return await run_in_thread(call)


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """A call of `evaluate`: its options, and who hears of what happens."""

    options: RunOptions
    command: str
    progress: Progress
    fetching: FetchProgress | None
    warned: Notify | None
    serving: Notify | None

    def run(self, models: AnyModel | Iterable[AnyModel] | Mapping[str, AnyModel], benchmarks: BenchmarkLike) -> Results:
        """Run every model on every benchmark, with servers and replicas open meanwhile."""
        options, out = self.options, Path(self.options.out)
        limits = request_limits(options.retries, options.max_failures, options.budget)
        prices = Prices(options.prices)
        rule = parse_stop_rule(options.until) if options.until is not None else None
        with (
            Servers(out, options.serve, options.serve_timeout, self.serving) as servers,
            nullcontext() if options.cluster is None else _open_replicas(options, options.cluster) as replicas,
            _resume_notice(self.command, self.serving, servers, replicas),
        ):
            custom = load_files(options.load)
            opener = _LiveModelOpener(custom.models, servers, replicas)
            open_benchmark = partial(self._open_benchmark, custom.benchmarks)
            matrix = open_matrix(models, benchmarks, options, opener, custom, open_benchmark)
            self._check_data_here(matrix.benchmarks)
            roles = matrix.model_roles
            if roles.shared_roles:
                check_judges([named.benchmark for named in matrix.benchmarks], roles.shared_roles)
            for models_by_role in roles.roles():
                check_roles(models_by_role)
            prices.check(roles.all_models(), limits.budget)
            is_batched = matrix.check_batches()
            if options.extend_truncated is not None:
                matrix.check_extension(options.extend_truncated)
            self._warn_about_models(matrix)
            forecasts = None if is_batched else self.serving
            results = self._ask(matrix, rule, partial(self._plan, matrix, rule, limits, prices, forecasts), servers)
            results.lost.extend(servers.lost_servers())
            return results

    def _open_benchmark(
        self,
        custom: Mapping[str, Benchmark | BenchmarkFactory],
        spec: str | Benchmark,
        variant: Variant,
        columns: Mapping[str, str],
    ) -> NamedBenchmark:
        own_variant = replace(variant, columns=columns) if columns else variant
        benchmark = resolve_benchmark(spec, own_variant, custom)
        if notice := language_notice(spec, benchmark, own_variant):
            self._warn(notice)
        return NamedBenchmark(spec, benchmark, columns)

    def _check_data_here(self, benchmarks: Sequence[NamedBenchmark]) -> None:
        """Check the data that are on this machine: a mistake in them shows at once."""
        for benchmark in (named.benchmark for named in benchmarks if named.benchmark.fetch is None):
            table = self._prepare(benchmark)
            origin = origin_of(table)
            if origin is None or origin.kind != "own":
                continue
            if self.options.require_answers:
                refuse_unanswered(benchmark)
            refuse_unreachable_golds(benchmark)

    def _prepare(self, benchmark: Benchmark) -> DataTable:
        """Bring what the benchmark needs, so that nothing is asked in vain; returns its rows."""
        if benchmark.fetch is not None:
            benchmark.fetch(self.fetching)
        table = benchmark.open()
        if self.options.require_answers:
            refuse_unplaced(benchmark)
        if benchmark.few_shot_info is not None:
            benchmark.few_shot_info()
        if benchmark.unscorable:
            self._warn(f"{benchmark.name}: {benchmark.unscorable}")
        return table

    def _warn_about_models(self, matrix: RunMatrix) -> None:
        for name, model in matrix.model_roles.models:
            if remark := abilities(model).route_remark:
                self._warn(f"{name}: {remark}")
        if self.options.repeats > 1 and self.warned is not None:
            for name in matrix.greedy_models():
                self._warn(f"{name}: {_NO_TEMPERATURE}")

    def _warn(self, sentence: str) -> None:
        if self.warned is not None:
            self.warned(sentence)

    def _plan(
        self,
        matrix: RunMatrix,
        rule: PrecisionRule | ComparisonRule | None,
        limits: RequestLimits,
        prices: Prices,
        say: Notify | None,
        cell: RunCell,
        fresh: str,
    ) -> RunPlan:
        """The plan of a run, whose data are here; `say` is told what it takes."""
        run = f"{cell.model[0]} on {cell.benchmark.benchmark.name}"
        plan = replace(
            matrix.run_plan(cell),
            command=self.command,
            progress=self.progress,
            limits=limits,
            stop_rule=rule if isinstance(rule, PrecisionRule) else None,
            fresh=fresh,
            # Runs with other extractors have the same replies.
            warned=self.warned if cell.extractor is matrix.model_roles.extractors[0] else None,
            on_forecast=None if say is None else partial(_print_forecast, say, run),
        )
        return bind_to_data(replace(plan, prices=prices.plan_prices(plan)))

    def _ask(
        self,
        matrix: RunMatrix,
        rule: PrecisionRule | ComparisonRule | None,
        plan: Callable[[RunCell, str], RunPlan],
        servers: Servers,
    ) -> Results:
        """Make the runs, once the models answer and the data are here."""
        options, results = self.options, Results()
        with ResponseStore(Path(options.store) if options.store else Path(options.out) / STORE_FILE) as responses:
            models = [model for _, model in matrix.model_roles.models]
            check_models(models, responses, fresh=options.fresh is not None)
            # Only here, so that a refused key shows before hours of downloading.
            for named in matrix.benchmarks:
                if named.benchmark.fetch is not None:
                    self._prepare(named.benchmark)
            fresh = options.fresh or ""
            if options.fresh == LATEST:
                fresh = fresh_name([plan(cell, LATEST) for cell in matrix.cells()])
            for group in matrix.run_groups(rule):
                plans = [plan(cell, fresh) for cell in group]
                _run_group(plans, responses, servers, options.html, results)
        return results


def _open_replicas(options: RunOptions, cluster: RayCluster) -> ReplicatedModels:
    from snellen.engine.ray.cluster import ReplicatedModels

    return ReplicatedModels(cluster, options.load, Path(options.out))


def _print_forecast(say: Notify, run: str, expected: Forecast) -> None:
    """Say what the rest of a run takes, if that is worth a sentence."""
    from snellen.report.documents.forecast import forecast_sentence, is_notable

    if is_notable(expected):
        say(forecast_sentence(run, expected))


@contextmanager
def _resume_notice(command: str, say: Notify | None, *ended: Servers | ReplicatedModels | None) -> Iterator[None]:
    """Where Ctrl-C has servers or replicas to end, which takes seconds, say first how the command
    goes on."""
    try:
        yield
    except (RunInterrupted, KeyboardInterrupt):
        if command and say is not None and any(group is not None and group.running for group in ended):
            what = f"stopping; servers and replicas have {GRACE:.0f} s to end"
            say(f"{what}, none at a second Ctrl-C; continue with: {command}")
        raise


def _run_group(
    plans: Sequence[RunPlan], responses: ResponseStore, servers: Servers, html: bool, results: Results
) -> None:
    """A run, or two that are one another's opponents."""
    first = plans[0]
    try:
        if len(plans) > 1:
            from snellen.engine.loop.comparison_run import run_comparison

            finished = run_comparison(plans, responses, servers.keep_only)
        else:
            servers.keep_only(first.model, *first.roles.values())
            finished = [run(first, responses)]
    except UnsupportedBenchmark as error:
        results.skipped.append(SkippedRun(first.model_name, first.benchmark.name, str(error)))
        return
    for folder in finished:
        opened = Run(folder.path)
        opened.was_complete = folder.was_complete
        opened.unasked_address = folder.unasked_address
        results.runs.append(opened)
    if html:
        from snellen.api.report_page import write_page

        for folder, plan in zip(finished, plans, strict=False):
            write_page(folder, plan.benchmark, responses)


class _LiveModelOpener(NamedTuple):
    """Opens models: those of loaded files, those whose server Snellen starts, replicas on Ray."""

    custom: Mapping[str, Model]
    servers: Servers
    replicas: ReplicatedModels | None

    def open_requested(self, models: Sequence[AnyModel]) -> list[tuple[str, Model]]:
        """The models to be evaluated, with the name each goes by. Raises UsageError."""
        if not self.servers.serve:
            if not models:
                raise UsageError(
                    "no model is named; name one with -m, or start a server with --serve (in "
                    "Python: models, or serve=...)"
                )
            if self.replicas is None:
                return [resolve_served_model(model, self.custom, self.servers) for model in models]
            routed = [consented_spec(model) if isinstance(model, str) else model for model in models]
            opened = [self.replicas.open_model(model) for model in routed]
            return [(model.name, model) for model in opened]
        names = served_names(models)
        if len(names) > 1:
            raise UsageError(f"--serve starts the server of one model; got {len(names)} models")
        return [self.servers.open_served(next(iter(names), None))]

    def role_model(self, model: AnyModel) -> Model:
        """A model with another role."""
        return resolve_served_model(model, self.custom, self.servers)[1]
